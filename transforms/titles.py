"""Titles: their normal form, the title inside a link or an address.

Source: MediaWiki's title rules (https://www.mediawiki.org/wiki/Manual:Page_title): underscores are
spaces, runs of white space one space, the first letter upper case unless the wiki says otherwise,
a namespace prefix in any case, text in Unicode NFC.
"""

import html
import re
import unicodedata
from urllib.parse import parse_qs, unquote, urlsplit

from kiltetl.schemas.records import Site
from kiltetl.transforms.sites import ENGLISH, namespace_keys, namespace_names

_SPACES = re.compile("[ _\t\r\n\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_BIDI_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")


def upper_first(text: str) -> str:
    """The text with its first letter in upper case, as MediaWiki does it.

    Letters whose capital is more than one character (``ß``) and Georgian ones keep their form.
    """
    first = text[:1]
    capital = first.upper()
    if len(capital) != 1 or "\u10d0" <= first <= "\u10ff":
        return text
    return capital + text[1:]


def split_namespace(title: str, site: Site = ENGLISH) -> tuple[int, str]:
    """Namespace key and the rest of a title; ``(0, title)`` where no known prefix stands."""
    prefix, colon, rest = title.partition(":")
    key = namespace_keys(site).get(_SPACES.sub(" ", prefix).strip().lower()) if colon else None
    return (0, title) if key is None else (key, rest)


def normal_title(title: str, site: Site = ENGLISH) -> str:
    """The normal form of a title (without fragment); idempotent.

    >>> normal_title("new_york  City")
    'New york City'
    >>> normal_title(":category:birds")
    'Category:Birds'
    """
    if not title.isascii():
        title = unicodedata.normalize("NFC", _BIDI_MARKS.sub("", title))
    title = _SPACES.sub(" ", title).strip(" ").lstrip(": ")
    key, rest = split_namespace(title, site)
    if key:
        rest = rest.strip(" ")
        if rest:
            return f"{namespace_names(site)[key]}:{upper_first(rest) if site.first_letter else rest}"
    return upper_first(title) if site.first_letter else title


def link_target(target: str, site: Site = ENGLISH) -> tuple[str, str | None]:
    """Title in normal form and fragment of a wikilink's target as written.

    Percent-encoding and character references are decoded, as MediaWiki does inside ``[[ ]]``.
    ``("", fragment)`` is a link to the page itself.
    """
    if "%" in target:
        target = unquote(target)
    if "&" in target:
        target = html.unescape(target)
    title, hash_mark, fragment = target.partition("#")
    fragment = _SPACES.sub(" ", fragment).strip(" ")
    return normal_title(title, site), (fragment or None) if hash_mark else None


def title_from_url(url: str, site: Site = ENGLISH) -> tuple[str, str | None]:
    """Title in normal form and fragment of a page's address.

    Understands ``/wiki/TITLE``, ``index.php?title=TITLE``, ``index.php/TITLE``, mobile hosts,
    addresses without scheme or with a doubled slash, HTML-escaped ampersands and slashes inside
    the title. ``ValueError`` if the address names no page.
    """
    text = html.unescape(url.strip())
    address = text if "://" in text[:12] or text.startswith("//") else f"//{text}"
    parts = urlsplit(address)
    query = parse_qs(parts.query).get("title")
    path = re.sub("/{2,}(?=w/|wiki/|index.php)", "/", parts.path)
    found = re.match(r"/(?:wiki|w/index\.php|index\.php)/(.+)", path, re.DOTALL)
    if query:
        title = query[0]
    elif found:
        # what follows a literal question mark is a query, but only a percent-encoded one is a title's own
        title = unquote(found[1])
    else:
        raise ValueError(f"no page is named by the address {url!r}")
    fragment = _SPACES.sub(" ", unquote(parts.fragment)).strip(" ")
    title = normal_title(title, site)
    if not title:
        raise ValueError(f"no page is named by the address {url!r}")
    return title, fragment or None
