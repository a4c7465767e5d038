"""``kiltetl evaluate kilt``: its options, and which dataset a file belongs to."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from kiltetl.pipelines.arguments import Parser, positive
from kiltetl.pipelines.console import Console
from kiltetl.pipelines.evaluate_inputs import Plan, Settings, find, stem
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.datasets import DATASETS, find_dataset
from kiltetl.transforms.files.paths import FileInfo, basename, folder_of, is_folder
from kiltetl.transforms.metrics.kilt import KS, RANK_KEYS, Protocol
from kiltetl.transforms.metrics.kilt_scorer import KiltScorer

# The datasets of KILT's leaderboard, in its order, and the metric by which it ranks each.
RANKED: Final[Mapping[str, str]] = {
    name: dataset.leading_metric for name, dataset in DATASETS.items() if dataset.leading_metric is not None
}

_SPLITS = {"dev": "dev", "validation": "dev", "valid": "dev", "test": "test", "train": "train"}
_SPLIT_ORDER = ("dev", "test", "train")

_EPILOG = """\
PATH is a file (JSON Lines, plain or compressed, or Parquet), a pattern in quotes or a folder. The
files of a folder are told apart by KILT's names in their own or their folder's (nq-dev-kilt.jsonl,
nq/validation-00000-of-00001.parquet); of several splits the dev one is taken.
A prediction is {"id": …, "output": [{"answer": …, "provenance": [{"wikipedia_id": …}, …]}]}: one
output, its pages best first.

examples:
  kiltetl evaluate kilt --gold nq-dev-kilt.jsonl --predictions predictions.jsonl --output scores
  kiltetl evaluate kilt --gold tasks --predictions predictions --bootstrap 1000 --compare baseline
  kiltetl evaluate kilt --gold trex-dev-kilt.jsonl --predictions 'shards/*.jsonl' --output scores \\
      -- --direct_num_workers=4 --direct_running_mode=multi_processing
"""


class Kilt:
    """KILT: a name is a dataset."""

    epilog = _EPILOG

    def add_options(self, parser: Parser) -> None:
        parser.add_argument("--dataset", metavar="NAME", help=f"{', '.join(RANKED)}; package.module:DATASET")
        parser.add_argument(
            "--ks", type=_ks, default=KS, metavar="K,…", help="numbers of pages for the figures …@k (1,5,10,20)"
        )
        parser.add_argument(
            "--rank-keys",
            type=_keys,
            default=RANK_KEYS,
            metavar="KEY,…",
            help="what is retrieved (wikipedia_id); wikipedia_id,section; "
            "wikipedia_id,start_paragraph_id,end_paragraph_id",
        )

    def plan(self, settings: Settings, places: Sequence[tuple[str, str]], console: Console) -> Plan:
        protocol = Protocol(settings.ks, settings.rank_keys, settings.strict)
        dataset, leading = settings.dataset, dict[str, str | None](RANKED)
        if dataset is not None and ":" in dataset:
            found = find_dataset(dataset)
            dataset = found.name
            leading[dataset] = found.leading_metric
        gold = self._gold(settings.gold, dataset, leading, console)
        systems = [self._predictions(path, option, tuple(gold), leading, console) for option, path in places]
        for name in gold:
            if name not in systems[0]:
                console.warn(f"{name}: no predictions, left out")
        return Plan(KiltScorer(protocol, leading), {name: gold[name] for name in gold if name in systems[0]}, systems)

    def _gold(
        self, path: str, dataset: str | None, known: Collection[str], console: Console
    ) -> dict[str, list[FileInfo]]:
        files = find(path)
        if not is_folder(path):
            name = dataset or dataset_of(files[0].path, known) or stem(files[0].path)
            return {name: files}
        by_name: dict[str, list[FileInfo]] = {}
        for info in files:
            named = dataset_of(info.path, known)
            if named is not None and dataset in (None, named):
                by_name.setdefault(named, []).append(info)
        if not by_name:
            if dataset is not None and not any(dataset_of(info.path, known) for info in files):
                return {dataset: files}
            names = ", ".join(known)
            raise InputError(f"{path}: no file is named after a dataset of KILT ({names}); see --dataset")
        for name, infos in by_name.items():
            splits = {_split_of(info.path) for info in infos}
            if len(splits) > 1:
                chosen = next((split for split in _SPLIT_ORDER if split in splits), None)
                by_name[name] = [info for info in infos if _split_of(info.path) == chosen]
                console.say(f"{name}: the {chosen} split is taken; name the files to take another")
        return {name: by_name[name] for name in known if name in by_name}

    def _predictions(
        self, path: str, option: str, names: Sequence[str], known: Collection[str], console: Console
    ) -> dict[str, list[FileInfo]]:
        files = find(path)
        named = {info.path: dataset_of(info.path, known) for info in files}
        if len(names) == 1:
            # one dataset: its own files among those of others, else all of them, as shards
            mine = [info for info in files if named[info.path] == names[0]]
            return {names[0]: mine or files}
        found: dict[str, list[FileInfo]] = {}
        for info in files:
            name = named[info.path]
            if name in names:
                found.setdefault(str(name), []).append(info)
            else:
                console.warn(f"{info.path}: left out, its name says none of {', '.join(names)}")
        if not found:
            raise InputError(
                f"{option} {path}: the gold folder has {', '.join(names)}; name the files of predictions so"
            )
        return found


def dataset_of(path: str, known: Collection[str] = RANKED) -> str | None:
    """A dataset's name in the name of a file or its folder; the longest of several."""
    for text in (stem(path), basename(folder_of(path)).lower()):
        named = [name for name in known if re.search(rf"(?<![a-z0-9]){re.escape(name.lower())}(?![a-z0-9])", text)]
        if named:
            return max(named, key=len)
    return None


def _ks(text: str) -> tuple[int, ...]:
    return tuple(positive(part) for part in text.split(","))


def _keys(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"[,+]", text) if part.strip())


def _split_of(path: str) -> str | None:
    for part in re.split(r"[^a-z]+", stem(path)):
        if part in _SPLITS:
            return _SPLITS[part]
    return None
