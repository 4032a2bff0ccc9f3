"""What a run makes of a test set: that of its translator, in files whose keys stand for all that it follows
from; a line of them comes back as it was, and damage is named."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from refusals import refusal

from rnnsearch.lab import outputs
from rnnsearch.lab.outputs import (
    Kind,
    OpenedRun,
    OutputLine,
    Outputs,
    as_line,
    from_line,
    open_run,
    read_outputs,
    run_answers,
)
from rnnsearch.lab.test_set import TestSet as Texts  # pytest would take it for tests
from rnnsearch.lab.test_set import read_test_set
from rnnsearch.records import Translation


@pytest.fixture(scope="module")
def test_set(tiny_corpus: Path) -> Texts:
    """Fourteen short pairs."""
    pairs = read_test_set("test", tiny_corpus / "test.en", tiny_corpus / "test.fr").pairs
    source, reference = zip(
        *sorted(pairs, key=lambda pair: len(pair[0] + pair[1]))[:14], strict=True
    )
    return Texts("test", list(source), list(reference))


@pytest.fixture(scope="module")
def run(tiny_run: Path) -> OpenedRun:
    """In batches of three."""
    return open_run("tiny", tiny_run, {"search.batch_size": 3})


@pytest.fixture(autouse=True)
def _blocks_of_six(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "READ_AHEAD", 2)


def silent(text: str, done: int, total: int | None) -> None:
    pass


def test_translations_are_those_of_the_translator(
    run: OpenedRun, test_set: Texts, tmp_path: Path
) -> None:
    made = Outputs(run, test_set, Kind.TRANSLATIONS, tmp_path)
    header, found = made.read(silent)
    expected = run.translator.translate(test_set.source, batch_size=3)
    assert [output.translation.text for output in found] == [result.text for result in expected]
    assert [output.translation.links() for output in found] == [
        result.links() for result in expected
    ]
    assert all(output.seconds > 0 for output in found)
    about = [header[name] for name in ("run", "test set", "kind")]
    assert about == ["tiny", "test", "translations"]
    assert header["settings"]["batch_size"] == 3
    assert header["key"].startswith(made.path.name.split(".")[-2])
    assert header["parameters"] == run.parameters
    run_answers(run, test_set, tmp_path, silent, [Kind.TRANSLATIONS])
    written = (tmp_path / "tiny" / "test.txt").read_text("utf-8")
    assert written.split("\n")[:-1] == [result.text for result in expected]


@pytest.mark.parametrize("kind", [Kind.REFERENCES, Kind.POSTERIOR])
def test_references_are_forced(run: OpenedRun, test_set: Texts, tmp_path: Path, kind: Kind) -> None:
    """Posterior alignments stand beside the others."""
    _, found = Outputs(run, test_set, kind, tmp_path).read(silent)
    forced = run.translator.force(test_set.pairs)
    informed = run.translator.force(test_set.pairs, posterior=True, exact=True)
    for output, expected, known in zip(found, forced, informed, strict=True):
        one = output.translation
        assert one.score == pytest.approx(expected.score, abs=1e-4)
        assert one.links() == expected.links()
        assert len(one.log_probabilities) == len(one.tokens) + 1
        assert (output.posterior is None) == (kind == Kind.REFERENCES)
        if output.posterior is not None:
            np.testing.assert_allclose(output.posterior, known.alignment, atol=1e-3)
            assert not np.allclose(output.posterior, one.alignment, atol=1e-3)


def test_known_pairs_are_translated_without_unk(tiny_unknown_run: Path, tmp_path: Path) -> None:
    run = open_run("short", tiny_unknown_run)
    vocabularies = [
        [codec.vocabulary.word(number) for number in range(2, 30)]
        for codec in (run.run.source, run.run.target)
    ]
    words = [
        " ".join([word for word in vocabulary if word.isalpha()][:6]) for vocabulary in vocabularies
    ]
    test_set = Texts("test", ["nobody knows", words[0], words[0]], [words[1], words[1], "personne"])
    _, (found,) = Outputs(run, test_set, Kind.WITHOUT_UNK, tmp_path).read(silent)
    (expected,) = run.translator.translate(words[:1], settings={"search.no_unk": True})
    assert (found.number, found.translation.text) == (1, expected.text)
    assert (
        "<unk>" in run.translator.translate(words[:1], settings={"search.no_unk": False})[0].tokens
    )


def test_once_is_enough_until_the_key_changes(
    run: OpenedRun, test_set: Texts, tmp_path: Path, tiny_run: Path
) -> None:
    said: list[str] = []

    def told(text: str, done: int, total: int | None) -> None:
        said.append(text)

    few = test_set.first(3)
    for _ in range(2):
        Outputs(run, few, Kind.TRANSLATIONS, tmp_path).read(told)
    assert said == ["tiny, test: translations"]
    shutil.copytree(tiny_run, tmp_path / "copy")
    weights = tmp_path / "copy" / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    others = [
        Outputs(opened, texts, kind, tmp_path)
        for opened, texts, kind in (
            (run, replace(few, source=[*few.source[:2], "Another."]), Kind.TRANSLATIONS),
            (
                open_run("tiny", tiny_run, {"search.batch_size": 3, "search.beam": 2}),
                few,
                Kind.TRANSLATIONS,
            ),
            (open_run("tiny", tmp_path / "copy", {"search.batch_size": 3}), few, Kind.TRANSLATIONS),
            (run, few, Kind.REFERENCES),
            (run, few, Kind.POSTERIOR),
            (run, replace(few, reference=[*few.reference[:2], "Un autre."]), Kind.REFERENCES),
        )
    ]
    own = Outputs(run, few, Kind.TRANSLATIONS, tmp_path)
    assert len({one.key for one in [own, *others]}) == 1 + len(others)
    renamed = replace(few, reference=["x"] * 3, name="y")  # not what translations follow from
    assert Outputs(run, renamed, Kind.TRANSLATIONS, tmp_path).key == own.key
    assert not any(one.path.exists() for one in others)


def test_the_fastest_precision_of_each_machine_has_outputs_of_its_own(
    tiny_run: Path, test_set: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set()
    for amx, precision in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda amx=amx: {"amx_bf16": amx})
        opened = open_run("tiny", tiny_run, {"search.precision": "fastest"})
        assert opened.settings.search.precision == precision
        keys.add(Outputs(opened, test_set, Kind.TRANSLATIONS, tmp_path).key)
    assert len(keys) == 2


def test_time_is_shared_by_source_words(
    run: OpenedRun, test_set: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 7))  # every batch takes 7 seconds
    monkeypatch.setattr(outputs, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    _, found = Outputs(run, test_set.first(3), Kind.TRANSLATIONS, tmp_path).read(silent)
    words = [max(1, len(output.translation.source_tokens) - 1) for output in found]
    expected = [round(7 * own / sum(words), 6) for own in words]
    assert [output.seconds for output in found] == expected


WEIGHTS = np.array([[0.75, 0.25, 0.0], [0.0004, 0.0, 0.9996]], dtype=np.float32)
OURS = Translation(
    "text",
    ["a", "b"],
    ["x", "y", "</s>"],
    -1.23456789,
    [-0.5, -0.75, -0.25],
    WEIGHTS,
    finished=False,
)


def test_a_line_comes_back_as_it_was() -> None:
    found = from_line(as_line(OutputLine(7, OURS, 0.5, WEIGHTS[::-1])))
    assert (found.number, found.seconds) == (7, 0.5)
    for name in ("text", "tokens", "source_tokens", "score", "log_probabilities", "finished"):
        assert getattr(found.translation, name) == getattr(OURS, name)
    assert found.posterior is not None
    for weights, expected in (
        (found.translation.alignment, WEIGHTS),
        (found.posterior, WEIGHTS[::-1]),
    ):
        np.testing.assert_allclose(weights, expected, atol=6e-4)
        assert weights.dtype == np.float32


def test_the_largest_weight_of_a_row_stays_and_a_row_of_nothing_stays_nothing() -> None:
    weights = np.zeros((2, 4000), dtype=np.float32)
    weights[0] = 0.00025
    weights[0, 3000] = 0.00026
    both = Translation("", ["a", "b"], ["x"] * 4000, 0.0, [], weights)
    found = from_line(as_line(OutputLine(0, both))).translation
    assert found.links() == both.links()
    assert np.flatnonzero(found.alignment).tolist() == [3000]


def test_weights_that_were_left_out_are_not_given_to_the_others() -> None:
    weights = np.full((1, 61), 0.0004, dtype=np.float32)
    weights[0, 7] = 1 - 60 * 0.0004
    one = Translation("", ["a"], ["x"] * 61, 0.0, [], weights)
    found = from_line(as_line(OutputLine(0, one))).translation
    assert found.alignment[0, 7] == pytest.approx(0.976)


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "f"
    lines = [b'{"key": "k"}', *(as_line(OutputLine(number, OURS)).encode() for number in range(3))]
    file.write_bytes(b"\n".join([*lines, b""]))
    header, read = read_outputs(file)
    assert (header, [output.number for output in read]) == ({"key": "k"}, [0, 1, 2])
    for number, damaged in (
        *((1, b"[]"), (1, b"no json"), (3, b'{"number": 1}')),
        *((4, b"[]"), (2, b"\xff\xfe"), (2, lines[2][:-5])),
    ):
        file.write_bytes(b"\n".join([*lines[: number - 1], damaged, *lines[number:]]))
        said = rf"f:{number}: is damaged: .* \(remove it; its sentences are then translated again\)"
        with refusal(said):
            read_outputs(file)


def test_outputs_without_a_sentence_are_damaged(
    run: OpenedRun, test_set: Texts, tmp_path: Path
) -> None:
    outputs = Outputs(run, test_set.first(3), Kind.TRANSLATIONS, tmp_path)
    outputs.read(silent)
    header, *lines = outputs.path.read_bytes().splitlines(keepends=True)
    for left in (lines[:-1], [lines[1], lines[0], lines[2]]):
        outputs.path.write_bytes(b"".join([header, *left]))
        with refusal("is damaged: sentences are missing"):
            outputs.read(silent)
