"""KILT and MKQA on any Wikipedia dump.

From one page of wikitext to its paragraphs, from an original evidence to its place in them, from
predictions to the official figures, without a file or a graph:

>>> import kiltetl
>>> page = kiltetl.parse_page("Kite", "A '''kite''' is a [[toy]].\\n\\nIt flies in the wind.")
>>> texts = [row.text for row in page.paragraphs]
>>> span = kiltetl.best_span(texts, "a kite is a toy .")
>>> texts[span.paragraph_id][span.start_character : span.end_character], span.bleu_score
('A kite is a toy.', 1.0)
>>> gold = [{"id": "1", "output": [{"answer": "kite", "provenance": [{"wikipedia_id": "12"}]}]}]
>>> kiltetl.evaluate_kilt(gold, gold).metrics["Rprec"]
1.0
>>> sorted(kiltetl.DATASETS)[:3]
['aidayago2', 'cweb', 'eli5']

Names are imported when they are first used: ``import kiltetl`` itself loads nothing else, and
nothing here loads Beam. The graphs and commands are in ``kiltetl.pipelines``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kiltetl.schemas import VERSION

if TYPE_CHECKING:
    from kiltetl.schemas.errors import (
        DamagedDump,
        DumpError,
        EvaluationError,
        InputError,
        KiltetlError,
        MalformedRecord,
        MalformedRow,
        RecordError,
        RunFailed,
    )
    from kiltetl.schemas.records import Evidence, Example, ExampleOutput, Site
    from kiltetl.transforms.alignment.bleu import bleu
    from kiltetl.transforms.alignment.search import best_span
    from kiltetl.transforms.datasets import DATASETS
    from kiltetl.transforms.datasets.spec import Dataset, SkipRow
    from kiltetl.transforms.jobs.reader import KnowledgeSource, open_knowledge_source, read_siteinfo
    from kiltetl.transforms.metrics.huggingface import KiltMetric, MkqaMetric
    from kiltetl.transforms.metrics.kilt_scorer import evaluate_kilt
    from kiltetl.transforms.metrics.mkqa_scorer import evaluate_mkqa
    from kiltetl.transforms.wikitext import parse_page

__version__ = VERSION

_HOMES: Final = {
    "schemas.errors": (
        "DamagedDump", "DumpError", "EvaluationError", "InputError", "KiltetlError", "MalformedRecord",
        "MalformedRow", "RecordError", "RunFailed",
    ),
    "schemas.records": ("Evidence", "Example", "ExampleOutput", "Site"),
    "transforms.alignment.bleu": ("bleu",),
    "transforms.alignment.search": ("best_span",),
    "transforms.datasets": ("DATASETS",),
    "transforms.datasets.spec": ("Dataset", "SkipRow"),
    "transforms.jobs.reader": ("KnowledgeSource", "open_knowledge_source", "read_siteinfo"),
    "transforms.metrics.huggingface": ("KiltMetric", "MkqaMetric"),
    "transforms.metrics.kilt_scorer": ("evaluate_kilt",),
    "transforms.metrics.mkqa_scorer": ("evaluate_mkqa",),
    "transforms.wikitext": ("parse_page",),
}  # fmt: skip

__all__ = [
    "DATASETS",
    "DamagedDump",
    "Dataset",
    "DumpError",
    "EvaluationError",
    "Evidence",
    "Example",
    "ExampleOutput",
    "InputError",
    "KiltMetric",
    "KiltetlError",
    "KnowledgeSource",
    "MalformedRecord",
    "MalformedRow",
    "MkqaMetric",
    "RecordError",
    "RunFailed",
    "Site",
    "SkipRow",
    "__version__",
    "best_span",
    "bleu",
    "evaluate_kilt",
    "evaluate_mkqa",
    "open_knowledge_source",
    "parse_page",
    "read_siteinfo",
]


if not TYPE_CHECKING:  # to a type checker a name that is not there is a mistake

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f"kiltetl.{home}"), name)
                return found
        raise AttributeError(f"module 'kiltetl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
