"""Units and sizes behind a number (500ml, 5 km, 2 trillion), between English and French: the
network reads one that it knows, and the translation gets that of the source.
page/engine/measures.js has the same rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rnnsearch.translation.target_words import Word, copy, insert, word_at
from rnnsearch.translation.word_tables import word_list, word_table

_COMMON = dict.fromkeys(word_list("mm cm m km"), "km") | dict.fromkeys(
    word_list("mg g kg ml mL cl dl l L kW MW GW kWh Hz kHz MHz GHz"), "kg"
)
_ENGLISH = dict.fromkeys(word_list("kB KB MB GB"), "kg") | word_table(
    "trillion billion, tn billion, trillions billions, ft feet, lb pounds, lbs pounds, oz ounces,"
    " mph miles per hour, min minutes, mins minutes, hr hours, hrs hours, h hours, sec seconds,"
    " yrs years, wks weeks"
)
_FRENCH = dict.fromkeys(word_list("Ko Mo Go"), "kg") | word_table(
    "billion milliard, billions milliards, min minutes, mn minutes, sec secondes, h heures,"
    " H heures"
)
UNITS = {"en": _COMMON | _ENGLISH, "fr": _COMMON | _FRENCH}
"""Language → unit → what the network reads instead."""
UNIT_STAND_INS = {
    "km": r"^(?:km|kilom[eè]tres?|kilometers?)(?=\.?$)",
    "kg": r"^(?:kg|kilos?|kilogram(?:me)?s?)(?=\.?$)",
    **dict.fromkeys(
        ("billion", "billions", "milliard", "milliards"), r"^(?:milliard|billion)(?=s?\.?$)"
    ),
}
"""What was read instead of a unit that is to be written → its word in a translation."""
WRITTEN = {
    "fr": word_table("kB Ko, KB Ko, MB Mo, GB Go, trillion billion, trillions billion, tn billion"),
    "en": word_table("Ko KB, Mo MB, Go GB, billion trillion, billions trillion"),
}
"""Language → unit of the other language → its own."""
_NOUNS = (
    "acre bed bedroom carat cylinder degree door floor gallon game gram hole kilo kilometre liter"
    " litre mile ounce page part piece point room seat second speed star step volt watt yard"
)
PLURALS = word_table("foot feet, inch inches, century century")
PLURALS |= {noun: f"{noun}s" for noun in _NOUNS.split()}
"""Noun behind a number and a hyphen in English → what is read there: 5 inches for 5-inch."""
COUNTED_NOUN = re.compile(rf"(\d[\d.,]*(?:st|nd|rd|th)?)-({'|'.join(PLURALS)})")
MEASURE = re.compile(r"(\d[\d.,]*)?([^\W\d_]+)(\.?)")
TRILLIONS = word_list("trillion trillions tn billion billions")
"""Those that may stand behind a number in letters, too, or behind none: *two trillion*."""
MONEY = re.compile(r"[$£€]|EUR|ECUs?|USD|GBP|euros?|dollars?|pounds?")
MANY = re.compile(r"people|[a-z]+s")
"""What is counted: 5m people are millions."""


@dataclass(frozen=True)
class _Measure:
    """place: that of its unit. number: place of its number. figure: the number in the word of the
    unit, if it is there. stop: a full stop in this word. read: what is read instead of the unit."""

    place: int
    number: int
    figure: str
    unit: str
    stop: str
    read: str


def _measures(words: Sequence[str], languages: tuple[str, str]) -> Iterator[_Measure]:
    """Yields the measures of a source sentence; none between other languages."""
    source, target = languages
    if not {source, target} <= UNITS.keys():
        return
    for place, word in enumerate(words):
        found = MEASURE.fullmatch(word)
        if found is None or found[2] not in UNITS[source]:
            continue
        figure, unit, stop = found[1] or "", found[2], found[3]
        number = place - (not figure)
        after = word_at(words, place + 1)
        millions = figure and unit == "m" and source == "en"
        near = words if millions else [word_at(words, number - 1), after]
        size = unit in TRILLIONS
        money = not size and any(map(MONEY.fullmatch, near))
        counted = (millions and MANY.fullmatch(after)) or after in ("/", "'")
        behind = number >= 0 and (size or words[number][:1].isdecimal())
        if behind and not (money or counted):
            yield _Measure(place, number, figure, unit, stop, UNITS[source][unit])


def read_measures(words: Sequence[str], languages: tuple[str, str]) -> dict[int, str]:
    """Returns, for the places of units, what is read there."""
    measures = _measures(words, languages)
    read = {each.place: f"{each.figure} {each.read}{each.stop}" for each in measures}
    if languages == ("en", "fr"):
        for place, word in enumerate(words):
            if counted := COUNTED_NOUN.fullmatch(word):
                read[place] = f"{counted[1]} {PLURALS[counted[2]]}"
    return read


def hold_measures(words: Sequence[str], made: list[Word], languages: tuple[str, str]) -> list[str]:
    """Writes the units of the source where others were read, or behind their numbers. Numbers are
    held before. Returns the measures to check: those whose size is not found."""
    doubtful = list[str]()
    for each in _measures(words, languages):
        if each.read == each.unit or each.read not in UNIT_STAND_INS:
            continue
        unit = WRITTEN[languages[1]].get(each.unit, each.unit)
        near = {
            *(at + 1 for at, word in enumerate(made[:-1]) if word.copied == each.number),
            *(at for at, word in enumerate(made) if word.read in (each.number, each.place)),
        }
        pattern = UNIT_STAND_INS[each.read]
        held = [at for at in near if made[at].copied is None and re.match(pattern, made[at].text)]
        if held:
            text = re.sub(pattern, unit, made[held[0]].text)
            made[held[0]] = copy(text, [made[held[0]]], each.place)
        elif each.read not in ("kg", "km"):
            doubtful.append(" ".join(words[each.number : each.place + 1]))
        elif not any(unit in made[at].text for at in near):
            insert(made, unit, each.place, len(words), range(each.number, each.number + 1))
    return doubtful
