"""Spoken French without *ne*, which networks of written text translate without *not*.

page/engine/negation.js has the same rules."""

from __future__ import annotations

from collections.abc import Sequence

VOWELS = "aeiouyhàâéèêëîïôùû"
"""Letters before which *ne* loses its vowel."""
NEGATIONS = ("pas", "rien", "jamais")
IDIOMS = ("mal", "à", "moins", "après", "par")
"""What follows *pas* or *rien* where it negates nothing."""
COUNTED = (
    *("un", "une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix"),
    *("vingt", "trente", "cent", "mille"),
)
"""Behind *y a plus de*, which then means more."""
NO_VERBS = (
    *("et", "ou", "mais", "à", "de", "pour", "par", "sans", "que", "qui", "pourquoi", "tous"),
    *("toutes", "aussi", "le", "la", "les", "un", "une", "du", "des", "en", "y", "si", "donc"),
)
POSITIVE = ("que", "qu'", "si", "s'", "comme", "dont", "où")
"""Words before a subject whose verb may have *jamais* or *rien* without *ne*: *plus qu'il a jamais
vu*."""
BEFORE_NEGATION = ("même", "meme", "vraiment", "toujours", "encore", "peut-être", "surtout")
"""Words between a verb and its negation."""
SUBJECTS = ("je", "j'", "tu", "il", "elle", "on", "nous", "vous", "ils", "elles", "ça", "c'", "qui")
OBJECTS = (
    *("me", "m'", "te", "t'", "se", "s'", "le", "la", "l'", "les", "lui", "leur", "y", "en"),
    *("nous", "vous"),
)
WHOLE_SUBJECTS = {"j'": "je", "c'": "ce"}
SURE_VERBS = (
    *("est", "sont", "était", "étaient", "sera", "seront", "a", "ont", "avait", "avaient"),
    *("va", "vont", "peut", "peuvent", "veut", "veulent", "doit", "doivent", "fait", "font"),
    *("marche", "marchent", "fonctionne", "aime", "aiment", "vient", "viennent"),
)
"""Verbs that are negated whatever their subject is."""


def negate(read: list[list[str]]) -> None:
    """Adds *ne* to verbs with *pas*, *rien*, *jamais* or, after *peux* and *y a*, *plus*, and the
    pronouns that speech leaves out: *y a pas* → *il n'y a pas*, *t'as pas* → *tu n'as pas*. read:
    the words that are read, by place; they are changed."""
    flat = [(place, at) for place, parts in enumerate(read) for at in range(len(parts))]
    text = [read[place][at].lower() for place, at in flat]
    changes: list[tuple[int, list[str]]] = []
    for at, word in enumerate(text):
        if not (word in NEGATIONS or (word == "plus" and _is_no_more(text, at))):
            continue
        idiom = word != "jamais" and text[at + 1 : at + 2] and text[at + 1] in IDIOMS
        if idiom or {"ne", "n'", "n"} & {*text[max(0, at - 5) : at + 5]}:
            continue
        verb = at - 1
        while verb > 0 and text[verb] in BEFORE_NEGATION:
            verb -= 1
        begin = verb
        while begin > 0 and text[begin - 1] in OBJECTS and text[begin - 1] not in SUBJECTS:
            begin -= 1
        if begin > 1 and text[begin - 1] in OBJECTS and text[begin - 2] in SUBJECTS:
            begin -= 1  # il nous voit pas
        if verb < 0 or text[verb] in NO_VERBS or not text[verb].isalpha():
            continue
        ne = "n'" if text[begin][0] in VOWELS else "ne"
        subject = text[begin - 1] if begin else ""
        beyond = text[begin - 2] if begin > 1 else ""
        maybe = word in ("jamais", "rien") and (subject == "qui" or beyond in POSITIVE)
        if subject in SUBJECTS:
            parts = [WHOLE_SUBJECTS.get(subject, subject), ne]
            changes += [] if maybe else [(begin - 1, parts)]
        elif begin < verb and begin == 0 and text[0] == "t'":  # t'as pas, t'inquiète pas
            you = verb == 1 and text[verb].endswith("s")
            after = "n'" if text[1][0] in VOWELS else "ne"
            changes.append((0, ["tu", after] if you else ["ne", "t'"]))
        elif begin < verb and text[begin] == "y":
            changes.append((begin, ["n'", "y"] if begin else ["il", "n'", "y"]))
        elif text[verb] == "faut":
            changes.append((verb, ["il", "ne", "faut"]))
        elif begin and text[verb] in SURE_VERBS and word == "pas":
            changes.append((begin, [ne, text[begin]]))
    for at, parts in reversed(changes):
        place, part = flat[at]
        large = read[place][part][:1].isupper()
        parts[0] = parts[0].capitalize() if large else parts[0]
        read[place][part : part + 1] = parts


def _is_no_more(text: Sequence[str], at: int) -> bool:
    """Tells whether *plus* means no more: *j'en peux plus*, *y a plus de lait*."""
    ends = at + 1 == len(text) or not text[at + 1].isalnum()
    if at and text[at - 1] in ("peux", "peut"):
        return ends
    counted = text[at + 2 : at + 3] and (text[at + 2] in COUNTED or text[at + 2].isdigit())
    gone = ends or (text[at + 1] in ("de", "d'") and not counted)
    return at == 2 and text[0] == "y" and text[1] == "a" and gone
