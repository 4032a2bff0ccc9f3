"""Several corpora, duplicates, links and what can be traced back; test_prepare.py has the plain case."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.preparing import cleaning, prepare, shuffle
from rnnsearch.text.preparing.preparation_report import PreparationReport
from rnnsearch.text.preparing.prepare import prepare_texts
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.tokenise import Tokeniser

Pair = tuple[str, str]


def settings(**values: object) -> DataSettings:
    return DataSettings.model_validate({"tokeniser": "space", "max_ratio": 0, **values})


def written(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def prepared(
    folder: Path,
    *texts: list[Pair],
    links: list[list[str]] | None = None,
    swapped: bool = False,
    repeat: tuple[int, ...] = (),
    vocabulary: Corpus | None = None,
    **values: object,
) -> PreparationReport:
    """Into folder / "store", from a pair of files for each text. vocabulary: of this store."""
    names = [
        written(folder, f"{number}.{side}", [pair[side == "t"] for pair in text])
        for number, text in enumerate(texts)
        for side in "st"
    ]
    files = [written(folder, f"{number}.links", lines) for number, lines in enumerate(links or [])]
    codecs = {"source": vocabulary.source, "target": vocabulary.target} if vocabulary else None
    options = {"links": files, "links_reversed": swapped, "settings": settings(**values), "overwrite": True}
    options |= {"repeat": repeat, "vocabulary": codecs}
    return prepare_texts(parallel_texts(names), folder / "store", **options)  # type: ignore[arg-type]


def stored(store: Path) -> list[Pair]:
    """The pairs in words."""
    corpus = Corpus.open(store)
    sides = (corpus.source, corpus.train.source), (corpus.target, corpus.train.target)
    return [
        tuple(" ".join(codec.decode(ids(i).tolist()).words) for codec, ids in sides)
        for i in range(len(corpus.train))
    ]  # type: ignore[misc]


def linked(store: Path) -> dict[str, set[Pair]]:
    """The source in words → the linked pieces."""
    corpus = Corpus.open(store)
    found = {}
    for i in range(len(corpus.train)):
        source, target = corpus.train.source(i).tolist(), corpus.train.target(i).tolist()
        pieces = {
            (corpus.source.vocabulary.word(source[a]), corpus.target.vocabulary.word(target[b]))
            for a, b in corpus.train.links(i).tolist()
        }
        found[" ".join(corpus.source.decode(source).words)] = pieces
    return found


def traced(store: Path) -> list[list[str]]:
    """The rows of dropped.tsv.gz, without the names of folders."""
    lines = gzip.decompress((store / "dropped.tsv.gz").read_bytes()).decode().split("\n")
    assert lines[0] == "text\tpair\treason"
    assert lines[-1] == ""
    return [[Path(line.split("\t")[0]).name, *line.split("\t")[1:]] for line in lines[1:-1]]


def test_several_corpora_follow_one_another(tmp_path: Path) -> None:
    (tmp_path / "b.tsv").write_text("s2\tt2\ns3\tt3\n")
    written(tmp_path, "a.s", ["s0", "s1"]), written(tmp_path, "a.t", ["t0", "t1"])
    names = [tmp_path / "a.s", tmp_path / "a.t", tmp_path / "b.tsv"]
    report = prepare_texts(
        parallel_texts(names),
        tmp_path / "store",
        dev=parallel_texts([*names[2:], *names[:2]]),
        settings=settings(),
    )
    assert sorted(stored(tmp_path / "store")) == [(f"s{i}", f"t{i}") for i in range(4)]
    assert [text.pairs_read for text in report.texts] == [2, 2]
    assert Corpus.open(tmp_path / "store").dev_source_lines == ["s2", "s3", "s0", "s1"]


words = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=3), max_size=5
).map(" ".join)


@hypothesis_settings(max_examples=30)
@given(
    st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=8), min_size=1, max_size=3),
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
        patch.setattr(shuffle, "SHARD_BYTES", shard)
        if not kept:
            with pytest.raises(InputError, match="were dropped"):
                prepared(folder, *texts)
            return
        report = prepared(folder, *texts)

    def known(line: str) -> str:
        return " ".join(
            "<unk>" if word in ("</s>", "<unk>") else word for word in Tokeniser("space", "").words(line)
        )

    assert Counter(stored(folder / "store")) == Counter(
        (known(source), known(target)) for source, target in kept
    )
    dropped = [
        (f"{text}.t", number)
        for text, pairs in enumerate(texts)
        for number, pair in enumerate(pairs, 1)
        if not all(pair)
    ]
    assert [(Path(name).name, int(number)) for name, number, _ in traced(folder / "store")] == dropped
    assert report.pairs_kept == len(kept)


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_duplicates_are_dropped_but_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(cleaning, "PAIRS", chunk)
    first = [("a", "x"), ("b", "y"), ("", "z"), ("a", "x"), ("a", "y")]
    second = [("b", "x"), ("b", "y"), ("a", "x"), ("c", "z")]
    report = prepared(tmp_path, first, second, drop_duplicates=True)
    assert Counter(stored(tmp_path / "store")) == Counter(
        [("a", "x"), ("b", "y"), ("a", "y"), ("b", "x"), ("c", "z")]
    )
    assert {tally.reason: tally.pairs for tally in report.dropped if tally.pairs} == {
        "empty side": 1,
        "duplicate": 3,
    }
    assert traced(tmp_path / "store") == [
        ["0.t", "3", "empty side"],
        ["0.t", "4", "duplicate"],
        ["1.t", "2", "duplicate"],
        ["1.t", "3", "duplicate"],
    ]
    assert [text.pairs_kept for text in report.texts] == [3, 2]
    duplicates = next(tally for tally in report.dropped if tally.reason == "duplicate")
    assert [(example.number, example.source, example.target) for example in duplicates.examples] == [
        (4, "a", "x"),
        (2, "b", "y"),
        (3, "a", "x"),
    ]
    assert (report.source.words, report.source.lengths) == (5, [0, 5])
    assert (
        tmp_path / "store" / "vocabulary.source.counts.tsv"
    ).read_text() == "</s>\t5\n<unk>\t0\na\t2\nb\t2\nc\t1\n"
    assert "(duplicate; data.drop_duplicates)" in report.text()


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_pairs_are_used_as_often_as_their_text_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """After duplicates are dropped; every number of the report but those of pairs read and kept follows."""
    monkeypatch.setattr(cleaning, "PAIRS", chunk)
    texts = [("a", "x"), ("a", "x"), ("b", "y z")], [("c", "z"), ("a", "x"), ("", "x")]
    links = [["0-0", "0-0", "0-1"], ["0-0", "", ""]]
    report = prepared(tmp_path, *texts, links=links, repeat=(2, 3), drop_duplicates=True)
    expected = {("a", "x"): 2, ("b", "y z"): 2, ("c", "z"): 3}
    assert Counter(stored(tmp_path / "store")) == expected
    assert (report.pairs_read, report.pairs_kept, report.pairs_used) == (6, 3, 7)
    assert [(text.pairs_kept, text.repeat) for text in report.texts] == [(2, 2), (1, 3)]
    assert (report.source.sentences, report.source.words, report.target.words) == (7, 7, 9)
    assert (report.links, sum(pairs for _, pairs in report.ratios), len(report.samples)) == (7, 7, 3)
    assert report.source.known_sentences == 7
    counts = (tmp_path / "store" / "vocabulary.source.counts.tsv").read_text()
    assert counts == "</s>\t7\n<unk>\t0\nc\t3\na\t2\nb\t2\n"
    assert "6 read, 3 kept (50.00 %); 7 with repetitions" in report.text()
    assert linked(tmp_path / "store") == {"a": {("a", "x")}, "b": {("b", "z")}, "c": {("c", "z")}}
    assert len(traced(tmp_path / "store")) == 3
    for wrong in ((2,), (1, 1, 1)):
        with pytest.raises(InputError, match=r"\d number\(s\) of repetitions given for 2 corpora"):
            prepared(tmp_path, *texts, repeat=wrong)


@pytest.mark.parametrize("subwords", ["none", "bpe"])
def test_the_vocabulary_of_another_store_is_used_as_it_is(tmp_path: Path, subwords: str) -> None:
    kind = {"subwords": subwords, "vocabulary_size": 12}
    prepared(tmp_path, [("ab cd abcd", "x y")] * 3, **kind)
    (tmp_path / "store").rename(tmp_path / "first")
    first = Corpus.open(tmp_path / "first")
    report = prepared(tmp_path, [("ab cdab", "x new"), ("other", "y")], vocabulary=first, **kind)
    second = Corpus.open(tmp_path / "store")
    for side in ("source", "target"):
        one, other = getattr(first, side), getattr(second, side)
        assert one.vocabulary == other.vocabulary
        assert one.encode("ab cdab x").ids == other.encode("ab cdab x").ids
    assert report.source.known_sentences == (1 if subwords == "bpe" else 0)
    known = second.target.known
    assert known is not None
    assert all(word in known for word in ("x", "y", "new"))  # those of both texts


def test_french_is_repaired_and_counted(tmp_path: Path) -> None:
    text = [("l' x cur", "l' uvre, qu’ il?"), ("a", "b!")]
    report = prepared(tmp_path, text, links=[["0-1 2-3", "0-0"]], french_elisions=True)
    assert set(stored(tmp_path / "store")) == {("l' x cur", "l'œuvre, qu'il ?"), ("a", "b !")}
    assert linked(tmp_path / "store")["l' x cur"] == {("l'", "l'œuvre,"), ("cur", "qu'il"), ("cur", "?")}
    repairs = {
        "elision with a space": 2,
        "lost œ": 1,
        "no space before ? ! ;": 2,
        "typographic apostrophe": 1,
    }
    assert report.texts[0].repairs == repairs
    said = "repairs    elision with a space 2, lost œ 1, no space before ? ! ; 2, typographic apostrophe 1"
    assert said in report.text()
    assert json.loads((tmp_path / "store" / "report.json").read_text())["texts"][0]["repairs"] == repairs


@pytest.mark.parametrize("chunk", [1, 2, 50])
def test_links_follow_filters_and_shuffle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(cleaning, "PAIRS", chunk)
    pairs = [(f"a{i} b{i}", f"x{i} y{i} z{i}") for i in range(20)]
    pairs[3], pairs[7] = ("", "q"), ("long " * 9, "q")
    links = [f"0-{i % 3} 1-2" if i % 4 else "" for i in range(20)]
    links[3], links[7] = "", "8-0"
    report = prepared(tmp_path, pairs, links=[links], max_words=5)
    expected = {
        f"a{i} b{i}": {(f"a{i}", f"{'xyz'[i % 3]}{i}"), (f"b{i}", f"z{i}")} if i % 4 else set()
        for i in range(20)
        if i not in (3, 7)
    }
    assert linked(tmp_path / "store") == expected
    assert report.links == sum(map(len, expected.values()))
    assert Corpus.open(tmp_path / "store").train.linked


def spread(*links: str) -> set[Pair]:
    """ "a b-x y" → every one of a and b with every one of x and y."""
    return {both for link in links for both in product(*(side.split() for side in link.split("~")))}


@pytest.mark.parametrize(
    ("texts", "links", "options", "expected"),
    [
        # written target-source, for several corpora
        (
            [[("a b", "x y")], [("c", "z w")]],
            [["0-1"], ["1-0"]],
            {"swapped": True},
            {"a b": spread("b~x"), "c": spread("c~w")},
        ),
        # duplicates take theirs with them
        (
            [[("a b", "x"), ("a b", "x"), ("c", "z")]],
            [["0-0", "1-0", "0-0"]],
            {"drop_duplicates": True},
            {"a b": spread("a~x"), "c": spread("c~z")},
        ),
        # a link between two given words becomes one between all of Moses's words
        (
            [[("He can't", "Il (peut-être) !")]],
            [["1-1 0-0"]],
            {"tokeniser": "moses"},
            {"He can 't": spread("He~Il", "can 't~( peut-être )")},
        ),
        (
            [[("He CAN'T, Mr. Smith", "Il (peut-être) ÉTÉ!")]],
            [["1-1 0-0 3-2"]],
            {"tokeniser": "moses", "lowercase": True},
            {"he can 't , mr. smith": spread("he~il", "can 't ,~( peut-être )", "smith~été !")},
        ),
        # letters that the tokeniser does not see
        (
            [[("a \xad b\u00a0c", "x &amp;y")]],
            [["0-0 1-0 2-1"]],
            {"entities": "resolve"},
            {"a b c": spread("a~x", "b c~&y")},
        ),
    ],
)
def test_links_follow_their_words(
    tmp_path: Path,
    texts: list[list[Pair]],
    links: list[list[str]],
    options: dict[str, Any],
    expected: dict[str, set[Pair]],
) -> None:
    prepared(tmp_path, *texts, links=links, **options)
    assert linked(tmp_path / "store") == expected


@pytest.mark.parametrize(
    ("texts", "links", "message"),
    [
        (["x y"], ["0-0"], "0.links: has 1 lines of links, but .* has 2 pairs"),
        (["x y"], ["0-0", "", ""], "0.links: has 3 lines of links, but .* has 2 pairs"),
        (
            ["x y"],
            ["0-0", "0-1"],
            "0.links:2: the link 0-1 .* refers to target word 1, but the line has 1 words",
        ),
        (["x y"], ["0-0", "1-0"], "0.links:2: the link 1-0 .* refers to source word 1"),
        (["x y"], ["0 0", ""], "0.links:1: '0' is not a link"),
        (["x y"], ["0-0", "0-0 1"], "0.links:2: '1' is not a link"),
        (
            ["x "],
            ["0-0", "0-0"],
            "0.links:2: .* refers to target word 0, but the line has 0 words",
        ),  # dropped
        (["x y", "z"], ["0-0", ""], r"1 file\(s\) of links given for 2 corpora"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 9])
def test_links_that_do_not_fit_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    texts: list[str],
    links: list[str],
    message: str,
    chunk: int,
) -> None:
    monkeypatch.setattr(cleaning, "PAIRS", chunk)
    with pytest.raises(InputError, match=message):
        prepared(tmp_path, *([("a", target) for target in text.split(" ")] for text in texts), links=[links])
    assert not (tmp_path / "store").exists()


def test_links_that_the_tokeniser_makes_untraceable_are_refused_unless_their_pair_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tokeniser, "words", lambda self, line: line.replace("a", "ä").split())
    text, links = [("a b c", "X"), ("a", "X")], [["0-0", ""]]
    with pytest.raises(
        InputError, match=r"0.links:1: its links cannot be converted, .* of the source: 'a b c'"
    ):
        prepared(tmp_path, text, links=links)
    assert prepared(tmp_path, text, links=links, max_words=2).links == 0


@pytest.mark.parametrize("subwords", ["bpe", "unigram"])
def test_a_link_between_words_becomes_links_between_all_their_pieces(tmp_path: Path, subwords: str) -> None:
    pairs = [(f"lower{'est' * (i % 3)} newer", f"wider{'ly' * (i % 2)} slow w") for i in range(30)]
    prepared(tmp_path, pairs, links=[["0-2 1-0"] * 30], subwords=subwords, vocabulary_size=14)
    corpus = Corpus.open(tmp_path / "store")
    for i in range(30):
        source, target = (
            codec.decode(ids(i).tolist())
            for codec, ids in ((corpus.source, corpus.train.source), (corpus.target, corpus.train.target))
        )
        expected = {
            (a, b)
            for left, right in ((0, 2), (1, 0))
            for a, b in product(places(source.word_of, left), places(target.word_of, right))
        }
        assert {tuple(link) for link in corpus.train.links(i).tolist()} == expected
        assert len(expected) > 2


def places(word_of: list[int], word: int) -> list[int]:
    return [place for place, of in enumerate(word_of) if of == word]


def test_a_bounded_table_of_words_keeps_the_shortlist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = [(f"common often rare{i} rare{i}b", "x") for i in range(60)]
    whole = prepared(tmp_path, text, vocabulary_size=2)
    vocabulary = (tmp_path / "store" / "vocabulary.source.counts.tsv").read_bytes()
    monkeypatch.setattr(prepare.WordCounts.__init__, "__defaults__", (40,))
    monkeypatch.setattr(cleaning, "PAIRS", 10)
    bounded = prepared(tmp_path, text, vocabulary_size=2)
    assert (tmp_path / "store" / "vocabulary.source.counts.tsv").read_bytes() == vocabulary
    assert (whole.source.uncounted, whole.source.known_tokens) == (0, bounded.source.known_tokens)
    assert bounded.source.uncounted > 0
    assert "or more (words that occur" in bounded.text()


def test_the_report_shows_ten_random_pairs_that_stay(tmp_path: Path) -> None:
    text = [(f"s{i}", f"t{i}") if i % 3 else ("", "") for i in range(60)]
    samples = prepared(tmp_path, text).samples
    assert len({sample.number for sample in samples}) == 10
    assert all((sample.source, sample.target) == text[sample.number - 1] != ("", "") for sample in samples)
    assert samples == prepared(tmp_path, text).samples != prepared(tmp_path, text, seed=2).samples


def test_the_report_counts_lengths_ratios_and_coverage(tmp_path: Path) -> None:
    report = prepared(tmp_path, [("a a a b", "x"), ("a", "x y")])
    assert (report.source.lengths, report.target.lengths) == ([0, 1, 0, 0, 1], [0, 1, 1])
    assert {bound: pairs for bound, pairs in report.ratios if pairs} == {0.25: 1, 2.0: 1}
    assert report.source.coverage == [(1, 0.8), (2, 1.0)]
    assert json.loads((tmp_path / "store" / "report.json").read_text())["source"]["coverage"] == [
        [1, 0.8],
        [2, 1.0],
    ]


def test_real_links(shared_data: Path, tmp_path: Path) -> None:
    """1,000 pairs of real text with automatic links, French-English: a linked word is found in both sides
    whatever becomes of words."""
    folder = shared_data / "europarl10k"
    lines = [list(islice(read_lines(folder / name), 1000)) for name in ("en.gz", "fr.gz", "align.fr-en.gz")]
    files = [written(tmp_path, name, part) for name, part in zip(("en", "fr", "links"), lines, strict=True)]
    counted: dict[str, int] = {}
    for name, values in {
        "words": {},
        "pieces": {"subwords": "bpe", "vocabulary_size": 1500},
        "moses": {"tokeniser": "moses"},
    }.items():
        options = {"links": [files[2]], "links_reversed": True, "settings": settings(**values)}
        report = prepare_texts(parallel_texts(files[:2]), tmp_path / name, **options)  # type: ignore[arg-type]
        counted[name] = report.links or 0
        train = Corpus.open(tmp_path / name).train
        for i in range(len(train)):
            lengths = train.source_lengths[i], train.target_lengths[i]
            assert (train.links(i) < np.array(lengths) - 1).all()
    given_links = sum(len(set(line.split())) for line in lines[2])
    assert math.isclose(counted["words"], given_links, rel_tol=0.01)  # but for links of soft hyphens
    assert counted["pieces"] > counted["words"] * 1.2
