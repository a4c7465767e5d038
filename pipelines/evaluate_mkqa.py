"""``kiltetl evaluate mkqa``: its options, and which language a file belongs to."""

import re
from collections.abc import Sequence

from kiltetl.pipelines.arguments import Parser
from kiltetl.pipelines.console import Console
from kiltetl.pipelines.evaluate_inputs import Plan, Settings, find, stem
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import FileInfo, is_folder
from kiltetl.transforms.metrics.mkqa import LANGUAGES, language_of
from kiltetl.transforms.metrics.mkqa_scorer import MkqaScorer

_EPILOG = """\
PATH is a file or, for predictions, a folder with a file a language: en.jsonl, zh_cn.jsonl, …
A prediction is {"example_id": …, "prediction": …, "binary_answer": "yes" | "no" | null,
"no_answer_prob": …}; an empty prediction is No Answer.

examples:
  kiltetl evaluate mkqa --gold mkqa.jsonl.gz --predictions predictions --output scores
  kiltetl evaluate mkqa --gold mkqa.jsonl.gz --predictions en.jsonl --language en --bootstrap 1000
"""


class Mkqa:
    """MKQA: a name is a language, and one gold file holds all."""

    epilog = _EPILOG

    def add_options(self, parser: Parser) -> None:
        parser.add_argument("--language", metavar="CODE", help=" ".join(LANGUAGES))
        parser.add_argument("--verbose", action="store_true", help="the figures without a threshold too")

    def plan(self, settings: Settings, places: Sequence[tuple[str, str]], console: Console) -> Plan:
        language = language_of(settings.language) if settings.language else None
        systems = [self._predictions(path, option, language) for option, path in places]
        return Plan(MkqaScorer(settings.strict, settings.verbose), {None: find(settings.gold)}, systems)

    def _predictions(self, path: str, option: str, language: str | None) -> dict[str, list[FileInfo]]:
        files = find(path)
        found: dict[str, list[FileInfo]] = {}
        if language is not None:
            mine = [info for info in files if language_in(info.path) == language] if is_folder(path) else files
            if not mine:
                raise InputError(f"{option} {path}: no file is named after {language}, such as {language}.jsonl")
            return {language: mine}
        for info in files:
            code = language_in(info.path)
            if code is None and len(files) == 1 and not is_folder(path):
                raise InputError(f"{info.path}: say its language with --language, one of {' '.join(LANGUAGES)}")
            if code is None:
                code = language_of(stem(info.path))  # an error, with a hint at what is meant
            found.setdefault(code, []).append(info)
        return {code: found[code] for code in LANGUAGES if code in found}


def language_in(path: str) -> str | None:
    """MKQA's code at the beginning or end of a file's name, however it is spelt."""
    parts = [part for part in re.split(r"[^a-z]+", stem(path)) if part]
    for count in (2, 1):
        for piece in (parts[:count], parts[-count:]):
            if "_".join(piece) in LANGUAGES:
                return "_".join(piece)
    return None
