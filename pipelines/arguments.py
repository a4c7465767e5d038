"""Arguments that commands share, and their types."""

import argparse
import datetime
import difflib
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from kiltetl.schemas.errors import InputError


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
