"""`rnnsearch links --aligner rnnsearch`: one command from two files to word links; it goes on; bad input is
one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import Command, assert_refused, sets, sizes
from eflomal_stand_in import stand_in
from pairs import lines_of, write

from rnnsearch import read_pharaoh
from rnnsearch.installed import VARIABLE
from rnnsearch.lab import eflomal_links as corpus_links
from rnnsearch.lab import held_out, learned_aligner
from rnnsearch.lab.eflomal_links import beginnings
from rnnsearch.lab.link_files import LEARNERS_VOTE

SHIPPED = Path(__file__).resolve().parents[2] / "models" / "src" / "rnnsearch_models"

SMALL = [
    *(*sizes(4), "model.encoder_size=4", "data.vocabulary_size=90", "stopping.max_updates=3"),
    *("stopping.save_every=1", "training.precision=float32", "training.threads=1"),
]
SETTINGS = sets(*SMALL).split()
WORDS = ["links", "--aligner", "rnnsearch", "--out", "links"]


@pytest.fixture(autouse=True)
def _little(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(held_out, "FEWEST_PAIRS", 100)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def eflomal(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """In place of eflomal: forward links the first words, reverse the first two."""
    return stand_in(monkeypatch, lambda *_: ("0-0", "0-0 1-1"))


@pytest.mark.usefixtures("eflomal")
def test_it_goes_on_after_ctrl_c_and_writes_links(
    command: Command, tiny_corpus: Path, interrupted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = interrupted(2)
    files = [Path(shutil.copy(tiny_corpus / f"train.{code}", f"a.{code}")) for code in ("en", "fr")]
    words = [*WORDS, *files, *SETTINGS]
    stopped = command(*words)
    assert (stopped.code, stopped.out) == (130, "")
    assert "eflomal aligns the words" in stopped.err
    assert stopped.err.endswith("\nthe same command goes on\n")
    assert not Path("links").exists()
    finished = command(*words)
    assert finished.code == 0, finished.err
    assert made == [1, 2, 3, 1, 2, 3]  # the first network goes on, the second begins
    assert "eflomal" not in finished.err
    assert finished.out == "links\nnetworks  links.work/forward, links.work/backward\n"
    lines = files[0].read_text("utf-8").count("\n")
    assert len(read_pharaoh("links")) == len(read_pharaoh("links.work/teacher.links")) == lines
    assert_refused(command(*words), "already exists")
    seeded = command(*words, "--overwrite", "--set", "training.seed=7")
    with monkeypatch.context() as patch:
        patch.setattr(learned_aligner, "MADE_BY", "other letters")
        assert_refused(command(*words, "--overwrite"), "belongs to other files or settings")
    for file in files:  # of the same size: the lines in another order
        write(file, lines_of(file)[::-1])
    for other in (seeded, command(*words, "--overwrite")):
        assert_refused(other, "belongs to other files or settings")


@pytest.mark.parametrize("words", ["tokenised", "given"])
@pytest.mark.usefixtures("eflomal")
def test_eflomal_teaches_and_votes(command: Command, tiny_corpus: Path, words: str) -> None:
    files = tiny_corpus / "train.en", tiny_corpus / "train.fr"
    done = command(*WORDS, *files, *SETTINGS, "--words", words)
    assert done.code == 0, done.err
    assert set(Path("links.work/teacher.links").read_text().split("\n")) == {"0-0", ""}
    found = list(map(json.loads, lines_of("links.work/networks.jsonl")))
    voted = read_pharaoh("links")
    assert len(voted) == len(found) == len(read_pharaoh("links.work/eflomal/links.3.reverse"))
    weight, enough = LEARNERS_VOTE
    least = {(0, 0): 0.0, (1, 1): enough - weight / 2}
    for links, one in zip(voted, found, strict=True):
        probable = dict(zip(map(tuple, one["links"]), one["probabilities"], strict=True))
        linked = {
            link for link, probability in probable.items() if probability >= least.get(link, enough)
        }
        assert links == linked | {(0, 0)}  # whatever the networks say
    assert any(voted)


def test_romanian_is_aligned_without_diacritics(
    command: Command, tiny_corpus: Path, eflomal: list[list[str]]
) -> None:
    write(Path("a.ro"), [f"ță {line}" for line in lines_of(tiny_corpus / "train.fr")])
    done = command(*WORDS, tiny_corpus / "train.en", "a.ro", *SETTINGS, "--words", "given")
    assert done.code == 0, done.err
    assert {line.split()[0] for line in eflomal[1]} == {"ta"}
    vocabulary = (
        Path("links.work/forward.data/vocabulary.target.txt").read_text("utf-8").split("\n")
    )
    assert "ta" in vocabulary
    assert "ță" not in vocabulary


def test_a_model_and_its_opposite_vote_with_eflomal(
    command: Command, monkeypatch: pytest.MonkeyPatch, eflomal: list[list[str]]
) -> None:
    monkeypatch.setenv(VARIABLE, str(SHIPPED))
    Path("a.en").write_text("The house is small.\nI see the sea.\n")
    Path("a.fr").write_text("La maison est petite.\nJe vois la mer.\n")
    done = command("links --aligner en-fr --out links a.en a.fr")
    assert done.code == 0, done.err
    assert done.out == "links\nnetworks  en-fr, fr-en\n"
    assert read_pharaoh("links") == [{(i, i) for i in range(5)}] * 2
    # the networks count the words of the line as it is given, before elisions are mended
    eflomal.clear()
    Path("b.en").write_text("The man said that he would come.\n")
    Path("b.fr").write_text("L\u2019homme a dit qu' il viendrait.\n", encoding="utf-8")
    mended = "links --aligner en-fr --out mended b.en b.fr"
    assert command(mended).code == 0
    (networks,) = lines_of("mended.work/networks.jsonl")
    assert eflomal[1] == [beginnings(" ".join(json.loads(networks)["tokens"]), 3)]
    Path("mended.work/networks.jsonl").write_text(networks[:40] + "\n", encoding="utf-8")
    assert_refused(command(f"{mended} --overwrite"), "networks.jsonl: is damaged")
    for name in ("b.it", "one.fr"):
        Path(name).write_text("La casa.\n")
    for name in ("empty.en", "empty.fr"):
        Path(name).touch()
    faults = {
        "a.fr a.en": "needs a file in en, then one in fr (exchange the files, or use --aligner fr-en",
        "a.en b.it": "; --aligner rnnsearch for other languages)",
        "a.en missing.fr": "missing.fr: is no file on disk",
        "a.en one.fr": "a.en has 2 lines and one.fr has 1",
        "empty.en empty.fr": "empty.en: is empty",
        "a.en a.fr --set training.seed=3": "remove the other files and options",
    }
    for others, fault in faults.items():
        assert_refused(command(f"links --aligner en-fr --out others {others}"), fault)
        assert not Path("others.work").exists()


def test_without_eflomal_the_command_says_how_to_install_it(
    command: Command, tiny_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_links, "find_spec", lambda name: None)
    done = command(*WORDS, tiny_corpus / "train.en", tiny_corpus / "train.fr", *SETTINGS)
    assert_refused(done, "needs the package eflomal (pip install 'rnnsearch[align]'")
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    "words", ["a.en", "a.en b.fr c.en d.fr", "a.en b.fr --symmetrise grow-diag-final-and"]
)
def test_options_of_eflomal_are_refused(command: Command, words: str) -> None:
    assert_refused(command(*WORDS, *words.split()), "takes two files of lines and one --out")
