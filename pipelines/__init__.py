"""The graphs and the command line."""
