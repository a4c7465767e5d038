"""What a person sees: progress, tables, errors and exit statuses."""

import contextlib
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from kiltetl.pipelines.arguments import Argument, Parser, add_common_arguments, split_beam_options
from kiltetl.schemas.errors import DumpError, InputError, RunFailed

USER_ERROR = 2
RUN_FAILED = 1
INTERRUPTED = 130


class Console:
    """Progress and messages on standard error, results on standard output."""

    def __init__(self, quiet: bool = False, color: bool = True) -> None:
        self.quiet = quiet
        self._fancy = color and not quiet and sys.stderr.isatty() and "NO_COLOR" not in os.environ

    def say(self, text: str = "") -> None:
        if not self.quiet:
            print(plain(text), flush=True)

    def warn(self, text: str) -> None:
        print(self._paint("33", f"warning: {plain(text)}"), file=sys.stderr, flush=True)

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._fancy else text

    def progress(self, what: str, total: int = 1) -> "Progress":
        return Progress(what, total, self.quiet, self._fancy)


def plain(text: str) -> str:
    """Text as a terminal may have it: control, escape and direction characters are written out, as ``\\x1b``."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


class Progress:
    """Progress of one stage, in bytes: a bar with the time left on a terminal, a line a tenth elsewhere."""

    def __init__(self, what: str, total: int, quiet: bool, fancy: bool) -> None:
        self._what, self._total, self._quiet, self._fancy = what, max(total, 1), quiet, fancy
        self._done, self._tenths = 0, 0
        self._start = time.monotonic()

    def __enter__(self) -> Callable[[int], None]:
        if not self._quiet and not self._fancy:
            print(f"{self._what} …", file=sys.stderr, flush=True)
        return self.advance

    def __exit__(self, kind: object, *_: object) -> None:
        if self._quiet:
            return
        took = time.monotonic() - self._start
        if self._fancy:
            print("\r\033[K", end="", file=sys.stderr)
        if kind is None:
            print(f"{self._what}: done in {duration(took)}", file=sys.stderr, flush=True)

    def advance(self, amount: int) -> None:
        self._done += amount
        if self._quiet:
            return
        part = min(self._done / self._total, 1.0)
        took = time.monotonic() - self._start
        left = f", {duration(took / part * (1 - part))} left" if part > 0.01 and took > 2 else ""
        if self._fancy:
            width = max(10, min(40, shutil.get_terminal_size().columns - len(self._what) - 40))
            bar = "█" * int(part * width) + "░" * (width - int(part * width))
            print(f"\r\033[K{self._what} {bar} {part:4.0%}{left}", end="", file=sys.stderr, flush=True)
        elif int(part * 10) > self._tenths and took > 5:
            self._tenths = int(part * 10)
            print(f"{self._what}: {part:.0%}{left}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """12 s, 3 min 04 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(count: int) -> str:
    """Bytes in the largest unit that fits: 512 B, 1.4 MB."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text, the first one a heading; columns that hold numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    numeric = [all(row[i][:1].isdigit() or row[i] in ("", "-") for row in rows[1:]) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True)
        )
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def leave(status: int) -> int:
    """Where a command is all that the process does: after Ctrl-C, end it without waiting for threads under way."""
    if status == INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def run_command(command: Callable[[Sequence[str]], int | None], arguments: Sequence[str] | None) -> int:
    """Run a command; errors become one line on standard error and an exit status."""
    # Beam warns on import of clients that are not installed; a command names what it needs itself
    logging.getLogger().setLevel(logging.ERROR)
    for stream in (sys.stdout, sys.stderr):  # a terminal may have no other letters than ASCII's
        with contextlib.suppress(AttributeError, ValueError):  # it may be closed
            cast(Any, stream).reconfigure(errors="backslashreplace")
    try:
        return command(sys.argv[1:] if arguments is None else arguments) or 0
    except InputError as error:
        status, message = USER_ERROR, f"error: {error}"
    except (RunFailed, DumpError) as error:
        status, message = RUN_FAILED, f"failed: {error}"
    except KeyboardInterrupt:
        status, message = INTERRUPTED, "interrupted; finished parts are kept and the same command goes on from them"
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return RUN_FAILED
    except Exception as error:
        if os.environ.get("KILTETL_DEBUG"):
            raise
        status = RUN_FAILED
        message = f"failed: {type(error).__name__}: {error} (KILTETL_DEBUG=1 shows where)"
    said = plain(" ".join(line.strip() for line in message.splitlines()))
    with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error may be closed
        print(f"kiltetl: {said}", file=sys.stderr, flush=True)
    return leave(status) if arguments is None else status


def parsed(parser: Parser, known: Sequence[Argument], arguments: Sequence[str]) -> tuple[dict[str, Any], Console]:
    """The values of a command's arguments by name, with those that all commands share; and its console."""
    own, beam = split_beam_options(arguments)
    for argument in known:
        argument.add_to(parser)
    add_common_arguments(parser)
    found = parser.parse_args(own)
    values = {argument.name: argument.parsed(getattr(found, argument.name), bool(beam)) for argument in known}
    return values | {"dry_run": found.dry_run, "beam": beam}, Console(found.quiet, not found.no_color)
