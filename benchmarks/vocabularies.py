"""What a vocabulary is worth: shortlists, all words with a sampled softmax, subwords; BLEU on all sentences and on those with rare words.

    python benchmarks/vocabularies.py multi30k --data corpora --out study        # also: europarl
    python benchmarks/vocabularies.py builtin --out tried --rare 20 --set training.max_updates=20    # a try, on the built-in corpus

Every vocabulary prepares the same pairs, trains with the same settings and translates the test set twice, with and without the replacement
of UNK by the source word that it is aligned to. A sentence has a rare word if a word of its source or of its reference occurs less than
--rare times in the training text. BLEU is sacreBLEU's 13a, cased, of detokenised text. multi30k: the recipe of that name, test2016.
europarl: 100,000 pairs of at most 50 words and the settings of RNNsearch-50, both of the study europarl-small. The same command goes on
where it was ended, and what is done is not done again: name another folder for other settings.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.builtin.generate import write
from rnnsearch.config import Settings, apply_override, load_config, validated
from rnnsearch.errors import InputError
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.records import Translation
from rnnsearch.studies.study import read_plan
from rnnsearch.studies.subset import write_subset
from rnnsearch.system.files import write_text
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.text.codec import Side, side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.vocabulary import UNK
from rnnsearch.training.display import Display
from rnnsearch.training.interrupt import TrainingInterrupted
from rnnsearch.training.log import read_statistics
from rnnsearch.training.loop import train_to_the_end
from rnnsearch.translation.translator import Translator

EVERY = 1_000_000_000
"""Of a vocabulary: no word is left out."""


class Study(NamedTuple):
    """train, dev, test: of source and target. sampled: N of the softmax over all words. subwords: how many."""

    settings: Settings
    train: tuple[Path, Path]
    dev: tuple[Path, Path]
    test: tuple[Path, Path]
    shortlists: tuple[int, ...]
    sampled: int
    subwords: int

    @property
    def vocabularies(self) -> dict[str, list[str]]:
        """Name → what it changes."""
        words = {f"{size:,} words": ["data.subwords=none", f"data.vocabulary_size={size}"] for size in self.shortlists}
        every = ["data.subwords=none", f"data.vocabulary_size={EVERY}", f"training.sampled_softmax={self.sampled}"]
        subwords = ["data.subwords=bpe", f"data.vocabulary_size={self.subwords}"]
        return words | {f"all words, {self.sampled:,} sampled": every, f"{self.subwords:,} subwords": subwords}


def study_of(name: str, data: Path, out: Path) -> Study:
    """The files of a corpus, written if they have to be, and what is trained on it."""

    def files(folder: Path, part: str, end: str = "") -> tuple[Path, Path]:
        return folder / f"{part}.en{end}", folder / f"{part}.fr{end}"

    if name == "multi30k":
        folder = data / "multi30k"
        parts = (files(folder, part, ".gz") for part in ("train", "val", "test2016"))
        return Study(load_config("multi30k"), *parts, shortlists=(10_000, 30_000), sampled=4_000, subwords=4_000)
    corpus = out / "corpus"
    if name == "europarl":
        plan = read_plan("europarl-small", data)
        if not (corpus / "dev.fr").exists():
            corpus.mkdir(parents=True, exist_ok=True)
            write_subset(plan, corpus, lambda *done: None)
        settings, test = plan.settings["rnnsearch-50"], files(data / "europarl", "test", ".gz")
        return Study(settings, files(corpus, "train"), files(corpus, "dev"), test, (10_000, 30_000), sampled=15_000, subwords=10_000)
    if not corpus.exists():
        write(corpus, 2_000, 50)
    return Study(load_config("demo"), *(files(corpus, part) for part in ("train", "dev", "test")), (100, 200), sampled=150, subwords=120)


def changed(settings: Settings, changes: Sequence[str]) -> Settings:
    table = settings.model_dump(exclude_none=True)
    for change in changes:
        apply_override(table, change)
    return validated(table, "--set")


def rare(study: Study, settings: Settings, least: int) -> list[bool]:
    """Of every test pair, whether it has a rare word on either side."""
    found: list[bool] = []
    sides: tuple[Side, Side] = ("source", "target")
    for side, train, test in zip(sides, study.train, study.test, strict=True):
        words = side_tokeniser(side, settings.data).words
        counts = Counter(word for line in read_lines(train) for word in words(line))
        mine = [any(counts[word] < least for word in words(line)) for line in read_lines(test)]
        found = [one or other for one, other in zip(mine, found or mine, strict=True)]
    return found


def trained(study: Study, settings: Settings, folder: Path) -> Corpus:
    """Prepares and trains, or goes on with it; its CPU seconds are added up in the folder."""
    store, run, seconds = folder / "store", folder / "run", folder / "cpu_seconds"
    if not store.exists():
        prepare(*study.train, store, dev=study.dev, settings=settings.data)
    corpus = Corpus.open(store)
    if not (folder / "trained").exists():
        begun, before = time.process_time(), float(seconds.read_text()) if seconds.exists() else 0.0
        try:
            train_to_the_end(settings, corpus, run, resume=True, display=Display(0, quiet=True))
        finally:
            folder.mkdir(parents=True, exist_ok=True)
            write_text(seconds, f"{before + time.process_time() - begun:.1f}")
        write_text(folder / "trained", "")
    return corpus


def translated(run: Path, source: list[str], file: Path, replace: bool) -> list[str]:
    """The translations, from the file if they are there. The first line of the file holds CPU seconds and the number of UNK."""
    if not file.exists():
        begun = time.process_time()
        found: list[Translation] = Translator.load(run).translate(source, replace_unk=replace)
        head = {"cpu_seconds": time.process_time() - begun, "unk": sum(one.text.split().count("<unk>") for one in found)}
        write_text(file, "".join(f"{line}\n" for line in (json.dumps(head), *(one.text for one in found))))
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def row(study: Study, name: str, settings: Settings, folder: Path, with_rare: list[bool]) -> dict[str, Any]:
    """Everything about one vocabulary."""
    corpus = trained(study, settings, folder)
    source, reference = (list(read_lines(file)) for file in study.test)
    ids = [number for line in source for number in corpus.source.encode(line).ids]
    learnt = read_statistics(folder / "run")
    result: dict[str, Any] = {
        "vocabulary": name,
        "source_words": len(corpus.source.vocabulary),
        "target_words": len(corpus.target.vocabulary),
    }
    result |= {"unknown_in_test": ids.count(UNK) / len(ids), "hours": learnt["hours"], "updates": learnt["updates"]}
    result["cpu_hours"] = float((folder / "cpu_seconds").read_text()) / 3600
    chosen = [number for number, is_rare in enumerate(with_rare) if is_rare]
    for kind, replace in (("plain", False), ("replaced", True)):
        head, *lines = translated(folder / "run", source, folder / f"{kind}.txt", replace)
        result[kind] = json.loads(head) | {"bleu": bleu(lines, reference).value}
        if chosen:
            result[kind]["bleu_rare"] = bleu([lines[i] for i in chosen], [reference[i] for i in chosen]).value
    return result


def table(rows: list[dict[str, Any]], with_rare: list[bool]) -> str:
    lines = [f"{sum(with_rare):,} of {len(with_rare):,} test pairs have a rare word.\n"]
    head = "words (source, target)", "unknown in the test", "BLEU", "UNK replaced", "BLEU, rare words", "UNK replaced", "UNK written"
    lines += [f"| vocabulary | {' | '.join(head)} | CPU hours of training | CPU s to translate |", "|---" * 10 + "|"]
    for one in rows:
        scores = [one[kind].get(score, float("nan")) for score in ("bleu", "bleu_rare") for kind in ("plain", "replaced")]
        words = f"{one['source_words']:,}, {one['target_words']:,} | {one['unknown_in_test']:.2%}"
        bleus = " | ".join(f"{score:.2f}" for score in scores)
        costs = f"{one['plain']['unk']:,} | {one['cpu_hours']:.2f} | {one['plain']['cpu_seconds']:.0f}"
        lines.append(f"| {one['vocabulary']} | {words} | {bleus} | {costs} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=("multi30k", "europarl", "builtin"))
    parser.add_argument("--data", type=Path, default=Path(), help="folder with multi30k/ and europarl/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rare", type=int, default=5, help="a word is rare that occurs less often in the training text")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="of all vocabularies")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    set_up_cpu(arguments.threads)
    try:
        study = study_of(arguments.corpus, arguments.data, arguments.out)
        common = changed(study.settings, [*arguments.set, f"training.threads={arguments.threads}"])
        with_rare = rare(study, common, arguments.rare)
        rows = []
        for number, (name, changes) in enumerate(study.vocabularies.items(), 1):
            print(f"{number} of {len(study.vocabularies)}: {name}", file=sys.stderr)
            rows.append(row(study, name, changed(common, changes), arguments.out / name.replace(",", "").replace(" ", "-"), with_rare))
    except InputError as error:
        sys.exit(str(error))
    except TrainingInterrupted as ended:
        print("the same command goes on", file=sys.stderr)
        sys.exit(128 + ended.signal)
    found = {"hardware": hardware("cpu"), "corpus": arguments.corpus, "changes": arguments.set, "rare": arguments.rare, "rows": rows}
    write_text(arguments.out / "results.json", json.dumps(found, indent=2) + "\n")
    print(f"{found['hardware']}; a rare word occurs less than {arguments.rare} times. {table(rows, with_rare)}")


if __name__ == "__main__":
    main()
