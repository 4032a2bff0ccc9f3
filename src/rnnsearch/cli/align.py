"""`rnnsearch align` and `rnnsearch score`: word links and log p of given pairs, by forced
decoding."""

from __future__ import annotations

import json as json_
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch.cli.answers import Place, Runs, Task, Work, answered, answers_key, json_line
from rnnsearch.cli.options import Strings, describe, output_format, refuse, say_if_empty
from rnnsearch.errors import InputError
from rnnsearch.system.progress import note

if TYPE_CHECKING:  # it would load torch
    from rnnsearch.translation.aligner import AlignedPair

ALIGN_FORMATS = ("pharaoh", "jsonl", "matrices", "picture")


@describe(
    """
    runs RUN... SRC TGT: Trained runs (several make an ensemble), the source text and its
    translations.
    reverse_run RUN: A run from target to source; its links are symmetrised with the others. Repeat
    the option for an ensemble.
    format_ FORMAT: pharaoh (default): links `0-0 1-2`; jsonl: the pair, its words, links and their
    probabilities; matrices: words, links and weights as JSON, for `report --alignments`; picture:
    drawn in the terminal.
    json: Short for --format matrices.
    """
)
def align(
    runs: list[str],
    *,
    reverse_run: list[Path] | None = None,
    format_: str = "",
    json: bool = False,
    set_: Strings = None,
    place: Place,
) -> None:
    """Align the words of sentence pairs by forced decoding. Print Pharaoh links `i-j`
    (source-target, from 0), or what --format says."""
    from rnnsearch.run import Run
    from rnnsearch.text.formats.layout import Layout
    from rnnsearch.text.languages import language_doubts

    form = output_format(format_, ALIGN_FORMATS, "matrices" if json else "")
    if form == "picture":
        refuse({"--format picture": place.out is not None}, "cannot be used with --out")
    reverse = reverse_run or []
    task = Aligning(form, align_options(set_, runs[0], reverse), reverse)
    names, source, target = runs_and_texts(runs)
    pairs = checked_pairs(place, source, target)
    data = Run.open(names[0]).settings.data
    layout = Layout("lines", "", "", data.source_language, data.target_language)
    named = data.tokeniser != "space"  # which ignores the languages
    if named and (doubts := language_doubts([source, target], layout, can_name=False)):
        note(doubts.removeprefix("\n"))
    if task.how["words"] == "given":
        check_split(runs[0], source, target)
    deque(answered(place, task, names, source, pairs), maxlen=0)


def checked_pairs(place: Place, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Returns the pairs of two texts. Raises InputError if their numbers of lines differ, and if
    the answers would replace one of them."""
    from rnnsearch.text.formats.lines import check_pairs, warned_pairs

    check_pairs(source, target)
    say_if_empty(source, target)
    place.keep(source, target)
    return warned_pairs(source, target)


def check_split(run: str | Path, source: str, target: str) -> None:
    """Raises InputError if a text on disk in a language without spaces is not split into words."""
    from rnnsearch.run import Run
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.text.links import Clauses
    from rnnsearch.text.tokens import given_words

    opened = Run.open(run)
    for side, codec, file in ("source", opened.source, source), ("target", opened.target, target):
        seen, number = Clauses(side, codec.tokeniser), 0
        if is_on_disk(file):
            with suppress(InputError):  # of a line, which is reported after those before it
                for number, line in enumerate(read_lines(file), 1):
                    seen.look(given_words(line), file, number)
        seen.check(number, "add --align.words tokenised")


def align_options(set_: Strings, run: str | Path, reverse: Sequence[Path]) -> dict[str, Any]:
    """Returns the options of Aligner and its batch size: the run's settings, changed by those of
    the command line. Raises InputError as `overrides_of` does, and for runs that are not
    opposite."""
    from rnnsearch.config import overrides_of
    from rnnsearch.run import Run
    from rnnsearch.settings import AlignSettings
    from rnnsearch.translation.aligner import PRODUCT, check_reverse

    changes, forward = overrides_of(set_ or (), ("align", "search.batch_size")), Run.open(run)
    how = AlignSettings(
        **forward.settings.align.model_dump() | changes.get("align", {})
    ).model_dump()
    how["method"] = how.pop("symmetrise")
    if not reverse and (how["method"] == PRODUCT or "symmetrise" in changes.get("align", {})):
        what = f"align.symmetrise = {how['method']} needs a run from target to source"
        raise InputError(what, "add --reverse-run RUN")
    if reverse:
        check_reverse(forward, Run.open(reverse[0]), reverse[0])
    return {"batch_size": 256} | changes.get("search", {}) | how


@dataclass(frozen=True)
class Aligning(Task):
    """The alignment of pairs. form: one of ALIGN_FORMATS. how: options of Aligner. reverse: runs
    from target to source."""

    how: dict[str, Any]
    reverse: list[Path]
    doing = "aligning"

    def load(self, place: Place, runs: Runs) -> Work:
        from rnnsearch.translation.aligner import Aligner

        translator, back = place.load(runs), place.load(self.reverse) if self.reverse else None
        how = dict(self.how)
        each = {name: how.pop(name) for name in ("threshold", "batch_size")}
        aligner = Aligner(translator, back, scored=self.form == "matrices", **how)
        stream = partial(aligner.stream, **each)
        return Work(stream, lambda _, aligned: self.line(aligned), each["batch_size"])

    def key(self, runs: Runs) -> str:
        how = f"align {self.how} {len(self.reverse)}"
        return answers_key([*runs, *self.reverse], how, self.form, [])

    def line(self, aligned: AlignedPair) -> str:
        """Returns the line of a pair, or its picture."""
        from rnnsearch.figure3 import comparison_text

        if self.form == "pharaoh":
            return aligned.pharaoh()
        if self.form == "picture":
            width = shutil.get_terminal_size((100, 24)).columns
            return f"{comparison_text(aligned.panels(), width)}\n"
        made = aligned.to_dict() if self.form == "jsonl" else aligned.matrices()
        return json_.dumps(made, ensure_ascii=False)


@describe(
    """
    runs RUN... SRC TGT: Trained runs (several make an ensemble), the source text, and its
    translations or a Moses n-best list.
    """
)
def score(runs: list[str], *, json: bool = False, set_: Strings = None, place: Place) -> None:
    """Print log p(y|x) of each sentence pair, in nats. An n-best list is printed again, sorted by
    these scores."""
    from rnnsearch.cli.nbest import is_nbest, parse_nbest, rerank
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.text.formats.opening import is_on_disk

    task = Scoring("json" if json else "text", score_batch(set_))
    names, source, target = runs_and_texts(runs)
    if is_on_disk(target) and is_nbest(next(read_lines(target), "")):
        if json or place.out is not None:
            what = "--json and --out cannot be used with an n-best list"
            raise InputError(what, "write it with > FILE", file=target)
        score_pairs = partial(place.load(names).score, batch_size=task.batch_size)
        lines = list(read_lines(source))
        for line in rerank(score_pairs, lines, parse_nbest(read_lines(target), len(lines), target)):
            print(line)
        return
    pairs = checked_pairs(place, source, target)
    first = list(islice(pairs, 1))
    if first and is_nbest(first[0][1]):
        what = "an n-best list cannot come through a pipe"
        raise InputError(what, "write it to a file first", file=target, line=1)
    deque(answered(place, task, names, source, chain(first, pairs)), maxlen=0)


def score_batch(set_: Strings) -> int:
    """Returns the number of pairs that are scored together. Raises InputError for a setting without
    effect."""
    from rnnsearch.config import overrides_of

    search = overrides_of(set_ or (), ["search.batch_size"]).get("search", {})
    return int(search.get("batch_size", 64))


@dataclass(frozen=True)
class Scoring(Task):
    """The scores of pairs. form: json or text."""

    batch_size: int
    doing = "scoring"

    def load(self, place: Place, runs: Runs) -> Work:
        translator, size = place.load(runs), self.batch_size
        write = json_line if self.form == "json" else lambda _, result: f"{result.score:.5f}"
        return Work(lambda pairs, first: translator.force(pairs, size, first=first), write, size)

    def key(self, runs: Runs) -> str:
        return answers_key(runs, f"score {self.batch_size}", self.form, [])


def runs_and_texts(words: list[str]) -> tuple[list[Path], str, str]:
    """Returns the runs and the two texts of RUN... SRC TGT."""
    if len(words) < 3:
        raise InputError("a run, a source text and a target text are needed", "give RUN SRC TGT")
    *runs, source, target = words
    return [Path(run) for run in runs], source, target
