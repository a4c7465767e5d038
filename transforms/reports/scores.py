"""How the evaluation of each benchmark is shown, by its name."""

from collections.abc import Mapping
from typing import Final

from kiltetl.transforms.metrics.kilt_scorer import KiltScorer
from kiltetl.transforms.metrics.mkqa_scorer import MkqaScorer
from kiltetl.transforms.reports.scores_display import Display
from kiltetl.transforms.reports.scores_kilt import KILT
from kiltetl.transforms.reports.scores_mkqa import MKQA

DISPLAYS: Final[Mapping[str, Display]] = {KiltScorer.benchmark: KILT, MkqaScorer.benchmark: MKQA}
