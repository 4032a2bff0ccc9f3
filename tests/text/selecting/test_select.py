from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.selecting import select as selection
from rnnsearch.text.selecting.scores import open_scores
from rnnsearch.text.selecting.select import Amount, score_pool, select

SETTINGS = DataSettings(tokeniser="space")

Corpora = tuple[list[Path], list[Path]]


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def sentence(random: np.random.Generator, words: list[str]) -> str:
    return " ".join(random.choice(words, random.integers(3, 9)))


@pytest.fixture
def corpora(tmp_path: Path) -> Corpora:
    """(in-domain files, pool files): animals of the domain; laws in the pool's first text, animals in every third line of its second."""
    random = np.random.default_rng(5)
    animals, laws = ["dog", "cat", "cow", "runs", "the", "a"], ["law", "act", "seat", "votes", "the", "a"]

    def texts(name: str, kinds: list[list[str]]) -> list[Path]:
        lines = [sentence(random, words) for words in kinds]
        return [write(tmp_path / f"{name}.en", lines), write(tmp_path / f"{name}.fr", [line.upper() + f" {line}" for line in lines])]

    pool = [*texts("laws", [laws] * 60), *texts("both", [animals if i % 3 == 0 else laws for i in range(60)])]
    return texts("domain", [animals] * 30), pool


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def scored(corpora: Corpora, path: Path, **options: Any) -> Path:
    score_pool(*corpora, path, settings=SETTINGS, **{"order": 3, **options})
    return path


def test_the_pairs_of_the_domain_are_kept_in_the_order_of_the_pool(corpora: Corpora, tmp_path: Path) -> None:
    report = select(scored(corpora, tmp_path / "scores"), tmp_path / "new" / "kept", Amount(20, "pairs"))
    source, target = lines_of(tmp_path / "new" / "kept.en"), lines_of(tmp_path / "new" / "kept.fr")
    domain_like = lines_of(corpora[1][2])[::3]
    assert len(set(source) & set(domain_like)) >= 18
    pool = [pair for i in (0, 2) for pair in zip(*map(lines_of, corpora[1][i : i + 2]), strict=True)]
    places = [pool.index(pair) for pair in zip(source, target, strict=True)]
    assert places == sorted(places)
    assert [part.kept_pairs for part in report.parts] == [sum(place < 60 for place in places), sum(place >= 60 for place in places)]
    assert report.total.pairs == 120
    assert report.total.kept_words == sum(len(line.split()) for line in target)
    assert report.total.words == sum(len(line.split()) for _, line in pool)


@pytest.mark.parametrize("amount", [Amount(77, "words"), Amount(0.2, "share"), Amount(9, "pairs")])
def test_no_more_is_kept_than_asked_and_the_next_pair_would_be_too_much(corpora: Corpora, tmp_path: Path, amount: Amount) -> None:
    scores = scored(corpora, tmp_path / "scores")
    records = open_scores(scores).records
    report = select(scores, tmp_path / "kept", amount)
    order = np.lexsort((np.arange(120), records["score"]))
    sizes = np.ones(120) if amount.unit == "pairs" else records["words"][order]
    limit = amount.value * (sizes.sum() if amount.unit == "share" else 1)
    assert report.total.kept_pairs == int((np.cumsum(sizes) <= limit).sum()) > 0
    assert report.threshold.score == records["score"][order[report.total.kept_pairs]]


def test_the_raw_text_is_written_not_its_words(tmp_path: Path, corpora: Corpora) -> None:
    odd = [" the  dog , runs", "the dog\u00a0runs\u2003«  cat »", "", "DOG &amp; cat"]
    pool = [write(tmp_path / "odd.en", odd), write(tmp_path / "odd.fr", ["THE dog  ", "CAT cat", "CAT dog", "DOG"])]
    select(scored((corpora[0], pool), tmp_path / "scores"), tmp_path / "kept", Amount(1.0, "share"))
    assert lines_of(tmp_path / "kept.en") == [odd[0], odd[1], odd[3]]
    assert lines_of(tmp_path / "kept.fr") == ["THE dog  ", "CAT cat", "DOG"]


def test_the_cut_is_moved_without_the_domain(corpora: Corpora, tmp_path: Path) -> None:
    scores = scored(corpora, tmp_path / "scores")
    for file in corpora[0]:
        file.unlink()
    select(scores, tmp_path / "few", Amount(5, "pairs"))
    select(scores, tmp_path / "many", Amount(50, "pairs"))
    assert set(lines_of(tmp_path / "few.en")) < set(lines_of(tmp_path / "many.en"))
    select(scores, tmp_path / "all", Amount(10_000, "words"))
    assert lines_of(tmp_path / "all.en") == lines_of(corpora[1][0]) + lines_of(corpora[1][2])


def test_workers_and_chunks_change_nothing(corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = scored(corpora, tmp_path / "one")
    monkeypatch.setattr(selection, "_CHUNK", 7)
    monkeypatch.setattr(selection, "_SMALL", 14)
    seen: list[tuple[str, int]] = []
    two = scored(corpora, tmp_path / "two", workers=2, progress=lambda what, done, total: seen.append((what, done)))
    assert one.read_bytes() == two.read_bytes()
    assert ("scoring", 120) in seen
    select(two, tmp_path / "kept", Amount(50, "pairs"))
    assert len(lines_of(tmp_path / "kept.fr")) == 50


def test_another_seed_draws_another_sample(corpora: Corpora, tmp_path: Path) -> None:
    first, again, other = (open_scores(scored(corpora, tmp_path / f"{i}", seed=seed)).records for i, seed in enumerate((1, 1, 2)))
    assert first.tolist() == again.tolist() != other.tolist()


def test_compressed_and_bilingual_files_are_read_as_everywhere(corpora: Corpora, tmp_path: Path) -> None:
    plain = open_scores(scored(corpora, tmp_path / "plain")).records
    (tmp_path / "laws.en.gz").write_bytes(gzip.compress(corpora[1][0].read_bytes()))
    both = write(tmp_path / "both.tsv", [f"{a}\t{b}" for a, b in zip(*map(lines_of, corpora[1][2:]), strict=True)])
    scores = scored((corpora[0], [tmp_path / "laws.en.gz", corpora[1][1], both]), tmp_path / "other")
    assert open_scores(scores).records.tolist() == plain.tolist()
    assert len(select(scores, tmp_path / "kept", Amount(20, "pairs")).parts) == 2


def change_line(files: list[Path]) -> list[Path]:
    lines = lines_of(files[0])
    write(files[0], [*lines[:-1], "another"])
    return files


def drop_pair(files: list[Path]) -> list[Path]:
    for file in files[:2]:
        write(file, lines_of(file)[:-1])
    return files


def add_pair(files: list[Path]) -> list[Path]:
    for file in files[-2:]:
        write(file, [*lines_of(file), "more"])
    return files


@pytest.mark.parametrize("change", [change_line, drop_pair, add_pair, lambda files: [*files[2:], *files[:2]], lambda files: files[:2]])
def test_another_pool_than_was_scored_is_refused(corpora: Corpora, tmp_path: Path, change: Callable[[list[Path]], list[Path]]) -> None:
    scores = scored(corpora, tmp_path / "scores")
    pool = change(corpora[1])
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="the pool is not the text that was scored"):
        select(scores, tmp_path / "kept", Amount(20, "pairs"), pool=pool)
    assert sorted(tmp_path.iterdir()) == before


def test_a_pool_that_has_moved_is_named_anew(corpora: Corpora, tmp_path: Path) -> None:
    scores = scored(corpora, tmp_path / "scores")
    moved = [file.rename(tmp_path / f"moved.{i}") for i, file in enumerate(corpora[1])]
    with pytest.raises(InputError, match="no such file"):
        select(scores, tmp_path / "kept", Amount(20, "pairs"))
    select(scores, tmp_path / "kept", Amount(20, "pairs"), pool=moved)
    assert len(lines_of(tmp_path / "kept.en")) == 20


def test_files_that_are_there_are_replaced_only_if_asked(corpora: Corpora, tmp_path: Path) -> None:
    scores = scored(corpora, tmp_path / "scores")
    write(tmp_path / "kept.fr", ["mine"])
    with pytest.raises(InputError, match=r"kept\.fr: already exists"):
        select(scores, tmp_path / "kept", Amount(20, "pairs"))
    assert lines_of(tmp_path / "kept.fr") == ["mine"]
    assert not (tmp_path / "kept.en").exists()
    select(scores, tmp_path / "kept", Amount(20, "pairs"), overwrite=True)
    assert len(lines_of(tmp_path / "kept.fr")) == 20


def test_a_crash_between_the_two_renames_leaves_no_new_side_beside_an_old_one(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = scored(corpora, tmp_path / "scores")
    for ending in ("en", "fr"):
        write(tmp_path / f"kept.{ending}", ["old"])
    renamed: list[Path] = []
    rename = Path.replace

    def crashing(path: Path, target: Path) -> Path:
        if renamed:
            raise OSError("the power is cut")
        renamed.append(target)
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", crashing)
    with pytest.raises(OSError, match="the power is cut"):
        select(scores, tmp_path / "kept", Amount(20, "pairs"), overwrite=True)
    assert list(tmp_path.glob("kept.*")) == renamed


def test_two_texts_of_one_language_are_told_apart(corpora: Corpora, tmp_path: Path) -> None:
    score_pool(*corpora, tmp_path / "scores", settings=DataSettings(tokeniser="space", target_language="en"))
    report = select(tmp_path / "scores", tmp_path / "kept", Amount(5, "pairs"))
    assert report.files == [tmp_path / "kept.source", tmp_path / "kept.target"]


def test_faults_of_the_pool_leave_no_scores(corpora: Corpora, tmp_path: Path) -> None:
    write(corpora[1][3], ["one line"])
    with pytest.raises(InputError, match="not parallel"):
        scored(corpora, tmp_path / "scores")
    assert not list(tmp_path.glob("*scores*"))


def test_a_pool_smaller_than_the_domain_is_its_own_sample(corpora: Corpora, tmp_path: Path) -> None:
    pool = [write(tmp_path / "small.en", ["the dog", "", "a law"]), write(tmp_path / "small.fr", ["A", "b", "c"])]
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
def test_texts_without_words_are_refused(tmp_path: Path, domain: list[str], pool: list[str], message: str) -> None:
    files = [write(tmp_path / f"{i}", [line]) for i, line in enumerate([*domain, *pool])]
    with pytest.raises(InputError, match=message):
        score_pool(files[:2], files[2:], tmp_path / "scores", settings=SETTINGS)
    assert not (tmp_path / "scores").exists()


def test_a_pool_from_a_pipe_is_refused_before_it_is_read(corpora: Corpora, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe: the pool is read twice"):
        scored((corpora[0], [tmp_path / "pipe", corpora[1][1]]), tmp_path / "scores")


def test_nothing_within_the_limit_is_refused(corpora: Corpora, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the amount is too small"):
        select(scored(corpora, tmp_path / "scores"), tmp_path / "kept", Amount(0.0001, "share"))
    assert not list(tmp_path.glob("*kept*"))


def test_the_command_scores_cuts_and_cuts_again(corpora: Corpora, tmp_path: Path, command: Callable[..., Any]) -> None:
    options = ("--set", "data.tokeniser=space", "--order", 3)
    first = command(
        *("select", "--in-domain", *corpora[0], "--pool", *corpora[1], "--pairs", 20, "--out", tmp_path / "a"),
        *("--scores", tmp_path / "scores", *options),
    )
    assert (first.code, first.err) == (0, "")
    assert "pool: selected 20 of 120 pairs" in first.out
    again = command("select", "--from-scores", tmp_path / "scores", "--pairs", 20, "--out", tmp_path / "b")
    assert again.out == first.out.replace(str(tmp_path / "a."), str(tmp_path / "b."))
    by_turns = command(
        *("select", "--pool", *corpora[1][:2], "--in-domain", *corpora[0], "--pool", *corpora[1][2:], "--pairs=20"),
        *("--out", tmp_path / "c", *options),
    )
    assert by_turns.code == 0
    for ending in ("en", "fr"):
        assert len({(tmp_path / f"{name}.{ending}").read_bytes() for name in "abc"}) == 1
    assert {path.name for path in tmp_path.iterdir()} >= {"scores", "a.en"}
    assert not list(tmp_path.glob(".*"))


def test_the_layout_of_bilingual_files_is_kept_with_the_scores(corpora: Corpora, tmp_path: Path, command: Callable[..., Any]) -> None:
    domain, pool = (
        write(tmp_path / f"{name}.txt", [f"{i}\t{b}\t{a}" for i, (a, b) in enumerate(zip(*map(lines_of, files), strict=True))])
        for name, files in (("domain", corpora[0]), ("pool", corpora[1][2:]))
    )
    options = ("--format", "tsv", "--columns", 3, 2, "--set", "data.tokeniser=space", "--pairs", 20)
    done = command("select", "--in-domain", domain, "--pool", pool, *options, "--out", tmp_path / "a", "--scores", tmp_path / "scores")
    assert (done.code, done.err) == (0, "")
    again = command("select", "--from-scores", tmp_path / "scores", "--pairs", 20, "--out", tmp_path / "b")
    assert again.code == 0
    score_pool(corpora[0], corpora[1][2:], tmp_path / "plain", settings=SETTINGS)
    select(tmp_path / "plain", tmp_path / "c", Amount(20, "pairs"))
    for ending in ("en", "fr"):
        assert len({(tmp_path / f"{name}.{ending}").read_bytes() for name in "abc"}) == 1


def test_the_command_only_scores(corpora: Corpora, tmp_path: Path, command: Callable[..., Any]) -> None:
    done = command("select", "--in-domain", *corpora[0], "--pool", *corpora[1], "--scores", tmp_path / "scores")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert open_scores(tmp_path / "scores").about.pairs == 120


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--pool a b --out o --words 5", "give --in-domain and --pool, or --from-scores"),
        ("--in-domain a b --out o --words 5", "give --in-domain and --pool, or --from-scores"),
        ("--in-domain a b --pool c d --words 5", "select needs --out, or --scores"),
        ("--from-scores s --words 5", "select needs --out, or --scores"),
        ("--in-domain a b --pool c d --out o", "give --out and one of --words, --share and --pairs"),
        ("--in-domain a b --pool c d --out o --words 5 --share 0.5", "give --out and one of --words, --share and --pairs"),
        ("--from-scores s --in-domain a b --out o --words 5", "--from-scores cannot be used with"),
        ("--from-scores s --scores t --out o --words 5", "--from-scores cannot be used with"),
        ("--in-domain a b --pool - d --out o --words 5", "a: no such file"),
        ("--in-domain domain.en --pool domain.en domain.fr --out o --words 5", "domain.en: has no target text"),
        ("--in-domain domain.en domain.fr --pool - domain.fr --out o --words 5", "-: the pool is read twice"),
        ("--in-domain domain.en domain.fr --pool laws.en laws.fr --out laws --words 5", "laws.en: already exists"),
        ("--in-domain domain.en domain.fr --pool laws.en laws.fr --scores laws.en", "laws.en: already exists"),
        ("--in-domain domain.en domain.fr --pool laws.en laws.fr --out o --words 5 stray", "unexpected extra argument"),
        ("--from-scores laws.en --out o --words 5", "laws.en: is not a file of scores"),
    ],
)
def test_the_command_says_what_is_wrong(
    corpora: Corpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Any], options: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = command("select", *options.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before
