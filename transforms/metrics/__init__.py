"""Predictions scored with the figures that KILT and MKQA publish.

``kilt`` and ``mkqa`` hold the two protocols, ``text`` the comparison of two texts, ``bootstrap``
how sure a figure is, ``convention`` the interface of Hugging Face's ``evaluate``. All of it is
pure: plain records in, numbers out.
"""
