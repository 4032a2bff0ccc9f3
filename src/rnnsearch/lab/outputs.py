"""The outputs of a run for a test set: translations, translations without UNK, and references in
forced decoding. Each is made once, and kept in a file of JSON lines: a header, then a line for each
sentence."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.cli.answers import Loading
from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.installed import package_version
from rnnsearch.kernels import edited_functions
from rnnsearch.lab.test_set import TestSet
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.settings import Settings
from rnnsearch.system.files import checksum, file_name, parse_json, write_text
from rnnsearch.system.line_file import LineFile
from rnnsearch.system.machine import hardware, used_precision
from rnnsearch.system.progress import Progress
from rnnsearch.text.tokens import composed
from rnnsearch.text.vocabulary import UNK, UNKNOWN
from rnnsearch.translation.batching import READ_AHEAD, batched_by_length, batches
from rnnsearch.translation.forced import ROUNDS
from rnnsearch.translation.translator import Translator
from rnnsearch.word_links import Link, hard_links

FORCED_BATCH = 64
"""Pairs of one batch in forced decoding."""
OUTPUT_FORMAT = 2
"""A part of every key: outputs in another format are made again."""
SMALLEST_WEIGHT = 5e-4
"""Smaller weights are not written, except the largest of each row. In a long sentence, only a few
weights matter."""
MILLION = 10**6
DEFAULT_LOADING = Loading()
PLAIN = ("text", "tokens", "source_tokens", "score", "finished", "parts")
"""Fields of a translation that are written as they are."""


JsonObject = dict[str, Any]
NumberedPair = tuple[int, str, str]
"""Line number from 0, source, reference."""
SparseRows = list[list[tuple[int, int]]]
"""(place, weight in millionths) of each weight that is written, for each row."""


class Kind(StrEnum):
    """TRANSLATIONS: translations of all source lines. WITHOUT_UNK: translations, without UNK, of
    the pairs in which the run knows every word (Table 1).

    REFERENCES: the references in forced decoding; their score is log p(reference | source).
    POSTERIOR: the same, with posterior alignments.
    """

    TRANSLATIONS = "translations"
    WITHOUT_UNK = "without-unk"
    REFERENCES = "references"
    POSTERIOR = "references-posterior"


@dataclass(frozen=True, slots=True)
class OutputLine:
    """The output of a run for one sentence.

    number: the sentence's number in the input, from 0. seconds: its share of its batch's time, in
    proportion to source words.
    posterior: (target, source) float32, the alignment posterior of a reference
    (translation/forced.py).
    """

    number: int
    translation: Translation
    seconds: float = 0.0
    posterior: NDArray[np.float32] | None = None


def as_line(output: OutputLine) -> str:
    """Returns one line of JSON, without its line feed. alignment, posterior: a list of (source
    position, weight in millionths) for each target word."""
    translation = output.translation
    fields: JsonObject = {"number": output.number}
    fields |= {name: getattr(translation, name) for name in PLAIN}
    fields["log_probabilities"] = [round(value, 5) for value in translation.log_probabilities]
    if translation.confidence:
        fields["confidence"] = [round(value, 5) for value in translation.confidence]
    fields |= {"seconds": round(output.seconds, 6), "alignment": _sparse(translation.alignment)}
    if output.posterior is not None:
        fields["posterior"] = _sparse(output.posterior)
    return json.dumps(fields, ensure_ascii=False)


def from_line(line: str) -> OutputLine:
    """Reads what `as_line` wrote; weights have six digits. Rows of which no weight was left out sum
    to 1 again. Raises the JSON parser's errors, or KeyError and TypeError, for a damaged line."""
    fields = parse_json(line)
    width = len(fields["source_tokens"])
    plain = {name: fields[name] for name in (*PLAIN, "log_probabilities")}
    translation = Translation(
        **plain,
        alignment=_dense(fields["alignment"], width),
        confidence=fields.get("confidence", []),
    )
    posterior = _dense(fields["posterior"], width) if "posterior" in fields else None
    return OutputLine(fields["number"], translation, fields["seconds"], posterior)


def read_outputs(path: Path) -> tuple[JsonObject, list[OutputLine]]:
    """Returns the header and the outputs of a file. Raises InputError, with the line, where it is
    damaged."""
    header: JsonObject = {}
    outputs, number = [], 1
    with path.open("rb") as file:
        try:
            header = parse_json(file.readline()) | header
            for line in file:
                number += 1
                outputs.append(from_line(line.decode("utf-8", "surrogatepass")))
        except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
            remedy = "remove it; its sentences are then translated again"
            raise InputError(f"is damaged: {error}", remedy, file=path, line=number) from None
    return header, outputs


def _sparse(weights: NDArray[np.float32]) -> SparseRows:
    return [
        [
            (int(place), round(MILLION * float(row[place])))
            for place in np.flatnonzero((row >= min(SMALLEST_WEIGHT, row.max())) & (row > 0))
        ]
        for row in weights
    ]


def _dense(rows: SparseRows, width: int) -> NDArray[np.float32]:
    matrix = np.zeros((len(rows), width), dtype=np.float64)
    for i, row in enumerate(rows):
        for j, millionths in row:
            matrix[i, j] = millionths
    total = matrix.sum(axis=1, keepdims=True)
    matrix /= np.where(total > MILLION - width, np.maximum(total, 1.0), MILLION)
    return matrix.astype(np.float32)


@dataclass(frozen=True, slots=True)
class System:
    """A system's translations of a test set: one detokenised line per sentence.

    run: one of our runs, with all its outputs; None for other systems.
    """

    name: str
    texts: Sequence[str]
    run: OpenedRun | None = None


@dataclass(frozen=True)
class OpenedRun:
    """A run and its outputs for a test set. Its network is loaded only if an output is missing.

    name: its name in tables. settings: those of the run, with changes. outputs: lines of each kind
    that was asked for, in the order of the test set. header: of a file of outputs: hardware,
    parameters.
    """

    name: str
    run: Run
    settings: Settings
    loading: Loading = DEFAULT_LOADING
    outputs: Mapping[Kind, Sequence[OutputLine]] = field(default_factory=dict)
    header: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def translator(self) -> Translator:
        """Returns the run with its network. Raises InputError as `Translator.load` does."""
        translator = self.loading.load([self.run.path])
        translator.settings = self.settings
        return translator

    @property
    def search(self) -> JsonObject:
        """The settings that translations depend on, by their names without the table."""
        return self.settings.search.model_dump() | self.settings.translation.model_dump()

    @cached_property
    def parameters(self) -> int:
        """The number of learned parameters."""
        networks = self.translator.networks
        return sum(parameter.numel() for network in networks for parameter in network.parameters())

    @property
    def attends(self) -> bool:
        """Tells whether α says something: RNNencdec has none."""
        return self.run.settings.model.alignment != "fixed"

    @property
    def references(self) -> list[Translation]:
        """The references in forced decoding."""
        return [line.translation for line in self.outputs[Kind.REFERENCES]]

    @property
    def links(self) -> dict[str, list[list[Link]]]:
        """The links of the references: "" → by α, "posterior " → by the alignment posterior. Empty
        if α says nothing (RNNencdec)."""
        known = [line.posterior for line in self.outputs[Kind.REFERENCES]]
        found = {
            "": [result.links() for result in self.references],
            "posterior ": [hard_links(weights) for weights in known if weights is not None],
        }
        return {prefix: links for prefix, links in found.items() if links and self.attends}

    @property
    def without_unk(self) -> dict[int, str] | None:
        """Index of a pair whose words the run knows → its translation without UNK; None if not
        asked for."""
        lines = self.outputs.get(Kind.WITHOUT_UNK)
        if lines is None:
            return None
        return {line.number: composed(line.translation.text) for line in lines}

    @property
    def system(self) -> System:
        """The run as a system, with its translations."""
        lines = self.outputs.get(Kind.TRANSLATIONS, ())
        return System(self.name, [composed(line.translation.text) for line in lines], self)


def open_run(
    name: str,
    path: Path,
    search: JsonObject | None = None,
    loading: Loading = DEFAULT_LOADING,
) -> OpenedRun:
    """Opens a run. search: settings changed from its own. Raises InputError as `Run.open` and
    `changed` do."""
    run = Run.open(path)
    settings = changed(run.settings, (search or {}) | {"search.nbest": 1})
    # the name of outputs says how they were made: those of another machine may differ
    precision = used_precision(settings.search.precision, loading.device)
    settings = changed(settings, {"search.precision": precision})
    return OpenedRun(name, run, settings, loading)


def run_answers(
    run: OpenedRun,
    test: TestSet,
    folder: Path,
    progress: Progress,
    kinds: Collection[Kind] = (Kind.TRANSLATIONS, Kind.WITHOUT_UNK),
) -> OpenedRun:
    """Returns the run with its outputs for a test set: the references, and those of the other kinds
    that are asked for. Outputs that are already in `folder` are not made again; translations are
    also written as text, one per line, into RUN/TEST.txt.
    """
    forced = Outputs(run, test, Kind.POSTERIOR, folder)
    if Kind.POSTERIOR not in kinds and not forced.path.exists():  # a study may have made them
        forced = replace(forced, kind=Kind.REFERENCES)
    header, found = forced.read(progress)
    outputs, lines = {Kind.REFERENCES: found}, list[OutputLine]()
    if Kind.TRANSLATIONS in kinds:
        translated = replace(forced, kind=Kind.TRANSLATIONS)
        header, lines = translated.read(progress)
        outputs[Kind.TRANSLATIONS] = lines
        text = "".join(f"{line.translation.text}\n" for line in lines)
        write_text(translated.path.with_name(f"{file_name(test.name)}.txt"), text)
    if Kind.WITHOUT_UNK in kinds:
        known = replace(forced, kind=Kind.WITHOUT_UNK)
        outputs[Kind.WITHOUT_UNK] = _without_unk(known, lines, progress)
    return replace(run, outputs=outputs, header=header)


@dataclass(frozen=True)
class Outputs:
    """The outputs of one kind of a run for a test set, in a file in `folder`. Outputs of other
    weights or search settings have other files there."""

    run: OpenedRun
    test: TestSet
    kind: Kind
    folder: Path

    @property
    def forced(self) -> bool:
        """Tells whether the references are given."""
        return self.kind in (Kind.REFERENCES, Kind.POSTERIOR)

    @property
    def settings(self) -> JsonObject:
        """The settings that the outputs depend on."""
        if self.forced:
            return {"rounds": ROUNDS} if self.kind == Kind.POSTERIOR else {}
        return self.run.search | {
            "no_unk": self.kind == Kind.WITHOUT_UNK or self.run.search["no_unk"]
        }

    @cached_property
    def key(self) -> str:
        """A checksum of everything that the outputs depend on."""
        references = [] if self.kind == Kind.TRANSLATIONS else self.test.reference
        return checksum(
            str(OUTPUT_FORMAT),
            package_version(),
            *sorted(edited_functions()),
            self.kind,
            self.run.run.checksum,
            json.dumps(self.settings, sort_keys=True),
            *self.test.source,
            *references,
        )

    @cached_property
    def path(self) -> Path:
        """The file."""
        file = f"{file_name(self.test.name)}.{self.kind}.{self.key[:12]}.jsonl"
        return self.folder / file_name(self.run.name) / file

    @cached_property
    def pairs(self) -> list[NumberedPair]:
        """The pairs that have outputs: all, or those without words unknown to the run, in source
        and reference (Table 1, second column)."""
        pairs = enumerate(self.test.pairs)
        return [
            (n, *pair) for n, pair in pairs if self.kind != Kind.WITHOUT_UNK or self._knows(pair)
        ]

    def _knows(self, pair: tuple[str, str]) -> bool:
        codecs = self.run.run.source, self.run.run.target
        return all(
            UNK not in codec.encode(line).ids for codec, line in zip(codecs, pair, strict=True)
        )

    def _length(self, pair: NumberedPair) -> int:
        codec, line = (
            (self.run.run.target, pair[2]) if self.forced else (self.run.run.source, pair[1])
        )
        return len(codec.encode(line).ids)

    def read(self, progress: Progress) -> tuple[JsonObject, list[OutputLine]]:
        """Returns the header of the file, and the outputs in the order of the test set; those
        already in the file are not made again. Raises InputError for a file that is damaged or
        cannot be written."""
        if not self.pairs:
            return {}, []
        if not self.path.exists():
            self._make(progress)
        header, lines = read_outputs(self.path)
        if [line.number for line in lines] != [number for number, *_ in self.pairs]:
            remedy = "remove it; its sentences are then translated again"
            raise InputError("is damaged: sentences are missing", remedy, file=self.path)
        return header, lines

    def _make(self, progress: Progress) -> None:
        """Makes the outputs that are missing, block by block."""
        run = self.run
        batch_size = FORCED_BATCH if self.forced else int(self.run.search["batch_size"])
        header = {
            "format": OUTPUT_FORMAT,
            "key": self.key,
            "run": run.name,
            "test set": self.test.name,
            "kind": self.kind,
            "settings": self.settings,
            "parameters": run.parameters,
            "hardware": hardware(run.loading.device),
            "rnnsearch": package_version(),
        }
        # the first call converts the weights, which is not translation time
        self._work(self.pairs[:1])
        with LineFile(
            self.path, self.key, head=f"{json.dumps(header, ensure_ascii=False)}\n"
        ) as file:
            for block in batches(file.missing(self.pairs), READ_AHEAD * batch_size):
                made = batched_by_length(block, self._length, batch_size, self._timed)
                file.append(block, map(as_line, made))
                progress(f"{run.name}, {self.test.name}: {self.kind}", file.done, len(self.pairs))

    def _timed(self, batch: Sequence[NumberedPair]) -> list[OutputLine]:
        """Returns the outputs of one batch, each with its share of the time, in proportion to
        source words."""
        begun = time.perf_counter()
        made = self._work(batch)
        seconds = time.perf_counter() - begun
        words = [max(1, len(output.translation.source_tokens) - 1) for output in made]
        return [
            replace(output, seconds=seconds * own / sum(words))
            for output, own in zip(made, words, strict=True)
        ]

    def _work(self, batch: Sequence[NumberedPair]) -> list[OutputLine]:
        """Returns the outputs of one batch."""
        numbers, sources, references = zip(*batch, strict=True)
        translator = self.run.translator
        if not self.forced:
            without_unk = {"search.no_unk": self.settings["no_unk"]}
            return list(
                map(OutputLine, numbers, translator.translate(sources, settings=without_unk))
            )
        given = list(zip(sources, references, strict=True))
        results = list(map(OutputLine, numbers, translator.force(given)))
        if self.kind == Kind.REFERENCES:
            return results
        known = translator.force(given, posterior=True, exact=True)
        return [
            replace(result, posterior=other.alignment)
            for result, other in zip(results, known, strict=True)
        ]


def _without_unk(
    outputs: Outputs, translations: Sequence[OutputLine], progress: Progress
) -> list[OutputLine]:
    """Returns the translations, without UNK, of the pairs in which the run knows every word.

    The existing translations serve if `no_unk` is set, or if the run writes subwords and none of
    them contains UNK. Otherwise the pairs are translated again.
    """
    run, known = outputs.run, {number for number, *_ in outputs.pairs}
    found = [line for line in translations if line.number in known]
    has_unk = any(UNKNOWN in token for line in found for token in line.translation.tokens)
    if translations and (
        run.search["no_unk"] or (run.run.target.subwords is not None and not has_unk)
    ):
        return found
    return outputs.read(progress)[1]
