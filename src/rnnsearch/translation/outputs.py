"""The outputs of a run for a test set: translations, translations without UNK, and references in forced
decoding. Each is made once and kept in a file."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from rnnsearch.config import changed
from rnnsearch.evaluation.test_set import RunAnswers, TestSet
from rnnsearch.installed import package_version
from rnnsearch.run import Run
from rnnsearch.system.files import checksum, file_name, write_text
from rnnsearch.system.line_file import LineFile
from rnnsearch.system.machine import hardware
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import SPECIALS, UNK
from rnnsearch.translation.batching import READ_AHEAD, batched_by_length, batches
from rnnsearch.translation.forced import ROUNDS
from rnnsearch.translation.outputs_file import (
    FORMAT,
    OutputLine,
    as_line,
    read_header,
    read_outputs,
)
from rnnsearch.translation.translator import Translator
from rnnsearch.word_links import hard_links

FORCED_TOGETHER = 64
"""Pairs of one batch in forced decoding."""


class Kind(StrEnum):
    """TRANSLATIONS: translations of all source lines. WITHOUT_UNK: translations, without UNK, of the pairs in
    which the run knows every word (Table 1).

    REFERENCES: the references in forced decoding; their score is log p(reference | source). POSTERIOR: the
    same, with posterior alignments.
    """

    TRANSLATIONS = "translations"
    WITHOUT_UNK = "without-unk"
    REFERENCES = "references"
    POSTERIOR = "references-posterior"


Pair = tuple[int, str, str]
"""Line number from 0, source, reference."""


@dataclass(frozen=True)
class OpenedRun:
    """A run for which outputs are made. Its network is loaded only if an output is missing.

    name: its name in tables. search: the search settings to use.
    """

    name: str
    run: Run
    search: dict[str, Any]
    device: str = "cpu"
    trust_code: bool = False

    @cached_property
    def translator(self) -> Translator:
        """Returns the run with its network. Raises InputError as `Translator.load` does."""
        return Translator.load(self.run.path, device=self.device, trust_code=self.trust_code)

    @cached_property
    def parameters(self) -> int:
        """The number of learned parameters."""
        networks = self.translator.networks
        return sum(parameter.numel() for network in networks for parameter in network.parameters())


def open_run(
    name: str,
    path: Path,
    search: dict[str, Any] | None = None,
    *,
    device: str = "cpu",
    trust_code: bool = False,
) -> OpenedRun:
    """Opens a run. search: settings changed from its own. Raises InputError as `Run.open` and `changed`
    do."""
    run = Run.open(path)
    settings = changed(run.settings.search, (search or {}) | {"nbest": 1}).model_dump()
    return OpenedRun(name, run, settings, device, trust_code)


def run_answers(
    run: OpenedRun,
    test: TestSet,
    folder: Path,
    progress: Progress,
    *,
    translate: bool = True,
    without_unk: bool = True,
    posterior: bool = False,
) -> RunAnswers:
    """Returns all outputs of a run for a test set. Outputs that are already in `folder` are not made again;
    translations are also written as text, one per line, into RUN/TEST.txt.

    translate: translate its source. without_unk: translate the pairs in which it knows every word without
    UNK. posterior: also link the references by the posterior.
    """
    forced = Outputs(run, test, Kind.POSTERIOR, folder)
    if not posterior and not forced.is_whole():  # a study may have made them
        forced = Outputs(run, test, Kind.REFERENCES, folder)
    translated = Outputs(run, test, Kind.TRANSLATIONS, folder)
    references = forced.lines(progress)
    lines = translated.lines(progress) if translate else []
    if translate:
        text = "".join(f"{line.translation.text}\n" for line in lines)
        write_text(translated.path.with_name(f"{file_name(test.name)}.txt"), text)
    known = (
        _without_unk(Outputs(run, test, Kind.WITHOUT_UNK, folder), lines, progress) if without_unk else None
    )
    made = (translated if translate else forced).path
    header = read_header(made) if made.exists() else {}
    return RunAnswers(
        path=run.run.path,
        source=run.run.source,
        target=run.run.target,
        attends=run.run.settings.model.alignment != "fixed",
        references=[line.translation for line in references],
        posterior=[hard_links(line.posterior) for line in references if line.posterior is not None] or None,
        translations=[line.translation for line in lines],
        seconds=[line.seconds for line in lines],
        without_unk=None if known is None else {line.number: line.translation.text for line in known},
        search=run.search,
        hardware=header.get("hardware", ""),
        parameters=header.get("parameters"),
    )


@dataclass(frozen=True)
class Outputs:
    """The outputs of one kind of a run for a test set, in a file in `folder`. Outputs of other weights or
    search settings have other files there."""

    run: OpenedRun
    test: TestSet
    kind: Kind
    folder: Path

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the outputs depend on."""
        if self.kind == Kind.POSTERIOR:
            return {"rounds": ROUNDS}
        if self.kind == Kind.REFERENCES:
            return {}
        return self.run.search | {"no_unk": self.kind == Kind.WITHOUT_UNK or self.run.search["no_unk"]}

    @cached_property
    def key(self) -> str:
        """A checksum of everything that the outputs depend on."""
        references = [] if self.kind == Kind.TRANSLATIONS else self.test.reference
        settings = json.dumps(self.settings, sort_keys=True)
        return checksum(
            str(FORMAT), self.kind, self.run.run.checksum, settings, *self.test.source, *references
        )

    @cached_property
    def path(self) -> Path:
        """The file."""
        file = f"{file_name(self.test.name)}.{self.kind}.{self.key[:12]}.jsonl"
        return self.folder / file_name(self.run.name) / file

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs that have outputs: all, or those without words unknown to the run, in source and
        reference (Table 1, second column)."""
        source, target = self.run.run.source, self.run.run.target

        def known(codec: Codec, line: str) -> bool:
            return self.kind != Kind.WITHOUT_UNK or UNK not in codec.encode(line).ids

        pairs = enumerate(self.test.pairs)
        return [
            (n, left, right) for n, (left, right) in pairs if known(source, left) and known(target, right)
        ]

    def is_whole(self) -> bool:
        """Tells whether the outputs are there."""
        return self.path.exists()

    def lines(self, progress: Progress) -> list[OutputLine]:
        """Returns the outputs in the order of the test set; those already in the file are not made again.

        Raises InputError for a file that is damaged or cannot be written.
        """
        run, pairs = self.run, self.pairs
        if not self.is_whole() and pairs:
            forced = self.kind in (Kind.REFERENCES, Kind.POSTERIOR)
            batch_size = FORCED_TOGETHER if forced else int(run.search["batch_size"])

            def length(pair: Pair) -> int:
                return len(
                    run.run.target.encode(pair[2]).ids if forced else run.run.source.encode(pair[1]).ids
                )

            self._work(pairs[:1])  # the first call converts the weights, which is not translation time
            file = LineFile(self.path, self.key, head=f"{json.dumps(self._header(), ensure_ascii=False)}\n")
            file.begin(overwrite=False)
            with file:
                for block in batches(file.missing(pairs), READ_AHEAD * batch_size):
                    made = batched_by_length(block, length, batch_size, self._timed)
                    file.append(block, map(as_line, made))
                    progress(f"{run.name}, {self.test.name}: {self.kind}", file.done, len(pairs))
                file.finish()
        return list(read_outputs(self.path)) if pairs else []

    def _header(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "key": self.key,
            "run": self.run.name,
            "test set": self.test.name,
            "kind": self.kind,
            "settings": self.settings,
            "parameters": self.run.parameters,
            "hardware": hardware(self.run.device),
            "rnnsearch": package_version(),
        }

    def _timed(self, batch: Sequence[Pair]) -> list[OutputLine]:
        """Returns the outputs of one batch, each with its share of the time, in proportion to source
        words."""
        begun = time.perf_counter()
        made = self._work(batch)
        seconds = time.perf_counter() - begun
        words = [max(1, len(output.translation.source_tokens) - 1) for output in made]
        return [
            replace(output, seconds=seconds * own / sum(words))
            for output, own in zip(made, words, strict=True)
        ]

    def _work(self, batch: Sequence[Pair]) -> list[OutputLine]:
        """Returns the outputs of one batch."""
        numbers, sources, references = zip(*batch, strict=True)
        translator = self.run.translator
        if self.kind in (Kind.TRANSLATIONS, Kind.WITHOUT_UNK):
            return list(map(OutputLine, numbers, translator.translate(sources, **self.settings)))
        given = list(zip(sources, references, strict=True))
        results = list(map(OutputLine, numbers, translator.force(given, FORCED_TOGETHER)))
        if self.kind == Kind.REFERENCES:
            return results
        known = translator.force(given, FORCED_TOGETHER, posterior=True, exact=True)
        return [
            replace(result, posterior=other.alignment) for result, other in zip(results, known, strict=True)
        ]


def _without_unk(
    outputs: Outputs, translations: Sequence[OutputLine], progress: Progress
) -> list[OutputLine]:
    """Returns the translations, without UNK, of the pairs in which the run knows every word.

    The existing translations serve if `no_unk` is set, or if the run writes subwords and none of them
    contains UNK. Otherwise the pairs are translated again.
    """
    run, known = outputs.run, {number for number, *_ in outputs.pairs}
    found = [line for line in translations if line.number in known]
    has_unk = any(SPECIALS[UNK] in token for line in found for token in line.translation.tokens)
    if translations and (run.search["no_unk"] or (run.run.target.subwords is not None and not has_unk)):
        return found
    return outputs.lines(progress)
