"""The options of `rnnsearch align`, on small trained runs."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command, assert_refused
from folders import names
from pairs import lines_of, write
from tables import rows

from rnnsearch.installed import VARIABLE
from rnnsearch.translation.translator import Translator

PAIRS = 6
SHIPPED = Path(__file__).resolve().parents[2] / "models" / "src" / "rnnsearch_models"
Align = Callable[..., list[Any]]


@pytest.fixture(autouse=True)
def folder(tiny_corpus: Path, here: Path) -> None:
    """The first test pairs and their gold links."""
    for name, new in (("test.en", "en"), ("test.fr", "fr"), ("test.links", "gold")):
        write(here / new, lines_of(tiny_corpus / name)[:PAIRS])


@pytest.fixture
def aligned(command: Command, tiny_run: Path) -> Align:
    """What `align` prints of the pairs: sets of links, or objects with --json."""

    def call(options: str = "", texts: str = "en fr", run: Path = tiny_run) -> list[Any]:
        done = command(f"align {run} {texts} {options}".strip())
        assert done.code == 0, done.err
        if "--json" in options:
            return [json.loads(line) for line in done.lines]
        return [{tuple(map(int, item.split("-"))) for item in line.split()} for line in done.lines]

    return call


def test_links_are_positions_of_words(command: Command, tiny_run: Path) -> None:
    objects = command(f"align {tiny_run} en fr --json").lines
    lines = command(
        f"align {tiny_run} en - --search.batch_size 3", stdin=Path("fr").read_bytes()
    ).lines
    for found, line, sentence in zip(map(json.loads, objects), lines, lines_of("fr"), strict=True):
        assert "".join(found["tokens"]) == sentence.replace(" ", "")
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert links == sorted(links) == [tuple(link) for link in found["links"]]
        np.testing.assert_allclose(np.array(found["alignment"]).sum(1), 1, atol=1e-3)
        assert math.isfinite(found["score"])
        assert not {"forward_links", "reverse_alignment"} & found.keys()
        assert all(
            j < len(found["source_tokens"]) - 1 and i < len(found["tokens"]) for j, i in links
        )
        assert len({i for _, i in links}) == len(links)


def test_two_directions(aligned: Align, tiny_reverse_run: Path) -> None:
    forward = aligned()
    back = [{link[::-1] for link in line} for line in aligned("", "fr en", tiny_reverse_run)]
    for method, made in (("union", set.union), ("intersection", set.intersection)):
        both = aligned(f"--reverse-run {tiny_reverse_run} --align.symmetrise {method}")
        assert both == [made(left, right) for left, right in zip(forward, back, strict=True)]
    for one in aligned(f"--reverse-run {tiny_reverse_run} --json"):
        shape = len(one["source_tokens"]) - 1, len(one["tokens"]) + 1
        assert np.array(one["reverse_alignment"]).shape == shape
        assert len(one["forward_links"]) * len(one["reverse_links"]) > 0


def test_pictures_in_the_terminal(command: Command, tiny_run: Path) -> None:
    shown = command(f"align {tiny_run} en fr --format picture")
    assert (shown.code, shown.out.count("│\n\n")) == (0, PAIRS)


def test_a_report_of_alignments(command: Command, tiny_run: Path, tiny_reverse_run: Path) -> None:
    """Of one run and of two directions, side by side."""
    for name, more in (("one", ""), ("both", f" --reverse-run {tiny_reverse_run}")):
        done = command(f"align {tiny_run} en fr --format matrices --out {name}.jsonl{more}")
        assert done.code == 0, done.err
    done = command("report --alignments one.jsonl 2=both.jsonl --gold gold --out out")
    assert (done.code, done.out) == (0, "out/index.html\n"), done.err
    table = [line.split("\t") for line in lines_of("out/one.tsv")]
    assert [row[0] for row in table] == ["pair", *map(str, range(1, PAIRS + 1)), "all"]
    score = json.loads(command("aer --links one.jsonl --gold gold --json").out)["systems"][0]
    for name in ("aer", "precision", "recall"):
        assert float(table[-1][table[0].index(name)]) == pytest.approx(score[name], abs=1e-5)
    assert f"aer {score['aer']:.4g}" in done.err
    agreement = table[0].index("agreement")
    assert table[-1][agreement] == ""
    assert 0 <= float(lines_of("out/2.tsv")[-1].split("\t")[agreement]) <= 1
    page = Path("out/index.html").read_text("utf-8")
    assert all(f'"{title}"' in page for title in ("one", "2", "2 reverse run"))
    assert len(list(Path("out/pictures").glob("*.png"))) == PAIRS


LINE = '{"tokens": ["a"], "source_tokens": ["b", "</s>"], "score": -1, "links": [[0, 0]], "alignment": [[1, 0]]}'


@pytest.mark.parametrize(
    ("lines", "more", "message"),
    [
        (LINE, "--test en fr", "--test cannot be used with --alignments"),
        (LINE, "--gold gold", "gold: has 6 sentences, but a.jsonl has 1"),
        (LINE.replace("[[1, 0]]", "[[1]]"), "", "a.jsonl:1: alignment needs 1 lists of 2 numbers"),
        (LINE.replace("[[0, 0]]", "[[1, 0]]"), "", "a.jsonl:1: a link is outside the sentence"),
        (LINE.replace("[[1, 0]]", "[[9.9, 0]]"), "", "alignment needs numbers from 0 to 1"),
        (LINE.replace("[[1, 0]]", "[[NaN, 0]]"), "", "alignment needs numbers from 0 to 1"),
        (LINE, "b-c=a.jsonl b/c=a.jsonl", "two files have the same name"),
        ("0-0", "", "a.jsonl:1: Invalid JSON"),
        ("", "", "a.jsonl: is empty (a report has at least one pair)"),
        ("{}", "", "(write the file with `rnnsearch align --format matrices`)"),
    ],
)
def test_alignments_that_cannot_be_reported(
    command: Command, lines: str, more: str, message: str
) -> None:
    Path("a.jsonl").write_text(lines and f"{lines}\n")
    assert_refused(command(f"report --out out --alignments a.jsonl {more}".strip()), message)
    assert not Path("out").exists()


def test_links_between_the_files_own_words(
    command: Command, aligned: Align, tiny_run: Path
) -> None:
    """The built-in corpus has its gold links between the tokeniser's words; of the files' own words there are
    fewer."""
    for one, *texts in zip(
        aligned("--align.words given --json"), lines_of("en"), lines_of("fr"), strict=True
    ):
        assert [one["source_tokens"][:-1], one["tokens"]] == [text.split() for text in texts]
        np.testing.assert_allclose(np.array(one["alignment"]).sum(1), 1, atol=1e-3)
    Path("own.jsonl").write_text(
        command(f"align {tiny_run} en fr --align.words given --json").out, "utf-8"
    )
    done = command("report --alignments own.jsonl --gold gold --out out")
    assert_refused(
        done, "own.jsonl:1: the gold link 6-6 (counted from 0) needs 7 target words, but", " 6 here"
    )


MISTAKES = """
--json --format picture → --format picture and the short form of --format matrices are different outputs (give one)
--format tsv → --format does not know 'tsv'
--align.symmetrise best → align.symmetrise: Input should be 'grow-diag-final-and',
--align.words some → align.words: Input should be 'tokenised' or 'given'
--align.threshold 2 → align.threshold: Input should be less than or equal to 1
--align.symmetrise product → --reverse-run
--search.beam 2 → search.beam has no effect here
--format picture --out out → cannot be used with --out
"""


@pytest.mark.parametrize(("words", "said"), rows(MISTAKES))
def test_mistakes(command: Command, tiny_run: Path, words: str, said: str) -> None:
    assert_refused(command(f"align {tiny_run} en fr {words}"), said)
    assert names(Path()) == ["en", "fr", "gold"]


def test_links_need_no_probabilities(
    command: Command, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain links leave out the whole output layer; whoever asks for scores gets them."""
    asked: list[bool] = []
    force = Translator.force

    def watched(self: Translator, *arguments: Any, **options: Any) -> Any:
        asked.append(options["scored"])
        return force(self, *arguments, **options)

    monkeypatch.setattr(Translator, "force", watched)
    for more in ("", " --json", " --format picture", " --format jsonl"):
        assert command(f"align {tiny_run} en fr{more}").code == 0
    assert asked == [False, True, False, False]
    (found,) = Translator.load(tiny_run).force([("The man sees.", "homme")], scored=False)
    assert (math.isnan(found.score), found.log_probabilities) == (True, [])
    assert found.alignment.shape == (1, 5)


def test_given_words_that_are_no_words_are_refused(
    command: Command, tiny_run: Path, here: Path
) -> None:
    """Each Japanese sentence was one word, and every link led to it."""
    shutil.copytree(tiny_run, "run")
    config = Path("run", "config.toml")
    config.write_text(
        config.read_text().replace('target_language = "fr"', 'target_language = "ja"')
    )
    sentence = "昨日、私は図書館で新しい本を三冊借りました。\n"
    Path("ja").write_text(PAIRS * sentence)
    assert_refused(
        command("align run en ja --align.words given"),
        "6 of 6 target lines are not split into words, the first is line 1 of ja (split them into"
        " words first, or add --align.words tokenised)",
    )
    write(Path("ja"), [" ".join(sentence[:-1])] * PAIRS)
    assert command("align run en ja --align.words given").code == 0


def test_exchanged_files_are_noticed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(SHIPPED))
    write(
        tmp_path / "a", ["The man is reading a book tonight, and the child is asleep already."] * 60
    )
    write(
        tmp_path / "b",
        ["L'homme lit un livre ce soir, et l'enfant dort déjà depuis longtemps."] * 60,
    )
    a, b = tmp_path / "a", tmp_path / "b"
    assert "warning" not in command(f"align en-fr {a} {b}").err
    done = command(f"align en-fr {b} {a}")
    assert done.code == 0
    assert "the source text looks like fr, not en (check the order of the files)" in done.err
