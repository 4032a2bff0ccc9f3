"""The outputs of a run for a test set: translations, translations without UNK, and references in forced
decoding. Each is made once and kept in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rnnsearch.config import changed
from rnnsearch.evaluation.test_set import RunAnswers, TestSet
from rnnsearch.run import Run
from rnnsearch.system.files import checksum, file_name, write_text
from rnnsearch.system.machine import hardware
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import Codec
from rnnsearch.text.vocabulary import SPECIALS, UNK
from rnnsearch.translation.forced import ROUNDS
from rnnsearch.translation.outputs_file import (
    FORMAT,
    Header,
    OutputLine,
    completed,
    count_outputs,
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

    name: its name in tables. search: the search settings to use. checksum: that of weights and vocabularies.
    """

    name: str
    run: Run
    search: dict[str, Any]
    checksum: str
    device: str = "cpu"
    trust_code: bool = False

    @cached_property
    def translator(self) -> Translator:
        """Returns the run with its network. Raises InputError as `Translator.load` does."""
        return Translator.load(self.run.path, device=self.device, trust_code=self.trust_code)

    @property
    def parameters(self) -> int:
        """Returns the number of learned parameters."""
        networks = self.translator.networks
        return sum(parameter.numel() for network in networks for parameter in network.parameters())

    def settings(self, kind: Kind) -> dict[str, Any]:
        """Returns the settings that the outputs of this kind depend on."""
        if kind == Kind.POSTERIOR:
            return {"rounds": ROUNDS}
        if kind == Kind.REFERENCES:
            return {}
        return self.search | {"no_unk": kind == Kind.WITHOUT_UNK or self.search["no_unk"]}

    def key(self, test: TestSet, kind: Kind) -> str:
        """Returns a checksum of everything that the outputs depend on."""
        texts = test.source if kind == Kind.TRANSLATIONS else [*test.source, *test.reference]
        settings = json.dumps(self.settings(kind), sort_keys=True)
        return checksum(str(FORMAT), kind, self.checksum, settings, *texts)

    def path(self, folder: Path, test: TestSet, kind: Kind) -> Path:
        """Returns the file of these outputs. Outputs of other weights or search settings have other files in
        the folder."""
        file = f"{file_name(test.name)}.{kind}.{self.key(test, kind)[:12]}.jsonl"
        return folder / file_name(self.name) / file

    def pairs(self, test: TestSet, kind: Kind) -> list[Pair]:
        """Returns the pairs for which this kind has outputs."""
        numbers = known_pairs(self, test) if kind == Kind.WITHOUT_UNK else range(len(test.source))
        return [(number, test.source[number], test.reference[number]) for number in numbers]

    def is_whole(self, folder: Path, test: TestSet, kind: Kind) -> bool:
        """Tells whether the folder holds all outputs of this kind."""
        return count_outputs(self.path(folder, test, kind)) == len(self.pairs(test, kind))


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
    return OpenedRun(name, run, settings, run_checksum(run), device, trust_code)


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
    """Returns all outputs of a run for a test set. Outputs that are already in `folder` are not made again.

    translate: translate its source. without_unk: translate the pairs in which it knows every word without
    UNK. posterior: also link the references by the posterior.
    """
    kind = Kind.POSTERIOR
    if not posterior and not run.is_whole(folder, test, kind):  # a study may have made them
        kind = Kind.REFERENCES
    references = outputs(run, test, kind, folder, progress)
    lines = outputs(run, test, Kind.TRANSLATIONS, folder, progress) if translate else []
    known = _without_unk(run, test, lines, folder, progress) if without_unk else None
    header = read_header(run.path(folder, test, Kind.TRANSLATIONS if translate else kind))
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


def run_checksum(run: Run) -> str:
    """Returns a checksum of everything in a run that its outputs depend on, except search settings."""
    files = [
        run.model_path,
        *sorted(run.path.glob("vocabulary.*.txt")),
        *sorted(run.path.glob("subwords.*.model")),
        *sorted(run.path.glob("words.*.bloom")),
    ]
    return checksum(run.settings.data.model_dump_json(), run.settings.model.model_dump_json(), *files)


def known_pairs(run: OpenedRun, test: TestSet) -> list[int]:
    """Returns the numbers of the pairs without words unknown to the run, in source and reference (Table 1,
    second column).
    """

    def known(codec: Codec, line: str) -> bool:
        return UNK not in codec.encode(line).ids

    pairs = enumerate(test.pairs)
    return [n for n, (left, right) in pairs if known(run.run.source, left) and known(run.run.target, right)]


def outputs(run: OpenedRun, test: TestSet, kind: Kind, folder: Path, progress: Progress) -> list[OutputLine]:
    """Returns the outputs of one kind, in the order of the test set; those already in the file in `folder`
    are not made again.

    Raises InputError for a file that is damaged or cannot be written.
    """
    pairs, path = run.pairs(test, kind), run.path(folder, test, kind)
    if pairs and count_outputs(path) == len(pairs):  # do not load the network
        return list(read_outputs(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    forced = kind in (Kind.REFERENCES, Kind.POSTERIOR)

    def length(pair: Pair) -> int:
        return len(run.run.target.encode(pair[2]).ids if forced else run.run.source.encode(pair[1]).ids)

    if pairs:  # warm-up: the first call converts the weights, which is not translation time
        _work(run, kind, pairs[:1])
    found = completed(
        path,
        _header(run, test, kind),
        pairs,
        FORCED_TOGETHER if forced else int(run.search["batch_size"]),
        length,
        partial(_work, run, kind),
        fits=lambda pair, output: pair[0] == output.number,
        done=lambda count, made: progress(f"{run.name}, {test.name}: {kind}", count, len(pairs)),
    )
    return list(found)


def _without_unk(
    run: OpenedRun,
    test: TestSet,
    translations: Sequence[OutputLine],
    folder: Path,
    progress: Progress,
) -> list[OutputLine]:
    """Returns the translations, without UNK, of the pairs in which the run knows every word.

    The existing translations serve if `no_unk` is set, or if the run writes subwords and none of them
    contains UNK. Otherwise the pairs are translated again.
    """
    known = {number for number, *_ in run.pairs(test, Kind.WITHOUT_UNK)}
    found = [line for line in translations if line.number in known]
    has_unk = any(SPECIALS[UNK] in token for line in found for token in line.translation.tokens)
    if translations and (run.search["no_unk"] or (run.run.target.subwords is not None and not has_unk)):
        return found
    return outputs(run, test, Kind.WITHOUT_UNK, folder, progress)


def write_texts(folder: Path, run: OpenedRun, test: TestSet, texts: Sequence[str]) -> None:
    """Writes translations, one per line, into RUN/TEST.txt."""
    path = folder / file_name(run.name) / f"{file_name(test.name)}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(f"{text}\n" for text in texts))


def _header(run: OpenedRun, test: TestSet, kind: Kind) -> Header:
    return {
        "key": run.key(test, kind),
        "run": run.name,
        "test set": test.name,
        "kind": kind,
        "settings": run.settings(kind),
        "parameters": run.parameters,
        "hardware": hardware(run.device),
    }


def _work(run: OpenedRun, kind: Kind, batch: Sequence[Pair]) -> list[OutputLine]:
    """Returns the outputs of one batch."""
    numbers, sources, references = zip(*batch, strict=True)
    if kind in (Kind.TRANSLATIONS, Kind.WITHOUT_UNK):
        return list(map(OutputLine, numbers, run.translator.translate(sources, **run.settings(kind))))
    given = list(zip(sources, references, strict=True))
    results = list(map(OutputLine, numbers, run.translator.force(given, FORCED_TOGETHER)))
    if kind == Kind.REFERENCES:
        return results
    known = run.translator.force(given, FORCED_TOGETHER, posterior=True, exact=True)
    return [replace(result, posterior=other.alignment) for result, other in zip(results, known, strict=True)]
