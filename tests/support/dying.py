"""Machines that die at a chosen step of the protocol by which jobs leave their work."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kiltetl.transforms.jobs import staging


class DiedError(Exception):
    """The machine died."""


def die_at(monkeypatch: pytest.MonkeyPatch, step: int) -> list[str]:
    """Make a step the last thing that the protocol does to the disk; what was done until then, by kind or name."""
    done: list[str] = []

    def act(name: str, real: Callable[..., Any], *given: Any) -> Any:
        if len(done) == step:
            raise DiedError("the machine died")
        done.append(Path(given[0]).name if name == "write_json" else name)
        return real(*given)

    def act_on_each(name: str, real: Callable[..., Any], items: Any) -> None:
        for item in items:
            act(name, real, [item])

    for name in ("write_json", "make_folder", "delete_folder"):
        monkeypatch.setattr(staging, name, partial(act, name, getattr(staging, name)))
    for name in ("delete_files", "move_all"):
        monkeypatch.setattr(staging, name, partial(act_on_each, name, getattr(staging, name)))
    return done


def die_after_moving(monkeypatch: pytest.MonkeyPatch, count: int) -> list[str]:
    """Let the machine die when so many files have got their names; those."""
    real, moved = staging.move_all, []

    def move_all(pairs: Any) -> None:
        for source, target in pairs:
            if len(moved) == count:
                raise DiedError("the machine died")
            real([(source, target)])
            moved.append(target)

    monkeypatch.setattr(staging, "move_all", move_all)
    return moved
