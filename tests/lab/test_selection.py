from __future__ import annotations

import errno
import math
from pathlib import Path

import numpy as np
import pytest
from command_line import Command, assert_refused
from folders import names
from hypothesis import given
from hypothesis import strategies as st
from pairs import lines_of, write
from refusals import refusal
from tables import rows

from rnnsearch.lab import selection
from rnnsearch.lab.ngrams import NgramModel, encode_text
from rnnsearch.lab.selection import (
    Contrast,
    SelectOptions,
    best,
    pair_scores,
    random_sample,
    select,
)
from rnnsearch.settings import DataSettings
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary

SETTINGS = DataSettings(tokeniser="space")

Corpora = tuple[list[Path], list[Path]]


def sentence(random: np.random.Generator, words: list[str]) -> str:
    return " ".join(random.choice(words, random.integers(3, 9)))


@pytest.fixture
def corpora(tmp_path: Path) -> Corpora:
    """(in-domain files, pool files): animals of the domain; laws in the pool's first text, animals in every
    third line of its second."""
    random = np.random.default_rng(5)
    animals = ["dog", "cat", "cow", "runs", "the", "a"]
    laws = ["law", "act", "seat", "votes", "the", "a"]

    def texts(name: str, kinds: list[list[str]]) -> list[Path]:
        lines = [sentence(random, words) for words in kinds]
        return [
            write(tmp_path / f"{name}.en", lines),
            write(tmp_path / f"{name}.fr", [line.upper() + f" {line}" for line in lines]),
        ]

    pool = [
        *texts("laws", [laws] * 60),
        *texts("both", [animals if i % 3 == 0 else laws for i in range(60)]),
    ]
    return texts("domain", [animals] * 30), pool


def test_the_pairs_of_the_domain_are_kept_in_the_order_of_the_pool(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The raw text, not its words."""
    monkeypatch.setattr(selection, "_CHUNK", 7)
    write(corpora[1][2], [f" {line}\u00a0  " for line in lines_of(corpora[1][2])])
    report = select(
        *corpora, tmp_path / "new" / "kept", (20, "pairs"), SETTINGS, SelectOptions(order=3)
    )
    source, target = lines_of(tmp_path / "new" / "kept.en"), lines_of(tmp_path / "new" / "kept.fr")
    domain_like = lines_of(corpora[1][2])[::3]
    assert len(set(source) & set(domain_like)) >= 18
    pool = [
        pair for i in (0, 2) for pair in zip(*map(lines_of, corpora[1][i : i + 2]), strict=True)
    ]
    places = [pool.index(pair) for pair in zip(source, target, strict=True)]
    assert places == sorted(places)
    words, whole = (
        sum(len(line.split()) for line in side) for side in (target, [pair[1] for pair in pool])
    )
    assert f"pool: selected 20 of 120 pairs, {words} of {whole:,} target words" in report


def test_a_crash_between_the_two_renames_leaves_no_new_side_beside_an_old_one(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ending in ("en", "fr"):
        write(tmp_path / f"kept.{ending}", ["old"])
    renamed: list[Path] = []
    rename = Path.replace

    def crashing(path: Path, target: Path) -> Path:
        if renamed:
            raise OSError(errno.EIO, "the power is cut")
        renamed.append(target)
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", crashing)
    with pytest.raises(OSError, match="the power is cut"):
        select(*corpora, tmp_path / "kept", (20, "pairs"), SETTINGS, SelectOptions(overwrite=True))
    assert list(tmp_path.glob("kept.*")) == renamed


@pytest.mark.parametrize(
    ("domain", "pool", "message"),
    [
        (["", "a"], ["a b", "a b"], "the in-domain text has no pair with words on both sides"),
        (["a b", "c d"], ["a b", "a b"], "no source word of the in-domain text occurs twice"),
        (["a a", "c c"], ["", "a b"], "the pool has no pair with words on both sides"),
    ],
)
def test_texts_without_words_are_refused(
    tmp_path: Path, domain: list[str], pool: list[str], message: str
) -> None:
    files = [write(tmp_path / f"{i}", [line]) for i, line in enumerate([*domain, *pool])]
    with refusal(message):
        select(files[:2], files[2:], tmp_path / "kept", (9, "pairs"), SETTINGS, SelectOptions())


SPACE = Tokeniser("space", "en"), Tokeniser("space", "fr")


def test_every_part_of_the_pool_is_sampled_alike() -> None:
    """1000 samples of 20 of 100 pairs: each pair is in 200 of them, give or take five standard deviations of
    13."""
    pairs = [(f"s{i}", f"t{i}") for i in range(100)]
    times = np.zeros(100)
    for seed in range(1000):
        sample = random_sample(pairs, SPACE, 40, seed)
        times[[int(source[1:]) for source, _ in sample]] += 1
    assert times.sum() == 20_000
    assert np.abs(times - 200).max() < 65


DOMAIN = ["a dog runs", "a dog sleeps", "the dog runs"]
POOL = ["the law is a law", "the dog is a law", "is it"]


def test_a_score_is_the_sum_of_both_sides_and_an_empty_side_is_never_kept() -> None:
    sides = (
        Contrast.learn(DOMAIN, POOL, 3, "source", SPACE[0]),
        Contrast.learn(POOL, DOMAIN, 2, "target", SPACE[1]),
    )
    # what occurs twice in the domain
    assert sides[0].vocabulary == Vocabulary(["dog", "a", "runs"])
    lines = [("a dog runs", "is it"), ("", "un"), ("the dog", ""), ("law", "is a dog")]
    expected = []
    for source, target in lines:
        bits = []
        for learnt, order, line in ((sides[0], 3, source.split()), (sides[1], 2, target.split())):
            own = (DOMAIN, POOL) if order == 3 else (POOL, DOMAIN)
            for sign, sentences in zip((1, -1), own, strict=True):
                text = encode_text(map(str.split, sentences), learnt.vocabulary)
                model = NgramModel.estimate(text, len(learnt.vocabulary), order)
                logs = model.log_probabilities(encode_text([line], learnt.vocabulary))
                bits.append(-sign * logs.sum() / math.log(2) / (len(line) + 1))
        expected.append(sum(bits) if source and target else math.inf)
    found, words = pair_scores(sides, lines)
    assert (found.tolist(), words.tolist()) == (pytest.approx(expected), [2, 1, 0, 3])
    assert expected[0] < 0


def plainly_best(pairs: list[tuple[float, int]], limit: int, unit: str) -> list[int]:
    """Positions of the pairs that are kept, by sorting them all."""
    chosen, total = [], 0
    for position in sorted(range(len(pairs)), key=lambda position: (pairs[position][0], position)):
        score, words = pairs[position]
        total += words if unit == "words" else 1
        if total > limit or score == np.inf:
            break
        chosen.append(position)
    return sorted(chosen)


some_scores = st.one_of(
    st.sampled_from([-1.5, -0.0, 0.0, 2**-100, -(2**-100), 2.25, float("inf")]),  # of 32 bits
    st.floats(-100, 100, width=32),
)
some_pairs = st.lists(st.tuples(some_scores, st.integers(1, 20)), min_size=1, max_size=60)


@given(some_pairs, st.integers(0, 300), st.sampled_from(["words", "pairs", "share"]))
def test_the_best_are_those_of_sorting_up_to_the_limit(
    pairs: list[tuple[float, int]], limit: int, unit: str
) -> None:
    score, words = np.array(pairs, np.float32).T
    plain = (
        plainly_best(pairs, int(limit / 300 * words.sum()), "words") if unit == "share" else None
    )
    amount = limit / 300 if unit == "share" else limit
    expected = plainly_best(pairs, limit, unit) if plain is None else plain
    assert np.flatnonzero(best(score, words.astype(np.int64), amount, unit)).tolist() == expected


def test_the_command(corpora: Corpora, here: Path, command: Command) -> None:
    """From files of lines, in any order of the options, and from columns of one file."""
    for name, files in (("domain", corpora[0]), ("pool", corpora[1][2:])):
        lines = zip(*map(lines_of, files), strict=True)
        write(here / f"{name}.txt", [f"{i}\t{b}\t{a}" for i, (a, b) in enumerate(lines)])
    for options in (
        "--in-domain domain.en domain.fr --pool both.en both.fr --out a --pairs 20",
        "--pairs=20 --pool both.en --in-domain domain.en domain.fr --pool both.fr --out b",
        "--in-domain domain.txt --pool pool.txt --format tsv --columns 3 2 --out c --pairs 20",
    ):
        done = command("select", *options.split(), "--set", "data.tokeniser=space", "--order", 3)
        assert (done.code, done.err) == (0, "")
        assert "pool: selected 20 of 60 pairs" in done.out
    for ending in ("en", "fr"):
        assert len({(here / f"{name}.{ending}").read_bytes() for name in "abc"}) == 1
    assert not list(here.glob(".*"))


MISTAKES = """
--pool a b --out o --words 5 → --in-domain
FILES --words 5 → --out
FILES --out o → give one of --words, --share and --pairs
FILES --out o --words 5 --share 0.5 → give one of --words, --share and --pairs
--in-domain a b --pool - d --out o --words 5 → a: no such file
--in-domain domain.en --pool domain.en domain.fr --out o --words 5 → domain.en: has no target text
--in-domain domain.en domain.fr --pool - domain.fr --out o --words 5 → -: the pool is read several times
FILES --out laws --words 5 → laws.en: is an input
FILES --out both --words 5 → both.en: already exists
--in-domain domain.en domain.fr --pool laws.en laws.fr --out domain --words 5 --overwrite → domain.en: is an input
FILES --out o --words 5 stray → unexpected extra argument
FILES --out o --share 0.0001 → the amount is too small
"""


@pytest.mark.parametrize(("words", "said"), rows(MISTAKES))
def test_the_command_says_what_is_wrong(
    corpora: Corpora,
    here: Path,
    command: Command,
    words: str,
    said: str,
) -> None:
    files = "--in-domain domain.en domain.fr --pool laws.en laws.fr"
    before = names(here)
    assert_refused(command(f"select {words.replace('FILES', files)}"), said)
    assert names(here) == before
