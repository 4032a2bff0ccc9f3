"""The options of `rnnsearch align`, on small trained runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command

from rnnsearch.translation.translator import Translator

PAIRS = 6


@pytest.fixture
def folder(tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first test pairs and their gold links; `turned` has its columns exchanged."""
    for name, new in (("test.en", "en"), ("test.fr", "fr"), ("test.links", "gold")):
        lines = (tiny_corpus / name).read_text("utf-8").split("\n")[:PAIRS]
        (tmp_path / new).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def links(lines: list[str]) -> list[set[tuple[int, ...]]]:
    return [{tuple(map(int, item.split("-"))) for item in line.split()} for line in lines]


def test_json_has_links_and_measures(command: Command, folder: Path, tiny_run: Path) -> None:
    plain = command(f"align {tiny_run} en fr").lines
    objects = [json.loads(line) for line in command(f"align {tiny_run} en fr --json --gold gold").lines]
    for line, found in zip(links(plain), objects, strict=True):
        assert {tuple(link) for link in found["links"]} == line
        weights = np.array(found["alignment"])
        logs = np.log(np.where(weights > 0, weights, 1))
        assert found["measures"]["entropy"] == pytest.approx(-(weights * logs).sum(1).mean(), abs=2e-3)
        assert {"under_translated", "over_translated", "monotone", "aer", "precision", "recall"} <= found[
            "measures"
        ].keys()
        assert "reverse_alignment" not in found


def test_two_directions(command: Command, folder: Path, tiny_run: Path, tiny_reverse_run: Path) -> None:
    forward = links(command(f"align {tiny_run} en fr").lines)
    back = [{link[::-1] for link in line} for line in links(command(f"align {tiny_reverse_run} fr en").lines)]
    for method, expected in (("union", set.union), ("intersection", set.intersection)):
        both = command(f"align {tiny_run} en fr --reverse-run {tiny_reverse_run} --symmetrise {method}")
        assert both.code == 0, both.err
        assert links(both.lines) == [expected(left, right) for left, right in zip(forward, back, strict=True)]
    found = [
        json.loads(line)
        for line in command(f"align {tiny_run} en fr --reverse-run {tiny_reverse_run} --json").lines
    ]
    for one in found:
        assert np.array(one["reverse_alignment"]).shape == (
            len(one["source_tokens"]) - 1,
            len(one["tokens"]) + 1,
        )
        assert 0 <= one["measures"]["agreement"] <= 1


def test_tables_pages_and_pictures(
    command: Command, folder: Path, tiny_run: Path, other_tiny_run: Path
) -> None:
    more = f"--page out/p.html --compare {other_tiny_run} --alignment-plots plots --plot-format svg"
    done = command(f"align {tiny_run} en fr --gold gold --measures out/m.tsv {more}")
    assert done.code == 0, done.err
    rows = [line.split("\t") for line in Path("out/m.tsv").read_text().split("\n")[:-1]]
    assert [row[0] for row in rows] == ["pair", *map(str, range(1, PAIRS + 1)), "all"]
    Path("links").write_text(done.out)
    score = json.loads(command("aer --links links --gold gold --json").out)["systems"][0]
    for name in ("aer", "precision", "recall"):
        assert float(rows[-1][rows[0].index(name)]) == pytest.approx(score[name], abs=1e-5)
    assert f"aer {score['aer']:.4g}" in done.err
    page = Path("out/p.html").read_text("utf-8")
    assert '"title":"other"' in page
    assert len(list(Path("plots").glob("*.svg"))) == PAIRS


def test_the_terminals_picture(command: Command, folder: Path, tiny_run: Path) -> None:
    done = command(f"align {tiny_run} en fr --picture --gold gold")
    assert done.code == 0, done.err
    assert done.out.count("[") == sum(len(line.split()) for line in Path("gold").read_text().split("\n"))


def test_links_between_the_files_own_words(command: Command, folder: Path, tiny_run: Path) -> None:
    """The built-in corpus has its gold links between the tokeniser's words; of the files' own words there are
    fewer."""
    given = [json.loads(line) for line in command(f"align {tiny_run} en fr --words given --json").lines]
    for one, source, target in zip(
        given, *(Path(name).read_text().split("\n")[:-1] for name in ("en", "fr")), strict=True
    ):
        assert (one["source_tokens"][:-1], one["tokens"]) == (source.split(), target.split())
        np.testing.assert_allclose(np.array(one["alignment"]).sum(1), 1, atol=1e-3)
    done = command(f"align {tiny_run} en fr --words given --gold gold --picture")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is outside the sentence" in done.err


MISTAKES = """
--json --picture → --json and --picture cannot be used together
--json --links-format tmx → --json and --links-format cannot be used together
--links-format jsonl --picture → --links-format and --picture cannot be used together
--links-format tsv → --links-format does not know 'tsv'
--links-format tmx --ray --out x → --links-format tmx cannot be used with --ray
--symmetrise best → --symmetrise does not know 'best'
--words some → --words does not know 'some'
--plot-format gif → --plot-format does not know 'gif'
--threshold 2 → --threshold
--gold fr → is not a link
--gold short → 6 pairs but 1 sentences of gold links
--symmetrise product → --reverse-run
--page en/p.html → en: cannot be written:
"""


@pytest.mark.parametrize("case", MISTAKES.strip().split("\n"))
def test_mistakes(command: Command, folder: Path, tiny_run: Path, case: str) -> None:
    words, message = case.split(" → ")
    Path("short").write_text("0-0\n")
    refused = command(f"align {tiny_run} en fr {words}")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert message in refused.err


def test_posterior_links(command: Command, folder: Path, tiny_run: Path) -> None:
    found = {
        options: command(f"align {tiny_run} en fr --json", *options).lines
        for options in ((), ("--posterior",))
    }
    plain, informed = ([json.loads(line) for line in lines] for lines in found.values())
    for one, other in zip(plain, informed, strict=True):
        assert one["score"] == other["score"]
        assert np.array(other["alignment"]).sum(1) == pytest.approx(1, abs=5e-3)
    assert any(one["alignment"] != other["alignment"] for one, other in zip(plain, informed, strict=True))


def test_exact_and_quick_posteriors_link_alike(command: Command, folder: Path, tiny_run: Path) -> None:
    """And --exact is what forced decoding in float32 says, word for word."""
    quick, exact = (
        links(command(f"align {tiny_run} en fr --posterior", *more).lines) for more in ((), ("--exact",))
    )
    shared, all_links = sum(len(a & b) for a, b in zip(quick, exact, strict=True)), sum(map(len, exact))
    assert shared >= 0.9 * all_links > 0
    translator = Translator.load(tiny_run)
    pairs = list(zip(*(Path(name).read_text("utf-8").split("\n")[:-1] for name in ("en", "fr")), strict=True))
    assert [set(one.links()) for one in translator.align(pairs, posterior=True, exact=True)] == exact


def test_links_need_no_probabilities(
    command: Command, folder: Path, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain links leave out the whole output layer; whoever asks for scores gets them."""
    asked: list[bool] = []
    force = Translator.force

    def watched(self: Translator, *arguments: Any, **options: Any) -> Any:
        asked.append(options["scored"])
        return force(self, *arguments, **options)

    monkeypatch.setattr(Translator, "force", watched)
    assert all(
        command(f"align {tiny_run} en fr", *more).code == 0
        for more in ((), ("--json",), ("--picture",), ("--measures", "m"))
    )
    assert asked == [False, True, False, True]
    (found,) = Translator.load(tiny_run).force([("The man sees.", "homme")], scored=False)
    assert (math.isnan(found.score), found.log_probabilities) == (True, [])
    assert found.alignment.shape == (1, 5)
