from __future__ import annotations

import errno
import gzip
import math
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import write

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text import selection
from rnnsearch.text.formats.readers import Layout
from rnnsearch.text.ngrams import NgramModel, encode_text
from rnnsearch.text.selection import (
    Contrast,
    PairScorer,
    Scores,
    random_sample,
    score_pool,
    select,
    tokenised,
    word_counts,
)
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
    animals, laws = ["dog", "cat", "cow", "runs", "the", "a"], ["law", "act", "seat", "votes", "the", "a"]

    def texts(name: str, kinds: list[list[str]]) -> list[Path]:
        lines = [sentence(random, words) for words in kinds]
        return [
            write(tmp_path / f"{name}.en", lines),
            write(tmp_path / f"{name}.fr", [line.upper() + f" {line}" for line in lines]),
        ]

    pool = [*texts("laws", [laws] * 60), *texts("both", [animals if i % 3 == 0 else laws for i in range(60)])]
    return texts("domain", [animals] * 30), pool


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def scored(corpora: Corpora, **options: Any) -> Scores:
    return score_pool(*corpora, settings=SETTINGS, **{"order": 3, **options})


@pytest.fixture
def scores(corpora: Corpora) -> Scores:
    return scored(corpora)


def test_the_pairs_of_the_domain_are_kept_in_the_order_of_the_pool(corpora: Corpora, tmp_path: Path) -> None:
    """The raw text, not its words."""
    write(corpora[1][2], [f" {line}\u00a0  " for line in lines_of(corpora[1][2])])
    report = select(scored(corpora), tmp_path / "new" / "kept", 20, "pairs")
    source, target = lines_of(tmp_path / "new" / "kept.en"), lines_of(tmp_path / "new" / "kept.fr")
    domain_like = lines_of(corpora[1][2])[::3]
    assert len(set(source) & set(domain_like)) >= 18
    pool = [pair for i in (0, 2) for pair in zip(*map(lines_of, corpora[1][i : i + 2]), strict=True)]
    places = [pool.index(pair) for pair in zip(source, target, strict=True)]
    assert places == sorted(places)
    words, whole = (sum(len(line.split()) for line in side) for side in (target, [pair[1] for pair in pool]))
    assert f"pool: selected 20 of 120 pairs, {words} of {whole:,} target words" in report


def test_scores_are_saved_whole_and_select_without_the_domain(
    corpora: Corpora, scores: Scores, tmp_path: Path
) -> None:
    scores.save(path := tmp_path / "scores")
    opened = Scores.open(path)
    assert opened[:4] == scores[:4]
    assert [opened.score.tolist(), opened.words.tolist()] == [scores.score.tolist(), scores.words.tolist()]
    for file in corpora[0]:
        file.unlink()
    select(opened, tmp_path / "few", 5, "pairs")
    select(opened, tmp_path / "many", 50, "pairs")
    assert set(lines_of(tmp_path / "few.en")) < set(lines_of(tmp_path / "many.en"))
    select(opened, tmp_path / "all", 10_000, "words")
    assert lines_of(tmp_path / "all.en") == lines_of(corpora[1][0]) + lines_of(corpora[1][2])
    whole = path.read_bytes()
    for content in (None, b"", b"hello\n", b"PK\x03\x04", whole[:-1], whole[:-30], whole[:200]):
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(InputError, match=r"scores: (No such file|is not a whole file of scores)"):
            Scores.open(path)


def test_workers_and_chunks_change_nothing(
    corpora: Corpora, scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_CHUNK", 7)
    monkeypatch.setattr(selection, "_SMALL", 14)
    other = scored(corpora, workers=2)
    assert other.score.tolist() == scores.score.tolist()
    assert (other.checksum, other.words.tolist()) == (scores.checksum, scores.words.tolist())


def test_compressed_and_bilingual_files_are_read_as_everywhere(
    corpora: Corpora, scores: Scores, tmp_path: Path
) -> None:
    (tmp_path / "laws.en.gz").write_bytes(gzip.compress(corpora[1][0].read_bytes()))
    both = write(
        tmp_path / "both.tsv", [f"{a}\t{b}" for a, b in zip(*map(lines_of, corpora[1][2:]), strict=True)]
    )
    other = scored((corpora[0], [tmp_path / "laws.en.gz", corpora[1][1], both]))
    assert other.score.tolist() == scores.score.tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda pool: [["x", *pool[0][1:]], *pool[1:]],
        lambda pool: [pool[0][:-1], pool[1][:-1], *pool[2:]],
        lambda pool: [*pool[:2], [*pool[2], "more"], [*pool[3], "more"]],
        lambda pool: [*pool[2:], *pool[:2]],
        lambda pool: pool[:2],
    ],
    ids=["a line", "a pair less", "a pair more", "another order", "a text less"],
)
def test_another_pool_than_was_scored_is_refused(
    corpora: Corpora, scores: Scores, tmp_path: Path, change: Callable[[list[list[str]]], list[list[str]]]
) -> None:
    changed = change([lines_of(file) for file in corpora[1]])
    pool = [write(tmp_path / f"changed.{number}", lines) for number, lines in enumerate(changed)]
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="the pool is not the text that was scored"):
        select(scores, tmp_path / "kept", 20, "pairs", pool=pool)
    assert sorted(tmp_path.iterdir()) == before


def test_a_pool_that_has_moved_is_named_anew(corpora: Corpora, scores: Scores, tmp_path: Path) -> None:
    moved = [file.rename(tmp_path / f"moved.{i}") for i, file in enumerate(corpora[1])]
    with pytest.raises(InputError, match="no such file"):
        select(scores, tmp_path / "kept", 20, "pairs")
    select(scores, tmp_path / "kept", 20, "pairs", pool=moved)
    assert len(lines_of(tmp_path / "kept.en")) == 20


def test_a_crash_between_the_two_renames_leaves_no_new_side_beside_an_old_one(
    scores: Scores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        select(scores, tmp_path / "kept", 20, "pairs", overwrite=True)
    assert list(tmp_path.glob("kept.*")) == renamed


def test_two_texts_of_one_language_are_told_apart(corpora: Corpora, tmp_path: Path) -> None:
    found = score_pool(*corpora, settings=DataSettings(tokeniser="space", target_language="en"))
    select(found, tmp_path / "kept", 5, "pairs")
    assert {path.name for path in tmp_path.glob("kept.*")} == {"kept.source", "kept.target"}


def test_a_pool_smaller_than_the_domain_is_its_own_sample(corpora: Corpora, tmp_path: Path) -> None:
    write(tmp_path / "small.en", ["the dog", "", "a law"])
    write(tmp_path / "small.fr", ["A", "b", "c"])
    found = score_pool(corpora[0], [tmp_path / "small.en", tmp_path / "small.fr"], settings=SETTINGS)
    assert "sample of the pool (seed 1): 2 pairs, 4 | 2 words" in found.report
    assert (len(found.score), found.score[1]) == (3, np.inf)


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
    with pytest.raises(InputError, match=message):
        score_pool(files[:2], files[2:], settings=SETTINGS)


def test_a_pool_from_a_pipe_is_refused_before_it_is_read(corpora: Corpora, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: the pool is read twice"):
        scored((corpora[0], [tmp_path / "pipe", corpora[1][1]]))


SPACE = Tokeniser("space", "en"), Tokeniser("space", "fr")
pools = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40).map(
    lambda lengths: [(" ".join(["s"] * source), " ".join(["t"] * target)) for source, target in lengths]
)


@given(pools, st.integers(1, 120), st.integers(0, 5))
def test_the_sample_has_as_many_words_as_asked_and_no_pair_too_many(
    pairs: list[tuple[str, str]], words: int, seed: int
) -> None:
    sample = random_sample(pairs, SPACE, words, seed)
    sizes = [source.count(" ") + target.count(" ") + 2 for source, target in sample]
    assert sum(sizes) >= min(words, sum(word_counts(tokenised(pairs, SPACE))))
    assert not sizes or sum(sizes) - max(sizes) < words


def test_the_sample_is_in_the_order_of_the_pool_and_of_the_seed() -> None:
    pool = [(f"{i} " * (i % 4 + 1), f"{i} " * (i % 3 + 1)) for i in range(500)]
    samples = [random_sample(pool, SPACE, 100, seed) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    for sample in samples:
        firsts = [int(source.split()[0]) for source, _ in sample]
        assert firsts == sorted(firsts) == [int(target.split()[0]) for _, target in sample]


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


def test_a_score_is_the_sum_of_both_sides_and_an_empty_side_is_never_kept(tmp_path: Path) -> None:
    sides = Contrast.learn(DOMAIN, POOL, 3, "source"), Contrast.learn(POOL, DOMAIN, 2, "target")
    assert sides[0].vocabulary == Vocabulary(["dog", "a", "runs"])  # what occurs twice in the domain
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
    (file := tmp_path / "models").write_bytes(pickle.dumps(sides))
    found, words = PairScorer(file, SPACE)(lines)
    assert (found.tolist(), words) == (pytest.approx(expected), [2, 1, 0, 3])
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
    st.sampled_from([-1.5, -0.0, 0.0, 1e-30, -1e-30, 2.25, float("inf")]), st.floats(-100, 100, width=32)
)
some_pairs = st.lists(st.tuples(some_scores, st.integers(1, 20)), min_size=1, max_size=60)


@given(some_pairs, st.integers(0, 300), st.sampled_from(["words", "pairs", "share"]))
def test_the_best_are_those_of_sorting_up_to_the_limit(
    pairs: list[tuple[float, int]], limit: int, unit: str
) -> None:
    score, words = np.array(pairs, np.float32).T
    scores = Scores([], Layout(), "", 0, score, words.astype(np.int32))
    plain = plainly_best(pairs, int(limit / 300 * words.sum()), "words") if unit == "share" else None
    amount = limit / 300 if unit == "share" else limit
    expected = plainly_best(pairs, limit, unit) if plain is None else plain
    assert np.flatnonzero(scores.best(amount, unit)).tolist() == expected


def test_the_command_scores_and_selects_and_selects_again(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Any]
) -> None:
    """From files of lines, in any order of the options, from saved scores, and from columns of one file."""
    monkeypatch.chdir(tmp_path)
    for name, files in (("domain", corpora[0]), ("pool", corpora[1][2:])):
        lines = zip(*map(lines_of, files), strict=True)
        write(tmp_path / f"{name}.txt", [f"{i}\t{b}\t{a}" for i, (a, b) in enumerate(lines)])
    files = "--in-domain domain.en domain.fr --pool both.en both.fr"
    for options in (
        f"{files} --scores scores",
        f"{files} --out a --pairs 20 --scores more",
        "--from-scores scores --out b --pairs 20",
        "--pairs=20 --pool both.en --in-domain domain.en domain.fr --pool both.fr --out c",
        "--in-domain domain.txt --pool pool.txt --format tsv --columns 3 2 --out d --pairs 20 --scores table",
        "--from-scores table --out e --pairs 20",
    ):
        settings = () if "--from-scores" in options else ("--set", "data.tokeniser=space", "--order", 3)
        done = command("select", *options.split(), *settings)
        assert (done.code, done.err) == (0, "")
        assert ("pool: selected 20 of 60 pairs" in done.out) is ("--out" in options)
    for ending in ("en", "fr"):
        assert len({(tmp_path / f"{name}.{ending}").read_bytes() for name in "abcde"}) == 1
    assert not list(tmp_path.glob(".*"))


FILES = "--in-domain domain.en domain.fr --pool laws.en laws.fr"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--pool a b --out o --words 5", "give --in-domain and --pool, or --from-scores"),
        ("--in-domain a b --out o --words 5", "give --in-domain and --pool, or --from-scores"),
        ("--in-domain a b --pool c d --words 5", "select needs --out PREFIX, or --scores"),
        ("--from-scores s --words 5", "select needs --out PREFIX, or --scores"),
        ("--in-domain a b --pool c d --out o", "give --out and one of --words, --share and --pairs"),
        (
            "--in-domain a b --pool c d --out o --words 5 --share 0.5",
            "give --out and one of --words, --share and --pairs",
        ),
        ("--from-scores s --in-domain a b --out o --words 5", "select needs --from-scores without"),
        ("--from-scores s --scores t --out o --words 5", "select needs --from-scores without"),
        ("--in-domain a b --pool - d --out o --words 5", "a: no such file"),
        (
            "--in-domain domain.en --pool domain.en domain.fr --out o --words 5",
            "domain.en: has no target text",
        ),
        ("--in-domain domain.en domain.fr --pool - domain.fr --out o --words 5", "-: the pool is read twice"),
        (f"{FILES} --out laws --words 5", "laws.en: already exists"),
        (f"{FILES} --scores laws.en", "laws.en: already exists"),
        (f"{FILES} --out o --words 5 stray", "unexpected extra argument"),
        (f"{FILES} --out o --share 0.0001", "the amount is too small"),
        ("--from-scores laws.en --out o --words 5", "laws.en: is not a whole file of scores"),
    ],
)
def test_the_command_says_what_is_wrong(
    corpora: Corpora,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[..., Any],
    options: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = command("select", *options.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before
