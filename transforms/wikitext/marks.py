"""Characters that stand for structure while a page is being parsed.

All are C0 control characters. XML 1.0 forbids them, so no dump holds one, and ``scrub`` removes those
of any other input: a page cannot forge a mark. None survives into a record.
"""

import re
from typing import Final

LINK: Final = "\x01"  # opens an anchor: LINK, its number in the page, LABEL, visible text, LINK_END
LABEL: Final = "\x02"
LINK_END: Final = "\x03"
HOLE: Final = "\x04"  # something that is not running text was taken out here; nothing is to be seen of it
EDGE: Final = "\x05"  # zero width; what follows is not at the start of a line, nor part of a run
HEADING: Final = "\x06"  # opens a line that is a heading: HEADING, its level as one digit, text
GONE: Final = "\x08"  # a link that stands beside the page, not in its text (only within cut.links)
AMPERSAND: Final = "\x07"  # stands for & while mwparserfromhell has the line (see inline.py)

CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]+")
CONTROL_BYTES: Final = bytes([*range(9), 11, 12, *range(14, 32)])

# Whatever is to be shown as it stands is written with character references, which are decoded once, at
# the very end. No stage takes them for markup.
_AS_REFERENCES = {ord(c): f"&#{ord(c)};" for c in "[]{}|<>'&*#:;=!-_/\\~"}


def literal(text: str) -> str:
    """Wikitext that shows exactly this text, on one line."""
    return " ".join(text.split("\n")).translate(_AS_REFERENCES)
