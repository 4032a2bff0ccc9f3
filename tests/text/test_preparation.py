"""Corpora from files, lists and iterators; several of them, duplicates, links, and what can be traced back."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import names
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pairs import Pair, pairs_of, write
from refusals import refusal

from rnnsearch.settings import DataSettings
from rnnsearch.text import cleaning, preparation
from rnnsearch.text.dataset import Corpus, Pairs, Ragged
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.preparation import Buckets, PrepareOptions, prepare, prepare_texts
from rnnsearch.text.preparation_report import PreparationReport
from rnnsearch.text.tokens import Tokeniser


def settings(**values: object) -> DataSettings:
    return DataSettings.model_validate({"tokeniser": "space", "max_ratio": 0, **values})


def numbered(folder: Path) -> tuple[Path, Path]:
    """Line i says i in both languages, i % 7 + 1 times and i % 5 + 1 times."""
    source = write(folder / "train.s", [" ".join([f"s{i}"] * (i % 7 + 1)) for i in range(50)])
    target = write(folder / "train.t", [" ".join([f"t{i}"] * (i % 5 + 1)) for i in range(50)])
    return source, target


def prepared(
    folder: Path,
    *texts: list[Pair],
    links: list[str] | None = None,
    swapped: bool = False,
    repeat: tuple[int, ...] = (),
    vocabulary: Corpus | None = None,
    **values: object,
) -> PreparationReport:
    """Into folder / "store", from a pair of files for each text. links: lines with commas between them, of
    each text. vocabulary: of this store."""
    names = [
        write(folder / f"{number}.{side}", [pair[side == "t"] for pair in text])
        for number, text in enumerate(texts)
        for side in "st"
    ]
    files = [write(folder / f"{i}.links", lines.split(",")) for i, lines in enumerate(links or [])]
    codecs = {"source": vocabulary.source, "target": vocabulary.target} if vocabulary else {}
    options = PrepareOptions(files, swapped, repeat, codecs, overwrite=True)
    texts = parallel_texts(names)
    return prepare_texts(texts, folder / "store", settings=settings(**values), options=options)


def words(corpus: Corpus, pairs: Pairs) -> list[Pair]:
    """The pairs in words."""
    sides = (corpus.source, pairs.source), (corpus.target, pairs.target)
    return [
        tuple(" ".join(codec.decode(ids[i].tolist())[0]) for codec, ids in sides)
        for i in range(len(pairs))
    ]  # type: ignore[misc]


def stored(folder: Path) -> list[Pair]:
    corpus = Corpus.open(folder / "store")
    return words(corpus, corpus.train)


def linked(folder: Path) -> dict[str, set[Pair]]:
    """The source in words → the linked pieces."""
    corpus = Corpus.open(folder / "store")
    word = corpus.source.vocabulary.word, corpus.target.vocabulary.word
    found = {}
    for i, (line, _) in enumerate(words(corpus, corpus.train)):
        source, target = corpus.train.source[i], corpus.train.target[i]
        found[line] = {
            (word[0](source[a]), word[1](target[b]))
            for a, b in corpus.train.links[i].reshape(-1, 2)
        }
    return found


def traced(folder: Path) -> list[str]:
    """The rows of dropped.tsv.gz, without the names of folders."""
    head, *lines, end = (
        gzip.decompress((folder / "store" / "dropped.tsv.gz").read_bytes()).decode().split("\n")
    )
    assert (head, end) == ("text\tpair\treason", "")
    return [line.rpartition("/")[2].replace("\t", " ") for line in lines]


def reasons(report: PreparationReport) -> dict[str, int]:
    return {dropped.reason: dropped.pairs for dropped in report.dropped if dropped.pairs}


def vocabulary(folder: Path) -> list[str]:
    return (folder / "store" / "vocabulary.source.txt").read_text().split()


def content(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(store.iterdir())}


def test_the_same_input_gives_the_same_bytes_and_another_seed_another_order(tmp_path: Path) -> None:
    source, target = numbered(tmp_path)
    for name, seed in {"a": 1, "b": 1, "c": 2, "d": 3}.items():
        prepare(source, target, tmp_path / name, settings=settings(seed=seed))
    assert content(tmp_path / "a") == content(tmp_path / "b")
    corpus = Corpus.open(tmp_path / "a")
    assert words(corpus, corpus.train) != list(
        zip(read_lines(source), read_lines(target), strict=True)
    )
    assert corpus.dev is None
    assert len({content(tmp_path / name)["train.source.0000.ids.npy"] for name in "acd"}) == 3


def test_workers_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = numbered(tmp_path)
    monkeypatch.setattr(cleaning, "PAIRS", 8)
    prepare(source, target, tmp_path / "one", settings=settings())
    seen: list[tuple[str, int, int | None]] = []
    options = PrepareOptions(workers=2, progress=lambda *step: seen.append(step))
    prepare(source, target, tmp_path / "two", settings=settings(), options=options)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert [done for text, done, _ in seen if text == "tokenising"] == [8, 16, 24, 32, 40, 48, 50]
    assert ("encoding", 50, 50) in seen


def test_pairs_are_dropped_for_a_reason_that_is_counted(tmp_path: Path) -> None:
    source = write(tmp_path / "s", ["a b", "", " \t ", "a b c", "a", "a", "a"])
    target = write(tmp_path / "t", ["A B", "A", "", "A", "A B C", "A\x00B C D", "A"])
    report = prepare(source, target, tmp_path / "store", settings=settings(max_words=2))
    assert (report.pairs_read, report.pairs_kept) == (7, 2)
    assert reasons(report) == {"empty side": 2, "too long": 3}
    numbers = [example.number for dropped in report.dropped for example in dropped.examples]
    assert numbers == [2, 3, 4, 5, 6]
    assert "\0" not in report.text()
    assert report.texts[0].source_warnings.lines == {"tab": 1}
    assert report.texts[0].target_warnings.lines == {"control character": 1}
    corpus = Corpus.open(tmp_path / "store")
    assert sorted(words(corpus, corpus.train)) == pairs_of("a|A, a b|A B")
    assert "c" not in corpus.source.vocabulary  # dropped pairs leave no words behind


def test_the_development_target_is_spelt_as_networks_write_it(tmp_path: Path) -> None:
    """Otherwise no translation could equal it."""
    train = [write(tmp_path / f"train.{side}", ["ţara şi"] * 3) for side in "st"]
    dev = [write(tmp_path / f"dev.{side}", ["ţara"]) for side in "st"]
    how = settings(target_language="ro")
    prepare(*train, tmp_path / "store", dev=dev, settings=how)
    corpus = Corpus.open(tmp_path / "store")
    assert (corpus.dev_source_lines, corpus.dev_target_lines) == (["ţara"], ["țara"])


def test_development_pairs_are_all_kept_in_order(tmp_path: Path) -> None:
    lines = ["", "s1 s2", "s3 " * 40, "&amp; é"], ["t1", "", "t9", "t2"]
    dev = [write(tmp_path / f"dev.{side}", some) for side, some in zip("st", lines, strict=True)]
    store = tmp_path / "store"
    report = prepare(*numbered(tmp_path), store, dev=dev, settings=settings(max_words=10))
    corpus = Corpus.open(store)
    assert corpus.dev is not None
    assert corpus.dev.source.lengths.tolist() == [1, 3, 41, 3]
    assert corpus.dev.target.lengths.tolist() == [2, 1, 2, 2]
    assert (corpus.dev_source_lines, corpus.dev_target_lines) == lines
    assert words(corpus, corpus.dev)[3] == ("<unk> <unk>", "t2")
    assert report.dev_source is not None
    long = "longer than data.max_words, so it needs much memory"
    assert report.dev[0].source_warnings.lines == {"HTML entity": 1, long: 1}
    assert report.dev[0].source_warnings.first[long] == 3
    known = report.dev_source.known_tokens, report.dev_source.known_sentences
    assert (report.dev_source.tokens, *known) == (44, 42, 3)


def test_the_report_counts_what_the_vocabulary_knows(tmp_path: Path) -> None:
    source = write(tmp_path / "s", ["a a b", "a b", "c", "a d"])
    target = write(tmp_path / "t", ["A", "A", "A", "A"])
    report = prepare(source, target, tmp_path / "store", settings=settings(vocabulary_size=2))
    assert (report.source.words, report.source.distinct_words, report.source.longest) == (8, 4, 3)
    known = report.source.known_tokens, report.source.known_sentences
    assert (report.source.tokens, *known) == (8, 6, 2)
    assert (report.source.vocabulary, report.target.vocabulary) == (4, 3)
    assert "75.00 % of the 8 words; 50.00 % of the sentences" in report.text()
    saved: dict[str, Any] = json.loads((tmp_path / "store" / "report.json").read_text())
    assert saved["source"]["known_tokens"] == 6
    assert (tmp_path / "store" / "report.txt").read_text() == report.text()


def test_large_vocabularies_get_larger_ids(tmp_path: Path) -> None:
    source = write(tmp_path / "s", [" ".join(f"w{i}-{j}" for j in range(100)) for i in range(700)])
    target = write(tmp_path / "t", ["a"] * 700)
    prepare(
        source, target, tmp_path / "store", settings=settings(vocabulary_size=100_000, max_ratio=0)
    )
    corpus = Corpus.open(tmp_path / "store")
    assert corpus.train.source[0].dtype.itemsize == 4
    assert Counter(left for left, _ in words(corpus, corpus.train)) == Counter(read_lines(source))


@pytest.mark.parametrize("stage", ["tokenising", "encoding", "shuffling", "the end"])
@pytest.mark.parametrize("existing", [False, True])
def test_an_interrupted_preparation_leaves_nothing_but_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, existing: bool
) -> None:
    """Other faults end as this one: tests/system/test_files.py."""
    files, store = numbered(tmp_path), tmp_path / "out" / "store"
    if existing:
        prepare(*files, store, settings=settings(seed=9))
    before = content(store) if existing else {}

    def stop(text: str, done: int = 0, total: int | None = None) -> None:
        if text == stage:
            for unfinished in (path for path in store.parent.iterdir() if path != store):
                with refusal("is not a prepared dataset"):
                    Corpus.open(unfinished)  # what a power cut would leave
            raise KeyboardInterrupt

    monkeypatch.setattr(preparation, "write_contents", lambda *_: stop("the end"))
    options = PrepareOptions(overwrite=True, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        prepare(*files, store, settings=settings(), options=options)
    assert names(store.parent) == (["store"] if existing else [])
    assert not existing or content(store) == before


class Bomb:
    """Whoever unpickles it makes the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("name", ["blocks", "bucket.0000"])
def test_what_another_program_puts_into_the_working_folder_is_refused(
    tmp_path: Path, name: str
) -> None:
    def put(text: str, done: int = 0, total: int | None = None) -> None:
        file = tmp_path / ".store.partial" / "work" / name
        if text == "tokenising":
            file.unlink(missing_ok=True)
            file.write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))

    options = PrepareOptions(progress=put)
    with refusal(f"{name}: was changed by another program"):
        prepare(*numbered(tmp_path), tmp_path / "store", settings=settings(), options=options)
    assert not (tmp_path / "exploded").exists()


def test_only_a_store_is_overwritten(tmp_path: Path) -> None:
    files, overwrite = numbered(tmp_path), PrepareOptions(overwrite=True)
    prepare(*files, tmp_path / "store", settings=settings())
    prepare(*files, tmp_path / "store", settings=settings(seed=2), options=overwrite)
    assert Corpus.open(tmp_path / "store").settings.seed == 2
    (precious := tmp_path / "precious").mkdir()
    (precious / "thesis").touch()
    with refusal("exists and is not empty"):
        prepare(*files, precious, settings=settings(), options=overwrite)
    assert (precious / "thesis").exists()


GIVEN: dict[str, Callable[[Path], Any]] = {
    "strings that name files": str,
    "lists": lambda path: list(read_lines(path)),
    "iterators": read_lines,
    "open files": lambda path: path.open(encoding="utf-8"),
}


@pytest.mark.parametrize("what", [*GIVEN, "a file and a list", "pairs"])
def test_the_store_is_the_same(
    tiny_corpus: Path, tiny_store: Path, tmp_path: Path, what: str
) -> None:
    def given(name: str) -> tuple[Any, Any]:
        files = tiny_corpus / f"{name}.en", tiny_corpus / f"{name}.fr"
        if what == "a file and a list":
            return files[0], list(read_lines(files[1]))
        if what == "pairs":
            return zip(*map(read_lines, files), strict=True), None
        return GIVEN[what](files[0]), GIVEN[what](files[1])

    sides, dev = given("train"), given("dev")
    report = prepare(*sides, str(tmp_path / "store"), dev=dev, settings=DataSettings())
    for each in (*sides, *dev):
        getattr(each, "close", lambda: None)()
    assert (report.pairs_read, report.pairs_kept) == (300, 300)
    assert not report.texts[0].source_warnings.lines
    texts = {"vocabulary.source.txt", "vocabulary.target.txt", "dev.source.txt"}
    for name in texts.union(path.name for path in tiny_store.glob("*.npy")):
        assert (tmp_path / "store" / name).read_bytes() == (tiny_store / name).read_bytes(), name
    assert len(Corpus.open(tmp_path / "store").train) == 300


def endless_mistakes() -> Iterator[Any]:
    yield from ["The man.", "He sees.", None]


NO_TEXTS: list[tuple[Any, Any, str]] = [
    (
        ["a", "b"],
        ["a"],
        "in memory has 2 lines and lines in memory has 1, so they are not parallel",
    ),
    (["a", b"b"], ["a", "b"], "line 2 is bytes, not text (decode it, as in line.decode('utf-8'))"),
    (endless_mistakes(), ["a", "b", "c"], "line 3 is NoneType, not text"),
    (b"text", ["a"], "bytes was given, not lines"),
    ([("a", "b"), "cd"], None, "pair 2 is str, not a source and a target line"),
    ("a sentence", None, "str was given, not pairs"),
    (["a", ""], ["", "b"], "lines in memory | lines in memory were dropped (empty side: 2)"),
]
NO_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"minimum_count": 2}, "no source word occurs at least 2 times"),
    ({"subwords": "bpe", "vocabulary_size": 1}, "sentencepiece cannot make 1 bpe subwords"),
    ({"dev": ([], [])}, "the development files are empty"),
    ({"dev": [*"abc"]}, "dev is not the two sides of a text (give dev=(source, target)"),
    ({"dev": "dev"}, "dev is not the two sides of a text"),
]


@pytest.mark.parametrize(
    ("source", "target", "values", "said"),
    [
        *((source, target, {}, said) for source, target, said in NO_TEXTS),
        *((["a"], ["b"], values, said) for values, said in NO_SETTINGS),
    ],
)
def test_what_makes_no_corpus_is_one_line_and_leaves_nothing(
    tmp_path: Path, source: Any, target: Any, values: dict[str, Any], said: str
) -> None:
    given = DataSettings(**{key: value for key, value in values.items() if key != "dev"})
    with refusal(re.escape(said)):
        prepare(source, target, tmp_path / "store", dev=values.get("dev"), settings=given)
    assert list(tmp_path.iterdir()) == []


def test_lines_are_cleaned_as_those_of_files_are(tmp_path: Path) -> None:
    """Line breaks, control characters and halves of surrogate pairs: none of them reaches the store."""
    sides = ["one two\n", "three\x07four", "five\nsix", "se\ud800ven"], [*"abcd"]
    report = prepare(*sides, tmp_path / "store", dev=sides, settings=DataSettings())
    assert report.pairs_kept == 4
    cleaned = ["one two", "three four", "five six", "se\ufffdven"]
    assert Corpus.open(tmp_path / "store").dev_source_lines == cleaned
    assert report.texts[0].source_warnings.lines == {
        "U+FFFD in place of a lost character": 1,
        "control character": 1,
        "line break inside the text": 1,
    }


some_words = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=3),
    max_size=5,
).map(" ".join)


@hypothesis_settings(max_examples=30)
@given(
    st.lists(
        st.lists(st.tuples(some_words, some_words), min_size=1, max_size=8), min_size=1, max_size=3
    ),
    st.integers(1, 5),
    st.integers(10, 200),
)
def test_every_pair_comes_back_with_its_own_translation(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[Pair]], chunk: int, shard: int
) -> None:
    """Lines → store → lines, with any size of chunks and shards, and any characters."""
    folder = tmp_path_factory.mktemp("round")
    kept = [pair for text in texts for pair in text if pair[0] and pair[1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaning, "PAIRS", chunk)
        patch.setattr(preparation, "SHARD_BYTES", shard)
        if not kept:
            with refusal("were dropped"):
                prepared(folder, *texts)
            return
        report = prepared(folder, *texts)

    def known(line: str) -> str:
        return " ".join(
            "<unk>" if word in ("</s>", "<unk>") else word
            for word in Tokeniser("space", "").words(line)
        )

    assert Counter(stored(folder)) == Counter(
        (known(source), known(target)) for source, target in kept
    )
    assert traced(folder) == [
        f"{text}.t {number} empty side"
        for text, pairs in enumerate(texts)
        for number, pair in enumerate(pairs, 1)
        if not all(pair)
    ]
    assert report.pairs_kept == len(kept)


@pytest.mark.usefixtures("chunks")
def test_duplicates_are_dropped_but_for_the_first(tmp_path: Path) -> None:
    texts = pairs_of("a|x, b|y, |z, a|x, a|y"), pairs_of("b|x, b|y, a|x, c|z")
    report = prepared(tmp_path, *texts, drop_duplicates=True)
    assert Counter(stored(tmp_path)) == Counter(pairs_of("a|x, b|y, a|y, b|x, c|z"))
    assert reasons(report) == {"empty side": 1, "duplicate": 3}
    assert traced(tmp_path) == [
        "0.t 3 empty side",
        "0.t 4 duplicate",
        "1.t 2 duplicate",
        "1.t 3 duplicate",
    ]
    assert [text.pairs_kept for text in report.texts] == [3, 2]
    shown = [
        (example.number, example.source, example.target) for example in report.dropped[-1].examples
    ]
    assert shown == [(4, "a", "x"), (2, "b", "y"), (3, "a", "x")]
    assert report.source.words == 5
    assert vocabulary(tmp_path) == ["</s>", "<unk>", *"abc"]
    assert "(duplicate; data.drop_duplicates)" in report.text()


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize(
    ("drop", "repeated", "said"),
    [(False, 3, "repeated 3 of the kept pairs repeat"), (True, 0, "  warning    2 of")],
)
def test_repeated_pairs_and_development_pairs_in_the_training_text_are_counted(
    tmp_path: Path, drop: bool, repeated: int, said: str
) -> None:
    texts = parallel_texts(
        [
            write(tmp_path / name, lines)
            for name, lines in {
                "1.s": ["a", "caf\u00e9", "a", " ", "b"],
                "1.t": ["x", "y", "x", "z", "x"],
                "2.s": ["a", "cafe\u0301", "c"],
                "2.t": ["x", "y", "x"],
                "dev.s": ["cafe\u0301", "c", "a", " "],
                "dev.t": ["y", "x", "y", "z"],
            }.items()
        ]
    )
    given = settings(drop_duplicates=drop)
    report = prepare_texts(texts[:2], tmp_path / "store", dev=texts[2:], settings=given)
    assert (report.repeated, report.dev_in_train) == (repeated, 2)
    assert said in report.text()
    saved = json.loads((tmp_path / "store" / "report.json").read_text())
    assert (saved["repeated"], saved["dev_in_train"]) == (repeated, 2)


@pytest.mark.parametrize(("lowercase", "found"), [(False, 1), (True, 2)])
def test_a_pair_is_the_same_with_other_spaces_and_in_the_case_of_the_dataset(
    tmp_path: Path, lowercase: bool, found: int
) -> None:
    texts = parallel_texts(
        [
            write(tmp_path / name, lines)
            for name, lines in {
                "train.s": ["a b", "A c", "d"],
                "train.t": ["x y", "z", "z"],
                "dev.s": [" a  b", "a c", "ab"],
                "dev.t": ["x\u00a0y ", "Z", "xy"],
            }.items()
        ]
    )
    given = settings(lowercase=lowercase)
    report = prepare_texts(texts[:1], tmp_path / "store", dev=texts[1:], settings=given)
    assert report.dev_in_train == found


@pytest.fixture(params=[1, 2, 100])
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of so many pairs."""
    monkeypatch.setattr(cleaning, "PAIRS", request.param)


@pytest.mark.usefixtures("chunks")
def test_pairs_are_used_as_often_as_their_text_is_repeated(tmp_path: Path) -> None:
    """After duplicates are dropped; every number of the report but those of pairs read and kept follows."""
    texts = pairs_of("a|x, a|x, b|y z"), pairs_of("c|z, a|x, |x")
    report = prepared(
        tmp_path, *texts, links=["0-0,0-0,0-1", "0-0,,"], repeat=(2, 3), drop_duplicates=True
    )
    assert Counter(stored(tmp_path)) == {("a", "x"): 2, ("b", "y z"): 2, ("c", "z"): 3}
    assert (report.pairs_read, report.pairs_kept, report.pairs_used) == (6, 3, 7)
    assert [(text.pairs_kept, text.repeat) for text in report.texts] == [(2, 2), (1, 3)]
    assert (report.source.sentences, report.source.words, report.target.words) == (7, 7, 9)
    assert (report.links, len(report.samples)) == (7, 3)
    assert report.source.known_sentences == 7
    assert vocabulary(tmp_path) == ["</s>", "<unk>", *"cab"]
    assert "6 read, 3 kept (50.00 %); 7 with repetitions" in report.text()
    assert linked(tmp_path) == {"a": {("a", "x")}, "b": {("b", "z")}, "c": {("c", "z")}}
    assert len(traced(tmp_path)) == 3


@pytest.mark.parametrize("subwords", ["none", "bpe"])
def test_the_vocabulary_of_another_store_is_used_as_it_is(tmp_path: Path, subwords: str) -> None:
    kind = {"subwords": subwords, "vocabulary_size": 12}
    prepared(tmp_path, pairs_of("ab cd abcd|x y") * 3, **kind)
    first = Corpus.open((tmp_path / "store").rename(tmp_path / "first"))
    report = prepared(tmp_path, pairs_of("ab cdab|x new, other|y"), vocabulary=first, **kind)
    second = Corpus.open(tmp_path / "store")
    for one, other in ((first.source, second.source), (first.target, second.target)):
        assert one.vocabulary == other.vocabulary
        assert one.encode("ab cdab x").ids == other.encode("ab cdab x").ids
    assert report.source.known_sentences == (1 if subwords == "bpe" else 0)
    for known, words in (
        (second.source.known, ("ab", "abcd", "cdab")),
        (second.target.known, ("x", "y", "new")),
    ):
        assert known is not None
        assert all(word in known for word in words)  # those of both texts


def test_words_of_a_store_without_them_are_not_made_up(tmp_path: Path) -> None:
    """In a source of which only the new words are known, all others would be read as misspelt."""
    prepared(tmp_path, pairs_of("ab cd|x y"))
    first = Corpus.open((tmp_path / "store").rename(tmp_path / "first"))
    older = replace(first, source=replace(first.source, known=None))
    prepared(tmp_path, pairs_of("ab ef|x new"), vocabulary=older)
    second = Corpus.open(tmp_path / "store")
    assert second.source.known is None
    assert second.target.known is not None


def test_french_is_repaired_and_counted(tmp_path: Path) -> None:
    text = [("l' x cur", "l' uvre, qu’ il?"), ("a", "b!")]
    report = prepared(tmp_path, text, links=["0-1 2-3,0-0"], french_elisions=True)
    assert set(stored(tmp_path)) == {("l' x cur", "l'œuvre, qu'il ?"), ("a", "b !")}
    assert linked(tmp_path)["l' x cur"] == {("l'", "l'œuvre,"), ("cur", "qu'il"), ("cur", "?")}
    said = "elision with a space 2, lost œ 1, no space before ? ! ; 2, typographic apostrophe 1"
    assert f"repairs    {said}" in report.text()
    repairs = {
        "elision with a space": 2,
        "lost œ": 1,
        "no space before ? ! ;": 2,
        "typographic apostrophe": 1,
    }
    assert report.texts[0].repairs == repairs
    assert (
        json.loads((tmp_path / "store" / "report.json").read_text())["texts"][0]["repairs"]
        == repairs
    )


@pytest.mark.usefixtures("chunks")
def test_links_follow_filters_and_shuffle(tmp_path: Path) -> None:
    pairs = [(f"a{i} b{i}", f"x{i} y{i} z{i}") for i in range(20)]
    links = [f"0-{i % 3} 1-2" if i % 4 else "" for i in range(20)]
    pairs[3], pairs[7], links[3], links[7] = ("", "q"), ("long " * 9, "q"), "", "8-0"
    report = prepared(tmp_path, pairs, links=[",".join(links)], max_words=5)
    expected = {
        f"a{i} b{i}": {(f"a{i}", f"{'xyz'[i % 3]}{i}"), (f"b{i}", f"z{i}")} if i % 4 else set()
        for i in range(20)
        if i not in (3, 7)
    }
    assert linked(tmp_path) == expected
    assert report.links == sum(map(len, expected.values()))
    assert Corpus.open(tmp_path / "store").train.links is not None


def spread(links: str) -> set[Pair]:
    """ "a b~x y" → every one of a and b with every one of x and y."""
    sides = ([side.split() for side in link.split("~")] for link in links.split(", "))
    return {both for link in sides for both in product(*link)}


@pytest.mark.parametrize(
    ("texts", "links", "options", "expected"),
    [
        # written target-source, for several corpora
        (["a b|x y", "c|z w"], ["0-1", "1-0"], {"swapped": True}, {"a b": "b~x", "c": "c~w"}),
        # duplicates take theirs with them
        (
            ["a b|x, a b|x, c|z"],
            ["0-0,1-0,0-0"],
            {"drop_duplicates": True},
            {"a b": "a~x", "c": "c~z"},
        ),
        # a link between two given words becomes one between all of Moses's words
        (
            ["He CAN'T; Mr. Smith|Il (peut-être) ÉTÉ!"],
            ["1-1 0-0 3-2"],
            {"tokeniser": "moses", "lowercase": True},
            {"he can 't ; mr. smith": "he~il, can 't ;~( peut-être ), smith~été !"},
        ),
        # letters that the tokeniser does not see
        (
            ["a \xad b\u00a0c|x &y"],
            ["0-0 1-0 2-1"],
            {},
            {"a b c": "a~x, b c~&y"},
        ),
    ],
)
def test_links_follow_their_words(
    tmp_path: Path,
    texts: list[str],
    links: list[str],
    options: dict[str, Any],
    expected: dict[str, str],
) -> None:
    prepared(tmp_path, *map(pairs_of, texts), links=links, **options)
    assert linked(tmp_path) == {line: spread(pieces) for line, pieces in expected.items()}


@pytest.mark.parametrize(
    ("texts", "links", "message"),
    [
        (
            ["a|x, a|y"],
            "0-0",
            "has 2 lines and .*0.links has 1, so they are not parallel .give one line of links",
        ),
        (
            ["a|x, a|y"],
            "0-0,0-1",
            "0.links:2: the link 0-1 .* refers to target word 1, but the line has 1 words",
        ),
        (["a|x, a|y"], "0-0,1-0", "0.links:2: the link 1-0 .* refers to source word 1"),
        (["a|x, a|y"], "0-0,0-0 1", "0.links:2: '1' is not a link"),
        # of a pair that is dropped
        (["a|x, a|"], "0-0,0-0", "0.links:2: .* refers to target word 0, but the line has 0 words"),
        (["a|x, a|y", "a|z"], "0-0,", r"1 file\(s\) of links given for 2 corpora"),
    ],
)
@pytest.mark.usefixtures("chunks")
def test_links_that_do_not_fit_are_refused(
    tmp_path: Path, texts: list[str], links: str, message: str
) -> None:
    with refusal(message):
        prepared(tmp_path, *map(pairs_of, texts), links=[links])
    assert not (tmp_path / "store").exists()


def test_links_that_the_tokeniser_makes_untraceable_are_refused_unless_their_pair_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tokeniser, "words", lambda self, line: line.replace("a b", "ä b").split())
    text, links = pairs_of("a b c|X, a|X"), ["0-0,"]
    said = r"0.links:1: its links cannot be converted, .* of the source: 'a b c'"
    with refusal(said):
        prepared(tmp_path, text, links=links)
    assert prepared(tmp_path, text, links=links, max_words=2).links == 0


@pytest.mark.parametrize("subwords", ["bpe", "unigram"])
def test_a_link_between_words_becomes_links_between_all_their_pieces(
    tmp_path: Path, subwords: str
) -> None:
    pairs = [(f"lower{'est' * (i % 3)} newer", f"wider{'ly' * (i % 2)} slow w") for i in range(30)]
    links = [",".join(["0-2 1-0"] * 30)]
    prepared(tmp_path, pairs, links=links, subwords=subwords, vocabulary_size=14)
    corpus = Corpus.open(tmp_path / "store")
    for i in range(30):
        source = corpus.source.decode(corpus.train.source[i].tolist())[1]
        target = corpus.target.decode(corpus.train.target[i].tolist())[1]
        expected = [
            [a, b]
            for (a, left), (b, right) in product(enumerate(source), enumerate(target))
            if (left, right) in ((0, 2), (1, 0))
        ]
        assert sorted(corpus.train.links[i].reshape(-1, 2).tolist()) == expected
        assert len(expected) > 2


CHINESE = [
    "科学家一直在研究液态甲烷构成的海洋。",
    "该机构称赞欧盟的援助承诺",
    "他昨天去了北京，用 Python 3。",
]


@pytest.mark.parametrize("subwords", ["none", "bpe", "unigram"])
def test_text_without_spaces_is_kept_and_its_links_count_characters(
    tmp_path: Path, subwords: str
) -> None:
    """Nine English words are as long as thirteen Chinese characters, and Python and 3 are each one character."""
    english = [
        "Scientists have long been studying the oceans that are made of liquid methane.",
        "It praises.",
    ]
    pairs = list(zip([*english, "He went to Beijing with Python 3 ."], CHINESE, strict=True)) * 9
    values = {
        "tokeniser": "moses",
        "max_ratio": 2.5,
        "target_language": "zh",
        "vocabulary_size": 90,
    }
    links = [",".join(["0-5,0-0,5-4 0-9"] * 9)]
    if subwords != "none":
        with refusal("word links of text without spaces count characters"):
            prepared(tmp_path, pairs, links=links, subwords=subwords, **values)
    report = prepared(
        tmp_path, pairs, links=links if subwords == "none" else None, subwords=subwords, **values
    )
    assert reasons(report) == {"length ratio": 9}  # two words, twelve characters: eight words
    assert report.target.kind == ("characters" if subwords == "none" else "clauses")
    corpus = Corpus.open(tmp_path / "store")
    for i in range(len(corpus.train)):
        pieces = [corpus.target.vocabulary.word(id_) for id_ in corpus.train.target[i][:-1]]
        assert corpus.target.text(pieces) in CHINESE
        sentence = CHINESE.index(corpus.target.text(pieces))
        linked = (
            {pieces[target] for _, target in corpus.train.links[i].reshape(-1, 2)}
            if subwords == "none"
            else set()
        )
        for character, there in (
            ("在", sentence == 0),
            ("P", sentence == 2),
            ("了", sentence == 2),
        ):
            assert any(character in piece for piece in linked) == (there and subwords == "none")


def test_text_is_normalised_and_what_changed_is_counted(tmp_path: Path) -> None:
    text = [("cafe\u0301 x", "e\ufb03cace\u00a0!"), ("b c", "de\u00adjà")]
    report = prepared(tmp_path, text, links=["0-0,1-0"])
    assert set(stored(tmp_path)) == {("café x", "efficace !"), ("b c", "dejà")}
    assert linked(tmp_path) == {
        "café x": {("café", "efficace"), ("café", "!")},
        "b c": {("c", "dejà")},
    }
    kinds = {"decomposed character": 1, "ligature": 1, "soft hyphen": 1, "unusual space": 1}
    assert report.texts[0].repairs == kinds
    prepared(tmp_path, text, unicode="keep")
    assert set(stored(tmp_path)) == {("cafe\u0301 x", "e\ufb03cace !"), ("b c", "dejà")}


def shuffled(folder: Path, seed: int) -> tuple[int, ...]:
    """The order in which the shards hold three pairs; pair i says i once, and i times."""
    (folder / "work").mkdir(parents=True)
    buckets = Buckets(folder / "work", 3, seed)
    numbers = np.arange(3)
    ones = Ragged(numbers.astype(np.uint16), np.ones(3, dtype=np.int32))
    buckets.add(
        ones, Ragged(np.repeat(numbers, numbers).astype(np.uint16), numbers.astype(np.int32))
    )
    shards = range(len(list(buckets.write_shards(folder, linked=False))))
    order = [np.load(folder / f"train.source.{shard:04d}.ids.npy") for shard in shards]
    found = tuple(np.concatenate(order).tolist())
    assert np.load(folder / "train.target.lengths.npy").tolist() == list(found)
    return found


def test_every_order_is_about_equally_likely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three pairs, in one bucket or several: each of the six orders in a sixth of 300 shuffles, give or take
    five deviations."""
    monkeypatch.setattr(preparation, "SHARD_BYTES", 1)
    orders = Counter(shuffled(tmp_path / str(seed), seed) for seed in range(300))
    assert len(orders) == 6
    assert all(50 - 5 * 6.5 < count < 50 + 5 * 6.5 for count in orders.values())


def test_what_others_put_into_a_dataset_is_not_lost(tmp_path: Path) -> None:
    prepared(tmp_path, pairs_of("ab cd|x y"))
    (tmp_path / "store" / "notes.txt").write_text("mine")
    with refusal("exists and is not empty"):
        prepared(tmp_path, pairs_of("ab cd|x y"))
    assert (tmp_path / "store" / "notes.txt").read_text() == "mine"


def test_a_vocabulary_of_subwords_needs_settings_with_them(tmp_path: Path) -> None:
    prepared(tmp_path, pairs_of("ab cd abcd|x y") * 3, subwords="bpe", vocabulary_size=12)
    first = Corpus.open((tmp_path / "store").rename(tmp_path / "first"))
    with refusal("the source vocabulary has subwords, but data.subwords = none"):
        prepared(tmp_path, pairs_of("ab|x"), vocabulary=first)
