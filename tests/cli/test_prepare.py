"""The command `prepare`: several corpora, options with several values, and the check of a store. Mistakes are
in test_cli.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command, assert_refused

from rnnsearch.text.dataset import Corpus

BLANKS = "--set data.tokeniser=space"


@pytest.fixture
def folder(here: Path) -> Path:
    """Two corpora of two pairs, with links: a is two files, b a table."""
    for name, text in {
        "a.s": "a b\nc\n",
        "a.t": "x y\nz\n",
        "b.tsv": "1\td\tw v\n2\te\tu\n",
        "a.l": "0-1\n0-0\n",
        "b.l": "0-1\n\n",
    }.items():
        (here / name).write_text(text)
    return here


def test_several_corpora_with_links_and_development_texts(command: Command, folder: Path) -> None:
    done = command(f"prepare a.s a.t --dev a.s a.t a.t a.s --links a.l --out store {BLANKS}")
    assert (done.code, done.err) == (0, "")
    assert "links    2 between words, 1.0 per pair" in done.lines
    assert "dev      4 pairs, all kept" in done.lines
    done = command(f"prepare --links a.l b.l --columns 2 3 --out both {BLANKS} -- a.s a.t b.tsv")
    assert (done.code, done.err) == (0, "")
    train = Corpus.open("both").train
    assert (len(train), sorted(len(train.links[i].reshape(-1, 2)) for i in range(4))) == (
        4,
        [0, 1, 1, 1],
    )


def test_options_with_several_values_end_at_the_next_option(command: Command, folder: Path) -> None:
    command(f"prepare --dev=a.s a.t --out store a.s a.t {BLANKS}")
    assert Corpus.open("store").dev_source_lines == ["a b", "c"]
    assert "a.s: has no target text" in command(f"prepare a.s a.t --dev a.s --out s {BLANKS}").err


def test_reversed_links_and_a_text_from_standard_input(command: Command, folder: Path) -> None:
    line = f"prepare - --format tsv --links a.l --links-reversed --out store {BLANKS}"
    assert command(line, stdin=b"a b\tx\nc\tz\n").code == 0
    train = Corpus.open("store").train
    assert sorted(train.links[i].reshape(-1, 2).tolist() for i in range(2)) == [[[0, 0]], [[1, 0]]]


TWO_TEXTS = f"prepare a.s a.t b.tsv --columns 2 3 --out store {BLANKS}"


def test_a_corpus_has_more_weight_by_repetition(command: Command, folder: Path) -> None:
    done = command(TWO_TEXTS, "--repeat", "1, 3")
    assert (done.code, len(Corpus.open(folder / "store").train)) == (0, 8)
    assert "4 read, 4 kept (100.00 %); 8 with repetitions" in done.out
    for wrong in (
        *["0,1", "-1,1", "1.5,1", "a,1", "1,,1", ",", "1e3,1", "١,1", "1001,1"],
        "9" * 5000 + ",1",
    ):
        done = command(f"{TWO_TEXTS} --overwrite --repeat={wrong}")
        assert_refused(done, "--repeat takes whole numbers from 1 to 1,000")
    done = command(f"{TWO_TEXTS} --overwrite --repeat 2")
    assert_refused(done, "1 number(s) of repetitions given for 2 corpora")
