"""What a study's stores hold: its pairs with their links, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import command_line
import pytest
from study_files import study_in

from rnnsearch.errors import InputError
from rnnsearch.studies.runs import Command
from rnnsearch.studies.study import StudyFolder
from rnnsearch.studies.study_corpora import prepare_corpus, write_subset
from rnnsearch.text import corpus_links as linking
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.text.store.corpus import Corpus

Linked = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]


def quiet(text: str, done: int, total: int | None) -> None:
    pass


def contents(store: Path, linked: bool = True) -> list[Linked]:
    """Source words, target words, linked words of every training pair, sorted."""
    corpus, found = Corpus.open(store), []
    for number in range(len(corpus.train)):
        source = [corpus.source.vocabulary.word(int(word)) for word in corpus.train.source(number)]
        target = [corpus.target.vocabulary.word(int(word)) for word in corpus.train.target(number)]
        numbers = corpus.train.links(number).tolist() if linked else []
        links = sorted((source[i], target[j]) for i, j in numbers)
        found.append((tuple(source), tuple(target), tuple(links)))
    return sorted(found)


@pytest.fixture
def prepared(command: command_line.Command, tmp_path: Path) -> Callable[[str], Path]:
    """prepared(text) does the first stage of the study with this file."""

    def run_all(commands: Sequence[Command]) -> None:
        for one in commands:
            done = command(*one.words)
            assert done.code == 0, done.err

    def prepare(text: str) -> Path:
        out = study_in(tmp_path, text)
        prepare_corpus(out, run_all, quiet)
        return out.path

    return prepare


def test_the_built_in_corpus_has_its_links_in_both_directions(prepared: Callable[[str], Path]) -> None:
    out = prepared(
        "both_directions = true\n[corpus]\nbuiltin = true\npairs = 60\nheld_out = 10\nlong_pairs = "
        "4\n[variants.one]",
    )
    there, back = contents(out / "store"), contents(out / "store.reverse")
    assert sum(len(links) for *_, links in there) == sum(
        len(line.split()) for line in read_lines(out / "corpus" / "train.links")
    )
    assert (
        sorted((target, source, tuple(sorted((j, i) for i, j in links))) for source, target, links in back)
        == there
    )
    assert (
        Corpus.open(out / "store.reverse").source.tokeniser.language,
        Corpus.open(out / "store").source.tokeniser.language,
    ) == (
        "fr",
        "en",
    )
    long = list(read_pairs(out / "corpus" / "long.en", out / "corpus" / "long.fr"))
    assert len(long) == 4
    assert all(
        len(source.split()) > 30 for source, _ in long
    )  # of over 40 words, of which blanks do not separate all


FILES = """
[corpus]
train = ["all.en", "all.fr"]
dev = ["all.en", "all.fr"]
align = "intersection"
[settings.data]
tokeniser = "space"
[variants.one]
[tests.all]
source = "all.en"
reference = "all.fr"
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "all.en").write_text("a b\nc\nd e f\n", "utf-8")
    (tmp_path / "all.fr").write_text("x y\nz\nu v\n", "utf-8")
    return tmp_path


def test_links_are_made_once(
    files: Path, prepared: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    def first_words(source: Path, target: Path, forward: Path, reverse: Path) -> None:
        calls.append(source)
        for path in (forward, reverse):
            path.write_text("0-0\n" * 3, "utf-8")

    monkeypatch.setattr(linking, "run_eflomal", first_words)
    monkeypatch.setattr(linking, "require_eflomal", lambda: None)
    for _ in range(2):
        assert [links for *_, links in contents(prepared(FILES) / "store")] == [
            (("a", "x"),),
            (("c", "z"),),
            (("d", "u"),),
        ]
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("all.fr", "x y\nz\n", r"all\.en has 3 lines and .*all\.fr has 2"),
        ("gold", "0-0\n\n", r"gold: has 2 sentences, but test set all has 3"),
        (
            "gold",
            "0-0\n1-0\n0-0\n",
            r"gold: sentence 2: the gold link 1-0 .* outside its 1 source and 1 target words",
        ),
    ],
)
def test_test_sets_that_do_not_fit_are_refused_first(
    files: Path, prepared: Callable[[str], Path], name: str, text: str, message: str
) -> None:
    (files / "gold").write_text("0-0\n" * 3, "utf-8")
    (files / name).write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        prepared(FILES.replace('align = "intersection"', "") + 'gold = "gold"\n')
    assert not (files / "out" / "store").exists()


def test_a_missing_file_is_named(files: Path, prepared: Callable[[str], Path]) -> None:
    (files / "all.fr").unlink()
    with pytest.raises(InputError, match=r"all\.fr: no such file \(check the path; paths are relative"):
        prepared(FILES)


def test_bilingual_files_are_turned_around(prepared: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "all.tsv").write_text("a b\tx y\nc\tz\n", "utf-8")
    for name, text in (("all.en", "a b\nc\n"), ("all.fr", "x y\nz\n")):
        (tmp_path / name).write_text(text, "utf-8")
    text = FILES.replace('align = "intersection"\n', "").replace(
        'train = ["all.en", "all.fr"]', 'train = ["all.tsv"]'
    )
    out = prepared("both_directions = true\n" + text)
    there, back = contents(out / "store", False), contents(out / "store.reverse", False)
    assert [source for source, *_ in there] == [("a", "b", "</s>"), ("c", "</s>")]
    assert back == [(target, source, ()) for source, target, _ in there]


LINES = [
    ("one", "un", "0-0"),
    ("one two three four", "un", "3-0"),
    ("a b", "x y z", "0-0 1-2"),
    ("", "x", ""),
    ("a b c", "x y z u", "1-1"),
    ("d", "y", "0-0"),
    ("e  f", "z", ""),
]


def study(folder: Path, corpus: str) -> StudyFolder:
    for kind, column in (("en", 0), ("fr", 1), ("links", 2)):
        (folder / f"all.{kind}").write_text("".join(f"{line[column]}\n" for line in LINES), "utf-8")
    text = f"""
    [corpus]
    train = ["all.en", "all.fr"]
    {corpus}
    [settings.data]
    tokeniser = "space"
    [variants.one]
    [tests.all]
    source = "all.en"
    reference = "all.fr"
    """
    return study_in(folder, text)


@pytest.mark.parametrize("pairs", [1, 3, None])
@pytest.mark.parametrize("max_words", [2, 3, None])
def test_it_is_what_a_plain_loop_keeps(tmp_path: Path, pairs: int | None, max_words: int | None) -> None:
    limits = [f"{key} = {value}" for key, value in (("pairs", pairs), ("max_words", max_words)) if value]
    plan = study(
        tmp_path, "\n".join(['links = ["all.links"]', 'dev = ["all.en", "all.fr"]', "dev_pairs = 2", *limits])
    )
    out = tmp_path / "cut"
    out.mkdir()
    write_subset(plan, out, quiet)
    expected = []
    for source, target, links in LINES:
        short = max_words is None or (
            1 <= len(source.split()) <= max_words and 1 <= len(target.split()) <= max_words
        )
        if short and (pairs is None or len(expected) < pairs):
            expected.append((source, target, links))
    columns = [(out / f"train.{kind}").read_text("utf-8").split("\n")[:-1] for kind in ("en", "fr", "links")]
    assert list(zip(*columns, strict=True)) == expected
    assert (out / "dev.fr").read_text("utf-8") == "un\nun\n"


def test_too_few_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.pairs = 6, but only 4 pairs of the files can be used"):
        write_subset(study(tmp_path, "pairs = 6\nmax_words = 3"), tmp_path, quiet)


@pytest.mark.parametrize("lines", [3, 9])
def test_links_must_fit(tmp_path: Path, lines: int) -> None:
    plan = study(tmp_path, 'max_words = 9\nlinks = ["all.links"]')
    (tmp_path / "all.links").write_text("\n" * lines, "utf-8")
    with pytest.raises(InputError, match=r"has more or fewer lines than .* has pairs"):
        write_subset(plan, tmp_path, quiet)
