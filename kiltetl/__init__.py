"""KILT and MKQA on any Wikipedia dump."""
