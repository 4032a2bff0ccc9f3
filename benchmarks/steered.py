"""Counts what a translator types who keeps a beginning and lets the model write the rest.

    python benchmarks/steered.py en-fr newstest2013.en.gz newstest2013.fr.gz --into steered.jsonl
    python benchmarks/steered.py --figure steering.svg --from steered.jsonl

A simulated user corrects the first wrong word until the reference stands (Barrachina et al. 2009). Words are
those of the tokeniser. Each ratio has its 95 % interval by the bootstrap:

- word strokes: words typed / words of the reference. Ending a translation that is too long is a stroke.
- keys and moves: letters typed from a word's first wrong one, a space after each, a move of the cursor where
  the last correction was not at the word before, and one key that accepts the sentence / characters of the
  reference. The model answers after each word, not after each letter.
- post-editing: word edit distance of the first translation / words of the reference.

Typing all is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rnnsearch import Translation, Translator
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.figure3 import drawing, save_figure
from rnnsearch.lab.figures import STYLE
from rnnsearch.lab.palette import DIM, SERIES
from rnnsearch.records import after_letters
from rnnsearch.text.codec import Codec
from rnnsearch.text.formats.lines import read_lines

MEASURES = {"post-editing": "words changed", "strokes": "words typed", "keys": "keys and moves"}


@dataclass
class User:
    """A user who wants one line to become the reference. kept: words of the reference that stand; typed: the
    beginning given; actions: keys and moves, with the one that accepts the sentence."""

    reference: str
    words: list[str]
    kept: int = 0
    typed: str = ""
    strokes: int = 0
    actions: int = 1
    distance: int = 0

    def correct(self, found: list[str]) -> bool:
        """Corrects the first wrong word of a translation. Returns whether more has to be translated."""
        letters, skipped = len("".join(self.words[: self.kept])), 0
        while len("".join(found[:skipped])) < min(letters, len("".join(found))):
            skipped += 1
        rest, wanted = found[skipped:], self.words[self.kept :]
        same = common(rest, wanted)
        moved = bool(same) or not self.strokes
        if same == len(wanted):
            too_long = len(rest) > same
            self.strokes += too_long
            self.actions += too_long * (1 + moved)
            return False
        word = wanted[same]
        self.strokes += 1
        shared = common(word, rest[same]) if len(rest) > same else 0
        self.actions += moved + len(word) - shared + 1
        self.kept += same + 1
        letters = len("".join(self.words[: self.kept]))
        self.typed = self.reference[: after_letters(self.reference, letters)] + " "
        return self.kept < len(self.words)


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns how many words or letters both begin with."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def edit_distance(found: list[str], wanted: list[str]) -> int:
    """Returns the fewest words to insert, delete or replace (Levenshtein 1966)."""
    row = list(range(len(wanted) + 1))
    for count, word in enumerate(found, 1):
        before, row = row, [count]
        for place, other in enumerate(wanted):
            row.append(min(before[place] + (word != other), before[place + 1] + 1, row[place] + 1))
    return row[-1]


def simulate(translator: Translator, lines: list[str], references: list[str], beam: int) -> list[User]:
    """Returns the users of all lines, when every reference stands."""
    target: Codec = translator.target

    def words(result: Translation) -> list[str]:
        return target.words(result.text)

    users = [User(reference, target.words(reference)) for reference in references]
    open_lines = list(range(len(lines)))
    while open_lines:
        prefix = [users[line].typed for line in open_lines]
        found = translator.translate([lines[line] for line in open_lines], beam=beam, prefix=prefix)
        rows = [(line, words(result)) for line, result in zip(open_lines, found, strict=True)]
        for line, first in rows:
            if not users[line].typed:
                users[line].distance = edit_distance(first, users[line].words)
        open_lines = [line for line, own in rows if users[line].correct(own)]
        print(f"{len(open_lines)} lines are open", end="\r", flush=True)
    return users


def measured(users: list[User]) -> dict[str, SufficientStatistics]:
    words, letters = [len(user.words) for user in users], [len(user.reference) for user in users]
    rows = {
        "post-editing": ([user.distance for user in users], words),
        "strokes": ([user.strokes for user in users], words),
        "keys": ([user.actions for user in users], letters),
    }
    return {name: ratio(name, "", *row) for name, row in rows.items()}


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draws the ratios of each model and test set, with their intervals."""
    with drawing(STYLE):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.5, 3.6), dpi=72, layout="constrained")
        axes = figure.add_subplot()
        for place, (name, label) in enumerate(MEASURES.items()):
            found = [row[name] for row in rows]
            values, low, high = zip(*found, strict=True)  # type: ignore[call-overload]
            errors = [
                [v - w for v, w in zip(values, low, strict=True)],
                [w - v for v, w in zip(values, high, strict=True)],
            ]
            x = [k + 0.27 * (place - 1) for k in range(len(rows))]
            axes.bar(x, values, 0.25, yerr=errors, color=SERIES[place], label=label, ecolor=DIM)
        axes.axhline(1, color=DIM, linewidth=1)
        axes.set_xticks(range(len(rows)), [f"{row['model']}\n{row['test']}" for row in rows])
        axes.set_title("share of typing all", loc="left", color=DIM)
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("model", nargs="?")
    add("source", nargs="?")
    add("reference", nargs="?")
    add("--name", help="of the test set; by default, that of the source file")
    add("--lines", type=int, default=300, help="of the files, shuffled; always the same")
    add("--beam", type=int, default=1)
    add("--into", type=Path, help="adds the ratios to a file, a JSON object in a line")
    add("--from", type=Path, dest="made", help="such a file, to be drawn")
    add("--figure", type=Path)
    given = parser.parse_args()
    if given.figure:
        return draw([json.loads(line) for line in given.made.read_text().splitlines()], given.figure)
    pairs = list(zip(read_lines(given.source), read_lines(given.reference), strict=True))
    random.Random(1).shuffle(pairs)
    lines, references = zip(*pairs[: given.lines], strict=True)
    begun = time.monotonic(), time.process_time()
    users = simulate(Translator.load(given.model), list(lines), list(references), given.beam)
    wall, cpu = time.monotonic() - begun[0], time.process_time() - begun[1]
    test = given.name or Path(given.source).name.split(".")[0]
    row: dict[str, object] = {"model": given.model, "test": test, "lines": given.lines}
    for name, statistics in measured(users).items():
        value, (low, high) = statistics.score().value, statistics.interval()
        row[name] = [value, low, high]
        print(f"{MEASURES[name]:15} {value:.3f} ({low:.3f}–{high:.3f})")
    print(f"{given.lines} lines, beam {given.beam}, {wall:.0f} s, {cpu:.0f} s of CPU time")
    if given.into:
        with given.into.open("a") as file:
            print(json.dumps(row | {"beam": given.beam}), file=file)


if __name__ == "__main__":
    main()
