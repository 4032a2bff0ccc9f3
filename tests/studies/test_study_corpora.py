"""What a study's stores hold: its pairs with their links, in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rnnsearch.errors import InputError
from rnnsearch.studies.study import read_plan
from rnnsearch.studies.study_corpora import prepare_corpora
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.text.formats.lines import read_lines, read_pairs
from rnnsearch.text.links import corpora as linking
from rnnsearch.text.store.corpus import Corpus

Linked = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]


def quiet(text: str, done: int, total: int | None) -> None:
    pass


def contents(store: Path) -> list[Linked]:
    """Source words, target words, linked words of every training pair, sorted."""
    corpus, found = Corpus.open(store), []
    for number in range(len(corpus.train)):
        source = [corpus.source.vocabulary.word(int(word)) for word in corpus.train.source(number)]
        target = [corpus.target.vocabulary.word(int(word)) for word in corpus.train.target(number)]
        links = sorted((source[i], target[j]) for i, j in corpus.train.links(number).tolist())
        found.append((tuple(source), tuple(target), tuple(links)))
    return sorted(found)


def prepared(folder: Path, text: str, reverse: bool = False) -> Path:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    out = StudyFolder(folder / "out")
    prepare_corpora(read_plan(str(folder / "study.toml")), out, reverse, 1, quiet)
    return out.path


def test_the_built_in_corpus_has_its_links_in_both_directions(tmp_path: Path) -> None:
    out = prepared(tmp_path, "[corpus]\nbuiltin = true\npairs = 60\nheld_out = 10\nlong_pairs = 4\n[variants.one]", reverse=True)
    there, back = contents(out / "store"), contents(out / "store.reverse")
    assert sum(len(links) for *_, links in there) == sum(len(line.split()) for line in read_lines(out / "corpus" / "train.links"))
    assert sorted((target, source, tuple(sorted((j, i) for i, j in links))) for source, target, links in back) == there
    assert (Corpus.open(out / "store.reverse").source.tokeniser.language, Corpus.open(out / "store").source.tokeniser.language) == (
        "fr",
        "en",
    )
    long = list(read_pairs(out / "corpus" / "long.en", out / "corpus" / "long.fr"))
    assert len(long) == 4
    assert all(len(source.split()) > 30 for source, _ in long)  # of over 40 words, of which blanks do not separate all


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
    (tmp_path / "all.en").write_text("a b\nc\nd e f\n", encoding="utf-8")
    (tmp_path / "all.fr").write_text("x y\nz\nu v\n", encoding="utf-8")
    return tmp_path


def test_links_are_made_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def first_words(source: Path, target: Path, forward: Path, reverse: Path) -> None:
        calls.append(source)
        for path in (forward, reverse):
            path.write_text("0-0\n" * 3, encoding="utf-8")

    monkeypatch.setattr(linking, "run_eflomal", first_words)
    monkeypatch.setattr(linking, "require_eflomal", lambda: None)
    for _ in range(2):
        assert [links for *_, links in contents(prepared(files, FILES) / "store")] == [(("a", "x"),), (("c", "z"),), (("d", "u"),)]
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("all.fr", "x y\nz\n", r"all\.en has 3 lines and .*all\.fr has 2"),
        ("gold", "0-0\n\n", r"gold: has 2 sentences, and test set all has 3"),
        ("gold", "0-0\n1-0\n0-0\n", r"gold: sentence 2: the gold link 1-0 .* outside its 1 source and 1 target words"),
    ],
)
def test_test_sets_that_do_not_fit_are_refused_first(files: Path, name: str, text: str, message: str) -> None:
    (files / "gold").write_text("0-0\n" * 3, encoding="utf-8")
    (files / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        prepared(files, FILES.replace('align = "intersection"', "") + 'gold = "gold"\n')
    assert not (files / "out" / "store").exists()


def test_a_missing_file_is_named(files: Path) -> None:
    (files / "all.fr").unlink()
    with pytest.raises(InputError, match=r"all\.fr: no such file \(check the path; --data names the folder"):
        prepared(files, FILES)
