"""Numbers of a translation in the form of its language: hours, days, decades, shares, thousands, signs."""

from __future__ import annotations

import numpy as np
import pytest

from rnnsearch.text.codec import JOINER, Codec
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.copied import faithful_words, kind_of
from rnnsearch.translation.dates import written_hours
from rnnsearch.translation.number_forms import is_source_number
from rnnsearch.translation.numbers import Numbers
from rnnsearch.translation.target_words import Word

CASES = """
en the first hour of two | from 2 to 4 pm | de 2 à 16 heures | 0 1 2 3 4 | de 14 à 16 heures
en of two with minutes | between 6:30 and 9:30 pm | entre 6_h_30 et 21_h_30 | 0 1 2 3 | entre 18_h_30 et 21_h_30
en a morning and an afternoon | from 10 to 4 pm | de 10 à 16 heures | 0 1 2 3 4 | de 10 à 16 heures
en an hour alone | at 3 pm , | à 3 , | 0 1 3 | à 15h ,
en a share | 7 out of 10 books | 7 à 10 livres | 0 2 3 4 | 7 sur 10 livres
en a share of few | 1 in 5 children | 1 , 5 enfants | 0 1 2 3 | 1 sur 5 enfants
en minutes are no share | 2 in 10 minutes | 2 en 10 minutes | 0 1 2 3 | 2 en 10 minutes
en a day | on the 5th is | du 5e est | 0 2 3 | du 5 est
en the first day | on 1 July | le 1 juillet | 0 1 2 | le 1er juillet
en a floor | on the 5th floor | au 5e étage | 0 2 3 | au 5e étage
en thousands | 12,450 votes | 12450 voix | 0 1 | 12_450 voix
en a year of life | in his 40s . | dans ses 40 . | 0 1 2 3 | dans la quarantaine .
en a decade | the 60s and | les 60 et | 0 1 2 | les années 60 et
fr a decade | les années 2000 sont | the 2000 years are | 0 2 1 3 | the 2000s are
fr hours that last | pendant 3 heures | for 3 pm | 0 1 2 | for 3 hours
fr an hour of the day | à 15 heures | at 15 pm | 0 1 2 | at 3 pm
fr a number beside another | à 12h00 / 14h | at 12 : 00 | 0 1 1 4 | at 12 : 00 14h
fr a share | 3 sur 4 sont | 3 on 4 are | 0 1 2 3 | 3 out_of 4 are
fr a share of pages | page 3 sur 10 | page 3 on 10 | 0 1 2 3 | page 3 of 10
fr no share | 3 plans sur 10 ans | 3 plans on 10 years | 0 1 2 3 4 | 3 plans on 10 years
fr a lost minus | de -5 % | of 5 % | 0 1 2 | of -5 %
en a minus apart | now -3.5 degrees | à - 3,5 degrés | 0 1 1 2 | à -3,5 degrés
en a minus twice | -3.5 | - -3.5 | 0 0 | -3.5
en a thousand too many | 2,000 years | 2_000 mille ans | 0 0 1 | 2_000 ans
en a thousand behind a year | In 2015 thousands | En 2015 mille | 0 1 1 | En 2015 mille
en a dash of its own | - -3.5 | - - 3,5 | 0 1 1 | - - 3,5
en a thousand | 2 thousand years | 2 mille ans | 0 1 2 | 2 mille ans
fr a king | François Ier règne | François 1st reigns | 0 1 2 | François I reigns
"""
"""Source language, name, source, translation, the source word that each of its words read, what is written."""


@pytest.mark.parametrize("case", CASES.strip().split("\n"))
def test_a_number_has_the_form_of_its_language(case: str) -> None:
    name, source, target, read, expected = (part.replace("_", JOINER) for part in case.split(" | "))
    words = source.split(" ")
    rows = np.eye(len(words) + 1, dtype=np.float32)[list(map(int, read.split()))]
    made = [Word(text, row, 0.5) for text, row in zip(target.split(" "), rows, strict=True)]
    places = [place for place, word in enumerate(words) if is_source_number(word)]
    languages = (name[:2], "fr" if name.startswith("en") else "en")
    held, _ = Numbers(words, places, made, languages).held()
    assert " ".join(word.text for word in held) == expected


@pytest.mark.parametrize(
    ("language", "line", "words"),
    [
        ("fr", "de 9h - 18h", "de 9h_-_18h"),
        ("fr", "lun.-ven. 9h30", "lundi à vendredi 9h30"),
        (
            "fr",
            "Mer. 5 janv. à 9h, le 3 sept. 1998.",
            "Mercredi 5 janvier à 9h , le 3 septembre 1998 .",
        ),
        ("fr", "sam. et dim. la mer.", "samedi et dimanche la mer ."),
        ("en", "Mon – Fri, Sat & Sun", "Monday to Friday , Saturday & Sunday"),
        ("en", "Tue. 5 Jan. I sat 3 days.", "Tuesday 5 January . I sat 3 days ."),
        (
            "en",
            "Sun 10:00, on 3rd Sept. in Dec. 2019",
            "Sunday 10:00 , on 3rd September in December 2019",
        ),
        ("en", "The sun closed in, he sat 9 am", "The sun closed in , he sat 9 am"),
        ("fr", "La mer fermée, 6 h en mer 6 h", "La mer fermée , 6 h en mer 6 h"),
        ("fr", "en 24h-48h", "en 24h-48h"),
        ("en", "open 9am-5pm", "open 9am-5pm"),
        ("en", "at 8.45 p.m. and 6.30am, or 3.5", "at 8:45 p.m. and 6:30am , or 3.5"),
        ("en", "£9.50 pm, 74.14 pm, 3.50 Am", "£ 9.50 pm , 74.14 pm , 3.50 Am"),
        ("fr", "il fait moins 10 degrés", "il fait -10 degrés"),
        ("fr", "elle mesure 1m85", "elle mesure 1,85 m"),
    ],
)
def test_numbers_are_read_as_networks_know_them(language: str, line: str, words: str) -> None:
    codec = Codec(Tokeniser("moses", language), Vocabulary([]))
    assert faithful_words(codec, line) == words.replace("_", JOINER).split()


@pytest.mark.parametrize(
    ("languages", "hours", "written"),
    [
        ("fr en", "9h30-12h", "9:30-12:00"),
        ("fr en", "8 h – 20 h 15", "8:00 – 20:15"),
        ("en fr", "9:30-12:00", "9:30-12:00"),
        ("en fr", "1:30-3:00 pm", "13h30-15h00"),
        ("en fr", "10:00-11:30 a.m.", "10h00-11h30"),
        ("en fr", "9 am - 5:30 pm", "9h - 17h30"),
        ("en fr", "12pm–12AM", "12h–0h"),
        ("en fr", "10-4 pm", "10h-16h"),
        ("en fr", "9.30am-5.30pm", "9h30-17h30"),
        ("en fr", "11-1 am", "23h-1h"),
        ("en de", "9am-5pm", "9am-5pm"),
        ("fr de", "9h-12h", "9h-12h"),
    ],
)
def test_two_hours_are_written_as_in_the_other_language(
    languages: str, hours: str, written: str
) -> None:
    source, target = languages.split()
    word = hours.replace(" ", JOINER)
    assert kind_of(word) == "hours"
    assert written_hours(word, (source, target)) == written.replace(" ", JOINER)
