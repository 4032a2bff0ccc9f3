"""The command `prepare`: several corpora, options with several values, and the check of a store. Mistakes are in test_cli.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.text.store.corpus import Corpus

Command = Callable[..., Any]
BLANKS = ("--set", "data.tokeniser=space")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two corpora of two pairs, with links: a is two files, b a table."""
    for name, text in {
        "a.s": "a b\nc\n",
        "a.t": "x y\nz\n",
        "b.tsv": "1\td\tw v\n2\te\tu\n",
        "a.l": "0-1\n0-0\n",
        "b.l": "0-1\n\n",
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_several_corpora_with_links_and_development_texts(command: Command, folder: Path) -> None:
    done = command("prepare", "a.s", "a.t", "--dev", "a.s", "a.t", "a.t", "a.s", "--links", "a.l", "--out", "store", *BLANKS)
    assert (done.code, done.err) == (0, "")
    assert "links    2 between words, 1.0 per pair" in done.lines
    assert "dev      4 pairs, all kept" in done.lines
    done = command("prepare", "--links", "a.l", "b.l", "--columns", "2", "3", "--out", "both", *BLANKS, "--", "a.s", "a.t", "b.tsv")
    assert (done.code, done.err) == (0, "")
    train = Corpus.open("both").train
    assert (len(train), sorted(len(train.links(i)) for i in range(4))) == (4, [0, 1, 1, 1])


def test_options_with_several_values_end_at_the_next_option(command: Command, folder: Path) -> None:
    command("prepare", "--dev=a.s", "a.t", "--out", "store", "a.s", "a.t", *BLANKS)
    assert Corpus.open("store").dev_source_lines == ["a b", "c"]
    assert "a.s: has no target text" in command("prepare", "a.s", "a.t", "--dev", "a.s", "--out", "s", *BLANKS).err


def test_reversed_links_and_a_text_from_standard_input(command: Command, folder: Path) -> None:
    words = ("prepare", "-", "--format", "tsv", "--links", "a.l", "--links-reversed", "--out", "store", *BLANKS)
    assert command(*words, stdin=b"a b\tx\nc\tz\n").code == 0
    train = Corpus.open("store").train
    assert sorted(train.links(i).tolist() for i in range(2)) == [[[0, 0]], [[1, 0]]]


def test_checking_a_store(command: Command, folder: Path) -> None:
    command("prepare", "a.s", "a.t", "--out", "store", *BLANKS)
    sound = command("prepare", "--check", "store")
    assert (sound.code, sound.out) == (0, "")
    assert "store: the checksums of all 14 files are correct" in sound.err
    ids = folder / "store" / "train.source.0000.ids.npy"
    ids.write_bytes(ids.read_bytes()[:-2] + b"\7\7")
    damaged = command("prepare", "--check", "store")
    assert (damaged.code, damaged.err.count("\n")) == (2, 1)
    assert "train.source.0000.ids.npy: is not what was written: its checksum differs (prepare the corpus again)" in damaged.err
