"""Counts what a translator types who keeps a beginning and lets the model write the rest.

    python benchmarks/steered.py en-fr newstest2013.en.gz newstest2013.fr.gz --into steered.jsonl
    python benchmarks/steered.py --figure steering.svg --from steered.jsonl

A simulated user corrects the first wrong word until the reference stands (Barrachina et al. 2009).
Words are those of the tokeniser. Each ratio has its 95 % interval by the bootstrap:

- words typed / words of the reference (word-stroke ratio). Ending a translation that is too long is
  a word.
- keys and moves / characters of the reference (key-stroke and mouse-action ratio): letters typed
  from a word's first wrong one, a space after each word, a move of the cursor where the word before
  was not typed, too, and one key that accepts the sentence. The model answers after each word, not
  after each letter.
- words changed / words of the reference (post-editing): word edit distance of the first
  translation.

Typing all is 1. By default, one pass of forced decoding over the reference tells which words greedy
search would write differently; `--rounds` translates again after each correction, many times
slower, with any beam. Numbers and names are not copied, and sentences not split.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rnnsearch import Translator
from rnnsearch.batch import pad
from rnnsearch.evaluation.statistics import SufficientStatistics, ratio
from rnnsearch.figure3 import drawing, save_figure
from rnnsearch.lab.figures import STYLE
from rnnsearch.lab.palette import DIM, SERIES
from rnnsearch.lab.significance import interval
from rnnsearch.records import after_letters
from rnnsearch.text.codec import EncodedSentence
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.subwords import WORD_START
from rnnsearch.text.vocabulary import EOS, UNK, Vocabulary

PLAIN = {"translation.faithful": False, "translation.split_sentences": False}
MEASURES = {"post-editing": "words changed", "strokes": "words typed", "keys": "keys and moves"}


@dataclass
class User:
    """A user who wants one line to become the reference. kept: words of the reference that stand;
    typed: the beginning given; actions: keys and moves, with the one that accepts the sentence."""

    reference: str
    words: list[str]
    kept: int = 0
    typed: str = ""
    strokes: int = 0
    actions: int = 1
    distance: int = 0

    def correct(self, found: list[str]) -> bool:
        """Corrects the first wrong word of a translation. Returns whether more has to be
        translated."""
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


def common(one: Sequence[object], other: Sequence[object]) -> int:
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


def simulate(translator: Translator, lines: list[str], users: list[User], beam: int) -> None:
    """Translates after each correction until every reference stands."""
    open_lines = list(range(len(lines)))
    while open_lines:
        prefix = [users[line].typed for line in open_lines]
        how: dict[str, Any] = {"beam": beam, "prefix": prefix, "settings": PLAIN}
        found = translator.translate([lines[line] for line in open_lines], **how)
        rows = [
            (line, translator.target.words(result.text))
            for line, result in zip(open_lines, found, strict=True)
        ]
        open_lines = [line for line, own in rows if users[line].correct(own)]
        print(f"{len(open_lines)} lines are open", file=sys.stderr, flush=True)


@torch.no_grad()
def force(translator: Translator, lines: list[str], users: list[User]) -> None:
    """Counts, with one pass over the references, what `simulate` counts with beam 1."""
    (network,) = translator.networks
    vocabulary = translator.target.vocabulary
    starts = torch.full((len(vocabulary),), -torch.inf)
    starts[[EOS, *vocabulary.ids_starting(translator.target.word_start)]] = 0
    order = sorted(range(len(lines)), key=lambda line: len(users[line].words))
    for first in range(0, len(order), 20):
        some = [users[line] for line in order[first : first + 20]]
        sources = [translator.source.encode(lines[line]).ids for line in order[first : first + 20]]
        targets = [translator.target.encode_words(user.words) for user in some]
        target, sizes = pad([one.ids for one in targets])
        (read,) = network.teacher_forced(*pad(sources), target, target_lengths=sizes)
        for user, own, features in zip(some, targets, read.features, strict=True):
            logits = network.output.logits(features[: len(own.ids)])
            logits[:, UNK] = -torch.inf
            whole = (logits + starts).argmax(1).tolist()
            count(user, own, logits.argmax(1).tolist(), whole, vocabulary)


def count(
    user: User,
    target: EncodedSentence,
    likeliest: list[int],
    whole: list[int],
    vocabulary: Vocabulary,
) -> None:
    """Counts the corrections of one line. likeliest: id at each place; whole: of those that begin a
    word."""
    typed = False  # was the word before typed, and a space after it?
    begins = [target.word_of.index(word) for word in range(len(user.words) + 1)]
    for word, begin, end in zip(user.words, begins, begins[1:], strict=False):
        shown = (whole if typed else likeliest)[begin : begin + 1] + likeliest[begin + 1 : end]
        right = common(shown, target.ids[begin:end])
        if begin + right == end and whole[end] == likeliest[end]:
            typed = False
            continue
        seen = "".join(map(vocabulary.word, shown[: right + 1])).removeprefix(WORD_START)
        user.strokes += 1
        user.actions += (not typed) + len(word) - common(word, seen) + 1
        typed = True
    if (whole if typed else likeliest)[-1] != EOS:
        user.strokes += 1
        user.actions += 1 + (not typed)


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
            values, low, high = zip(*found, strict=True)
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("model", nargs="?")
    add("source", nargs="?")
    add("reference", nargs="?")
    add("--name", help="of the test set; by default, that of the source file")
    add("--lines", type=int, default=300, help="of the files, shuffled; always the same")
    add("--beam", type=int, default=1)
    add("--rounds", action="store_true", help="search again after each correction")
    add("--into", type=Path, help="adds the ratios to a file, a JSON object in a line")
    add("--from", type=Path, dest="made", help="such a file, to be drawn")
    add("--figure", type=Path)
    given = parser.parse_args()
    if not (given.made if given.figure else given.reference):
        parser.error("give MODEL SOURCE REFERENCE, or --from FILE --figure FILE")
    if given.figure:
        return draw(
            [json.loads(line) for line in given.made.read_text().splitlines()], given.figure
        )
    pairs = list(zip(read_lines(given.source), read_lines(given.reference), strict=True))
    random.Random(1).shuffle(pairs)
    lines, references = zip(*pairs[: given.lines], strict=True)
    begun = time.monotonic(), time.process_time()
    translator = Translator.load(given.model)
    users = [User(reference, translator.target.words(reference)) for reference in references]
    first = translator.translate(lines, beam=given.beam, settings=PLAIN)
    for user, result in zip(users, first, strict=True):
        user.distance = edit_distance(translator.target.words(result.text), user.words)
    if given.rounds:
        simulate(translator, list(lines), users, given.beam)
    else:
        force(translator, list(lines), users)
    wall, cpu = time.monotonic() - begun[0], time.process_time() - begun[1]
    test = given.name or Path(given.source).name.split(".")[0]
    row: dict[str, object] = {"model": given.model, "test": test, "lines": len(lines)}
    for name, statistics in measured(users).items():
        value, (low, high) = statistics.score().value, interval(statistics)
        row[name] = [value, low, high]
        print(f"{MEASURES[name]:15} {value:.3f} ({low:.3f}–{high:.3f})")
    print(f"{len(lines)} lines, beam {given.beam}, {wall:.0f} s, {cpu:.0f} s of CPU time")
    if given.into:
        with given.into.open("a") as file:
            print(json.dumps(row | {"beam": given.beam}), file=file)


if __name__ == "__main__":
    main()
