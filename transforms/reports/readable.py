"""Numbers as a person reads them."""

from collections.abc import Mapping


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


NONE = "–"


def number(value: float | None) -> str:
    return NONE if value is None else f"{value:,}"


def share(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}\N{NO-BREAK SPACE}%"


def decimal(value: float | None, digits: int = 2) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
