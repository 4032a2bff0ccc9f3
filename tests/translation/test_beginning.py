"""Beginnings that are kept: the search completes them, and the text begins as it was typed."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

from rnnsearch import Translator
from rnnsearch.errors import InputWarning
from rnnsearch.search.beam import Hypothesis
from rnnsearch.settings import TranslationSettings
from rnnsearch.text.codec import Beginning, Codec, EncodedSentence
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import EOS, UNK, Vocabulary
from rnnsearch.translation.beginning import as_typed, by_sentence, encode_beginning, respaced
from rnnsearch.translation.choices import next_words
from rnnsearch.translation.copied import STAND_INS
from rnnsearch.translation.faithful import Faithful

LINE = "The man sees the horse."


@pytest.fixture(scope="module")
def words(tiny_run: Path) -> Translator:
    return Translator.load(tiny_run)


@pytest.fixture(scope="module")
def subwords(tiny_subword_run: Path) -> Translator:
    return Translator.load(tiny_subword_run)


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_every_beginning_of_the_best_gives_the_best(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """Words that are cut anywhere, in one batch with a line that has no beginning."""
    translator: Translator = request.getfixturevalue(kind)
    how = {"beam": 12, "settings": {"search.max_length_ratio": 1.0}}
    (best,) = translator.translate([LINE], **how)
    cuts = [
        place for place in range(1, len(best.text)) if "'" not in best.text[place - 1 : place + 1]
    ]
    begun = [*(best.text[:place] for place in cuts[::3]), None]
    for typed, result in zip(
        begun, translator.translate([LINE] * len(begun), prefix=begun, **how), strict=True
    ):
        assert result.text.startswith(typed or "")
        # the beam holds nothing else, so it may find a better one
        assert result.score >= best.score - 1e-4
        if result.score <= best.score + 1e-4:
            assert result.text == best.text


def test_no_beginning_is_the_same_translation(words: Translator) -> None:
    for none in (None, "", "  "):
        assert words.translate([LINE], prefix=[none], nbest=3) == words.translate([LINE], nbest=3)


def test_an_unfinished_word_is_completed_in_every_segmentation(subwords: Translator) -> None:
    """What the places allow are all subwords whose letters agree, up to the one that has the last letter."""
    codec = subwords.target
    typed = "Le homm"
    beginning = encode_beginning(typed, codec)
    assert (list(beginning.words), beginning.kept) == (["Le"], 2)
    letters, places = "▁homm", beginning.places[len(beginning.word_of) :]
    spelt = {
        number: codec.vocabulary.word(number) for number in range(UNK + 1, len(codec.vocabulary))
    }

    def agreeing(rest: str) -> set[tuple[int, ...]]:
        if not rest:
            return {()}
        ends = {(number,) for number, text in spelt.items() if text.startswith(rest)}
        inside = [
            (number, text)
            for number, text in spelt.items()
            if text != rest and rest.startswith(text)
        ]
        return ends | {
            (number, *more) for number, text in inside for more in agreeing(rest[len(text) :])
        }

    def allowed(place: int) -> set[tuple[int, ...]]:
        if place >= len(places):
            return {()}
        return {
            (one, *more) for one, step in places[place].items() for more in allowed(place + step)
        }

    assert allowed(0) == agreeing(letters)
    assert len(allowed(0)) > 1


@pytest.mark.parametrize(
    ("typed", "kept", "tokens"),
    [
        ("  Le   xyzzy ", "  Le   xyzzy", ["Le", "xyzzy"]),  # no subwords: UNK, written as typed
        ("Le XYZZY", "Le XYZZY", ["Le", "XYZZY"]),
        ("Le ☃, ", "Le ☃,", ["Le", "☃", ","]),
    ],
)
@pytest.mark.parametrize("no_unk", [False, True])
def test_the_text_begins_as_typed(
    words: Translator, typed: str, kept: str, tokens: list[str], no_unk: bool
) -> None:
    settings = {
        "translation.replace_unk": True,
        "search.no_unk": no_unk,
        "search.max_length_ratio": 3.0,
    }
    with pytest.warns(InputWarning, match=f"line 1: .* words of the beginning: {tokens[1]} "):
        (result,) = words.translate(["   " + LINE], prefix=[typed], nbest=2, settings=settings)
    for one in (result, *result.alternatives):
        assert one.text.startswith(kept)
        assert one.tokens[: len(tokens)] == tokens
        assert len(one.alignment) == len(one.confidence) == len(one.tokens)


@pytest.mark.parametrize(
    ("typed", "text", "kept"),
    [("ก", "กุ้งสด", "กุ้งสด"), ("क", "क्या है", "क्या है"), ("Le  ", "Le chat", "Le chat")],
)
def test_no_sign_of_a_vowel_is_lost(words: Translator, typed: str, text: str, kept: str) -> None:
    assert as_typed(typed, text, words.target) == respaced(typed, text) == kept


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_words_in_another_script_are_named(kind: str, request: pytest.FixtureRequest) -> None:
    """Those of the source are not: a translation may copy them."""
    translator: Translator = request.getfixturevalue(kind)
    how = {"settings": {"search.max_length_ratio": 9.0}}
    said = "line 2: the model does not know these words of the beginning: мир, Жук (they stay as"
    with pytest.warns(InputWarning, match=re.escape(said)):
        found = translator.translate(
            [LINE, f"Привет {LINE}"], prefix=["Le", "Привет мир Жук мир"], **how
        )
    assert [one.unknown_words for one in found] == [[], ["мир", "Жук"]]
    assert found[1].text.startswith("Привет мир Жук мир")
    assert found[1].to_dict()["unknown_words"] == ["мир", "Жук"]


@pytest.mark.parametrize("mark", ["\0", "\t", "\n", "\u2028"])
def test_control_characters_are_spaces(words: Translator, mark: str) -> None:
    found = words.translate([LINE] * 2, prefix=[f"Le{mark}homme", "Le homme"])
    assert found[0].text == found[1].text


SENTENCES = {
    # (beginning, number of sentences) → the beginnings of the sentences; a line break: it is complete
    "inside the second": ("Oui. Non, il", 3, ["Oui. \n", "Non, il", ""]),
    "the first has ended": ("Oui. ", 2, ["Oui. \n", ""]),
    "its end is not certain": ("Oui.", 2, ["Oui.", ""]),
    "more than the source has": ("Oui. Non. Si", 2, ["Oui. \n", "Non. Si"]),
    "one sentence": ("Oui. Non. ", 1, ["Oui. Non. "]),
    "complete": ("Oui. Non.\n", 2, ["Oui. \n", "Non.\n"]),
}


@pytest.mark.parametrize(("typed", "count", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_a_beginning_is_cut_into_sentences(typed: str, count: int, expected: list[str]) -> None:
    assert by_sentence(typed, count, "fr") == expected


def test_complete_sentences_stay_and_the_next_is_begun(words: Translator) -> None:
    line = "The man sees the horse. She sleeps."
    (result,) = words.translate(
        [line], prefix=["Elle dort. Le"], settings={"translation.split_sentences": True}
    )
    assert result.text.startswith("Elle dort. Le")
    assert result.parts == 2
    first = result.tokens.index(".") + 1
    assert result.tokens[:first] == ["Elle", "dort", "."]
    assert not result.alignment[:first, 6:-1].any()  # they read the first sentence


def sentence_of(words: str, kept: int) -> EncodedSentence:
    given = words.split()
    ids = [*range(2, 2 + len(given)), EOS]
    return EncodedSentence(given, ids, list(range(len(ids))), beginning=Beginning(kept=kept))


FAITHFUL = {
    # source, words kept, all words of the translation, the source word that each reads → what is written
    "an invented word stays": ("Xyzzy sleeps .", 1, "Zyxxy dort .", [0, 1, 2], "Zyxxy dort ."),
    "a number is not written twice": ("On 12 May at 10", 1, "12 mai", [1, 2], "12 mai 10"),
    "a number of another form": (
        "It costs 12,000 euros",
        2,
        "12 000 euros",
        [2, 2, 3],
        "12 000 euros",
    ),
    "it breaks off in a number": (
        "The 10,000 men",
        2,
        "Les 10 000 hommes",
        [0, 1, 1, 2],
        "Les 10 000 hommes",
    ),
    "in a time of day": ("at 3:30 pm .", 2, "à 15 h 30 .", [0, 1, 1, 1, 3], "à 15 h 30 ."),
    "an address": ("See www.x.com now", 1, "www.x.com voir", [1, 0], "www.x.com voir"),
    "the rest is copied": ("Xyzzy sees 12", 1, "Il Zyxx voit 13", [1, 0, 1, 2], "Il Xyzzy voit 12"),
    "a name has been written": ("Xyzzy sees .", 1, "Xyzzy Zyxx voit", [0, 0, 1], "Xyzzy voit"),
}


@pytest.mark.parametrize(
    ("source", "kept", "made", "read", "expected"), FAITHFUL.values(), ids=FAITHFUL
)
def test_nothing_changes_the_beginning(
    words: Translator, source: str, kept: int, made: str, read: list[int], expected: str
) -> None:
    known = {"dort", "mai", "euros", "voir", "Il", "voit", ".", "hommes", "Les", "à", "h"}
    faithful = Faithful(words.source, known, {}, "fr")
    sentence = sentence_of(source, kept)
    alignment = np.eye(len(sentence.words) + 1, dtype=np.float32)[read]
    how = TranslationSettings(faithful=True)
    found = faithful(sentence, made.split(), alignment, [0.5] * len(read), how)
    assert " ".join(found[0]) == expected


REFUSED = {
    "too few": ([LINE, LINE], ["Le"], "the text has 2 lines and prefix has 1"),
    "too many": ([LINE], ["Le", "La"], "the text has 1 line and prefix has 2"),
    "no text": ([LINE], [3], "prefix 1 is 3, of type int"),
    "too long": (
        [LINE],
        ["Le " * 50],
        "line 1: the beginning has 50 words or subwords, and 7 are allowed",
    ),
    "too long with its unfinished word": (
        [LINE],
        ["Le " * 7 + "ho"],
        "line 1: the beginning has 8 words or subwords, and 7 are allowed",
    ),
}


@pytest.mark.parametrize(("lines", "prefix", "says"), REFUSED.values(), ids=REFUSED)
def test_bad_beginnings_are_refused_in_one_line(
    words: Translator, lines: list[str], prefix: list[str], says: str
) -> None:
    with refusal(says) as caught:
        words.translate(lines, prefix=prefix)
    assert "\n" not in str(caught.value)


def test_other_directions_are_refused(
    tiny_backward_run: Path, tiny_bidirectional_run: Path
) -> None:
    for run in (tiny_backward_run, tiny_bidirectional_run):
        translator = Translator.load(run)
        for use in (
            lambda one: one.translate([LINE], prefix=["Le"]),
            lambda one: one.choices(LINE),
        ):
            with refusal("does not write from left to right"):
                use(translator)


def test_an_ensemble_keeps_beginnings(tiny_run: Path, other_tiny_run: Path) -> None:
    translator = Translator.load(tiny_run, other_tiny_run)
    (result,) = translator.translate([LINE], prefix=["Le homme"])
    assert result.text.startswith("Le homme")


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_choices_are_whole_words_with_their_probability(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """p of a word is what forced decoding gives its ids, and the best one is what a search would write."""
    translator: Translator = request.getfixturevalue(kind)
    found = translator.choices(LINE, "Le", 5)
    assert len(found) == 5
    assert [one.probability for one in found] == sorted(
        (one.probability for one in found), reverse=True
    )
    assert sum(one.probability for one in found) <= 1 + 1e-6
    assert len({one.word for one in found}) == 5
    if kind == "words":
        for word, probability in found:
            (forced,) = translator.force([(LINE, f"Le {word}")])
            assert math.exp(forced.log_probabilities[1]) == pytest.approx(probability, rel=1e-3)
    assert translator.choices(LINE, "Le ", 5) == found
    assert translator.choices("") == []


def test_the_text_before_a_word(words: Translator) -> None:
    (result,) = words.translate([LINE], prefix=["  L'homme voit"])
    before = [result.before(place) for place in range(3)]
    assert before == list(itertools.accumulate(["", "  L'", "homme"]))


@pytest.mark.parametrize(
    ("language", "typed"),
    [
        ("fr", "Il mesure 1m85 et "),
        ("fr", "Le billet coûte 12 euros 50 pour "),
        ("fr", "Il fait moins 5 degrés et "),
        ("fr", "de 9h-18h et l' eau "),
        ("en", "open 9am-5pm and "),
    ],
)
def test_a_beginning_keeps_its_letters(language: str, typed: str) -> None:
    codec = Codec(Tokeniser("moses", language), Vocabulary(["a"]))
    words = encode_beginning(typed, codec, True).words
    assert "".join(codec.text(words).split()) == "".join(typed.split())


def test_what_is_copied_is_offered_in_place_of_its_stand_in(
    words: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAND_INS, "address", ["Le"])
    (part,) = words.parts("The https://example.org/a.")
    written = (*words.target.encode_words(["Le"]).ids[:-1], EOS)
    found = [[Hypothesis(written, 0.0, (0.0, 0.0), np.zeros((2, 1), np.float32), True)]]
    for faithful, expected in ((True, "https://example.org/a"), (False, "Le")):
        part = replace(part, words=["The", "https://example.org/a", "."])
        how = words.settings.search
        (choice,) = next_words(part, words.target, 1, how, lambda *_, **__: found, faithful)
        assert choice.word == expected
