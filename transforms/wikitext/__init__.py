"""Wikitext to paragraphs: what a reader of the page sees as running text, and the links in it.

``parse_page`` goes through a page in stages, each linear in its length:

1. ``cut.opaque``: comments, references, galleries out; nowiki, pre and math to literal text
2. ``templates.Expansion``: templates rendered from the table of ``renderers``, the others out
3. ``cut.tables``, ``cut.links``: tables, files, categories and links to other languages out
4. ``inline``: switches, quotes and HTML tags out, blocks on lines of their own
5. ``assemble.rows``: lines to rows, links through mwparserfromhell, clean text, offsets last

What is text follows MediaWiki where it says so, and these rules where a choice was to be made:

======================  =====================================================================================
soft line breaks        joined with a space; <br> is a space too
definition, indent      a paragraph each; of ``; term : definition`` both
verse, preformatted     one paragraph a stanza or block
quotations              paragraphs of their own, the author in one that begins with a dash
tables                  left out, or a paragraph a row (option ``tables``)
formulas                their TeX source, or nothing (option ``math``)
code blocks             left out, as <syntaxhighlight>; <code> and <pre> are text
references, galleries   left out, with files, thumbnails and their captions
bold and italics        plain
external links          their label, without anchor; an address without label only where it stands bare
links to other wikis    their text, without anchor; to other languages, without a leading colon, nothing
links to the page       their text, without anchor, be it ``[[#Section]]`` or the page's own title
headings                kept with their links; those of empty sections only where a subsection has text
white space             one space, whatever it was; invisible characters go, but for U+200C and U+200D
openers without end     literal, as on the wiki; a table that is never closed ends at the next heading
unknown templates       nothing, and nothing of what only made sense with them: ``()``, ``( ;``, a space
                        before a comma; text that had no template is never touched so
======================  =====================================================================================

Bounds, counted in ``guards``: a template longer than 20,000 characters or deeper than 30 shows nothing; a
line longer than 8,000 with links that are not plain is read without mwparserfromhell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from kiltetl.schemas.records import ParsedPage, Site
from kiltetl.transforms.wiki.sites import ENGLISH
from kiltetl.transforms.wiki.titles import upper_first
from kiltetl.transforms.wikitext import assemble, cut, inline, renderers
from kiltetl.transforms.wikitext.assemble import remnants
from kiltetl.transforms.wikitext.languages import DISAMBIGUATION_TEMPLATES
from kiltetl.transforms.wikitext.templates import Expansion, normal_name

__all__ = ["Options", "parse_page", "remnants"]


@dataclass(frozen=True, slots=True)
class Options:
    """Where users differ about what is text.

    Attributes:
        tables: "drop" leaves tables out; "cells" makes each row a paragraph, its cells parted by " | ".
        math: "source" shows the TeX source of a formula; "drop" leaves formulas out.
        templates: further templates, name to form (see templates.py); these go before the built-in table.
        disambiguation: names of further templates that mark a disambiguation page.
    """

    tables: Literal["drop", "cells"] = "drop"
    math: Literal["source", "drop"] = "source"
    templates: Mapping[str, str] = field(default_factory=dict, hash=False)
    disambiguation: frozenset[str] = frozenset()


def parse_page(title: str, wikitext: str, site: Site | None = None, options: Options = Options()) -> ParsedPage:
    """The rows, categories and counts of a page.

    Args:
        title: the page's title, in normal form.
        wikitext: its source.
        site: the wiki that it is of, the English Wikipedia where None.
        options: where users differ about what is text.

    >>> page = parse_page("Pear", "A '''pear''' is a [[fruit|sweet fruit]].\\n\\n[[Category:Food]]")
    >>> [(row.kind, row.text) for row in page.paragraphs]
    [('title', 'Pear'), ('paragraph', 'A pear is a sweet fruit.')]
    >>> page.paragraphs[1].anchors[0].wikipedia_title, page.categories
    ('Fruit', ('Food',))
    """
    site = ENGLISH if site is None else site
    find = _finder(tuple(sorted(options.templates.items())))
    categories: list[str] = []
    linker = inline.Linker(title, site)

    text = cut.opaque(cut.scrub(wikitext), assemble.decoded, options.math == "source")
    expansion = Expansion(text, find, renderers.functions(title, site))
    text, unclosed_tables = cut.tables(expansion.text, options.tables == "cells")
    text = cut.links(text, _prefixes(site), categories)
    text, is_disambiguation = inline.without_switches(text)
    text = inline.without_variants(inline.without_quotes(text), site.language)
    text = inline.without_tags(text)
    paragraphs = assemble.rows(title, text, linker)

    return ParsedPage(
        paragraphs=paragraphs,
        categories=_category_names(categories, site),
        is_disambiguation=is_disambiguation or _is_disambiguation(expansion.names, options),
        unknown_templates=dict(expansion.unknown),
        guards=expansion.guards + unclosed_tables + linker.guards,
    )


@lru_cache(maxsize=16)
def _finder(templates: tuple[tuple[str, str], ...]) -> "renderers.Finder":
    return renderers.finder(dict(templates))


@lru_cache(maxsize=64)
def _prefixes(site: Site) -> cut.Prefixes:
    return cut.Prefixes(site)


def _is_disambiguation(names: set[str], options: Options) -> bool:
    if names & DISAMBIGUATION_TEMPLATES:
        return True
    return bool(options.disambiguation) and bool(names & {normal_name(name) for name in options.disambiguation})


def _category_names(written: list[str], site: Site) -> tuple[str, ...]:
    """Names of categories as titles have them, each once, in page order."""
    names = []
    for name in written:
        name = " ".join(assemble.decoded(name).replace("_", " ").translate(_NO_MARKS).split())
        if name:
            names.append(upper_first(name) if site.first_letter else name)
    return tuple(dict.fromkeys(names))


_NO_MARKS = dict.fromkeys(range(1, 8))
