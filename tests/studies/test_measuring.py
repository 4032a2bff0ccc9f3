"""What is measured is the same however often the work was ended, and is not done twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch.errors import InputError
from rnnsearch.studies import measuring
from rnnsearch.studies.measuring import force, read_forced, read_note, translate
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.translation.translator import Translator

KEY = {"model": "abc"}


@pytest.fixture
def translator(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> Translator:
    """With blocks of a few sentences."""
    loaded = Translator.load(tiny_run)
    loaded.search = loaded.search.model_copy(update={"batch_size": 3})
    monkeypatch.setattr(measuring, "READ_AHEAD", 2)
    return loaded


@pytest.fixture
def pairs(tiny_corpus: Path) -> list[tuple[str, str]]:
    return list(read_pairs(tiny_corpus / "test.en", tiny_corpus / "test.fr"))


def silent(text: str) -> None:
    pass


def ended_after(calls: int) -> Callable[[str], None]:
    """A `say` that ends the work at its so many-th block."""
    left = [calls]

    def say(text: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    return say


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_ended_and_gone_on_with(translator: Translator, pairs: list[tuple[str, str]], tmp_path: Path, blocks: int) -> None:
    lines = [source for source, _ in pairs]
    translate(translator, lines, tmp_path / "whole" / "test.txt", KEY, {}, silent)
    out = tmp_path / "parts" / "test.txt"
    with pytest.raises(KeyboardInterrupt):
        translate(translator, lines, out, KEY, {}, ended_after(blocks))
    assert not out.exists()
    (partial,) = out.parent.iterdir()
    with partial.open("a", encoding="utf-8") as file:
        file.write("half a block, whole li\nand half a li")  # as kill -9 leaves it
    searched = []
    translate(translator, lines, out, KEY, {}, searched.append)
    assert len(searched) == 4 - blocks  # 20 sentences in blocks of six
    assert out.read_text("utf-8") == (tmp_path / "whole" / "test.txt").read_text("utf-8")
    assert sorted(path.name for path in out.parent.iterdir()) == ["test.json", "test.txt"]


def test_translations_are_those_of_the_translator(translator: Translator, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    lines = [source for source, _ in pairs]
    translate(translator, lines, tmp_path / "test.txt", KEY, {"hardware": "one"}, silent)
    expected = [result.text for result in translator.translate(lines)]
    assert (tmp_path / "test.txt").read_text("utf-8").split("\n")[:-1] == expected
    note = read_note(tmp_path / "test.txt")
    assert (note["key"], note["lines"], note["hardware"]) == (KEY, 20, "one")


def test_once_is_enough_until_the_key_changes(translator: Translator, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    calls: list[str] = []
    for key in (KEY, KEY, {"model": "other"}, {"model": "other"}):
        force(translator, pairs, tmp_path / "test.tsv", key, {}, calls.append)
    assert len(calls) == 2  # one block each


def test_forced_decoding_is_read_as_it_was_written(translator: Translator, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    force(translator, pairs, tmp_path / "test.tsv", KEY, {}, silent)
    expected: list[Any] = list(translator.force(pairs))
    found = read_forced(tmp_path / "test.tsv")
    np.testing.assert_array_equal([pair.log_probability for pair in found], [result.score for result in expected])
    assert [pair.links for pair in found] == [result.links() for result in expected]
    assert [pair.words for pair in found] == [len(result.tokens) + 1 for result in expected]
    assert [pair.posterior for pair in found] == [None] * len(found)


def test_posterior_links_stand_beside_the_others(translator: Translator, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    force(translator, pairs, tmp_path / "test.tsv", KEY, {}, silent, posterior=True)
    found = read_forced(tmp_path / "test.tsv")
    assert [pair.links for pair in found] == [result.links() for result in translator.force(pairs)]
    informed = [result.links() for result in translator.force(pairs, posterior=True)]
    assert [pair.posterior for pair in found] == informed
    assert informed != [pair.links for pair in found]


def test_damage_is_named(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("-1.0\t3\t0-0\n-1.0\t3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"test\.tsv:2: is damaged"):
        read_forced(tmp_path / "test.tsv")
