from __future__ import annotations

import sys
from itertools import islice, product
from pathlib import Path

import pytest
from pairs import pairs_of

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.preparing import filters
from rnnsearch.text.preparing.filters import (
    FILTERS,
    TokenisedPair,
    active_filters,
    another_language,
    governing_setting,
    reason,
    wrong_language,
)

pytest.importorskip("py3langid")

EVERYTHING = DataSettings.model_validate(
    {"drop_identical": True, "drop_control_characters": True, "entities": "drop", "language_certainty": 0.9}
)


def words(count: int) -> str:
    return " ".join(["w"] * count)


def pair_of(source: str, target: str) -> TokenisedPair:
    return TokenisedPair(source, target, source.split(), target.split())


@pytest.mark.parametrize(
    ("name", "settings", "dropped", "kept"),
    [
        ("empty side", {}, "|b, a| , |", "a|b"),
        ("too long", {}, f"{words(201)}|b, a|{words(201)}", f"{words(200)}|{words(200)}"),
        ("too long", {"max_words": 2}, "a b c|b", ""),
        # as in Moses: more than nine times
        ("length ratio", {}, f"a|{words(10)}, {words(10)}|b, {words(2)}|{words(19)}", f"a|{words(9)}"),
        ("length ratio", {"max_ratio": 1.4}, "w w|w w w", ""),
        ("length ratio", {"max_ratio": 1.5}, "", "w w|w w w"),
        ("length ratio", {"max_ratio": 1.0}, "", "w w w|w w w"),
        ("identical sides", {}, "a b|a  b", "a b|a B, a b|a b c"),
        (
            "control characters",
            {},
            ", ".join(f"c|a{control}b" for control in "\x00\x07\x0b\x0c\x1b\x1f\x7f\x85\x92\x9f\u2028\u2029"),
            ", ".join(f"a{blank}b|c" for blank in " \t\r\u00a0\u200b\u3000\ufeff"),
        ),
        (
            "html entities",
            {},
            "a&amp;b|c, a&lt;b|c, a&#39;b|c, a&#x2019;b|c, a&nbsp;b|c, a&unheard-of;&eacute;b|c",
            "AT&T; no|c, R&D|c, a & b;|c, &;|c, &#;|c, &é;|c, & amp;|c",
        ),
    ],
)
def test_a_filter_drops(name: str, settings: dict[str, object], dropped: str, kept: str) -> None:
    (drops,) = (drops for drops in FILTERS if reason(drops) == name)
    chosen = DataSettings.model_validate(settings)
    for text, expected in ((dropped, True), (kept, False)):
        for source, target in pairs_of(text):
            for pair in (pair_of(source, target), pair_of(target, source)):
                assert drops(pair, chosen) is expected, pair


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["length ratio"]),
        ({"max_ratio": 0}, []),
        ({"drop_identical": True}, ["length ratio", "identical sides"]),
        ({"drop_control_characters": True}, ["length ratio", "control characters"]),
        ({"entities": "drop"}, ["length ratio", "html entities"]),
        ({"entities": "resolve"}, ["length ratio"]),
        ({"drop_duplicates": True}, ["length ratio"]),  # needs a memory of all pairs, so it is no filter
    ],
)
def test_settings_turn_filters_on(settings: dict[str, object], names: list[str]) -> None:
    active = active_filters(DataSettings.model_validate(settings))
    assert [reason(drops) for drops in active] == ["empty side", "too long", *names]


def test_every_filter_can_be_turned_on_and_says_by_what() -> None:
    assert active_filters(EVERYTHING) == list(FILTERS)
    settings = [governing_setting(drops) for drops in FILTERS]
    assert settings[:3] == ["", "data.max_words", "data.max_ratio"]
    assert all(setting.removeprefix("data.") in DataSettings.model_fields for setting in settings[1:])


ENGLISH = "The committee will meet again next week to discuss the report."
FRENCH = "La commission se réunira de nouveau la semaine prochaine pour examiner le rapport."
GERMAN = "Der Ausschuss wird nächste Woche wieder zusammentreten, um den Bericht zu erörtern."


def drops(source: str, target: str, certainty: float = 0.9) -> bool:
    return wrong_language(pair_of(source, target), DataSettings(language_certainty=certainty))


@pytest.mark.parametrize(("source", "target"), list(product([ENGLISH, FRENCH, GERMAN], repeat=2)))
def test_a_sentence_in_another_language_is_dropped(source: str, target: str) -> None:
    assert drops(source, target) is ((source, target) != (ENGLISH, FRENCH))


SHORT = "|1998|VOTES|Non !|Merci.|Voilà.|Jacques Chirac|(H-0780/99)|?!|☃|No."


@pytest.mark.parametrize("line", [" ", *SHORT.split("|")])
def test_short_lines_are_no_evidence(line: str) -> None:
    assert not drops(line, FRENCH)
    assert not drops(ENGLISH, line)


def test_small_neighbours_do_not_take_a_languages_sentences() -> None:
    for line in ("C' est vrai.", "C' est grave.", "J' estime que c' est honteux."):  # Walloon?
        assert another_language(line, "fr", "en") < 0.5


def test_a_line_in_its_own_language_counts_nothing() -> None:
    assert another_language(ENGLISH, "en", "fr") == 0.0
    assert another_language(ENGLISH, "fr", "en") > 0.9
    assert another_language(ENGLISH, "fr", "de") > 0.9  # considered although the settings do not name it


def test_the_probability_grows_with_the_line() -> None:
    words = FRENCH.split()
    certainties = [another_language(" ".join(words[:count]), "en", "fr") for count in (2, 4, len(words))]
    assert certainties == sorted(certainties)
    assert certainties[0] < 0.9 < certainties[-1]


def test_a_language_that_is_not_widely_written_can_be_named() -> None:
    breton = "Emañ ar vugale o c'hoari er porzh gant o c'hi bihan gwenn."
    assert another_language(breton, "br", "fr") == 0.0
    assert another_language(FRENCH, "br", "fr") > 0.9


@pytest.mark.parametrize("unknown", ["", "xx", "pt-br", "EN"])
def test_an_unknown_language_is_refused_before_any_work(unknown: str) -> None:
    with pytest.raises(InputError, match=r"does not know '.*language_certainty=0"):
        active_filters(DataSettings(language_certainty=0.9, target_language=unknown))
    active_filters(DataSettings(target_language=unknown))  # nobody is asked


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    filters._identifier.cache_clear()
    with pytest.raises(InputError, match=r"needs py3langid \(pip install 'rnnsearch\[language\]'"):
        active_filters(DataSettings(language_certainty=0.9))
    filters._identifier.cache_clear()


def test_hardly_any_sound_pair_is_dropped(shared_data: Path) -> None:
    corpus = shared_data / "multi30k"
    pairs = list(islice(read_pairs(corpus / "train.en.gz", corpus / "train.fr.gz"), 1_000))
    assert sum(drops(*pair) for pair in pairs) <= 2
    assert sum(drops(target, source) for source, target in pairs) >= 990
