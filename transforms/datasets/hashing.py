"""Numbers and ids that depend on nothing but a text: the same on every machine and in every run."""

import json
from hashlib import blake2b
from typing import Any, Final

SEED: Final = 0


def stable_id(*parts: Any) -> str:
    """Sixteen hexadecimal digits for what the parts, JSON values, say.

    >>> stable_id("spouse", "Foo Bar") == stable_id("spouse", "Foo Bar") != stable_id("spouseFoo", " Bar")
    True
    """
    return blake2b(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def stable_share(text: str, seed: int = SEED) -> float:
    """A number from 0 to below 1, evenly spread over texts: what decides on a random split.

    >>> 0 <= stable_share("Q30-P36") < 1
    True
    """
    return int(stable_id(seed, text), 16) / 2**64
