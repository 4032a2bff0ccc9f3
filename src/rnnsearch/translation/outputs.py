"""What a run makes of a test set: translations, translations without UNK, references in forced decoding. Made once, kept in files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from rnnsearch.config import changed
from rnnsearch.evaluation.test_set import TestSet
from rnnsearch.run import Run
from rnnsearch.system.checksums import checksum
from rnnsearch.system.files import file_name, write_text
from rnnsearch.system.machine import hardware
from rnnsearch.system.progress import Progress
from rnnsearch.system.version import package_version
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import UNK
from rnnsearch.translation.forced import ROUNDS
from rnnsearch.translation.outputs_file import FORMAT, Header, OutputLine, completed, count_outputs
from rnnsearch.translation.translator import Translator

FORCED_TOGETHER = 64
"""Pairs of one batch in forced decoding."""


class Kind(StrEnum):
    """TRANSLATIONS: of every source line. WITHOUT_UNK: of the pairs in which the run knows every word; UNK is not written there (Table 1).

    REFERENCES: the references in forced decoding; their score is log p(reference | source). POSTERIOR: the same, with posterior alignments.
    """

    TRANSLATIONS = "translations"
    WITHOUT_UNK = "without-unk"
    REFERENCES = "references"
    POSTERIOR = "references-posterior"


Pair = tuple[int, str, str]
"""The number of a line, from 0, its source, its reference."""


@dataclass(frozen=True)
class OpenedRun:
    """A run whose outputs are looked for. name: as tables show it. search: its settings here. checksum: of weights and vocabularies."""

    name: str
    run: Run
    search: dict[str, Any]
    checksum: str

    @property
    def attends(self) -> bool:
        """Whether its α say anything: RNNencdec's one fixed context does not."""
        return self.run.settings.model.alignment != "fixed"

    def settings(self, kind: Kind) -> dict[str, Any]:
        """What the outputs of this kind depend on, beside the run and the text."""
        if kind == Kind.POSTERIOR:
            return {"rounds": ROUNDS}
        return {} if kind == Kind.REFERENCES else self.search | {"no_unk": kind == Kind.WITHOUT_UNK or self.search["no_unk"]}

    def key(self, test: TestSet, kind: Kind) -> str:
        """A checksum of all that the outputs follow from."""
        texts = test.source if kind == Kind.TRANSLATIONS else [*test.source, *test.reference]
        return checksum(str(FORMAT), kind, self.checksum, json.dumps(self.settings(kind), sort_keys=True), *texts)

    def path(self, folder: Path, test: TestSet, kind: Kind) -> Path:
        """Of the file with these outputs. Others of the same test set, by other weights or another search, may lie beside it."""
        return folder / file_name(self.name) / f"{file_name(test.name)}.{kind}.{self.key(test, kind)[:12]}.jsonl"

    def pairs(self, test: TestSet, kind: Kind) -> list[Pair]:
        """The pairs that this kind has outputs of."""
        numbers = known_pairs([self], test) if kind == Kind.WITHOUT_UNK else range(len(test.source))
        return [(number, test.source[number], test.reference[number]) for number in numbers]

    def is_whole(self, folder: Path, test: TestSet, kind: Kind) -> bool:
        """Whether the folder holds all outputs of this kind."""
        return count_outputs(self.path(folder, test, kind)) == len(self.pairs(test, kind))


@dataclass(frozen=True)
class LoadedRun(OpenedRun):
    """With its network."""

    translator: Translator
    device: str

    @property
    def parameters(self) -> int:
        """How many numbers the network has learned."""
        return sum(parameter.numel() for network in self.translator.networks for parameter in network.parameters())


def open_run(name: str, path: Path, search: dict[str, Any] | None = None) -> OpenedRun:
    """Without its network. search: settings changed from the run's own. Raises InputError as `Run.open` and `changed` do."""
    run = Run.open(path)
    return OpenedRun(name, run, changed(run.settings.search, (search or {}) | {"nbest": 1}).model_dump(), run_checksum(run))


def load_run(name: str, path: Path, search: dict[str, Any] | None = None, *, device: str = "cpu", trust_code: bool = False) -> LoadedRun:
    """As `open_run`, with its network. Raises InputError as `Translator.load` does, too."""
    translator = Translator.load(path, device=device, trust_code=trust_code)
    return LoadedRun(**vars(open_run(name, path, search)), translator=translator, device=device)


def run_checksum(run: Run) -> str:
    """Of all in a run that decides what it writes, search settings apart."""
    files = [run.model_path, *sorted(run.path.glob("vocabulary.*.txt")), *sorted(run.path.glob("subwords.*.model"))]
    return checksum(run.settings.data.model_dump_json(), run.settings.model.model_dump_json(), *files)


def known_pairs(runs: Sequence[OpenedRun], test: TestSet) -> list[int]:
    """Numbers of the pairs in which no run meets an unknown word, neither in the source nor in the reference: Table 1's second column.

    All runs must know the words of a pair, so that all of them are measured on the same sentences.
    """

    def known(codec: Codec, line: str) -> bool:
        return UNK not in codec.encode(line).ids

    pairs = enumerate(test.pairs)
    return [n for n, (left, right) in pairs if all(known(run.run.source, left) and known(run.run.target, right) for run in runs)]


def outputs(run: LoadedRun, test: TestSet, kind: Kind, folder: Path | None, progress: Progress) -> list[OutputLine]:
    """The outputs of one kind, in the order of the test set; those that the file in `folder` holds already are not made again.

    folder: None for no file. Raises InputError for a file that is damaged or cannot be written.
    """
    pairs, forced = run.pairs(test, kind), kind in (Kind.REFERENCES, Kind.POSTERIOR)
    found: list[OutputLine] = []
    done = 0

    def work(batch: Sequence[Pair]) -> list[OutputLine]:
        nonlocal done
        made = _work(run, kind, batch)
        done += len(batch)
        progress(f"{run.name}, {test.name}: {kind}", done, len(pairs))
        return made

    def length(pair: Pair) -> int:
        return len(run.run.target.encode(pair[2]).ids if forced else run.run.source.encode(pair[1]).ids)

    path = None if folder is None else run.path(folder, test, kind)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
    if pairs and not (folder and run.is_whole(folder, test, kind)):
        _work(run, kind, pairs[:1])  # the first call prepares the network's matrices: that is no time of translating
    batch_size = FORCED_TOGETHER if forced else int(run.search["batch_size"])
    for output in completed(path, _header(run, test, kind), pairs, batch_size, length, work, lambda pair, output: pair[0] == output.number):
        found.append(output)
        done = max(done, len(found))
    return found


def write_texts(folder: Path, run: OpenedRun, test: TestSet, lines: Sequence[OutputLine]) -> None:
    """Writes the text of translations, one per line, into RUN/TEST.txt."""
    path = folder / file_name(run.name) / f"{file_name(test.name)}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(f"{line.translation.text}\n" for line in lines))


def _header(run: LoadedRun, test: TestSet, kind: Kind) -> Header:
    about = {"run": run.name, "test set": test.name, "kind": kind, "settings": run.settings(kind), "parameters": run.parameters}
    return {"format": FORMAT, "key": run.key(test, kind), **about, "hardware": hardware(run.device), "rnnsearch": package_version()}


def _work(run: LoadedRun, kind: Kind, batch: Sequence[Pair]) -> list[OutputLine]:
    """Of one batch."""
    numbers = [number for number, _, _ in batch]
    if kind in (Kind.TRANSLATIONS, Kind.WITHOUT_UNK):
        return list(map(OutputLine, numbers, run.translator.translate([source for _, source, _ in batch], **run.settings(kind))))
    given = [(source, reference) for _, source, reference in batch]
    results = list(map(OutputLine, numbers, run.translator.force(given, FORCED_TOGETHER)))
    if kind == Kind.REFERENCES:
        return results
    known = run.translator.force(given, FORCED_TOGETHER, posterior=True, exact=True)
    return [replace(result, posterior=other.alignment) for result, other in zip(results, known, strict=True)]
