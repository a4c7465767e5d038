"""Titles: their normal form, the title inside a link or an address.

Source: MediaWiki's title rules (https://www.mediawiki.org/wiki/Manual:Page_title): underscores are
spaces, runs of white space one space, the first letter upper case unless the wiki says otherwise,
a namespace prefix in any case, text in Unicode NFC.
"""

import html
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from kiltetl.schemas.records import Site
from kiltetl.transforms.wiki.sites import ENGLISH, namespace_keys, namespace_names

_SPACES = re.compile("[ _\t\r\n\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_BIDI_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]*);")
# paths that hold a title: /wiki/, the script's own, and those of language variants (/zh-hans/, /sr-ec/)
_TITLE_PATH = re.compile(r"/+(?:wiki|w/+index\.php|index\.php|[a-z]{2,3}-[a-z]{2,4})/(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Rules:
    """What titles of a site obey: namespace names to keys and back, and which begin with a capital."""

    site: Site
    keys: dict[str, int]
    names: dict[int, str]
    capitals: dict[int, bool]


_known: dict[int, _Rules] = {}  # by the id of the site: to hash one takes longer than all the rest


def _rules(site: Site) -> _Rules:
    found = _known.get(id(site))
    if found is None or found.site is not site:
        if len(_known) >= 64:
            _known.clear()
        capitals = {space.key: space.first_letter for space in site.namespaces}
        found = _known[id(site)] = _Rules(site, namespace_keys(site), namespace_names(site), capitals)
    return found


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
    key = _rules(site).keys.get(_SPACES.sub(" ", prefix).strip().lower()) if colon else None
    return (0, title) if key is None else (key, rest)


def _capitalized(text: str, key: int, site: Site) -> str:
    """The text with a capital first letter, if its namespace demands it."""
    if text[:1].isupper() or not _rules(site).capitals.get(key, site.first_letter):
        return text
    text = upper_first(text)
    # the capital of a dotless i, for one, joins a dot above that the small letter does not
    return text if text.isascii() else unicodedata.normalize("NFC", text)


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
            return f"{_rules(site).names[key]}:{_capitalized(rest, key, site)}"
    return _capitalized(title, 0, site)


def _unescaped(text: str) -> str:
    """Character references decoded; unlike in HTML, only those that end in a semicolon (``&section=`` is none)."""
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


def _fragment(text: str) -> str | None:
    return _SPACES.sub(" ", text).strip(" ") or None


def link_target(target: str, site: Site = ENGLISH) -> tuple[str, str | None]:
    """Title in normal form and fragment of a wikilink's target as written.

    Percent-encoding and character references are decoded, as MediaWiki does inside ``[[ ]]``.
    ``("", fragment)`` is a link to the page itself.
    """
    if "%" in target:
        target = unquote(target)
    title, hash_mark, fragment = _unescaped(target).partition("#")
    return normal_title(title, site), _fragment(fragment) if hash_mark else None


def _decoded(text: str) -> str:
    """Percent-encoding decoded: UTF-8, else the Windows-1252 of old addresses, as MediaWiki reads them."""
    data = unquote_to_bytes(text)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def title_from_url(url: str, site: Site = ENGLISH) -> tuple[str, str | None]:
    """Title in normal form and fragment of a page's address.

    Understands ``/wiki/TITLE``, ``index.php?title=TITLE``, ``index.php/TITLE``, mobile hosts,
    addresses without scheme or with a doubled slash, HTML-escaped ampersands and slashes inside
    the title. What follows a literal question mark is a query; a percent-encoded one is the title's
    own. ``ValueError`` if the address names no page.
    """
    text = _unescaped(url.strip())
    address = text if "://" in text[:12] or text.startswith("//") else f"//{text}"
    parts = urlsplit(address)
    fields = [field.partition("=") for field in parts.query.split("&")]
    query = {name: value for name, _, value in reversed(fields)}  # of two fields of a name, the first
    path = _TITLE_PATH.match(parts.path)
    if path and not (path[1] == "index.html" and "curid" in query):
        title = _decoded(path[1])
    else:
        title = _decoded(query.get("title", "").replace("+", " "))
    title, _, encoded_fragment = title.partition("#")  # %23: no title holds one
    title = normal_title(title, site)
    if not title:
        raise ValueError(f"no page is named by the address {url!r}")
    return title, _fragment(_decoded(parts.fragment or encoded_fragment))
