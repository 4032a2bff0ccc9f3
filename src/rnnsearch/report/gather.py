"""All that a report asks of a trained run: translations, translations without UNK, and how it reads the references."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rnnsearch.config import changed
from rnnsearch.records import Translation
from rnnsearch.report.inputs import NamedRun, TestSet, file_name
from rnnsearch.report.kept import Kept, KeptFile, translate_missing
from rnnsearch.run import Run
from rnnsearch.system.checksums import checksum
from rnnsearch.system.files import write_text
from rnnsearch.system.progress import Progress
from rnnsearch.system.version import package_version
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.translator import Translator

Searching = Callable[[list[int]], list[Translation]]
"""Sentence numbers to their translations."""


@dataclass(frozen=True)
class Work:
    """What one run made of one test set.

    translations: one a source line, as the search settings say. without_unk: of the pairs that have no unknown word, UNK being forbidden
    (Table 1), by number from 0. references: the references under forced decoding; their score is log p(reference | source).
    hardware: on which the translations were made.
    """

    translations: list[Kept]
    without_unk: dict[int, Kept]
    references: list[Kept]
    hardware: str

    @property
    def texts(self) -> list[str]:
        return [kept.translation.text for kept in self.translations]


@dataclass(frozen=True)
class Worker:
    """A run that has been opened. search: its settings here; checksum: of its weights, vocabularies and model settings."""

    name: str
    run: Run
    search: dict[str, Any]
    checksum: str
    translator: Translator

    @property
    def attends(self) -> bool:
        """Whether its α say anything: RNNencdec's one fixed context does not."""
        return self.run.settings.model.alignment != "fixed"


def open_runs(runs: Sequence[NamedRun], search: dict[str, Any], *, device: str = "cpu", trust_code: bool = False) -> list[Worker]:
    """Loads every run. search: settings changed from each run's own. Raises InputError as `Translator.load` and `changed` do."""
    workers = []
    for named in runs:
        translator = Translator.load(named.path, device=device, trust_code=trust_code)
        run = Run.open(named.path)
        settings = changed(run.settings.search, search | {"nbest": 1}).model_dump()
        workers.append(Worker(named.name, run, settings, run_checksum(run), translator))
    return workers


def run_checksum(run: Run) -> str:
    """Of all in a run that decides what it translates, search settings apart."""
    files = [run.model_path, *sorted(run.path.glob("vocabulary.*.txt")), *sorted(run.path.glob("subwords.*.model"))]
    settings = run.settings.data.model_dump_json(), run.settings.model.model_dump_json()
    return checksum(*settings, *files)


def unknown_positions(codec: Codec, words: Sequence[str]) -> list[int]:
    """Of the words outside the shortlist; with subwords, of those that need a piece which is not there."""
    encoded = codec.encode_words(words)
    return sorted({word for number, word in zip(encoded.ids, encoded.word_of, strict=True) if number == UNK})


def known_pairs(workers: Sequence[Worker], test: TestSet) -> list[int]:
    """Numbers of the pairs in which no run meets an unknown word, neither in the source nor in the reference: Table 1's second column."""

    def known(codec: Codec, line: str) -> bool:
        return UNK not in codec.encode(line).ids

    numbers = list(range(len(test.source)))
    for worker in workers:
        source, target = worker.run.source, worker.run.target
        numbers = [n for n in numbers if known(source, test.source[n]) and known(target, test.reference[n])]
    return numbers


def gather(worker: Worker, test: TestSet, known: Sequence[int], folder: Path, report: Progress, hardware: str) -> Work:
    """Translates and scores one test set with one run, as far as the files in `folder` do not hold it yet.

    known: numbers of the pairs to translate without UNK, too. hardware: what runs it, noted beside the times.
    """
    source_words = worker.run.source.tokeniser.words
    lengths = {number: len(source_words(line)) for number, line in enumerate(test.source)}
    stem = f"{file_name(worker.name)}.{file_name(test.name)}"
    notes = {"run": worker.name, "test set": test.name, "hardware": hardware, "rnnsearch": package_version()}

    def kept(kind: str, wanted: dict[int, int], work: Searching, settings: dict[str, Any], texts: Sequence[str]) -> KeptFile:
        key = checksum(kind, worker.checksum, json.dumps(settings, sort_keys=True), *texts)
        path = folder / f"{stem}.{kind}.{key[:12]}.jsonl"
        header = {"key": key, **notes, "settings": settings}
        doing = f"{worker.name}, {test.name}: {kind}"
        return translate_missing(path, header, wanted, work, batch_size, lambda done: report(doing, done, len(wanted)))

    def search(changes: dict[str, Any]) -> Searching:
        return lambda batch: worker.translator.translate([test.source[number] for number in batch], **changes)

    def force(batch: list[int]) -> list[Translation]:
        return list(worker.translator.force([(test.source[number], test.reference[number]) for number in batch], batch_size))

    batch_size = int(worker.search["batch_size"])
    no_unk = worker.search | {"no_unk": True}
    translations = kept("translations", lengths, search(worker.search), worker.search, test.source)
    without_unk = kept("without-unk", {number: lengths[number] for number in known}, search(no_unk), no_unk, test.source)
    references = kept("references", lengths, force, {}, [*test.source, *test.reference])
    lines = [each.translation.text for each in translations.found.values()]
    write_text(folder / f"{stem}.txt", "".join(f"{line}\n" for line in lines))
    return Work(list(translations.found.values()), without_unk.found, list(references.found.values()), str(translations.header["hardware"]))
