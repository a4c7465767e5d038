"""Predictions scored with the figures that KILT and MKQA publish.

``scorer`` says what an evaluation has to know of a benchmark and joins gold and predictions;
``kilt_scorer`` and ``mkqa_scorer`` are the two benchmarks. ``kilt`` and ``mkqa`` score one record,
``thresholds`` one language, ``text`` compares two texts; ``bootstrap`` tells how sure a figure is,
``summary`` what metrics.json says of it; ``huggingface`` has the interface of Hugging Face's
``evaluate``. All of it is pure: plain records in, numbers out.
"""
