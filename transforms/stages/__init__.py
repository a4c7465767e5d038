"""Beam composites: each counts, calls the pure modules and writes its own shards."""
