"""Words that English and French have beside numbers: of days, kings, decades and shares.
page/engine/number_words.js has the same rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rnnsearch.text.codec import JOINER
from rnnsearch.translation.number_forms import is_number
from rnnsearch.translation.target_words import Word, beside, copy, reword, word_at
from rnnsearch.translation.word_tables import word_list, word_table

MONTHS = word_list(
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
)
ENGLISH_MONTHS = word_list(
    "January February March April May June July August September October November December"
)
WEEKDAYS = word_list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
BEFORE_DAY = word_list("on by until till from before after since")
AFTER_NUMBER = ["", *word_list(". , ! ? ; is was at and or to of for if")]
"""What may follow a day that is a number alone: *on the 5th is*."""
POSSESSORS = word_list("his her their my your our")
POSSESSIVES = word_list("ses leurs mes tes vos nos")
DECADES_OF_LIFE = word_table(
    "20 vingtaine, 30 trentaine, 40 quarantaine, 50 cinquantaine, 60 soixantaine"
)
"""Figures of an age (her 40s) → what French says after *la*."""
PERIODS = word_list("second minute hour day night week month year decade")
COUNTED_OF = word_list("page étape question épisode photo image partie tome")
"""What is counted by *3 of 10* in English, not by *3 out of 10*."""


def is_day(words: Sequence[str], place: int) -> bool:
    """Tells whether an English ordinal is a day of the month: *May 4th*, *the 4th of May*,
    *Friday the 13th*, *on the 5th*."""
    has_article = word_at(words, place - 1) == "the"
    before = word_at(words, place - 1 - has_article)
    after, following = word_at(words, place + 1), word_at(words, place + 2)
    alone = before.lower() in BEFORE_DAY and after in AFTER_NUMBER
    if has_article and (before in WEEKDAYS or alone):
        return True
    return before in ENGLISH_MONTHS or (following if after == "of" else after) in ENGLISH_MONTHS


def is_king(words: Sequence[str], place: int) -> bool:
    """Tells whether the word is the number of a king in French: François Ier."""
    before, after = beside(words, place)
    name = before[:1].isupper() and not before.isupper() and len(before) > 2
    return name and words[place] in ("Ier", "Ire") and after not in ("siècle", "arrondissement")


def hold_decades(words: Sequence[str], made: list[Word], language: str) -> None:
    """Writes *the 2000s* for *the 2000 years*, *la trentaine* for *ses 30* (her 30s), and
    *années 60* for *60*. language: of the translation."""
    for at in reversed(range(len(made))):
        word, place = made[at], made[at].copied
        if place is None or not re.fullmatch(r"\d*\d0", word.text):
            continue
        source, before = words[place], [one.lower() for one in words[:place]]
        last = made[at - 1].text.lower() if at else ""
        if language == "en" and before[-1:] == ["années"]:
            reword(made, at, f"{word.text}s")
            texts = [one.text for one in made]
            years = [near for near in (at + 1, at - 1) if word_at(texts, near) in ("year", "years")]
            for near in years[:1]:
                del made[near]
        elif language == "fr" and re.fullmatch(r"\d*\d0s", source) and last:
            own = any(one in POSSESSORS for one in before[-2:])
            if own and word.text in DECADES_OF_LIFE and last in POSSESSIVES:
                reword(made, at, DECADES_OF_LIFE[word.text])
                reword(made, at - 1, "la")
                if made[at + 1 :] and made[at + 1].text in ("ans", "heures"):
                    del made[at + 1]
            elif not own and last in ("les", "des", "aux"):
                made.insert(at, replace(word, text="années"))


def hold_shares(words: Sequence[str], places: Sequence[int], made: list[Word]) -> None:
    """Writes *sur* between the numbers of *3 out of 4* and *1 in 5 children*, and *out of*
    between those of *3 sur 4*."""
    for link, end in pairwise(range(len(words))):
        if end not in places or (first := _part_of_share(words, places, link)) is None:
            continue
        copied = [word.copied for word in made]
        if not {first, end} <= {*copied}:
            continue
        begin, stop = len(copied) - copied[::-1].index(first), copied.index(end)
        run = made[begin:stop]
        if not 0 < len(run) <= 2 + (first < link - 1):
            continue
        if words[link] != "sur":
            if not any(is_number(word.text) for word in run):
                made[begin:stop] = [copy("sur", run, link)]
        elif run[-1].text in ("on", "to", "at", "for"):
            counted = words[max(first - 1, 0)].lower() in COUNTED_OF
            text = "of" if counted else f"out{JOINER}of"
            made[stop - 1] = copy(text, run[-1:], link)


def _part_of_share(words: Sequence[str], places: Sequence[int], link: int) -> int | None:
    """Returns the place of the part if this word is between the numbers of a share."""
    before, text, whole, after = (word_at(words, link + step) for step in range(-1, 3))
    first = link - 1 - (before == "out" or (text == "sur" and link - 1 not in places))
    if text not in ("of", "in", "sur") or first not in places:
        return None
    parts = words[first].replace(",", "."), whole
    if not (re.fullmatch(r"\d+(?:\.\d+)?", parts[0]) and whole.isdecimal()):
        return None
    large = float(parts[0]) > int(whole) or (text == "in" and int(whole) > 10)
    noun = text == "sur" and first < link - 1 and after[-1:] in ("s", "x")  # sur 10 ans
    noun |= text == "in" and after.removesuffix("s") in PERIODS  # 2 in 10 minutes
    return None if large or noun or after in (*ENGLISH_MONTHS, "m", "cm", "km") else first
