from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.preparing import language
from rnnsearch.text.preparing.filters import TokenisedPair, active_filters, wrong_language
from rnnsearch.text.preparing.language import another_language, check_languages

ENGLISH = "The committee will meet again next week to discuss the report."
FRENCH = "La commission se réunira de nouveau la semaine prochaine pour examiner le rapport."
GERMAN = "Der Ausschuss wird nächste Woche wieder zusammentreten, um den Bericht zu erörtern."


@pytest.fixture(autouse=True)
def _identifier_is_there() -> None:
    pytest.importorskip("py3langid")


def drops(source: str, target: str, certainty: float = 0.9) -> bool:
    settings = DataSettings(language_certainty=certainty)
    return wrong_language(TokenisedPair(source, target, source.split(), target.split()), settings)


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [
        (ENGLISH, FRENCH, False),
        (FRENCH, ENGLISH, True),
        (ENGLISH, ENGLISH, True),
        (FRENCH, FRENCH, True),
        (GERMAN, FRENCH, True),
        (ENGLISH, GERMAN, True),
    ],
)
def test_a_sentence_in_another_language_is_dropped(source: str, target: str, dropped: bool) -> None:
    assert drops(source, target) is dropped


@pytest.mark.parametrize(
    "line", ["", " ", "1998", "VOTES", "Non !", "Merci.", "Voilà.", "Jacques Chirac", "(H-0780/99)", "?!", "\u2603", "No."]
)
def test_short_lines_are_no_evidence(line: str) -> None:
    assert not drops(line, FRENCH)
    assert not drops(ENGLISH, line)


def test_small_neighbours_do_not_take_a_languages_sentences() -> None:
    for line in ["C' est vrai.", "C' est grave.", "J' estime que c' est honteux.", "Promettre c' est s' engager."]:  # Walloon?
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
    language._identifier.cache_clear()
    with pytest.raises(InputError, match=r"needs py3langid \(pip install 'rnnsearch\[language\]'"):
        check_languages("en", "fr")
    language._identifier.cache_clear()


def test_hardly_any_sound_pair_is_dropped(shared_data: Path) -> None:
    corpus = shared_data / "multi30k"
    pairs = list(islice(read_pairs(corpus / "train.en.gz", corpus / "train.fr.gz"), 1_000))
    assert sum(drops(*pair) for pair in pairs) <= 2
    assert sum(drops(target, source) for source, target in pairs) >= 990
