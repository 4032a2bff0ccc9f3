"""A corpus from lists and iterators is the corpus from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rnnsearch import Corpus, InputError, prepare
from rnnsearch.config import DataSettings
from rnnsearch.text.formats.lines import read_lines

SETTINGS = DataSettings()


def lines(corpus: Path, name: str) -> list[str]:
    return list(read_lines(corpus / name))


GIVEN: dict[str, Callable[[Path, str], tuple[Any, Any]]] = {
    "strings that name files": lambda corpus, name: (str(corpus / f"{name}.en"), str(corpus / f"{name}.fr")),
    "lists": lambda corpus, name: (lines(corpus, f"{name}.en"), lines(corpus, f"{name}.fr")),
    "iterators": lambda corpus, name: (iter(lines(corpus, f"{name}.en")), (line for line in lines(corpus, f"{name}.fr"))),
    "a file and a list": lambda corpus, name: (corpus / f"{name}.en", lines(corpus, f"{name}.fr")),
    "open files": lambda corpus, name: ((corpus / f"{name}.en").open(encoding="utf-8"), (corpus / f"{name}.fr").open(encoding="utf-8")),
    "pairs": lambda corpus, name: (zip(lines(corpus, f"{name}.en"), lines(corpus, f"{name}.fr"), strict=True), None),
}


@pytest.mark.parametrize("what", GIVEN)
def test_the_store_is_the_same(tiny_corpus: Path, tiny_store: Path, tmp_path: Path, what: str) -> None:
    source, target = GIVEN[what](tiny_corpus, "train")
    dev = GIVEN[what](tiny_corpus, "dev")
    report = prepare(source, target, str(tmp_path / "store"), dev=dev, settings=SETTINGS)
    for each in (source, target, *dev):
        getattr(each, "close", lambda: None)()
    assert (report.pairs_read, report.pairs_kept) == (300, 300)
    assert not report.texts[0].source_warnings.lines
    names = {path.name for path in tiny_store.glob("*.npy")} | {"vocabulary.source.txt", "vocabulary.target.txt", "dev.source.txt"}
    for name in names:
        assert (tmp_path / "store" / name).read_bytes() == (tiny_store / name).read_bytes(), name
    assert len(Corpus.open(tmp_path / "store").train) == 300


def endless_mistakes() -> Iterator[Any]:
    yield from ["The man.", "He sees.", None]


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (["a", "b"], ["a"], "lines in memory has 2 lines and lines in memory has 1, so they are not parallel"),
        (["a", b"b"], ["a", "b"], "line 2 is bytes, not text (decode it, as in line.decode('utf-8'))"),
        (endless_mistakes(), ["a", "b", "c"], "line 3 is None, not text"),
        (b"text", ["a"], "bytes were given where lines are expected"),
        (None, ["a"], "what was given is None, and lines are expected"),
        ([("a", "b"), "cd"], None, "pair 2 is of type str, not a source and a target line"),
        ("a sentence", None, "one text was given where pairs are expected"),
        ([], [], "the texts are empty"),
    ],
)
def test_what_is_no_parallel_text_is_one_line_and_leaves_nothing(tmp_path: Path, source: Any, target: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        prepare(source, target, tmp_path / "store", settings=SETTINGS)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_development_text_has_two_sides(tmp_path: Path) -> None:
    for dev in (["a", "b", "c"], "dev"):
        with pytest.raises(InputError, match=r"dev is not the two sides of a text \(give dev=\(source, target\)"):
            prepare(["a"], ["b"], tmp_path / "store", dev=dev, settings=SETTINGS)  # type: ignore[arg-type]


def test_lines_are_cleaned_as_those_of_files_are(tmp_path: Path) -> None:
    """Line breaks, control characters and halves of surrogate pairs: none of them reaches the store."""
    odd = ["one two\n", "three\x07four", "five\nsix", "se\ud800ven"]
    report = prepare(odd, ["a", "b", "c", "d"], tmp_path / "store", dev=(odd, ["a", "b", "c", "d"]), settings=SETTINGS)
    assert report.pairs_kept == 4
    assert Corpus.open(tmp_path / "store").dev_source_lines == ["one two", "three four", "five six", "se\ufffdven"]
    assert report.texts[0].source_warnings.lines == {"control character": 1, "line break inside the text": 1}
