"""Templates: found as balanced braces, rendered from a table of forms.

A *form* says what a template shows, in wikitext:

``{1}``           first argument; ``{lt|2|1}`` the first of these that is not empty
``<… {2} …>``     a part that vanishes where an argument in it is empty
``¶``             a paragraph of its own begins
``@name``         as the template of that name
anything else     itself; an empty form shows nothing

So ``fl. {1}<–{2}>`` is the form of {{floruit}}. Where a form has arguments outside of such parts and the
template gives none at all, it shows nothing. ``Options.templates`` maps names (as on the wiki, in any case) to
forms and goes before the table of renderers.py; a file of such a mapping is JSON or TOML, name = form.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from kiltetl.transforms.wikitext.marks import HOLE

_BRACES = re.compile(r"\{\{+|\}\}+")
_LONGEST_TEMPLATE: Final = 20_000  # characters; what is longer is a box, not a part of a sentence
_DEEPEST: Final = 30  # templates within templates that are rendered


class Arguments(dict[str, str]):
    """Arguments of a template by name; positional ones under "1", "2", …"""

    def first(self, *names: str) -> str:
        """The first of these arguments that is not empty, without white space around it; else ""."""
        for name in names:
            value = self.get(name)
            if value and not value.isspace():
                return value.strip().strip(HOLE)
        return ""

    def positional(self, start: int = 1) -> list[str]:
        """Positional arguments from number ``start``, stripped, up to the first that is missing."""
        values = []
        while (value := self.get(str(start))) is not None:
            values.append(value.strip())
            start += 1
        return values

    def says(self, name: str) -> bool:
        """Whether an option is switched on."""
        return self.first(name).lower() in ("y", "yes", "on", "1", "true")


Renderer = Callable[[Arguments], str]


# --------------------------------------------------------------------------------------------
# Forms

_FORM_PIECE = re.compile(r"\{([^{}]+)\}|<|>|[^{}<>]+|.", re.DOTALL)


# a form taken apart: texts, the names of an argument, and optional parts
_Form: TypeAlias = "list[str | tuple[str, ...] | _Form]"


def compiled(form: str) -> Renderer:
    """The renderer of a form. ``ValueError`` says what is wrong with it.

    >>> compiled("c. {1}< – c. {2}>")(Arguments({"1": "1900"}))
    'c. 1900'
    """
    if not form.strip():
        return NOTHING
    parts = _taken_apart(form.replace("¶", "\n\n"))
    needs_argument = any(isinstance(part, tuple) for part in parts)

    def render(arguments: Arguments) -> str:
        shown, _, any_filled = _filled(parts, arguments)
        return shown if any_filled or not needs_argument else ""

    return render


def _taken_apart(form: str) -> _Form:
    stack: list[_Form] = [[]]
    for found in _FORM_PIECE.finditer(form):
        piece = found[0]
        if found[1]:
            stack[-1].append(tuple(name.strip() for name in found[1].split("|")))
        elif piece == "<":
            stack.append([])
        elif piece == ">" and len(stack) > 1:
            optional = stack.pop()
            stack[-1].append(optional)
        elif piece in "<>{}":
            raise ValueError(f"{piece!r} without its partner in the form {form!r}")
        else:
            stack[-1].append(piece)
    if len(stack) > 1:
        raise ValueError(f"'<' without its partner in the form {form!r}")
    return stack[0]


def _filled(parts: _Form, arguments: Arguments) -> tuple[str, bool, bool]:
    """What the parts show; whether all arguments in them have a value, and whether any has."""
    shown = ""
    all_filled, any_filled = True, False
    for part in parts:
        if isinstance(part, str):
            shown += part
        elif isinstance(part, tuple):
            value = arguments.first(*part)
            shown += value
            all_filled = all_filled and bool(value)
            any_filled = any_filled or bool(value)
        else:
            inner, inner_all, inner_any = _filled(part, arguments)
            if inner_all:
                shown += inner
                any_filled = any_filled or inner_any
    return shown, all_filled, any_filled


def compiled_table(forms: Mapping[str, str], known: Mapping[str, Renderer] | None = None) -> dict[str, Renderer]:
    """Renderers for a table of forms; ``@name`` is looked up in the table itself, then in ``known``."""
    table = {normal_name(name): form for name, form in forms.items()}
    renderers: dict[str, Renderer] = {}
    for name, form in table.items():
        if not form.startswith("@"):
            try:
                renderers[name] = compiled(form)
            except ValueError as error:
                raise ValueError(f"template {name!r}: {error}") from None
    for name, form in table.items():
        if form.startswith("@"):
            target = normal_name(form[1:])
            renderer = renderers.get(target) or (known or {}).get(target)
            if renderer is None:
                raise ValueError(f"template {name!r} is to be as {target!r}, which has no form")
            renderers[name] = renderer
    return renderers


_NAMESPACE = re.compile(r"(?:template|t|msg|subst|safesubst|vorlage|modèle|шаблон|قالب|模板)\s*:\s*", re.IGNORECASE)


@lru_cache(maxsize=10_000)
def normal_name(name: str) -> str:
    """A template's name in the form of the tables: lower case, single spaces, no namespace."""
    name = " ".join(name.replace("_", " ").split()).lower()
    if ":" in name:
        name = _NAMESPACE.sub("", name, count=1) if _NAMESPACE.match(name) else name
    return name


# --------------------------------------------------------------------------------------------
# Braces


def matched_braces(text: str) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Start, end and width (2 or 3) of every pair of braces; start and length of the openers never closed.

    Runs of braces pair as in MediaWiki's preprocessor: three with three (an argument) before two with
    two (a template), from the inside.
    """
    pairs: list[tuple[int, int, int]] = []
    stack: list[list[int]] = []  # start of a run, braces of it that are still open
    for run in _BRACES.finditer(text):
        start, end = run.span()
        if text[start] == "{":
            stack.append([start, end - start])
            continue
        while end - start >= 2 and stack:
            top = stack[-1]
            width = 3 if end - start >= 3 and top[1] >= 3 else 2
            top[1] -= width
            pairs.append((top[0] + top[1], start + width, width))
            start += width
            if top[1] < 2:
                stack.pop()
    pairs.sort()
    return pairs, [(start, count) for start, count in stack]


def split_arguments(body: str) -> list[str]:
    """The parts of a template between its bars; bars inside links do not count."""
    if "[[" not in body:
        return body.split("|")
    parts: list[str] = []
    depth = start = 0
    for found in re.finditer(r"\[\[|\]\]|\|", body):
        token = found[0]
        if token == "[[":
            depth += 1
        elif token == "]]":
            depth = max(0, depth - 1)
        elif not depth:
            parts.append(body[start : found.start()])
            start = found.end()
    parts.append(body[start:])
    return parts


def arguments_of(parts: Iterable[str]) -> Arguments:
    """Named and numbered arguments; a name's value is stripped, a numbered one is not."""
    arguments = Arguments()
    number = 0
    for part in parts:
        name, equals, value = part.partition("=")
        if equals and "[" not in name and "<" not in name:
            arguments[name.strip()] = value.strip()
        else:
            number += 1
            arguments[str(number)] = part
    return arguments


class Expansion:
    """One page's templates, rendered. ``text`` is the result; the rest is what was seen on the way.

    ``find`` gives the renderer of a name, None where it is unknown; ``functions`` those of parser
    functions and variables, whose arguments are "1", "2", … whatever they hold.
    """

    def __init__(
        self,
        source: str,
        find: Callable[[str], Renderer | None],
        functions: Mapping[str, Renderer],
        depth: int = _DEEPEST,
    ) -> None:
        self.unknown: Counter[str] = Counter()
        self.names: set[str] = set()  # of templates that stand in no other one
        self.guards = 0
        self._find = find
        self._functions = functions
        self._deepest = depth
        self._depth = 0
        self._next = 0
        pairs, unclosed = matched_braces(source)
        if unclosed:
            source = _literal_openers(source, unclosed)
            pairs, _ = matched_braces(source)
        self._source = source
        self._pairs = pairs
        self.text = self._expanded(0, len(source)) if pairs else source

    def _expanded(self, start: int, end: int) -> str:
        """The source between two places, its templates rendered."""
        source, pairs = self._source, self._pairs
        out: list[str] = []
        while self._next < len(pairs) and pairs[self._next][0] < end:
            pair_start, pair_end, width = pairs[self._next]
            self._next += 1
            out.append(source[start:pair_start])
            out.append((self._template if width == 2 else self._parameter)(pair_start, pair_end))
            start = pair_end
        if not out:
            return source[start:end]
        out.append(source[start:end])
        return "".join(out)

    def _skipped(self, end: int) -> str:
        """Goes past what stands in a template that shows nothing."""
        pairs = self._pairs
        while self._next < len(pairs) and pairs[self._next][0] < end:
            self._next += 1
        return HOLE

    def _parameter(self, start: int, end: int) -> str:
        """``{{{name|default}}}`` on a page itself: its default, or as it stands."""
        inside = self._inside(start + 3, end - 3)
        if inside is None:
            return self._skipped(end)
        name, bar, default = inside.partition("|")
        return default if bar else f"&#123;&#123;&#123;{name}&#125;&#125;&#125;"

    def _inside(self, start: int, end: int) -> str | None:
        """What stands between braces, expanded; None beyond the bounds on size and nesting."""
        if end - start > _LONGEST_TEMPLATE or self._depth >= self._deepest:
            self.guards += 1
            return None
        self._depth += 1
        inside = self._expanded(start, end)
        self._depth -= 1
        return inside

    def _template(self, start: int, end: int) -> str:
        source = self._source
        name_end = _NAME_END.search(source, start + 2, end - 2)
        raw_name = source[start + 2 : name_end.start() if name_end else end - 2]
        name = normal_name(raw_name) if len(raw_name) < 300 else ""
        if self._depth == 0:
            self.names.add(name)
        renderer = self._find(name)
        if renderer is None:
            function, colon, _ = name.partition(":")
            renderer = self._functions.get(function if not colon else function + ":")
            if renderer is not None:
                return self._function(renderer, start, end, bool(colon))
            if name:
                self.unknown[name[:80]] += 1
            return self._skipped(end)
        if renderer is NOTHING:
            return self._skipped(end)
        inside = self._inside(start + 2, end - 2)
        if inside is None:
            return self._skipped(end)
        shown = renderer(arguments_of(split_arguments(inside)[1:]))
        return self._as_argument(shown) if shown else HOLE

    def _function(self, renderer: Renderer, start: int, end: int, has_colon: bool) -> str:
        inside = self._inside(start + 2, end - 2)
        if inside is None:
            return self._skipped(end)
        arguments = Arguments()
        if has_colon:
            parts = split_arguments(inside.partition(":")[2])
            arguments.update((str(number), part) for number, part in enumerate(parts, 1))
        return self._as_argument(renderer(arguments)) or HOLE

    def _as_argument(self, shown: str) -> str:
        """Within another template, an equals sign that a template shows is no sign of a name."""
        return shown.replace("=", "&#61;") if self._depth and "=" in shown else shown


_NAME_END = re.compile(r"[|{}]")


def NOTHING(arguments: Arguments) -> str:  # noqa: N802 - compared by identity, like a constant
    """The renderer of what is known to be no running text; its inside is not even looked at."""
    return ""


def _literal_openers(source: str, openers: Iterable[tuple[int, int]]) -> str:
    """The source with these runs of opening braces (start and length) written as references."""
    out: list[str] = []
    position = 0
    for start, count in openers:
        out.append(source[position:start])
        out.append("&#123;" * count)
        position = start + count
    out.append(source[position:])
    return "".join(out)
