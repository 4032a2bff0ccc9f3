"""The lexical table: its file, its order, what it takes for the best translations, and word links counted by
hand."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch import Corpus, InputError
from rnnsearch.text.lexicon import Entries, LexicalTable
from rnnsearch.text.store.corpus import Pairs, SentenceIds
from rnnsearch.text.vocabulary import EOS, UNK, Vocabulary

SOURCE = Vocabulary(["the", "house", "old", "NULL"])  # ids from 2
TARGET = Vocabulary(["la", "le", "maison", "vieille", "NULL"])


def lexicon_of(*entries: tuple[int, int, float]) -> LexicalTable:
    sources, targets, probabilities = zip(*entries, strict=True)
    return LexicalTable(Entries(np.array(sources), np.array(targets), np.array(probabilities)), len(SOURCE))


SMALL = lexicon_of((3, 4, 0.9), (2, 2, 0.4), (2, 3, 0.6), (0, 5, 0.1), (3, 5, 0.1), (2, 1, 0.5))


def read(path: Path, content: str) -> LexicalTable:
    path.write_text(content, encoding="utf-8")
    return LexicalTable.read(path, SOURCE, TARGET)


def test_translations_are_in_the_order_of_their_probability_and_then_of_their_id() -> None:
    assert SMALL.targets.tolist() == [5, 3, 2, 4, 5]  # UNK is the translation of no word
    assert np.diff(SMALL.offsets).tolist() == [1, 0, 2, 2, 0, 0]
    assert lexicon_of((2, 4, 0.2), (2, 2, 0.2), (2, 3, 0.2)).targets.tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("sources", "count", "expected"),
    [("2", 1, "3"), ("2", 5, "23"), ("2320", 1, "345"), ("45", 3, ""), ("", 3, ""), ("23", 2, "2345")],
)
def test_the_best_of_several_words(sources: str, count: int, expected: str) -> None:
    ids = np.array([*map(int, sources)], dtype=np.int64)
    assert SMALL.best(ids, count).tolist() == SMALL.best(ids[None], count).tolist() == [*map(int, expected)]


def test_pruned_by_rank_and_by_probability() -> None:
    assert SMALL.pruned(1, 0.0).targets.tolist() == [5, 3, 4]
    assert SMALL.pruned(9, 0.3).targets.tolist() == [3, 2, 4]
    assert len(SMALL.pruned(9, 0.95)) == 0


@pytest.mark.parametrize(("name", "opener"), [("table", open), ("table.gz", gzip.open)])
def test_the_file_is_for_people_and_comes_back_as_it_was(
    tmp_path: Path, name: str, opener: Callable[..., Any]
) -> None:
    SMALL.write(tmp_path / name, SOURCE, TARGET)
    with opener(tmp_path / name, "rt", encoding="utf-8") as file:
        lines = file.read()
    assert (
        lines
        == "vieille NULL 0.1000000\nle the 0.6000000\nla the 0.4000000\nmaison house 0.9000000\nvieille "
        "house 0.1000000\n"
    )
    found = LexicalTable.read(tmp_path / name, SOURCE, TARGET)
    for array in ("offsets", "targets", "probabilities"):
        np.testing.assert_array_equal(getattr(found, array), getattr(SMALL, array))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    content = (tmp_path / name).read_bytes()
    SMALL.write(tmp_path / name, SOURCE, TARGET)
    assert (tmp_path / name).read_bytes() == content  # no date in it


def test_a_real_word_spelt_null_is_not_taken_for_no_word(tmp_path: Path) -> None:
    lexicon_of((5, 2, 0.5), (2, 6, 0.25)).write(tmp_path / "table", SOURCE, TARGET)
    assert (tmp_path / "table").read_text() == "NULL the 0.2500000\n"
    assert LexicalTable.read(tmp_path / "table", SOURCE, TARGET).best(np.array([2]), 1).tolist() == [6]


def test_other_tools_tables(tmp_path: Path) -> None:
    """Unknown words, rounded probabilities, zeros, exponents, TABs, other compression, a real word `<unk>` on
    the source side."""
    found = read(
        tmp_path / "lex.s2t",
        "le the 1.0000001\nchat cat 0.5\nla\tthe\t2e-1\nmaison the 0.0000000\nle <unk> 0.5\nla NULL "
        ".25\n</s> the 0.1\n",
    )
    assert {number: found.best(np.array([number]), 9).tolist() for number in (EOS, UNK, 2, 3)} == {
        EOS: [2],
        UNK: [3],
        2: [2, 3],
        3: [],
    }
    (tmp_path / "lex.xz").write_bytes(lzma.compress(b"le the 1\n"))
    assert LexicalTable.read(tmp_path / "lex.xz", SOURCE, TARGET).best(np.array([2]), 9).tolist() == [3]


BAD = "|le the|le the 0.5 0.5|le the half|le the nan|le the -0.1|le the 1.1|le the inf|0.5 le the"


@pytest.mark.parametrize("line", BAD.split("|"))
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(
        InputError,
        match=r"table:2: is not two words and a probability \(every line must be `target source probability`",
    ):
        read(tmp_path / "table", f"le the 0.5\n{line}\nla the 0.1\n")


@pytest.mark.parametrize("content", ["", "chat cat 0.5\n", "the le 0.5\n"])
def test_a_table_of_other_words_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match="has no word pair that is in the run's vocabularies"):
        read(tmp_path / "table", content)


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a table cannot be written as \.xz"):
        SMALL.write(tmp_path / "table.xz", SOURCE, TARGET)
    with pytest.raises(InputError, match="cannot be written"):
        SMALL.write(tmp_path / "no" / "folder" / "table", SOURCE, TARGET)
    assert list(tmp_path.iterdir()) == []


def test_links_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """the/la twice, the/le once; house/maison twice, once with old too; vieille is NULL's once."""
    sources = SentenceIds.of([[2, 3, 0], [2, 4, 3, 0], [2, 0]])
    targets = SentenceIds.of([[2, 4, 0], [2, 5, 4, 0], [3, 0]])
    links = SentenceIds.of([[0, 0, 1, 1], [0, 0, 1, 2, 2, 2], [0, 0]])
    expected = (
        "vieille NULL 1.0000000\nla the 0.6666667\nle the 0.3333333\nmaison house 1.0000000\nmaison "
        "old 1.0000000\n"
    )
    for at_once in (1, 1 << 22):
        monkeypatch.setattr("rnnsearch.text.lexicon._COUNTED_AT_ONCE", at_once)
        found = LexicalTable.of_links(Pairs(sources, targets, links), len(SOURCE), len(TARGET))
        assert b"".join(found._lines(SOURCE, TARGET)).decode() == expected


def test_command(command: Any, tiny_linked_store: Path, tmp_path: Path) -> None:
    store = tiny_linked_store
    out = tmp_path / "deep" / "table.gz"
    done = command("lexicon", store, "--out", out, "--best", 5)
    assert (done.code, done.out) == (0, "")
    corpus = Corpus.open(store)
    table = LexicalTable.read(out, corpus.source.vocabulary, corpus.target.vocabulary)
    assert np.diff(table.offsets).max() == 5
    [horse] = corpus.source.vocabulary.ids(["horse"])
    [cheval] = corpus.target.vocabulary.ids(["cheval"])
    assert cheval in table.best(np.array([horse]), 2)
    again = command("lexicon", store, "--out", out)
    said = f"rnnsearch: {out}: already exists (choose another file, or add --overwrite)\n"
    assert (again.code, again.err) == (2, said)
    assert command("lexicon", store, "--out", out, "--overwrite").code == 0


def test_command_of_no_store_or_one_without_links(command: Any, tiny_store: Path, tmp_path: Path) -> None:
    for store, said in ((tmp_path / "nosuch", "does not exist"), (tiny_store, "store: has no word links")):
        done = command("lexicon", store, "--out", tmp_path / "table")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert said in done.err
    assert list(tmp_path.iterdir()) == []
