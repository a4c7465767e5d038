"""The XML of a dump to pages.

MediaWiki XML export 0.3 to 0.11 (https://www.mediawiki.org/wiki/Help:Export), from the chunks that
``kiltetl.transforms.wiki.ranges`` gives. Nothing is lost in silence: a document cut off before
``</mediawiki>``, or inside a page, raises DumpError.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat
from xml.sax.saxutils import unescape

from kiltetl.schemas.errors import DamagedDump, DumpError
from kiltetl.schemas.reasons import MALFORMED_PAGE, RECORD_TOO_LARGE
from kiltetl.schemas.records import Namespace, RawPage, Site
from kiltetl.transforms.wiki.ranges import utf8
from kiltetl.transforms.wiki.sites import ENGLISH, REDIRECT_WORDS
from kiltetl.transforms.wiki.titles import link_target, split_namespace

_PAGE = re.compile(rb"<page[\s>]")
_PAGE_END = b"</page>"
_ROOT_END = b"</mediawiki>"
_PROLOG = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_DOCUMENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--|mediawiki)")
_BLANK = b" \t\r\n\0"  # may stand after the end of a document
_SHOWN = 4096  # bytes of a page that is too large, in which its title is looked for
_TAIL = 64  # bytes kept between chunks: more than any tag that is searched for
_LONGEST_HEAD = 16 << 20
_WITH_REDIRECTS = (0, 4)  # version of the export from which on a redirect is an element
_FIRST_LINK = re.compile(r"\[\[([^\[\]|\n]+)")


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the first page. ``version`` is the export schema's, () where unknown."""

    site: Site
    version: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MalformedPage:
    """A ``<page>`` that lacks what makes it one, or has more bytes than are allowed."""

    ordinal: int
    title: str
    detail: str
    reason: str = MALFORMED_PAGE


MAX_PAGE = 64 << 20  # bytes of XML, unless it is said otherwise


@dataclass(frozen=True, slots=True)
class _TooLarge:
    """What stands for a page element that is too large: its first bytes, and how many it has."""

    head: bytes
    size: int


def page_elements(
    chunks: Iterable[tuple[bool, bytes]], rooted: bool, most: int = MAX_PAGE
) -> Iterator[bytes | _TooLarge]:
    """The ``<page>…</page>`` elements that begin in owned bytes, one at a time, as UTF-8.

    Args:
        chunks: as ``range_chunks`` gives them, in UTF-8.
        rooted: whether the document has a ``<mediawiki>`` root, whose end tag must then be there.
        most: bytes that an element may have; of a larger one the first bytes alone are held.

    Raises:
        DumpError: the document ends inside a page or before ``</mediawiki>``, or a page has lost its
            beginning.
    """
    buffer, owned, searched, seen = b"", 0, 0, 0
    count = 0  # elements given
    head = b""
    closed = False  # whether </mediawiki> is the last thing so far, but for blanks
    content = False  # whether there was anything but blanks
    strays = 0  # </page> without <page>: one page may have begun before the range
    large: _TooLarge | None = None  # the page that is being passed over

    def stray(begin: int, end: int) -> int:
        found = strays + buffer.count(_PAGE_END, begin, end)
        if found > (0 if count or _DOCUMENT.match(head) else 1):
            raise DamagedDump("a page ends that did not begin: the file is damaged")
        return found

    for mine, chunk in chunks:
        seen += len(chunk)
        buffer += chunk
        if len(head) < _TAIL:
            head += chunk[:_TAIL]
        blank = not chunk.strip(_BLANK)
        content = content or not blank
        if large is not None:
            stop = buffer.find(_PAGE_END)
            passed = max(0, len(buffer) - len(_PAGE_END) + 1) if stop < 0 else stop + len(_PAGE_END)
            large = _TooLarge(large.head, large.size + passed)
            buffer = buffer[passed:]
            if stop < 0:
                continue
            yield large
            large, strays, closed, count, owned, searched = None, 0, False, count + 1, 0, 0
        if mine:
            owned = len(buffer)
        position = 0
        while (tag := _PAGE.search(buffer, position)) and tag.start() < owned:
            stray(position, tag.start())
            stop = buffer.find(_PAGE_END, max(tag.start(), searched))
            if stop < 0:
                position = tag.start()
                break
            stop += len(_PAGE_END)
            yield buffer[tag.start() : stop] if stop - tag.start() <= most else _large(buffer[tag.start() : stop])
            position, strays, closed, count = stop, 0, False, count + 1
        else:
            if not blank:
                closed = buffer[position:].rstrip(_BLANK).endswith(_ROOT_END)
            if (
                not mine
                and buffer[max(owned, position) :].strip(_BLANK)
                and not any(b"<page".startswith(buffer[i:]) for i in range(max(0, len(buffer) - 5), owned))
            ):
                return
            begin, position = position, max(position, len(buffer) - _TAIL)
            end = position + len(_PAGE_END) - 1
            strays = stray(begin, min(end, tag.start()) if tag else end)
        # what is left: a page still open, or the last bytes in case a tag runs on; searched once
        buffer = buffer[position:]
        owned = max(0, owned - position)
        searched = max(0, len(buffer) - len(_PAGE_END) + 1)
        if len(buffer) > most and _PAGE.match(buffer) and owned:
            kept = len(_PAGE_END) - 1  # its end tag may have begun
            large = _large(buffer[:-kept])
            buffer, owned, searched = buffer[-kept:], 0, 0
    if large is not None or _PAGE.match(buffer):
        raise DamagedDump("the file ends inside a page: it is cut off")
    stray(0, len(buffer))
    tail = buffer.strip(_BLANK)
    if not rooted:
        if count and tail not in (b"", _ROOT_END):
            raise DamagedDump("the file ends after something that is no page: it is cut off or damaged")
        return
    # a range may hold nothing but blanks after the end tag, or its last bytes: the range before it sees to the rest
    remainder = not content or (seen < _TAIL and _ROOT_END.endswith(tail))
    if not closed and seen and (count or not remainder):
        raise DamagedDump("the file ends before </mediawiki>: it is cut off")


def _large(element: bytes) -> _TooLarge:
    return _TooLarge(element[:_SHOWN], len(element))


def read_header(chunks: Iterable[tuple[bool, bytes]]) -> tuple[Header, bool]:
    """Header of a dump, and whether it has a ``<mediawiki>`` root.

    Without ``<siteinfo>`` the English Wikipedia is assumed. DumpError if the file is no dump.
    """
    head = b""
    for _, chunk in chunks:
        head += chunk
        if _PAGE.search(head) or _ROOT_END in head or len(head) > _LONGEST_HEAD:
            break
    if not head.strip(_BLANK):
        raise DamagedDump("the file is empty")
    prolog = _PROLOG.match(head)
    document = head[prolog.end() :] if prolog else head
    rooted = re.match(rb"<mediawiki[\s>]", document) is not None
    if not rooted and not _PAGE.match(document):
        if document.startswith(b"<!"):
            raise DumpError("the file declares a document type; dumps have none, and entities are not expanded")
        shown = document[:60].decode("utf-8", "replace")
        raise DumpError(f"not a MediaWiki XML export: it begins with {shown!r}, expected <mediawiki …>")
    if not rooted:
        return Header(ENGLISH), False
    if not _PAGE.search(document) and _ROOT_END not in document:
        raise DamagedDump("neither a page nor </mediawiki> in the head of the file: it is cut off, or no dump")
    root = document[: document.find(b">") + 1].decode("utf-8", "replace")
    version = re.search(r"\bversion=[\"']([\d.]+)[\"']", root)
    language = re.search(r"\bxml:lang=[\"']([^\"']+)[\"']", root)
    info = re.search(rb"<siteinfo>.*?</siteinfo>", document, re.DOTALL)
    site = _site(info[0], language[1] if language else "en") if info else ENGLISH
    return Header(site, tuple(int(part) for part in version[1].split(".") if part) if version else ()), True


def _site(siteinfo: bytes, language: str) -> Site:
    names: dict[int, list[str]] = {}
    first_letter: dict[int, bool] = {}
    values = {"sitename": "", "dbname": "", "base": "", "case": "first-letter"}
    text: list[str] = []
    attributes: dict[str, str] = {}

    def start(_: str, found: dict[str, str]) -> None:
        text.clear()
        attributes.clear()
        attributes.update(found)

    def end(name: str) -> None:
        if name in values:
            values[name] = "".join(text).strip()
        elif name in ("namespace", "namespacealias") and attributes.get("key", "").lstrip("-").isdigit():
            key = int(attributes["key"])
            names.setdefault(key, []).append("".join(text).strip())
            if name == "namespace":
                first_letter[key] = attributes.get("case", values["case"]) != "case-sensitive"

    parser = _parser()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text.append
    try:
        parser.Parse(siteinfo, True)
    except expat.ExpatError as error:
        raise DamagedDump(f"the <siteinfo> of the dump is damaged: {error}") from None
    return Site(
        language=language,
        dbname=values["dbname"],
        name=values["sitename"],
        base=values["base"],
        first_letter=values["case"] != "case-sensitive",
        namespaces=tuple(
            Namespace(key, tuple(dict.fromkeys(found)), first_letter.get(key, True)) for key, found in names.items()
        ),
    )


def _parser() -> expat.XMLParserType:
    """An expat parser that takes no document type, hence no entity of its own making."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 1 << 16

    def refuse(*_: object) -> None:
        raise DumpError("the file declares a document type; dumps have none, and entities are not expanded")

    parser.StartDoctypeDeclHandler = refuse
    return parser


def _title(text: str) -> str:
    return " ".join(text.replace("_", " ").split())


def _number(name: str, text: str) -> int:
    number = int(text)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{name} {number} is larger than any of a wiki's")
    return number


def read_page(element: bytes, ordinal: int, header: Header) -> RawPage | MalformedPage:
    """One ``<page>`` element with its newest revision (the highest id, then the last).

    Elements are told apart by their parents, by local name. A fragment can declare no document type,
    so no entity but XML's own five is expanded.
    """
    title = ""
    try:
        page = ElementTree.fromstring(element)
        values, best, redirect = {}, None, None
        for child in page:
            name = child.tag.rpartition("}")[2]
            if name == "revision":
                revision = {part.tag.rpartition("}")[2]: part for part in child}
                number = _number("revision id", _value(revision.get("id")).strip() or "0")
                if best is None or number >= best[0]:
                    best = number, revision
            elif name == "redirect":
                redirect = child
            else:
                values[name] = child
        title, page_id = _title(_value(values.get("title"))), _value(values.get("id")).strip()
        if not title or not page_id.isdecimal():
            return MalformedPage(ordinal, title, "no <title>" if not title else "no <id> of the page")
        if best is None:
            return MalformedPage(ordinal, title, "no <revision>")
        revision_id, revision = best
        text = _value(revision.get("text"))
        if not text and "text" in revision and _is_stub(revision["text"]):
            missing = revision["text"].get("bytes")
            return MalformedPage(ordinal, title, f"its {missing} bytes of text are missing: a stub dump?")
        parent = _value(revision.get("parentid")).strip()
        namespace = _value(values.get("ns")).strip()
        return RawPage(
            ordinal=ordinal,
            page_id=_number("page id", page_id),
            title=title,
            namespace=_number("namespace", namespace) if namespace else split_namespace(title, header.site)[0],
            redirect=_redirect(redirect, text, header),
            revision_id=revision_id,
            parent_id=_number("parent id", parent) if parent else None,
            timestamp=_value(revision.get("timestamp")).strip(),
            model=_value(revision.get("model")).strip() or "wikitext",
            text=text,
        )
    except (ElementTree.ParseError, ValueError) as error:
        return MalformedPage(ordinal, title or _title_in(element), f"the page's XML: {error}")


def _title_in(element: bytes) -> str:
    """The title of a page whose XML is not read, "" where none is found."""
    found = re.search(rb"<title>([^<]*)</title>", element)
    return _title(unescape(found[1].decode("utf-8", "replace"))) if found else ""


def _value(element: Element | None) -> str:
    """Text of an element. Raw elements inside it, as third-party dumps have them, are kept as markup."""
    if element is None:
        return ""
    if not len(element):
        return element.text or ""
    pieces = [element.text or ""]
    left: list[Element | str] = list(reversed(element))
    while left:  # not by recursion: markup may be nested thousands deep
        one = left.pop()
        if isinstance(one, str):
            pieces.append(one)
            continue
        name = one.tag.rpartition("}")[2]
        head = name + "".join(f' {key}="{escape(value)}"' for key, value in one.items())
        if len(one) or one.text:
            pieces.append(f"<{head}>{one.text or ''}")
            left += [f"</{name}>{one.tail or ''}", *reversed(one)]
        else:
            pieces.append(f"<{head} />{one.tail or ''}")
    return "".join(pieces)


def _is_stub(text: Element) -> bool:
    return "deleted" not in text.attrib and bool(text.get("bytes", "").strip("0"))


def _redirect(element: Element | None, text: str, header: Header) -> str | None:
    """Target of a redirect, "" where it cannot be found; None for an article.

    Exports before 0.5 lack the title, those before 0.4 the element.
    """
    title = None if element is None else element.get("title")
    if title:
        return title
    if element is not None or (header.version and header.version < _WITH_REDIRECTS):
        words = re.match(r"\s*(#[^\s\[:]+)\s*:?\s*\[\[([^\[\]|\n]+)", text)
        if words and (element is not None or words[1].lower().replace("i\u0307", "i") in REDIRECT_WORDS):
            return link_target(words[2], header.site)[0]
        if element is not None:
            link = _FIRST_LINK.search(text)
            return link_target(link[1], header.site)[0] if link else ""
    return None


def redirect_fragment(text: str, header: Header) -> str | None:
    """The section that a redirect's wikitext names, None where it names none."""
    found = _FIRST_LINK.search(text)
    return link_target(found[1], header.site)[1] if found else None


# A page of one revision in the layout of today's dumps, up to its text and from there on
_VALUE = r"[^<>\x00-\x08\x0b-\x1f]"
_GAP = r"[ \t\n]*"
_BEFORE_TEXT = re.compile(
    rf"""
    <page>{_GAP}
    <title>({_VALUE}+)</title>{_GAP}
    <ns>(-?[0-9]{{1,9}})</ns>{_GAP}
    <id>([0-9]{{1,18}})</id>{_GAP}
    (?:<redirect[ ]title="([^"<>\x00-\x1f]+)"[ ]/>{_GAP})?
    (?:<restrictions>{_VALUE}*</restrictions>{_GAP})?
    <revision>{_GAP}
    <id>([0-9]{{1,18}})</id>{_GAP}
    (?:<parentid>([0-9]{{1,18}})</parentid>{_GAP})?
    <timestamp>([0-9TZ:-]+)</timestamp>{_GAP}
    <contributor(?:[ ]deleted="deleted"[ ]/>|>{_GAP}
        (?:<username>{_VALUE}*</username>{_GAP}<id>[0-9]*</id>|<ip>{_VALUE}*</ip>){_GAP}
    </contributor>){_GAP}
    (?:<minor[ ]/>{_GAP})?
    (?:<comment(?:[ ]deleted="deleted"[ ]/>|>{_VALUE}*</comment>){_GAP})?
    (?:<origin>[0-9]*</origin>{_GAP})?
    <model>([A-Za-z0-9._-]+)</model>{_GAP}
    <format>[A-Za-z0-9/._+-]*</format>{_GAP}
    <text(?:(?:[ ]bytes="[0-9]*")?(?:[ ]sha1="[a-z0-9]*")?(?:[ ]xml:space="preserve")?
        |[ ]xml:space="preserve"[ ]bytes="[0-9]*")>
    """,
    re.VERBOSE,
)
_AFTER_TEXT = re.compile(rf"</text>{_GAP}(?:<sha1>[a-z0-9]*</sha1>{_GAP})?</revision>{_GAP}</page>".encode())
_AT_ONCE = (1 << 20) - 64  # bytes of text, less than pyexpat gives to expat in one piece
_TEXT = b"<text"
_TEXT_END = b"</text>"
_OTHER_REFERENCE = re.compile("&(?!(?:lt|gt|amp|quot|#0?39);)")
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
_QUOTES = {"&quot;": '"', "&#39;": "'", "&#039;": "'"}


class RegularPages:
    """Reads pages in MediaWiki's own layout at twice the speed of ``read_page``, and leaves all others to it.

    One regular expression takes what is before the text; the text goes through expat, which sees to
    references, encoding and forbidden characters.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._restart()

    def _restart(self) -> None:
        self._parser = _parser()
        self._parser.CharacterDataHandler = self._text.append
        self._parser.Parse(b"<page>")
        self._text.clear()

    def read(self, element: bytes, ordinal: int) -> RawPage | None:
        """The page, None where ``read_page`` has to tell what it is."""
        start, end = element.find(b">", element.find(_TEXT)) + 1, element.rfind(_TEXT_END)
        # of pieces expat 2.6 and later may leave the last one for the next call, with the next page's text
        if not 0 < end - start < _AT_ONCE:
            return None
        if element.find(b"<", start, end) >= 0 or not _AFTER_TEXT.fullmatch(element, end):
            return None
        try:
            before = element[:start].decode()
            found = _BEFORE_TEXT.fullmatch(before)
            if not found or _OTHER_REFERENCE.search(before) or (not before.isascii() and _NO_CHARACTERS.search(before)):
                return None
            self._parser.Parse(b"".join((b"<text>", element[start:end], b"</text>")))
        except (UnicodeDecodeError, expat.ExpatError):
            self._restart()
            return None
        text = "".join(self._text)
        self._text.clear()
        title, namespace, page_id, redirect, revision_id, parent, timestamp, model = found.groups()
        title = _title(unescape(title, _QUOTES))
        if not title:
            return None
        return RawPage(
            ordinal=ordinal,
            page_id=int(page_id),
            title=title,
            namespace=int(namespace),
            redirect=redirect and unescape(redirect, _QUOTES),
            revision_id=int(revision_id),
            parent_id=int(parent) if parent else None,
            timestamp=timestamp,
            model=model,
            text=text,
        )


def pages(
    chunks: Iterable[tuple[bool, bytes]], header: Header, rooted: bool, most: int = MAX_PAGE
) -> Iterator[RawPage | MalformedPage]:
    """The pages that begin in owned bytes, numbered from 0 in input order."""
    regular = RegularPages() if header.version >= _WITH_REDIRECTS else None
    for ordinal, element in enumerate(page_elements(utf8(chunks), rooted, most)):
        if isinstance(element, _TooLarge):
            detail = f"{element.size:,} bytes of XML, and --max-record-mb allows {most:,}"
            yield MalformedPage(ordinal, _title_in(element.head), detail, RECORD_TOO_LARGE)
            continue
        yield (regular and regular.read(element, ordinal)) or read_page(element, ordinal, header)
