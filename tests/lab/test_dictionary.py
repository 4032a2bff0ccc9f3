"""A dictionary from links: phrases worked out by hand, and what reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command, assert_refused
from eflomal_stand_in import diagonal, stand_in

from rnnsearch.lab.dictionary import phrases, write_dictionary
from rnnsearch.translation.faithful import read_dictionary, read_glossary


@pytest.mark.parametrize(
    ("links", "longest", "expected"),
    [
        ("0-0 1-2 2-1", 1, "house~maison, red~rouge, the~la"),
        ("0-0 1-2 2-1", 2, "house~maison, red house~maison rouge, red~rouge, the~la"),
        # an unlinked word is inside only
        ("0-0 2-1", 3, "house~maison, the red house~la maison, the~la"),
        ("0-0 0-1 1-2", 1, "red~rouge"),
        ("0-0 0-1 1-2", 2, "red~rouge, the~la maison"),
        ("0-0 1-0", 2, "the red~la"),
        ("", 3, ""),
    ],
)
def test_phrases(links: str, longest: int, expected: str) -> None:
    pairs = {(int(link[0]), int(link[2])) for link in links.split()}
    found = phrases(["the", "red", "house"], ["la", "maison", "rouge"], pairs, longest)
    assert ", ".join(sorted("~".join(phrase) for phrase in found)) == expected


def test_the_most_frequent_translation_is_written(tmp_path: Path) -> None:
    words = ["a x", "a x", "a y", "b x", "a z"]
    pairs = [(*([side] for side in pair.split()), {(0, 0)}) for pair in words]
    assert write_dictionary(pairs, tmp_path / "d.tsv") == 2  # type: ignore[arg-type]
    assert (tmp_path / "d.tsv").read_text() == "a\tx\t2\t0.5000\t0.6667\nb\tx\t1\t1.0000\t0.3333\n"
    for read in (read_dictionary, read_glossary):
        assert read(tmp_path / "d.tsv") == {"a": "x", "b": "x"}


def test_the_command(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, lambda *pair: (diagonal(*pair), diagonal(*pair)))
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_text("Hello.\nHello\n")
    Path("a.fr").write_text("Salut.\nSalut\n")
    line = "links a.en a.fr --out links --dictionary d.tsv"
    done = command(f"{line} --phrase-length 2")
    assert (done.code, done.lines[-1]) == (0, "entries  3 in d.tsv")
    assert read_glossary("d.tsv") == {"Hello": "Salut", ".": ".", "Hello .": "Salut ."}
    assert_refused(command(line), "links: already exists")
    assert_refused(
        command(f"{line} --aligner en-fr --overwrite"), "--dictionary needs texts that eflomal"
    )
