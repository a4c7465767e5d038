"""Where in a page a text stands: tokens, BLEU, the exact search, and what becomes of the findings."""
