"""Links of corpora: what the aligner is given, what is written, and what `prepare` makes of it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import eflomal_stand_in
import pytest
from command_line import Command, assert_refused
from refusals import refusal

from rnnsearch import read_pharaoh
from rnnsearch.lab import eflomal_links as linking
from rnnsearch.lab.eflomal_links import (
    align_texts,
    bare,
    beginnings,
    link_texts,
    run_files,
)
from rnnsearch.lab.link_files import (
    LEARNERS_VOTE,
    MODELS_VOTE,
    link_files,
    vote,
    vote_with_networks,
)
from rnnsearch.settings import DataSettings
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.formats.links import parse_links
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.preparation import PrepareOptions, prepare_texts

ENGLISH = ["The man can't see it.", "", "He (really) sleeps!", "Rest."]
FRENCH = ["L'homme ne le voit pas.", "", "Il dort (vraiment) !", ""]


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "a.en").write_text("\n".join(ENGLISH) + "\n", encoding="utf-8")
    (here / "a.fr").write_text("\n".join(FRENCH) + "\n", encoding="utf-8")
    return here


@pytest.fixture
def diagonal(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """In place of eflomal: words at the same place belong together; the last link of a line is of one
    direction only."""

    def links(*pair: str) -> tuple[str, str]:
        forward = eflomal_stand_in.diagonal(*pair)
        return forward, forward.rpartition(" ")[0]

    return eflomal_stand_in.stand_in(monkeypatch, links)


def aligned(**options: Any) -> str:
    """Into a.links."""
    texts = parallel_texts(["a.en", "a.fr"])
    return link_texts(texts, [Path("a.links")], settings=DataSettings(), **options)


def stored_links(folder: Path) -> list[list[tuple[str, str]]]:
    """What `prepare` makes of the links, in words, by source text."""
    texts, store = parallel_texts(["a.en", "a.fr"]), folder / "store"
    options = PrepareOptions(links=["a.links"], overwrite=True)
    prepare_texts(texts, store, settings=DataSettings(), options=options)
    corpus = Corpus.open(store)
    train, word = corpus.train, (corpus.source.vocabulary.word, corpus.target.vocabulary.word)
    return sorted(
        [
            (word[0](train.source[i][a]), word[1](train.target[i][b]))
            for a, b in train.links[i].reshape(-1, 2).tolist()
        ]
        for i in range(len(train))
    )


def test_the_aligner_sees_the_tokenisers_words_and_links_count_them(
    folder: Path, diagonal: list[list[str]]
) -> None:
    report = aligned(method="forward")
    assert diagonal[0][0] == "The man can 't see it ."
    assert len(diagonal) == 2  # one run
    assert diagonal[1] == ["L' homm ne le voit pas .", "", "Il dort ( vrai ) !", ""]
    assert (
        Path("a.links").read_text() == "0-0 1-1 2-2 3-3 4-4 5-5 6-6\n\n0-0 1-1 2-2 3-3 4-4 5-5\n\n"
    )
    assert report == (
        "pairs    4, 2 without links\nlinks    13 forward, 11 reverse, 11 in both (agreement 91.7 %); "
        "13 written (forward)\n"
    )


def test_what_links_count_is_recognised(folder: Path, diagonal: list[list[str]]) -> None:
    (folder / "a.links").write_text("2-1\n\n\n\n")  # they fit both counts
    assert stored_links(folder)[1] == [("can", "ne"), ("'t", "ne")]
    (folder / "a.links").write_text("6-6\n\n\n\n")
    assert stored_links(folder)[1] == [(".", ".")]
    (folder / "a.links").write_text("6-6\n\n\n7-0\n")  # they fit neither
    said = r"a.links:1: the link 6-6 .* refers to source word 6, but the line has 5 words \(.*between spaces"
    with refusal(said):
        stored_links(folder)


def test_every_corpus_has_its_file_and_all_are_aligned_together(
    folder: Path, diagonal: list[list[str]]
) -> None:
    Path("b.tsv").write_text("one\u2003more two\tun deux\n", encoding="utf-8")
    texts, outs = parallel_texts(["a.en", "a.fr", "b.tsv"]), [Path("a.links"), Path("b.links")]
    report = link_texts(texts, outs, settings=DataSettings(), method="reverse", words="given")
    assert diagonal[0][4] == "one_ two"
    assert (len(diagonal[0]), Path("b.links").read_text()) == (5, "0-0\n")
    assert "pairs    5, 2 without" in report
    assert align_texts(texts, folder, settings=DataSettings(), letters=(5,)) == [4, 1]
    (run,) = run_files(folder, (5,))
    assert [path.read_text().count("\n") for path in run] == [5, 5]
    with refusal(r"1 output file\(s\) given for 2 corpora"):
        link_texts(texts, outs[:1], settings=DataSettings())
    with refusal(r"1 output file\(s\) given for 2 corpora"):
        link_texts(texts, outs[:1] * 2, settings=DataSettings())
    with refusal(r"1 output file\(s\) given for 1 corpora"):
        link_texts(texts[:1], outs[:1] * 2, settings=DataSettings())
    Path("short").write_text("0-0\n")
    with refusal("short: has fewer lines than others"):
        link_files([run, (Path("short"), Path("short"))], outs[:1], method="vote")
    with refusal(r"links.5.forward: ends after 5 of 6 lines \(check the free disk space\)"):
        link_files([run], outs, sizes=[4, 2], method="union")


@pytest.mark.usefixtures("diagonal")
@pytest.mark.parametrize(
    ("long", "words", "message"),
    [
        (
            [2],
            "tokenised",
            "a.en | a.fr: line 2 gets no links: eflomal aligns at most 1,023 words on a side",
        ),
        ([*range(1, 8)], "given", "7 lines (1, 2, 3, 4, 5, …) get no links"),
        ([], "given", ""),
    ],
)
def test_pairs_that_eflomal_leaves_out_are_named(
    folder: Path, command: Command, long: list[int], words: str, message: str
) -> None:
    """One side is long; another is as long as it may be."""
    english = ["a" + " b" * (1023 if number in long else 1022) for number in range(1, 9)]
    Path("a.en").write_text("\n".join(english))
    Path("a.fr").write_text("\n".join(["c"] * 8))
    done = command("links", "a.en", "a.fr", "--words", words, "--out", "links")
    assert (done.code, done.err.count("\n")) == (0, bool(long))
    assert message in done.err


@pytest.mark.parametrize(
    ("forward", "reverse", "message"),
    [
        ("0-0\n", "0-0\n\n", "f has 1 line and r has 2, so they are not parallel"),
        ("0-0\nx\n", "0-0\n\n", "f:2: 'x' is not a link"),
        ("", "", "f: is empty"),
    ],
)
def test_faulty_files_leave_nothing_behind(
    folder: Path, forward: str, reverse: str, message: str
) -> None:
    Path("f").write_text(forward)
    Path("r").write_text(reverse)
    before = sorted(folder.iterdir())
    with refusal(message):
        link_files([(Path("f"), Path("r"))], [folder / "out"], method="union")
    assert sorted(folder.iterdir()) == before


def test_links_are_written_where_relative_paths_say(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program runs in a folder of its own."""
    program = folder / "bin" / "eflomal"
    program.parent.mkdir()
    found = 'while [ $# -gt 0 ]; do case $1 in -f|-r) echo 0-0 > "$2" || exit 3;; esac; shift; done; exit'
    program.write_bytes(f"#!/bin/sh\n{found}\n".encode() + linking.RANDOM_DEVICE)

    class Aligner:
        def prepare_files(
            self, left: IO[str], source: IO[bytes], right: IO[str], *others: Any
        ) -> None:
            source.write(b"1 1\n")

    installed = SimpleNamespace(__file__=str(folder / "__init__.py"), Aligner=Aligner)
    monkeypatch.setitem(sys.modules, "eflomal", installed)
    linking.run_eflomal(Path("a.en"), Path("a.fr"), Path("forward"), Path("reverse"), seed=1)
    assert Path("forward").read_text() == Path("reverse").read_text() == "0-0\n"


@pytest.mark.skipif(find_spec("eflomal") is None, reason="needs the extra `align`")
def test_eflomal_gives_the_same_links_for_the_same_seed(folder: Path, tiny_corpus: Path) -> None:
    texts = parallel_texts([tiny_corpus / "train.en", tiny_corpus / "train.fr"])
    found = []
    for seed in (1, 1, 2):
        link_texts(texts, [Path("a.links")], settings=DataSettings(seed=seed), method="union")
        found.append(Path("a.links").read_text())
    assert found[0] == found[1] != found[2]


@pytest.mark.skipif(find_spec("eflomal") is None, reason="needs the extra `align`")
def test_eflomal_learns_words(here: Path, command: Command) -> None:
    """The target is the source backwards, word for word: nearly all links are found. A pair without words has
    none, nor one too long."""
    words = [f"{letter}{number}" for letter in "abcdefgh" for number in range(5)]
    pairs = [[words[(7 * i + 11 * k * k) % 40] for k in range(3 + i % 4)] for i in range(300)]
    source = [*(" ".join(pair) for pair in pairs), "", " ".join(words * 30), "a0 \u2028 b1"]
    target = [
        *(" ".join(f"{word}x" for word in reversed(pair)) for pair in pairs),
        "",
        " ".join(words * 30),
        "b1x a0x",
    ]
    for name, lines in (("s", source), ("t", target)):
        (here / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = command("links", "s", "t", "--out", "links", "--symmetrise", "intersection")
    assert done.code == 0
    assert "s | t: line 302 gets no links" in done.err
    found = read_pharaoh("links")
    assert len(found) == 303
    assert found[300] == found[301] == set()
    gold = [{(k, len(pair) - 1 - k) for k in range(len(pair))} for pair in pairs]
    right = sum(len(one & other) for one, other in zip(found, gold, strict=False))
    assert right > 0.9 * sum(map(len, gold))
    assert right > 0.9 * sum(map(len, found[:300]))


def test_the_command(folder: Path, command: Command, diagonal: list[list[str]]) -> None:
    done = command("links", "a.en", "a.fr", "--out", "new/a.links", "--symmetrise", "union")
    assert (done.code, done.err) == (0, "")
    assert done.lines[:2] == [
        "languages en → fr (by the file's name)",
        "pairs    4, 2 without links",
    ]
    assert Path("new/a.links").read_text().count("\n") == 4
    Path("empty").touch()
    Path("blank").write_text("\n\n")
    for words, message in {
        "a.en a.fr --out new/a.links": "new/a.links: already exists",
        "a.en a.fr": "--out",
        "--out x": "a corpus, or an aligner's files",
        "--forward a.en --out x": "files of both directions",
        "a.en a.fr --forward f --reverse r --out x": "(leave out a.en and the other texts",
        "a.en a.fr --out x --symmetrise best": "does not know 'best' (use one of: vote, grow-diag-final-and",
        "--forward a.en --reverse a.fr --out x --symmetrise vote": "does not know 'vote'",
        "a.en a.fr --out x --words all": "--words does not know 'all'",
        "a.en --out x": "a.en: has no target text",
        "a.en a.fr --out x --dictionary ./x": "x: is named twice (name another file to write)",
        "a.en a.fr --out ./a.fr --overwrite": "a.fr: is an input",
        "empty empty --out x": "there are no words",
        "blank blank --out x": "there are no words",
    }.items():
        assert_refused(command("links", *words.split()), message)
    assert not Path("x").exists()


def test_japanese_is_linked_by_given_words_or_by_characters(
    folder: Path, diagonal: list[list[str]]
) -> None:
    Path("a.ja").write_text(
        "猫 が 魚 を 食べる 。\n" * 40 + "犬 が 寝る 。\n" * 40, encoding="utf-8"
    )
    Path("b.ja").write_text(
        Path("a.ja").read_text(encoding="utf-8").replace(" ", ""), encoding="utf-8"
    )
    Path("a.en").write_text("a b c d e .\n" * 40 + "a b c .\n" * 40)
    settings = DataSettings(source_language="ja", target_language="en", vocabulary_size=20)

    def links(name: str, words: Any) -> list[int]:
        """Of the first pair: how many words eflomal sees, and how many links a store has of them."""
        texts = parallel_texts([name, "a.en"])
        link_texts(texts, [Path("a.links")], settings=settings, words=words, method="forward")
        options = PrepareOptions(links=["a.links"], overwrite=True)
        report = prepare_texts(texts, folder / "store", settings=settings, options=options)
        return [len(diagonal[-2][0].split()), report.links or 0]

    assert links("a.ja", "given")[0] == 6
    assert links("a.ja", "tokenised")[0] == 8
    count, kept = links("b.ja", "tokenised")
    assert (count, kept > 0) == (8, True)
    Path("b.ja").write_text("昨日私は図書館で本を借りました。\n" * 80, encoding="utf-8")
    with refusal("80 of 80 source lines are not split into words, the first is line 1 of b.ja"):
        links("b.ja", "given")
    # short lines, and clauses between spaces and Latin words
    short = "本です。\n昨日私は Linux で本を借りました。 とても面白いです。\n"
    Path("b.ja").write_text(short * 40, encoding="utf-8")
    with refusal("40 of 80 source lines are not split into words, the first is line 2 of b.ja"):
        links("b.ja", "given")


def test_the_aligner_reads_beginnings_of_words_and_whole_numbers() -> None:
    text = "Österreich нового ελληνική am 12345.67 um 20Uhr_5 qu'est l' 東京都心部です"
    assert beginnings(text, 4) == "Öste ново ελλη am 12345.67 um 20Uhr_5 qu'e l' 東京都心部です"
    assert (
        beginnings(text, 6)
        == "Österr нового ελληνι am 12345.67 um 20Uhr_5 qu'est l' 東京都心部です"
    )


def test_three_runs_vote(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run reads other beginnings of the words. A link needs half of the six directions."""
    Path("a.en").write_text("abcdefgh\nabcdefgh\n")
    Path("a.fr").write_text("x y z\nx y z\n")
    found = {"abc": "0-0 0-1", "abcd": "0-0 0-2", "abcdef": "0-2"}
    seen = eflomal_stand_in.stand_in(
        monkeypatch, lambda source, _: (found[source], found[source].partition(" ")[0])
    )
    report = aligned()
    assert [lines[0] for lines in seen[::2]] == list(found)
    # 0-0 has four votes, 0-1 one, 0-2 three: the last run gives it to both directions
    assert Path("a.links").read_text() == "0-0 0-2\n" * 2
    assert report == (
        "pairs    2, 0 without links\nlinks    10 forward, 6 reverse, 6 in both of 3 runs (agreement"
        " 75.0 %); 4 written (vote)\n"
    )


def test_romanian_words_are_linked_without_diacritics() -> None:
    assert (
        bare("Măsoară și ţine „apă” într-un \u0306 vas", "ro-RO")
        == "Masoara si tine „apa” intr-un \u0306 vas"
    )
    assert bare("là où", "fr") == "là où"


def test_a_vote_lowers_the_probability_that_a_link_needs() -> None:
    def links(text: str) -> Any:
        return parse_links(text, "", 1)

    two_runs = [links("0-0 1-1"), links("0-0"), links("0-0 2-2"), links("0-0 2-2")]
    assert vote(two_runs) == links("0-0 2-2")
    assert vote(two_runs, 0.25) == links("0-0 1-1 2-2")
    # shares 1, 1/4 and 1/2 need 0, 0.5 and 0.3; without votes, 0.7
    probabilities = {(1, 1): 0.5, (2, 2): 0.3, (3, 3): 0.7, (4, 4): 0.69}
    assert vote_with_networks(two_runs, probabilities, MODELS_VOTE) == links("0-0 1-1 2-2 3-3")
    fewer = {(1, 1): 0.49, (2, 2): 0.29}
    assert vote_with_networks(two_runs, fewer, MODELS_VOTE) == links("0-0")
    # 0, 0.55 and 0.05; without votes, none is enough
    assert vote_with_networks(two_runs, {(2, 2): 0.05, (3, 3): 1.0}, LEARNERS_VOTE) == links(
        "0-0 2-2"
    )
    assert vote_with_networks(two_runs, {(1, 1): 0.55, (2, 2): 0.04}, LEARNERS_VOTE) == links(
        "0-0 1-1"
    )
