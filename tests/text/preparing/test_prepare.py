"""One corpus, from files, lists and iterators; test_prepare_texts.py has several, and links."""

from __future__ import annotations

import errno
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.preparing import cleaning
from rnnsearch.text.preparing import prepare as preparation
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus, Pairs


def settings(**values: object) -> DataSettings:
    return DataSettings.model_validate({"tokeniser": "space", **values})


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def numbered(folder: Path) -> tuple[Path, Path]:
    """Line i says i in both languages, i % 7 + 1 times and i % 5 + 1 times."""
    source = write(folder / "train.s", [" ".join([f"s{i}"] * (i % 7 + 1)) for i in range(50)])
    target = write(folder / "train.t", [" ".join([f"t{i}"] * (i % 5 + 1)) for i in range(50)])
    return source, target


def words(corpus: Corpus, pairs: Pairs) -> list[tuple[str, str]]:
    return [
        (
            " ".join(corpus.source.decode(pairs.source(i).tolist()).words),
            " ".join(corpus.target.decode(pairs.target(i).tolist()).words),
        )
        for i in range(len(pairs))
    ]


def content(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(store.iterdir())}


def test_the_same_input_gives_the_same_bytes_and_another_seed_another_order(tmp_path: Path) -> None:
    source, target = numbered(tmp_path)
    for name, seed in {"a": 1, "b": 1, "c": 2, "d": 3}.items():
        prepare(source, target, tmp_path / name, settings=settings(seed=seed))
    assert content(tmp_path / "a") == content(tmp_path / "b")
    corpus = Corpus.open(tmp_path / "a")
    assert words(corpus, corpus.train) != list(zip(read_lines(source), read_lines(target), strict=True))
    assert corpus.dev is None
    assert len({content(tmp_path / name)["train.source.0000.ids.npy"] for name in "acd"}) == 3


def test_workers_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = numbered(tmp_path)
    monkeypatch.setattr(cleaning, "PAIRS", 8)
    prepare(source, target, tmp_path / "one", settings=settings())
    seen: list[tuple[str, int, int | None]] = []
    prepare(
        source,
        target,
        tmp_path / "two",
        settings=settings(),
        workers=2,
        progress=lambda *step: seen.append(step),
    )
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert [done for text, done, _ in seen if text == "tokenising"] == [8, 16, 24, 32, 40, 48, 50]
    assert ("encoding", 50, 50) in seen


def test_pairs_are_dropped_for_a_reason_that_is_counted(tmp_path: Path) -> None:
    source = write(tmp_path / "s", ["a b", "", " \t ", "a b c", "a", "a", "a"])
    target = write(tmp_path / "t", ["A B", "A", "", "A", "A B C", "A\x00B C D", "A"])
    report = prepare(source, target, tmp_path / "store", settings=settings(max_words=2))
    assert (report.pairs_read, report.pairs_kept) == (7, 2)
    assert {dropped.reason: dropped.pairs for dropped in report.dropped if dropped.pairs} == {
        "empty side": 2,
        "too long": 3,
    }
    assert [example.number for dropped in report.dropped for example in dropped.examples] == [2, 3, 4, 5, 6]
    assert "\0" not in report.text()
    assert report.texts[0].source_warnings.lines == {"tab": 1}
    assert report.texts[0].target_warnings.lines == {"NUL character": 1}
    corpus = Corpus.open(tmp_path / "store")
    assert sorted(words(corpus, corpus.train)) == [("a", "A"), ("a b", "A B")]
    assert "c" not in corpus.source.vocabulary  # dropped pairs leave no words behind


def test_development_pairs_are_all_kept_in_order(tmp_path: Path) -> None:
    dev = (
        write(tmp_path / "dev.s", ["", "s1 s2", "s3 " * 40, "&amp; é"]),
        write(tmp_path / "dev.t", ["t1", "", "t9", "t2"]),
    )
    report = prepare(*numbered(tmp_path), tmp_path / "store", dev=dev, settings=settings(max_words=10))
    corpus = Corpus.open(tmp_path / "store")
    assert corpus.dev is not None
    assert corpus.dev.source_lengths.tolist() == [1, 3, 41, 3]
    assert corpus.dev.target_lengths.tolist() == [2, 1, 2, 2]
    assert corpus.dev_source_lines == ["", "s1 s2", "s3 " * 40, "&amp; é"]
    assert corpus.dev_target_lines == ["t1", "", "t9", "t2"]
    assert words(corpus, corpus.dev)[3] == ("<unk> <unk>", "t2")
    assert report.dev_source is not None
    assert report.dev[0].source_warnings.lines == {"HTML entity": 1}
    assert (report.dev_source.tokens, report.dev_source.known_tokens, report.dev_source.known_sentences) == (
        44,
        42,
        3,
    )


def test_the_report_counts_what_the_vocabulary_knows(tmp_path: Path) -> None:
    source = write(tmp_path / "s", ["a a b", "a b", "c", "a d"])
    target = write(tmp_path / "t", ["A", "A", "A", "A"])
    report = prepare(source, target, tmp_path / "store", settings=settings(vocabulary_size=2))
    assert (report.source.words, report.source.distinct_words, report.source.longest) == (8, 4, 3)
    assert (report.source.tokens, report.source.known_tokens, report.source.known_sentences) == (8, 6, 2)
    assert (report.source_vocabulary, report.target_vocabulary) == (4, 3)
    assert "75.00 % of the 8 words; 50.00 % of the sentences" in report.text()
    saved: dict[str, Any] = json.loads((tmp_path / "store" / "report.json").read_text())
    assert saved["source"]["known_tokens"] == 6
    assert (tmp_path / "store" / "report.txt").read_text() == report.text()


@pytest.mark.parametrize("subwords", ["unigram", "bpe"])
def test_subwords_leave_no_word_unknown(tmp_path: Path, subwords: str) -> None:
    source, target = numbered(tmp_path)
    report = prepare(
        source, target, tmp_path / "store", settings=settings(subwords=subwords, vocabulary_size=30)
    )
    corpus = Corpus.open(tmp_path / "store")
    assert Counter(words(corpus, corpus.train)) == Counter(
        zip(read_lines(source), read_lines(target), strict=True)
    )
    assert report.unit == "subwords"
    assert report.source.known_tokens == report.source.tokens > report.source.words
    assert report.source_vocabulary <= 32


def test_large_vocabularies_get_larger_ids(tmp_path: Path) -> None:
    source = write(tmp_path / "s", [" ".join(f"w{i}-{j}" for j in range(100)) for i in range(700)])
    target = write(tmp_path / "t", ["a"] * 700)
    prepare(source, target, tmp_path / "store", settings=settings(vocabulary_size=100_000, max_ratio=0))
    corpus = Corpus.open(tmp_path / "store")
    assert corpus.train.source(0).dtype.itemsize == 4
    assert Counter(left for left, _ in words(corpus, corpus.train)) == Counter(read_lines(source))


STAGES = ["tokenising", "counting the target words", "encoding", "shuffling", "the end"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    "fault",
    [KeyboardInterrupt(), RuntimeError("a bug"), OSError(errno.ENOSPC, "No space left on device")],
    ids=repr,
)
@pytest.mark.parametrize("existing", [False, True])
def test_an_interrupted_preparation_leaves_nothing_but_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, fault: BaseException, existing: bool
) -> None:
    source, target = numbered(tmp_path)
    store = tmp_path / "out" / "store"
    if existing:
        prepare(source, target, store, settings=settings(seed=9))
    before = content(store) if existing else {}

    def stop(text: str, done: int = 0, total: int | None = None) -> None:
        if text == stage:
            for unfinished in (path for path in store.parent.iterdir() if path != store):
                with pytest.raises(InputError, match="is not a prepared dataset"):
                    Corpus.open(unfinished)  # what a power cut would leave
            raise fault

    monkeypatch.setattr(preparation, "write_contents", lambda *_: stop("the end"))
    expected = InputError if isinstance(fault, OSError) else type(fault)
    with pytest.raises(expected) as caught:
        prepare(source, target, store, settings=settings(), overwrite=True, progress=stop)
    assert not isinstance(fault, OSError) or "no space left on the disk" in str(caught.value)
    assert [path.name for path in store.parent.iterdir()] == (["store"] if existing else [])
    assert not existing or content(store) == before


def test_a_folder_in_the_way_is_refused_unless_it_is_a_store_to_overwrite(tmp_path: Path) -> None:
    source, target = numbered(tmp_path)
    prepare(source, target, tmp_path / "store", settings=settings())
    with pytest.raises(InputError, match="exists and is not empty"):
        prepare(source, target, tmp_path / "store", settings=settings(seed=2))
    prepare(source, target, tmp_path / "store", settings=settings(seed=2), overwrite=True)
    assert Corpus.open(tmp_path / "store").settings.seed == 2
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").touch()
    with pytest.raises(InputError, match="exists and is not empty"):
        prepare(source, target, precious, settings=settings(), overwrite=True)
    assert (precious / "thesis").exists()


def lines(corpus: Path, name: str) -> list[str]:
    return list(read_lines(corpus / name))


GIVEN: dict[str, Callable[[Path, str], tuple[Any, Any]]] = {
    "strings that name files": lambda corpus, name: (str(corpus / f"{name}.en"), str(corpus / f"{name}.fr")),
    "lists": lambda corpus, name: (lines(corpus, f"{name}.en"), lines(corpus, f"{name}.fr")),
    "iterators": lambda corpus, name: (
        iter(lines(corpus, f"{name}.en")),
        (line for line in lines(corpus, f"{name}.fr")),
    ),
    "a file and a list": lambda corpus, name: (corpus / f"{name}.en", lines(corpus, f"{name}.fr")),
    "open files": lambda corpus, name: (
        (corpus / f"{name}.en").open(encoding="utf-8"),
        (corpus / f"{name}.fr").open(encoding="utf-8"),
    ),
    "pairs": lambda corpus, name: (
        zip(lines(corpus, f"{name}.en"), lines(corpus, f"{name}.fr"), strict=True),
        None,
    ),
}


@pytest.mark.parametrize("what", GIVEN)
def test_the_store_is_the_same(tiny_corpus: Path, tiny_store: Path, tmp_path: Path, what: str) -> None:
    source, target = GIVEN[what](tiny_corpus, "train")
    dev = GIVEN[what](tiny_corpus, "dev")
    report = prepare(source, target, str(tmp_path / "store"), dev=dev, settings=DataSettings())
    for each in (source, target, *dev):
        getattr(each, "close", lambda: None)()
    assert (report.pairs_read, report.pairs_kept) == (300, 300)
    assert not report.texts[0].source_warnings.lines
    names = {path.name for path in tiny_store.glob("*.npy")} | {
        "vocabulary.source.txt",
        "vocabulary.target.txt",
        "dev.source.txt",
    }
    for name in names:
        assert (tmp_path / "store" / name).read_bytes() == (tiny_store / name).read_bytes(), name
    assert len(Corpus.open(tmp_path / "store").train) == 300


def endless_mistakes() -> Iterator[Any]:
    yield from ["The man.", "He sees.", None]


@pytest.mark.parametrize(
    ("source", "target", "options", "said"),
    [
        (
            ["a", "b"],
            ["a"],
            {},
            "lines in memory has 2 lines and lines in memory has 1, so they are not parallel",
        ),
        (["a", b"b"], ["a", "b"], {}, "line 2 is bytes, not text (decode it, as in line.decode('utf-8'))"),
        (endless_mistakes(), ["a", "b", "c"], {}, "line 3 is None, not text"),
        (b"text", ["a"], {}, "bytes were given where lines are expected"),
        (None, ["a"], {}, "what was given is None, and lines are expected"),
        ([("a", "b"), "cd"], None, {}, "pair 2 is of type str, not a source and a target line"),
        ("a sentence", None, {}, "one text was given where pairs are expected"),
        ([], [], {}, "the texts are empty"),
        (
            ["a", ""],
            ["", "b"],
            {},
            "all pairs of lines in memory | lines in memory were dropped (empty side: 2)",
        ),
        (["a b c"], ["a"], {"max_words": 2}, "were dropped (too long: 1)"),
        (["a"], ["b"], {"minimum_count": 2}, "no source word occurs at least 2 times"),
        (["a"], ["b"], {"subwords": "bpe", "vocabulary_size": 1}, "sentencepiece cannot make 1 bpe subwords"),
        (["a"], ["b"], {"dev": ([], [])}, "the development files are empty"),
        (["a"], ["b"], {"dev": (["a"], [])}, "not parallel"),
        (
            ["a"],
            ["b"],
            {"dev": ["a", "b", "c"]},
            "dev is not the two sides of a text (give dev=(source, target)",
        ),
        (["a"], ["b"], {"dev": "dev"}, "dev is not the two sides of a text"),
    ],
)
def test_what_makes_no_corpus_is_one_line_and_leaves_nothing(
    tmp_path: Path, source: Any, target: Any, options: dict[str, Any], said: str
) -> None:
    values = options.copy()
    dev = values.pop("dev", None)
    with pytest.raises(InputError) as error:
        prepare(source, target, tmp_path / "store", dev=dev, settings=DataSettings.model_validate(values))
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_lines_are_cleaned_as_those_of_files_are(tmp_path: Path) -> None:
    """Line breaks, control characters and halves of surrogate pairs: none of them reaches the store."""
    sides = ["one two\n", "three\x07four", "five\nsix", "se\ud800ven"], [*"abcd"]
    report = prepare(*sides, tmp_path / "store", dev=sides, settings=DataSettings())
    assert report.pairs_kept == 4
    cleaned = ["one two", "three four", "five six", "se\ufffdven"]
    assert Corpus.open(tmp_path / "store").dev_source_lines == cleaned
    assert report.texts[0].source_warnings.lines == {"control character": 1, "line break inside the text": 1}
