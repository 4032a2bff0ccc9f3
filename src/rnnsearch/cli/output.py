"""Output of the commands: one line for each input line, and whole files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rnnsearch.installed import need
from rnnsearch.system.files import write_text, writing
from rnnsearch.system.progress import ProgressBar, visible

if TYPE_CHECKING:  # they would load numpy and torch
    from rnnsearch.records import Translation
    from rnnsearch.translation.aligner import Aligned


def as_json(result: Translation) -> str:
    """Returns a line of JSON: text, tokens, score, the alignment matrix (target × source) and other
    fields."""
    return json.dumps(result.to_dict(), ensure_ascii=False)


def as_aligned_json(aligned: Aligned, measures: Mapping[str, float]) -> str:
    """Returns a line of JSON with the links made, the measures, and the matrix of the other direction, if
    any; without alternatives and confidence."""
    more: dict[str, Any] = {
        "links": aligned.links,
        "measures": {name: round(value, 5) for name, value in measures.items()},
    }
    if aligned.reverse is not None:
        more["reverse_alignment"] = aligned.reverse.to_dict()["alignment"]
    one = aligned.result.to_dict()
    del one["alternatives"], one["confidence"]
    return json.dumps(one | more, ensure_ascii=False)


def with_unsure_dimmed(result: Translation) -> str:
    """Returns the text for a terminal, with unsure words dimmed."""
    from rnnsearch.evaluation.confidence import UNSURE

    shown, end, text = "", 0, visible(result.text)
    for word, confidence in zip(map(visible, result.tokens), result.confidence, strict=True):
        begin = text.find(word, end)
        if begin >= 0:
            dim = confidence < UNSURE
            shown += text[end:begin] + (f"\x1b[2m{word}\x1b[22m" if dim else word)
            end = begin + len(word)
    return shown + text[end:]


def as_nbest(number: int, result: Translation) -> str:
    """Returns lines of a Moses n-best list: `id ||| text ||| rnnsearch= log p ||| score`, id counted from
    0."""
    candidates = [result, *result.alternatives]
    return "\n".join(
        f"{number} ||| {c.text} ||| rnnsearch= {sum(c.log_probabilities):.4f} ||| {c.score:.4f}"
        for c in candidates
    )


def as_links(result: Translation) -> str:
    """Returns the links in Pharaoh format, source-target, from 0."""
    from rnnsearch.word_links import format_links

    return format_links(result.links())


def with_plots(results: Iterable[Translation], folder: Path | None, first: int = 1) -> Iterator[Translation]:
    """Yields the results, and draws their alignments into a folder, if any. first: number of the first
    one."""
    if folder:
        need("plot")
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    for number, result in enumerate(results, first):
        if folder:
            result.plot(folder / f"{number:06d}.png")
        yield result


def with_links(results: Iterable[Translation], path: Path | None) -> Iterator[Translation]:
    """Yields the results, and writes their links to a file, if any."""
    with ExitStack() as opened:
        with writing(path):
            file = opened.enter_context(path.open("wb", buffering=0)) if path else None
        for result in results:
            with writing(path):
                if file:
                    file.write(f"{as_links(result)}\n".encode())
            yield result


class LineProgress:
    """Shows how many lines of a text are done, and units per second. After Ctrl-C, says where to continue.

    resume: first words of the message after Ctrl-C;
    empty for no message.
    """

    def __init__(self, doing: str, unit: str, file: str, resume: str = "", shown: bool = True) -> None:
        from rnnsearch.text.formats.lines import count_lines

        self.bar, self.doing, self.unit, self.resume = ProgressBar(shown), doing, unit, resume
        self.lines = count_lines(file) if self.bar.bar is not None else None
        self.begun, self.units, self.answered = time.monotonic(), 0, 0

    def __enter__(self) -> Self:
        self.bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.bar.__exit__()
        if kind is KeyboardInterrupt and self.resume:
            raise KeyboardInterrupt(f"{self.resume} after line {self.answered:,}") from None

    def __call__(self, done: int, units: int) -> None:
        """Shows how many lines are done. units: number of units in the lines since the last call."""
        self.units += units
        self.answered = done
        speed = self.units / max(time.monotonic() - self.begun, 1e-9)
        self.bar(self.doing, done, self.lines, f"{speed:,.0f} {self.unit}/s")


def write(path: Path, text: str) -> None:
    """Writes a file whole, and its folder if there is none. Raises InputError if it cannot be written."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
