"""Arguments that commands share, and their types."""

import argparse
import datetime
import difflib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import absolute


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations; what follows a bare ``--`` is Beam's and left alone."""

    def __init__(self, description: str, epilog: str = "", prog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As argparse, but an option that is not known is named before one that is missing, as one may be the other."""
        required = [action for action in self._actions if action.required]
        for action in required:
            action.required = False
        try:
            _, unknown = self.parse_known_args(args)
        finally:
            for action in required:
                action.required = True
        if unknown:
            known = [name for name in self._option_string_actions if name.startswith("--")]
            near = {
                name: close[0]
                for name in (one.partition("=")[0] for one in unknown if one.startswith("-"))
                if (close := difflib.get_close_matches(name, known, 1))
            }
            meant = ", ".join(f"{name}: {close}?" for name, close in near.items())
            self.error(f"unrecognized arguments: {' '.join(unknown)}{f' ({meant})' if meant else ''}")
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


@dataclass(frozen=True)
class Argument:
    """One argument of a command, which is also a key of its table in a configuration.

    Attributes:
        flag: ``--part-mb``; the key has ``_`` for ``-`` and is without the dashes.
        help: a line of help.
        kind: ``text``, ``path``, ``paths`` (one or more), ``number``, ``flag``, and ``named paths`` and ``named
            numbers`` (NAME=VALUE, any number of them).
        metavar: what the help calls the value.
        type: makes the value of a text; an argparse type.
        key: the key, where the flag does not say it.
    """

    flag: str
    help: str
    kind: Literal["text", "path", "paths", "number", "flag", "named paths", "named numbers"] = "text"
    metavar: str | None = None
    type: Callable[[str], Any] = str
    choices: tuple[str, ...] | None = None
    default: Any = None
    required: bool = False
    key: str = ""

    @property
    def name(self) -> str:
        return self.key or self.flag.removeprefix("--").replace("-", "_")

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        if self.kind == "flag":
            parser.add_argument(self.flag, dest=self.name, action="store_true", help=self.help)
            return
        shared: dict[str, Any] = {"dest": self.name, "metavar": self.metavar, "help": self.help}
        if self.kind.startswith("named"):
            parser.add_argument(self.flag, action="append", default=[], type=self._pair, **shared)
        elif self.kind == "paths":
            parser.add_argument(self.flag, nargs="+", default=(), required=self.required, **shared)
        else:
            given = {"type": self.type, "choices": self.choices, "default": self.default, "required": self.required}
            parser.add_argument(self.flag, **shared, **given)

    def _pair(self, text: str) -> tuple[str, str]:
        name, sign, value = text.partition("=")
        if not sign or not value:
            raise InputError(f"{self.flag} {text}: give {self.metavar}")
        return name, value

    def parsed(self, value: Any, elsewhere: bool = False) -> Any:
        """A value as the parser gives it, for the settings. InputError for a name that is given twice.

        Paths are made absolute where workers may be ``elsewhere``: in another working folder.
        """
        if self.kind.startswith("named"):
            twice = next((name for name, count in Counter(name for name, _ in value).items() if count > 1), None)
            if twice is not None:
                raise InputError(f"{self.flag} {twice}: given more than once")
        if elsewhere and value:
            here = Path.cwd()
            if self.kind == "path":
                value = absolute(value, here)
            elif self.kind == "paths":
                value = [absolute(one, here) for one in value]
            elif self.kind == "named paths":
                value = [(name, absolute(one, here)) for name, one in value]
        return tuple(value) if isinstance(value, list) else value

    def configured(self, value: Any, folder: Path) -> Any:
        """A value of a configuration file in a folder, for the settings. InputError for one of another kind."""
        name = self.name
        if self.kind == "flag":
            if not isinstance(value, bool):
                raise InputError(f"{name} takes true or false, not {value!r}")
            return value
        if self.kind == "paths":
            values = value if isinstance(value, list) else [value]
            if not all(isinstance(one, str) and one for one in values):
                raise InputError(f'{name} takes paths in a list, such as ["a.jsonl"], not {value!r}')
            return tuple(absolute(one, folder) for one in values)
        if self.kind == "named paths":
            if not isinstance(value, dict):
                raise InputError(f'{name} takes names and paths, such as {{ relations = "r.txt" }}, not {value!r}')
            return tuple((one, absolute(text_of(f"{name}, {one}", path), folder)) for one, path in value.items())
        if self.kind == "named numbers":
            if not isinstance(value, dict):
                raise InputError(f"{name} takes names and numbers, such as {{ min-facts = 500 }}, not {value!r}")
            return tuple((one, number_of(f"{name}, {one}", number)) for one, number in value.items())
        text = number_of(name, value) if self.kind == "number" else text_of(name, value)
        if self.choices is not None and text not in self.choices:
            raise InputError(
                f"argument {self.flag}: invalid choice: {text!r} (choose from {', '.join(map(repr, self.choices))})"
            )
        try:
            return absolute(text, folder) if self.kind == "path" else self.type(text)
        except argparse.ArgumentTypeError as error:
            raise InputError(f"argument {self.flag}: {error}") from None


def text_of(key: str, value: Any) -> str:
    """The text of a key; a date is one, as it is written."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, str) and value and "\0" not in value:
        return value
    raise InputError(f"{key} takes text, not {value!r}")


def number_of(key: str, value: Any) -> str:
    """The number of a key, as a command line has it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{key} takes a number, not {value!r}")


def split_beam_options(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Arguments of the command, and those after a bare ``--``."""
    arguments = list(arguments)
    if "--" in arguments:
        cut = arguments.index("--")
        return arguments[:cut], tuple(arguments[cut + 1 :])
    return arguments, ()


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--no-color", action="store_true", help="no colour, no bar")
    parser.add_argument("--dry-run", action="store_true", help="say what would be read, written and needed, and stop")


def positive(text: str) -> int:
    """An argparse type: a whole number of 1 or more."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return value


def share(text: str) -> float:
    """An argparse type: a share between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share between 0 and 1 (0.001 = 0.1 %)")
    return value


def date(text: str) -> str:
    """An argparse type: a day, as YYYY-MM-DD."""
    try:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            raise ValueError
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date of the form YYYY-MM-DD") from None
