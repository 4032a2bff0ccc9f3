"""Several corpora, duplicates, links and what can be traced back; test_prepare.py has the plain case."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from collections import Counter
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import ParallelText, parallel_texts
from rnnsearch.text.preparing import cleaning, shuffle, word_counts
from rnnsearch.text.preparing.preparation_report import PreparationReport
from rnnsearch.text.preparing.prepare import prepare, prepare_texts
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
    folder: Path, *texts: list[Pair], links: list[list[str]] | None = None, swapped: bool = False, **values: object
) -> PreparationReport:
    """Into folder / "store", from a pair of files for each text."""
    names = [
        written(folder, f"{number}.{side}", [pair[side == "t"] for pair in text]) for number, text in enumerate(texts) for side in "st"
    ]
    files = [written(folder, f"{number}.links", lines) for number, lines in enumerate(links or [])]
    options = {"links": files, "links_reversed": swapped, "settings": settings(**values), "overwrite": True}
    return prepare_texts(parallel_texts(names), folder / "store", **options)  # type: ignore[arg-type]


def stored(store: Path) -> list[Pair]:
    """The pairs in words."""
    corpus = Corpus.open(store)
    sides = (corpus.source, corpus.train.source), (corpus.target, corpus.train.target)
    return [tuple(" ".join(codec.decode(ids(i).tolist()).words) for codec, ids in sides) for i in range(len(corpus.train))]  # type: ignore[misc]


def linked(store: Path) -> dict[str, set[Pair]]:
    """The source in words → the linked pieces."""
    corpus = Corpus.open(store)
    found = {}
    for i in range(len(corpus.train)):
        source, target = corpus.train.source(i).tolist(), corpus.train.target(i).tolist()
        pieces = {
            (corpus.source.vocabulary.word(source[a]), corpus.target.vocabulary.word(target[b])) for a, b in corpus.train.links(i).tolist()
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
    report = prepare_texts(parallel_texts(names), tmp_path / "store", dev=parallel_texts([*names[2:], *names[:2]]), settings=settings())
    assert sorted(stored(tmp_path / "store")) == [(f"s{i}", f"t{i}") for i in range(4)]
    assert [text.pairs_read for text in report.texts] == [2, 2]
    assert Corpus.open(tmp_path / "store").dev_source_lines == ["s2", "s3", "s0", "s1"]


words = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=3), max_size=5).map(" ".join)


@hypothesis_settings(max_examples=30)
@given(st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=8), min_size=1, max_size=3), st.integers(1, 5), st.integers(10, 200))
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
        return " ".join("<unk>" if word in ("</s>", "<unk>") else word for word in Tokeniser("space", "").words(line))

    assert Counter(stored(folder / "store")) == Counter((known(source), known(target)) for source, target in kept)
    dropped = [(f"{text}.t", number) for text, pairs in enumerate(texts) for number, pair in enumerate(pairs, 1) if not all(pair)]
    assert [(Path(name).name, int(number)) for name, number, _ in traced(folder / "store")] == dropped
    assert report.pairs_kept == len(kept)


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_duplicates_are_dropped_but_for_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(cleaning, "PAIRS", chunk)
    first = [("a", "x"), ("b", "y"), ("", "z"), ("a", "x"), ("a", "y")]
    second = [("b", "x"), ("b", "y"), ("a", "x"), ("c", "z")]
    report = prepared(tmp_path, first, second, drop_duplicates=True)
    assert Counter(stored(tmp_path / "store")) == Counter([("a", "x"), ("b", "y"), ("a", "y"), ("b", "x"), ("c", "z")])
    assert {tally.reason: tally.pairs for tally in report.dropped if tally.pairs} == {"empty side": 1, "duplicate": 3}
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
    assert (tmp_path / "store" / "vocabulary.source.counts.tsv").read_text() == "</s>\t5\n<unk>\t0\na\t2\nb\t2\nc\t1\n"
    assert "(duplicate; data.drop_duplicates)" in report.text()


def test_duplicates_stay_unless_asked(tmp_path: Path) -> None:
    assert prepared(tmp_path, [("a", "x")] * 3).pairs_kept == 3


def test_entities_are_resolved_before_the_tokeniser(tmp_path: Path) -> None:
    prepared(tmp_path, [("a&amp;b &lt;c&nbsp;d", "x")], entities="resolve")
    assert stored(tmp_path / "store") == [("a&b <c d", "x")]


@pytest.mark.parametrize("chunk", [1, 2, 50])
def test_links_follow_filters_and_shuffle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(cleaning, "PAIRS", chunk)
    pairs = [(f"a{i} b{i}", f"x{i} y{i} z{i}") for i in range(20)]
    pairs[3], pairs[7] = ("", "q"), ("long " * 9, "q")
    links = [f"0-{i % 3} 1-2" if i % 4 else "" for i in range(20)]
    links[3], links[7] = "", "8-0"
    report = prepared(tmp_path, pairs, links=[links], max_words=5)
    expected = {
        f"a{i} b{i}": {(f"a{i}", f"{'xyz'[i % 3]}{i}"), (f"b{i}", f"z{i}")} if i % 4 else set() for i in range(20) if i not in (3, 7)
    }
    assert linked(tmp_path / "store") == expected
    assert report.links == sum(map(len, expected.values()))
    assert Corpus.open(tmp_path / "store").train.linked


def test_reversed_links_and_several_corpora(tmp_path: Path) -> None:
    prepared(tmp_path, [("a b", "x y")], [("c", "z w")], links=[["0-1"], ["1-0"]], swapped=True)
    assert linked(tmp_path / "store") == {"a b": {("b", "x")}, "c": {("c", "w")}}


def test_duplicates_take_their_links_with_them(tmp_path: Path) -> None:
    prepared(tmp_path, [("a b", "x"), ("a b", "x"), ("c", "z")], links=[["0-0", "1-0", "0-0"]], drop_duplicates=True)
    assert linked(tmp_path / "store") == {"a b": {("a", "x")}, "c": {("c", "z")}}


def test_links_follow_moses_words(tmp_path: Path) -> None:
    """Two given tokens become three and four words: a link between them becomes twelve."""
    prepared(tmp_path, [("He can't", "Il (peut-être) !")], links=[["1-1 0-0"]], tokeniser="moses")
    (found,) = linked(tmp_path / "store").values()
    assert found == {("He", "Il"), *product(["can", "'t"], ["(", "peut-être", ")"])}


def test_links_follow_words_in_small_letters(tmp_path: Path) -> None:
    """As if the words had been written so and separated by blanks."""
    for name in "ab":
        (tmp_path / name).mkdir()
    pair, links = ("He CAN'T, Mr. Smith", "Il (peut-être) ÉTÉ!"), ["1-1 0-0 3-2"]
    lowercase = prepared(tmp_path / "a", [pair], links=[links], tokeniser="moses", lowercase=True)
    expected = "0-0 1-1 1-2 1-3 2-1 2-2 2-3 3-1 3-2 3-3 5-4 5-5"
    report = prepared(tmp_path / "b", [("he can 't , mr. smith", "il ( peut-être ) été !")], links=[[expected]])
    assert report.source_vocabulary == lowercase.source_vocabulary
    stores = [Corpus.open(tmp_path / name / "store") for name in "ab"]
    assert stores[0].source.vocabulary == stores[1].source.vocabulary
    assert stores[0].train.links(0).tolist() == stores[1].train.links(0).tolist()
    assert stores[0].source.encode("HE can't").words == ["he", "can", "'t"]


@pytest.mark.parametrize("subwords", ["bpe", "unigram"])
def test_a_link_between_words_becomes_links_between_all_their_pieces(tmp_path: Path, subwords: str) -> None:
    pairs = [(f"lower{'est' * (i % 3)} newer", f"wider{'ly' * (i % 2)} slow w") for i in range(30)]
    prepared(tmp_path, pairs, links=[["0-2 1-0"] * 30], subwords=subwords, vocabulary_size=14)
    corpus = Corpus.open(tmp_path / "store")
    for i in range(30):
        source, target = (
            codec.decode(ids(i).tolist()) for codec, ids in ((corpus.source, corpus.train.source), (corpus.target, corpus.train.target))
        )
        expected = {
            (a, b) for left, right in ((0, 2), (1, 0)) for a, b in product(places(source.word_of, left), places(target.word_of, right))
        }
        assert {tuple(link) for link in corpus.train.links(i).tolist()} == expected
        assert len(expected) > 2


def places(word_of: list[int], word: int) -> list[int]:
    return [place for place, of in enumerate(word_of) if of == word]


def test_links_follow_letters_that_the_tokeniser_does_not_see(tmp_path: Path) -> None:
    prepared(tmp_path, [("a \xad b\u00a0c", "x &amp;y")], links=[["0-0 1-0 2-1"]], entities="resolve")
    assert linked(tmp_path / "store") == {"a b c": {("a", "x"), ("b", "&y"), ("c", "&y")}}


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (["0-0"], "0.links: has 1 lines of links, but .* has 2 pairs"),
        (["0-0", "", ""], "0.links: has 3 lines of links, but .* has 2 pairs"),
        (["0-0", "0-1"], "0.links:2: the link 0-1 .* refers to target word 1, but the line has 1 words"),
        (["0-0", "1-0"], "0.links:2: the link 1-0 .* refers to source word 1"),
        (["0 0", ""], "0.links:1: '0' is not a link"),
        (["0-0", "0-0 1"], "0.links:2: '1' is not a link"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 9])
def test_links_that_do_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: list[str], message: str, chunk: int
) -> None:
    monkeypatch.setattr(cleaning, "PAIRS", chunk)
    with pytest.raises(InputError, match=message):
        prepared(tmp_path, [("a", "x"), ("b", "y")], links=[links])
    assert not (tmp_path / "store").exists()


def test_links_are_checked_even_where_their_pair_is_dropped(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"0.links:2: .* refers to source word 0, but the line has 0 words"):
        prepared(tmp_path, [("a", "x"), ("", "y")], links=[["0-0", "0-0"]])


def test_a_file_of_links_for_each_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 file\(s\) of links given for 2 corpora"):
        prepared(tmp_path, [("a", "x")], [("b", "y")], links=[["0-0"]])


def test_links_that_the_tokeniser_makes_untraceable_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokeniser, "words", lambda self, line: line.replace("a", "ä").split())
    with pytest.raises(InputError, match=r"0.links:1: its links cannot be converted, .* changes characters of the source: 'a b'"):
        prepared(tmp_path, [("a b", "X")], links=[["0-0"]])


def test_links_of_a_dropped_pair_need_not_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokeniser, "words", lambda self, line: line.replace("a", "ä").split())
    assert prepared(tmp_path, [("a b c", "X"), ("a", "X")], links=[["0-0", ""]], max_words=2).links == 0


def test_a_corpus_without_links_says_so(tmp_path: Path) -> None:
    prepared(tmp_path, [("a", "x")])
    train = Corpus.open(tmp_path / "store").train
    assert not train.linked
    with pytest.raises(InputError, match="has no word links"):
        train.links(0)


def test_a_bounded_table_of_words_keeps_the_shortlist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = [(f"common often rare{i} rare{i}b", "x") for i in range(60)]
    whole = prepared(tmp_path, text, vocabulary_size=2)
    vocabulary = (tmp_path / "store" / "vocabulary.source.counts.tsv").read_bytes()
    monkeypatch.setattr(word_counts.WordCounts.__init__, "__defaults__", (40,))
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


def test_the_report_counts_lengths_ratios_growth_and_coverage(tmp_path: Path) -> None:
    report = prepared(tmp_path, [("a a a b", "x"), ("a", "x y")])
    assert (report.source.lengths, report.target.lengths) == ([0, 1, 0, 0, 1], [0, 1, 1])
    assert {bound: pairs for bound, pairs in report.ratios if pairs} == {0.25: 1, 2.0: 1}
    assert report.source.growth == [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)]
    assert report.source.coverage == [(1, 0.8), (2, 1.0)]
    assert json.loads((tmp_path / "store" / "report.json").read_text())["source"]["coverage"] == [[1, 0.8], [2, 1.0]]


READ_SHARE = """
import json, sys
from itertools import islice
from rnnsearch.config import TrainingSettings
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.store.order import BatchOrder

train = Corpus.open(sys.argv[1]).train
order = BatchOrder(train.source_lengths, train.target_lengths, TrainingSettings(batch_size=5))
stream = order.batches(rank=int(sys.argv[2]), world=2)
print(json.dumps([train.source(int(i)).tolist() for indices, _ in islice(stream, 10) for i in indices]))
"""
"""What one of two processes reads: the source ids of its pairs."""


def test_several_processes_read_a_store_each_its_own_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "SHARD_BYTES", 64)
    prepared(tmp_path, [(f"s{i}", f"t{i}") for i in range(100)])
    assert len(list((tmp_path / "store").glob("train.source.*.ids.npy"))) > 3
    command = [sys.executable, "-c", READ_SHARE, str(tmp_path / "store")]
    readers = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True) for rank in range(2)]
    parts = [json.loads(reader.communicate()[0]) for reader in readers]
    assert [len(part) for part in parts] == [50, 50]
    assert len({tuple(ids) for part in parts for ids in part}) == 100


def test_real_links(shared_data: Path, tmp_path: Path) -> None:
    """1,000 pairs of real text with automatic links, French-English: a linked word is found in both sides whatever becomes of words."""
    folder = shared_data / "europarl10k"
    lines = [list(islice(read_lines(folder / name), 1000)) for name in ("en.gz", "fr.gz", "align.fr-en.gz")]
    files = [written(tmp_path, name, part) for name, part in zip(("en", "fr", "links"), lines, strict=True)]
    counted: dict[str, int] = {}
    for name, values in {"words": {}, "pieces": {"subwords": "bpe", "vocabulary_size": 1500}, "moses": {"tokeniser": "moses"}}.items():
        chosen = settings(**values)
        options = {"links": [files[2]], "links_reversed": True, "settings": chosen}
        report = prepare_texts(parallel_texts(files[:2]), tmp_path / name, **options)  # type: ignore[arg-type]
        counted[name] = report.links or 0
        train = Corpus.open(tmp_path / name).train
        for i in range(len(train)):
            links = train.links(i)
            assert not len(links) or links[:, 0].max() < train.source_lengths[i] - 1
            assert not len(links) or links[:, 1].max() < train.target_lengths[i] - 1
    given_links = sum(len(set(line.split())) for line in lines[2])
    assert math.isclose(counted["words"], given_links, rel_tol=0.01)  # but for links of soft hyphens
    assert counted["pieces"] > counted["words"] * 1.2


@pytest.mark.parametrize("names", [["a.s"], ["a.s", "a.t", "b.s"]])
def test_a_text_without_its_other_side_is_refused(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(InputError, match="has no target text"):
        parallel_texts([written(tmp_path, name, ["a"]) for name in names])


def test_the_plain_case_takes_files_for_lines_whatever_their_names(tmp_path: Path) -> None:
    report = prepare(written(tmp_path, "a.tsv", ["a"]), written(tmp_path, "b.tsv", ["x"]), tmp_path / "store", settings=settings())
    assert report.pairs_kept == 1


@pytest.mark.parametrize("pair", [("a\nb", "x"), ("a", "x\n"), ("\n", "\n")])
def test_a_reader_that_breaks_its_promise_misaligns_nothing(tmp_path: Path, pair: Pair) -> None:
    text = ParallelText("text", lambda source, target: iter([("a", "x"), pair]))
    with pytest.raises(ValueError, match="holds a line feed"):
        prepare_texts([text], tmp_path / "store", settings=settings())
