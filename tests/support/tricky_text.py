"""Texts in which tokenizers find what they look for."""

from hypothesis import strategies as st


def pieces(*more: str) -> st.SearchStrategy[str]:
    """Text in which what tokenisers look for is frequent."""
    tricky = ["&quot;", "&amp;", "&lt;", "&gt;", "lt;", "<skipped>", "-\n", "..", ".,5", "5.", "5-", "--", *more]
    return st.lists(st.sampled_from(tricky) | st.characters(codec=None) | st.sampled_from("a5.,-& İΣ’“–\u00a0\n")).map(
        "".join
    )
