from __future__ import annotations

import errno
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.preparing import cleaning, shuffle
from rnnsearch.text.preparing import prepare as preparation
from rnnsearch.text.preparing.preparation_report import PreparationReport
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus, Pairs
from rnnsearch.text.tokenise import Tokeniser


def settings(**values: object) -> DataSettings:
    return DataSettings.model_validate({"tokeniser": "space", **values})


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def numbered(folder: Path, pairs: int = 50) -> tuple[Path, Path]:
    """Line i says i in both languages, i % 7 + 1 times and i % 5 + 1 times."""
    source = write(folder / "train.s", [" ".join([f"s{i}"] * (i % 7 + 1)) for i in range(pairs)])
    target = write(folder / "train.t", [" ".join([f"t{i}"] * (i % 5 + 1)) for i in range(pairs)])
    return source, target


def words(corpus: Corpus, pairs: Pairs) -> list[tuple[str, str]]:
    return [
        (" ".join(corpus.source.decode(pairs.source(i).tolist()).words), " ".join(corpus.target.decode(pairs.target(i).tolist()).words))
        for i in range(len(pairs))
    ]


def content(store: Path) -> dict[str, bytes]:
    """All files but the page, which has a date."""
    return {path.name: path.read_bytes() for path in sorted(store.iterdir()) if path.name != "report.html"}


@pytest.mark.parametrize("gathered", [1, 7, 1000])
def test_every_pair_is_stored_once_with_its_translation_in_a_new_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gathered: int
) -> None:
    monkeypatch.setattr(shuffle, "_GATHERED", gathered)
    source, target = numbered(tmp_path)
    report = prepare(source, target, tmp_path / "store", settings=settings())
    corpus = Corpus.open(tmp_path / "store")
    raw = list(zip(read_lines(source), read_lines(target), strict=True))
    stored = words(corpus, corpus.train)
    assert stored != raw
    assert Counter(stored) == Counter(raw)
    assert corpus.train.source_lengths.tolist() == [len(left.split()) + 1 for left, _ in stored]
    assert all(corpus.train.source(i)[-1] == corpus.train.target(i)[-1] == 0 for i in range(50))
    assert corpus.dev is None
    assert (report.pairs_read, report.pairs_kept) == (50, 50)


def test_the_same_input_gives_the_same_bytes_and_another_seed_another_order(tmp_path: Path) -> None:
    source, target = numbered(tmp_path)
    for name, seed in {"a": 1, "b": 1, "c": 2, "d": 3}.items():
        prepare(source, target, tmp_path / name, settings=settings(seed=seed))
    assert content(tmp_path / "a") == content(tmp_path / "b")
    assert len({content(tmp_path / name)["train.source.0000.ids.npy"] for name in "acd"}) == 3


def test_workers_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = numbered(tmp_path)
    monkeypatch.setattr(cleaning, "PAIRS", 8)
    prepare(source, target, tmp_path / "one", settings=settings())
    seen: list[tuple[str, int, int | None]] = []
    prepare(source, target, tmp_path / "two", settings=settings(), workers=2, progress=lambda *step: seen.append(step))
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert [done for text, done, _ in seen if text == "tokenising"] == [8, 16, 24, 32, 40, 48, 50]
    assert ("encoding", 50, 50) in seen


def test_pairs_are_dropped_for_a_reason_that_is_counted(tmp_path: Path) -> None:
    source = write(tmp_path / "s", ["a b", "", " \t ", "a b c", "a", "a", "a"])
    target = write(tmp_path / "t", ["A B", "A", "", "A", "A B C", "A\x00B C D", "A"])
    report = prepare(source, target, tmp_path / "store", settings=settings(max_words=2))
    assert (report.pairs_read, report.pairs_kept) == (7, 2)
    assert {dropped.reason: dropped.pairs for dropped in report.dropped if dropped.pairs} == {"empty side": 2, "too long": 3}
    assert [example.number for dropped in report.dropped for example in dropped.examples] == [2, 3, 4, 5, 6]
    assert report.texts[0].source_warnings.lines == {"tab": 1}
    assert report.texts[0].target_warnings.lines == {"NUL character": 1}
    corpus = Corpus.open(tmp_path / "store")
    assert sorted(words(corpus, corpus.train)) == [("a", "A"), ("a b", "A B")]


def test_dropped_pairs_leave_no_words_behind(tmp_path: Path) -> None:
    source, target = write(tmp_path / "s", ["a", "x x x"]), write(tmp_path / "t", ["A", "X"])
    prepare(source, target, tmp_path / "store", settings=settings(max_words=2))
    assert "x" not in Corpus.open(tmp_path / "store").source.vocabulary


def test_development_pairs_are_all_kept_in_order(tmp_path: Path) -> None:
    dev = write(tmp_path / "dev.s", ["", "s1 s2", "s3 " * 40, "&amp; é"]), write(tmp_path / "dev.t", ["t1", "", "t9", "t2"])
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
    assert (report.dev_source.tokens, report.dev_source.known_tokens, report.dev_source.known_sentences) == (44, 42, 3)


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
    report = prepare(source, target, tmp_path / "store", settings=settings(subwords=subwords, vocabulary_size=30))
    corpus = Corpus.open(tmp_path / "store")
    assert Counter(words(corpus, corpus.train)) == Counter(zip(read_lines(source), read_lines(target), strict=True))
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
@pytest.mark.parametrize("fault", [KeyboardInterrupt(), RuntimeError("a bug"), OSError(errno.ENOSPC, "No space left on device")], ids=repr)
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

    monkeypatch.setattr(preparation, "write_contents", lambda folder, contents: stop("the end"))
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


@pytest.mark.parametrize(
    ("source", "target", "values", "message"),
    [
        ([], [], {}, "the texts are empty"),
        (["a", ""], ["", "b"], {}, r"all pairs of .* were dropped \(empty side: 2\)"),
        (["a b c"], ["a"], {"max_words": 2}, r"were dropped \(too long: 1\)"),
        (["a", "b"], ["a"], {}, "has 2 lines and .* has 1, so they are not parallel"),
        (["a"], ["b"], {"minimum_count": 2}, "no source word occurs at least 2 times"),
        (["a"], ["b"], {"subwords": "bpe", "vocabulary_size": 1}, "sentencepiece cannot make 1 bpe subwords"),
    ],
)
def test_input_that_makes_no_corpus_is_refused(
    tmp_path: Path, source: list[str], target: list[str], values: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        prepare(write(tmp_path / "s", source), write(tmp_path / "t", target), tmp_path / "store", settings=settings(**values))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("lines", "message"), [(([], []), "the development files are empty"), ((["a"], []), "not parallel")])
def test_development_files_that_are_none_are_refused(tmp_path: Path, lines: tuple[list[str], list[str]], message: str) -> None:
    dev = write(tmp_path / "dev.s", lines[0]), write(tmp_path / "dev.t", lines[1])
    with pytest.raises(InputError, match=message):
        prepare(*numbered(tmp_path), tmp_path / "store", dev=dev, settings=settings())


def test_real_text(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "multi30k"
    files = {side: write(tmp_path / side, list(islice(read_lines(folder / f"train.{side}.gz"), 3000))) for side in ("en", "fr")}
    dev = folder / "val.en.gz", folder / "val.fr.gz"
    chosen = DataSettings.model_validate({"vocabulary_size": 2000})
    report = prepare(files["en"], files["fr"], tmp_path / "store", dev=dev, settings=chosen)
    assert isinstance(report, PreparationReport)
    assert (report.pairs_read, report.pairs_kept, report.source_vocabulary) == (3000, 3000, 2002)
    assert 0.9 < report.target.known_tokens / report.target.tokens < 1
    corpus = Corpus.open(tmp_path / "store")

    def known(side: str, line: str) -> str:
        codec = corpus.source if side == "en" else corpus.target
        return " ".join(word if word in codec.vocabulary else "<unk>" for word in Tokeniser("moses", side).words(line))

    raw = zip(read_lines(files["en"]), read_lines(files["fr"]), strict=True)
    assert Counter(words(corpus, corpus.train)) == Counter((known("en", left), known("fr", right)) for left, right in raw)
    assert corpus.dev is not None
    assert corpus.dev_source_lines == list(read_lines(dev[0]))
    assert words(corpus, corpus.dev) == [
        (known("en", left), known("fr", right)) for left, right in zip(corpus.dev_source_lines, corpus.dev_target_lines, strict=True)
    ]
