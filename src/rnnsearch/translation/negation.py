"""Spoken French without *ne*, which networks of written text translate without *not*.

page/engine/negation.js has the same rules."""

from __future__ import annotations

from collections.abc import Sequence

from rnnsearch.translation.word_tables import word_list

VOWELS = "aeiouyhàâéèêëîïôùû"
"""Letters before which *ne* loses its vowel."""
NEGATIONS = word_list("pas rien jamais")
IDIOMS = word_list("mal à moins après par")
"""What follows *pas* or *rien* where it negates nothing."""
COUNTED = word_list("un une deux trois quatre cinq six sept huit neuf dix vingt trente cent mille")
"""Behind *y a plus de*, which then means more."""
NO_VERBS = word_list(
    "et ou mais à de pour par sans que qui pourquoi tous toutes aussi le la les un une du des en"
    " y si donc"
)
POSITIVE = word_list("que qu' si s' comme dont où")
"""Words before a subject whose verb may have *jamais* or *rien* without *ne*: *plus qu'il a jamais
vu*."""
BEFORE_NEGATION = word_list("même meme vraiment toujours encore peut-être surtout")
"""Words between a verb and its negation."""
SUBJECTS = word_list("je j' tu il elle on nous vous ils elles ça c' qui")
OBJECTS = word_list("me m' te t' se s' le la l' les lui leur y en nous vous")
WHOLE_SUBJECTS = {"j'": "je", "c'": "ce"}
SURE_VERBS = word_list(
    "est sont était étaient sera seront a ont avait avaient va vont peut peuvent veut veulent doit"
    " doivent fait font marche marchent fonctionne aime aiment vient viennent"
)
"""Verbs that are negated whatever their subject is."""


def negate(read: list[list[str]]) -> None:
    """Adds *ne* to verbs with *pas*, *rien*, *jamais* or, after *peux* and *y a*, *plus*, and the
    pronouns that speech leaves out: *y a pas* → *il n'y a pas*, *t'as pas* → *tu n'as pas*. read:
    the words that are read, by place; they are changed."""
    flat = [(place, at) for place, parts in enumerate(read) for at in range(len(parts))]
    text = [read[place][at].lower() for place, at in flat]
    changes = [_with_ne(text, at) for at in range(len(text)) if _lacks_ne(text, at)]
    for at, parts in reversed(list(filter(None, changes))):
        place, part = flat[at]
        large = read[place][part][:1].isupper()
        parts[0] = parts[0].capitalize() if large else parts[0]
        read[place][part : part + 1] = parts


def _lacks_ne(text: Sequence[str], at: int) -> bool:
    """Tells whether the word at `at` negates, and no *ne* is near it."""
    word = text[at]
    if word not in NEGATIONS and not (word == "plus" and _is_no_more(text, at)):
        return False
    idiom = word != "jamais" and at + 1 < len(text) and text[at + 1] in IDIOMS
    return not (idiom or {"ne", "n'", "n"} & {*text[max(0, at - 5) : at + 5]})


def _with_ne(text: Sequence[str], at: int) -> tuple[int, list[str]] | None:
    """Returns the place of a word and what is read instead, so that the verb that is negated at
    `at` has *ne*; None if it may be no verb."""
    begin, verb = _verb(text, at)
    if verb < 0 or text[verb] in NO_VERBS or not text[verb].isalpha():
        return None
    ne = _ne(text[begin])
    subject = text[begin - 1] if begin else ""
    beyond = text[begin - 2] if begin > 1 else ""
    if subject in SUBJECTS:
        unsure = text[at] in ("jamais", "rien") and (subject == "qui" or beyond in POSITIVE)
        return None if unsure else (begin - 1, [WHOLE_SUBJECTS.get(subject, subject), ne])
    if begin < verb and begin == 0 and text[0] == "t'":  # t'as pas, t'inquiète pas
        you = verb == 1 and text[verb].endswith("s")
        return 0, ["tu", _ne(text[1])] if you else ["ne", "t'"]
    if begin < verb and text[begin] == "y":
        return begin, ["n'", "y"] if begin else ["il", "n'", "y"]
    if text[verb] == "faut":
        return verb, ["il", "ne", "faut"]
    if begin and text[verb] in SURE_VERBS and text[at] == "pas":
        return begin, [ne, text[begin]]
    return None


def _verb(text: Sequence[str], at: int) -> tuple[int, int]:
    """Returns where the verb that is negated at `at` begins, with the pronouns in front of it, and
    its own place, below 0 if there is none."""
    verb = at - 1
    while verb > 0 and text[verb] in BEFORE_NEGATION:
        verb -= 1
    begin = verb
    while begin > 0 and text[begin - 1] in OBJECTS and text[begin - 1] not in SUBJECTS:
        begin -= 1
    if begin > 1 and text[begin - 1] in OBJECTS and text[begin - 2] in SUBJECTS:
        begin -= 1  # il nous voit pas
    return begin, verb


def _ne(following: str) -> str:
    return "n'" if following[0] in VOWELS else "ne"


def _is_no_more(text: Sequence[str], at: int) -> bool:
    """Tells whether *plus* means no more: *j'en peux plus*, *y a plus de lait*."""
    ends = at + 1 == len(text) or not text[at + 1].isalnum()
    if at and text[at - 1] in ("peux", "peut"):
        return ends
    counted = text[at + 2 : at + 3] and (text[at + 2] in COUNTED or text[at + 2].isdigit())
    gone = ends or (text[at + 1] in ("de", "d'") and not counted)
    return at == 2 and text[0] == "y" and text[1] == "a" and gone
