from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs import write

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.selecting import scores as scoring
from rnnsearch.text.selecting.scores import open_scores, score_pool
from rnnsearch.text.selecting.select import SelectionAmount, SelectionReport, select

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


def scored(corpora: Corpora, path: Path, **options: Any) -> Path:
    score_pool(*corpora, path, settings=SETTINGS, **{"order": 3, **options})
    return path


@pytest.fixture
def scores(corpora: Corpora, tmp_path: Path) -> Path:
    return scored(corpora, tmp_path / "scores")


def keep(scores: Path, **options: Any) -> SelectionReport:
    """The best 20 pairs, in files named kept."""
    return select(scores, scores.with_name("kept"), SelectionAmount(20, "pairs"), **options)


def test_the_pairs_of_the_domain_are_kept_in_the_order_of_the_pool(corpora: Corpora, tmp_path: Path) -> None:
    """The raw text, not its words."""
    write(corpora[1][2], [f" {line}\u00a0  " for line in lines_of(corpora[1][2])])
    report = select(
        scored(corpora, tmp_path / "scores"), tmp_path / "new" / "kept", SelectionAmount(20, "pairs")
    )
    source, target = lines_of(tmp_path / "new" / "kept.en"), lines_of(tmp_path / "new" / "kept.fr")
    domain_like = lines_of(corpora[1][2])[::3]
    assert len(set(source) & set(domain_like)) >= 18
    pool = [pair for i in (0, 2) for pair in zip(*map(lines_of, corpora[1][i : i + 2]), strict=True)]
    places = [pool.index(pair) for pair in zip(source, target, strict=True)]
    assert places == sorted(places)
    assert [part.kept_pairs for part in report.parts] == [
        sum(place < 60 for place in places),
        sum(place >= 60 for place in places),
    ]
    assert report.total.pairs == 120
    assert report.total.kept_words == sum(len(line.split()) for line in target)
    assert report.total.words == sum(len(line.split()) for _, line in pool)


@pytest.mark.parametrize(
    "amount", [SelectionAmount(77, "words"), SelectionAmount(0.2, "share"), SelectionAmount(9, "pairs")]
)
def test_no_more_is_kept_than_asked_and_the_next_pair_would_be_too_much(
    scores: Path, tmp_path: Path, amount: SelectionAmount
) -> None:
    records = open_scores(scores).records
    report = select(scores, tmp_path / "kept", amount)
    order = np.lexsort((np.arange(120), records["score"]))
    sizes = np.ones(120) if amount.unit == "pairs" else records["words"][order]
    limit = amount.value * (sizes.sum() if amount.unit == "share" else 1)
    assert report.total.kept_pairs == int((np.cumsum(sizes) <= limit).sum()) > 0
    assert report.threshold.score == records["score"][order[report.total.kept_pairs]]


def test_the_cut_is_moved_without_the_domain(corpora: Corpora, scores: Path, tmp_path: Path) -> None:
    for file in corpora[0]:
        file.unlink()
    select(scores, tmp_path / "few", SelectionAmount(5, "pairs"))
    select(scores, tmp_path / "many", SelectionAmount(50, "pairs"))
    assert set(lines_of(tmp_path / "few.en")) < set(lines_of(tmp_path / "many.en"))
    select(scores, tmp_path / "all", SelectionAmount(10_000, "words"))
    assert lines_of(tmp_path / "all.en") == lines_of(corpora[1][0]) + lines_of(corpora[1][2])


def test_workers_and_chunks_change_nothing(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = scored(corpora, tmp_path / "one")
    monkeypatch.setattr(scoring, "_CHUNK", 7)
    monkeypatch.setattr(scoring, "_SMALL", 14)
    seen: list[tuple[str, int]] = []
    two = scored(
        corpora, tmp_path / "two", workers=2, progress=lambda what, done, total: seen.append((what, done))
    )
    assert one.read_bytes() == two.read_bytes()
    assert ("scoring", 120) in seen
    select(two, tmp_path / "kept", SelectionAmount(50, "pairs"))
    assert len(lines_of(tmp_path / "kept.fr")) == 50


def test_compressed_and_bilingual_files_are_read_as_everywhere(corpora: Corpora, tmp_path: Path) -> None:
    plain = open_scores(scored(corpora, tmp_path / "plain")).records
    (tmp_path / "laws.en.gz").write_bytes(gzip.compress(corpora[1][0].read_bytes()))
    both = write(
        tmp_path / "both.tsv", [f"{a}\t{b}" for a, b in zip(*map(lines_of, corpora[1][2:]), strict=True)]
    )
    scores = scored((corpora[0], [tmp_path / "laws.en.gz", corpora[1][1], both]), tmp_path / "other")
    assert open_scores(scores).records.tolist() == plain.tolist()
    assert len(keep(scores).parts) == 2


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
    corpora: Corpora, scores: Path, tmp_path: Path, change: Callable[[list[list[str]]], list[list[str]]]
) -> None:
    changed = change([lines_of(file) for file in corpora[1]])
    pool = [write(tmp_path / f"changed.{number}", lines) for number, lines in enumerate(changed)]
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="the pool is not the text that was scored"):
        keep(scores, pool=pool)
    assert sorted(tmp_path.iterdir()) == before


def test_a_pool_that_has_moved_is_named_anew(corpora: Corpora, scores: Path, tmp_path: Path) -> None:
    moved = [file.rename(tmp_path / f"moved.{i}") for i, file in enumerate(corpora[1])]
    with pytest.raises(InputError, match="no such file"):
        keep(scores)
    keep(scores, pool=moved)
    assert len(lines_of(tmp_path / "kept.en")) == 20


def test_files_that_are_there_are_replaced_only_if_asked(scores: Path, tmp_path: Path) -> None:
    write(tmp_path / "kept.fr", ["mine"])
    with pytest.raises(InputError, match=r"kept\.fr: already exists"):
        keep(scores)
    assert lines_of(tmp_path / "kept.fr") == ["mine"]
    assert not (tmp_path / "kept.en").exists()
    keep(scores, overwrite=True)
    assert len(lines_of(tmp_path / "kept.fr")) == 20


def test_a_crash_between_the_two_renames_leaves_no_new_side_beside_an_old_one(
    scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        keep(scores, overwrite=True)
    assert list(tmp_path.glob("kept.*")) == renamed


def test_two_texts_of_one_language_are_told_apart(corpora: Corpora, tmp_path: Path) -> None:
    score_pool(*corpora, tmp_path / "scores", settings=DataSettings(tokeniser="space", target_language="en"))
    report = select(tmp_path / "scores", tmp_path / "kept", SelectionAmount(5, "pairs"))
    assert report.files == [tmp_path / "kept.source", tmp_path / "kept.target"]


def test_faults_of_the_pool_leave_no_scores(corpora: Corpora, tmp_path: Path) -> None:
    write(corpora[1][3], ["one line"])
    with pytest.raises(InputError, match="not parallel"):
        scored(corpora, tmp_path / "scores")
    assert not list(tmp_path.glob("*scores*"))


def test_a_pool_smaller_than_the_domain_is_its_own_sample(corpora: Corpora, tmp_path: Path) -> None:
    pool = [
        write(tmp_path / "small.en", ["the dog", "", "a law"]),
        write(tmp_path / "small.fr", ["A", "b", "c"]),
    ]
    about = score_pool(corpora[0], pool, tmp_path / "scores", settings=SETTINGS)
    assert (about.sample_pairs, about.sample_words, about.pairs) == (2, [4, 2], 3)


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
        score_pool(files[:2], files[2:], tmp_path / "scores", settings=SETTINGS)
    assert not (tmp_path / "scores").exists()


def test_a_pool_from_a_pipe_is_refused_before_it_is_read(corpora: Corpora, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: the pool is read twice"):
        scored((corpora[0], [tmp_path / "pipe", corpora[1][1]]), tmp_path / "scores")


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
        ("--in-domain a b --pool c d --words 5", "select needs --out, or --scores"),
        ("--from-scores s --words 5", "select needs --out, or --scores"),
        ("--in-domain a b --pool c d --out o", "give --out and one of --words, --share and --pairs"),
        (
            "--in-domain a b --pool c d --out o --words 5 --share 0.5",
            "give --out and one of --words, --share and --pairs",
        ),
        ("--from-scores s --in-domain a b --out o --words 5", "--from-scores cannot be used with"),
        ("--from-scores s --scores t --out o --words 5", "--from-scores cannot be used with"),
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
        ("--from-scores laws.en --out o --words 5", "laws.en: is not a file of scores"),
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
