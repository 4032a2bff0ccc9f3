"""Text that does not fit a model is named once: long lines, unknown words, the target language."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import Command

from rnnsearch.errors import InputWarning
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.text.codec import JOINER, Codec
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.source_lines import noted, warn_of_target_language
from rnnsearch.translation.translator import Translator


def translation(words: list[str], parts: int = 1) -> Translation:
    return Translation("", [], [*words, "</s>"], 0.0, [], np.zeros((0, 1), np.float32), parts=parts)


def notes_of(source: Codec, *lines: str) -> list[str]:
    notes: list[str] = []
    results = [translation(source.tokeniser.words(line)) for line in lines]
    passed = noted(iter(results), source, 400, notes.append)
    assert next(passed) is results[0]
    assert notes == []
    assert list(passed) == results[1:]
    return notes


@pytest.fixture
def words() -> Codec:
    return Codec(Tokeniser("space", "en"), Vocabulary(["the", "man", "."]))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["the man .", ""], None),
        (["the xyzzy .", "the plugh plugh"], "3 of 6 source words: xyzzy, plugh ("),
        (["a b c d e a"], "6 of 6 source words: a, b, c, d, e ("),
        (["a b c d e f g"], "7 of 7 source words: a, b, c, d, e, … ("),
        (["z" * 100], f"1 of 1 source words: {'z' * 29}… ("),
        (["</s> <unk>"], "2 of 2 source words: </s>, <unk> ("),
    ],
)
def test_unknown_words_of_a_word_list(words: Codec, lines: list[str], said: str | None) -> None:
    notes = notes_of(words, *lines)
    assert len(notes) == (said is not None)
    for note in notes:
        assert note.startswith(f"warning: the run does not know {said}")
        assert "data.subwords" in note


def test_with_subwords_only_characters_are_unknown(tiny_subword_run: Path) -> None:
    source = Run.open(tiny_subword_run).source
    assert notes_of(source, "The manhorse thesees.") == []
    assert notes_of(source, "The Жук man.") == [
        "warning: the run does not know 1 of 4 source words: Жук (they hold characters that did not occur "
        "in training)"
    ]


def test_a_word_with_spaces_is_known_by_its_parts(words: Codec) -> None:
    notes: list[str] = []
    results = [translation([f"xyzzy{JOINER}", f"the{JOINER}man", f"the{JOINER}plugh"])]
    assert list(noted(iter(results), words, 400, notes.append)) == results
    assert len(notes) == 1
    assert "1 of 3 source words: plugh (" in notes[0]


def test_lines_that_were_cut_are_named_at_the_first_and_counted_at_the_end(words: Codec) -> None:
    notes: list[str] = []
    results = [translation(["the"] * 11, parts) for parts in (1, 3, 2)]
    passed = noted(iter(results), words, 10, notes.append)
    assert [next(passed), next(passed)] == results[:2]
    said = "warning: line 2 is longer than translation.max_source_length = 10: it is translated in 3 parts"
    assert [note.partition(" (")[0] for note in notes] == [said]
    assert list(passed) == results[2:]
    assert notes[1:] == ["warning: 2 lines were translated in parts"]


def warned(translator: Translator, lines: list[str]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        words = (word for line in lines for word in translator.source.tokeniser.words(line))
        warn_of_target_language(words, translator.source, translator.target)
    return [str(each.message) for each in caught if each.category is InputWarning]


@pytest.mark.parametrize("fixture", ["tiny_run", "tiny_subword_run"])
def test_the_target_language_is_named_once(
    fixture: str, request: pytest.FixtureRequest, tiny_corpus: Path
) -> None:
    translator = Translator.load(request.getfixturevalue(fixture))
    french, english = (list(read_lines(str(tiny_corpus / f"test.{side}"))) for side in ("fr", "en"))
    expected = "the text seems to be in the model's target language (fr), and this model translates from en"
    for lines in (french[:3], french):
        assert warned(translator, lines) == [expected]
    for lines in (
        english[:3],
        english,
        ["un deux trois"],
        ["Jean Dupont, Paris 1789-1799"] * 20,
        [""],
    ):
        assert warned(translator, lines) == []


def test_models_of_real_text_hardly_err(shared_data: Path) -> None:
    models = Path(__file__).resolve().parents[2] / "models" / "src" / "rnnsearch_models"
    translator = Translator.load(models / "en-fr")
    texts = {}
    for side in ("en", "fr"):
        lines = list(read_lines(str(shared_data / "newstest" / f"newstest2012.{side}.gz")))[:900]
        texts[side] = [lines[start : start + 3] for start in range(0, len(lines), 3)]
    assert sum(bool(warned(translator, lines)) for lines in texts["en"]) == 0
    assert sum(bool(warned(translator, lines)) for lines in texts["fr"]) >= 297


def test_python_and_the_command_warn(
    command: Command, tiny_subword_run: Path, tiny_corpus: Path
) -> None:
    lines = list(read_lines(str(tiny_corpus / "test.fr")))[:4]
    with pytest.warns(InputWarning, match="target language"):
        Translator.load(tiny_subword_run).translate(lines, beam=1)
    done = command("translate", tiny_subword_run, "--beam", 1, stdin="\n".join(lines).encode())
    assert done.err.count("target language") == 1
    assert done.err.startswith("warning: the text seems to be in the model's target language (fr)")


def test_numbers_to_check_are_named_with_their_line(words: Codec) -> None:
    notes: list[str] = []
    results = [translation(["the"]), replace(translation(["the"]), doubtful_numbers=["15", "3rd"])]
    assert list(noted(iter(results), words, 10, notes.append)) == results
    assert notes == [
        "warning: line 2: numbers may differ from the source: 15, 3rd (check this line)"
    ]
