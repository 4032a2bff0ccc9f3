"""How neighbouring French words change each other: elision, forms before a vowel, contraction of preposition
and article.

The grammar writes every word in its full form ("le homme", "de le ministre"); `surface` runs once over the
finished sentence.
"""

from __future__ import annotations

from phrase import Phrase, merge_targets

VOWELS = frozenset("aàâeéèêëiîïoôöuùûœ")
ASPIRATED = frozenset({"hall", "halls", "héros"})
"""Words of the lexicon whose h blocks elision; every other h is mute."""

BEFORE_VOWEL = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "ce": "cet", "sa": "son"}
"""What a word becomes before a vowel or a mute h. In this grammar "ce" is always a determiner and "sa" always
a possessive."""

CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
"""In this grammar no preposition stands before an object pronoun, so "le" and "les" after one are
articles."""


def starts_with_vowel(word: str) -> bool:
    """Returns whether the word begins with a vowel sound: a vowel letter or a mute h."""
    lower = word.lower()
    return lower[0] in VOWELS or (lower[0] == "h" and lower not in ASPIRATED)


def surface(phrase: Phrase) -> Phrase:
    """Returns the phrase as it is written. It is elided first, because "de l'homme" does not contract."""
    return contract(elide(phrase))


def elide(phrase: Phrase) -> Phrase:
    """Returns the phrase with every target word in the form that the next word requires; links stay."""
    target = list(phrase.target)
    for i in range(len(target) - 1):
        if starts_with_vowel(target[i + 1]):
            target[i] = BEFORE_VOWEL.get(target[i], target[i])
        if target[i] == "si" and target[i + 1] == "il":  # "si" elides before "il" only: "si elle"
            target[i] = "s'"
    return Phrase(phrase.source, tuple(target), phrase.links)


def contract(phrase: Phrase) -> Phrase:
    """Returns the phrase with preposition and article merged into one word, which is linked to the sources of
    both: of–du, the–du."""
    position = 0
    while position < len(phrase.target) - 1:
        merged = CONTRACTIONS.get((phrase.target[position], phrase.target[position + 1]))
        if merged is not None:
            phrase = merge_targets(phrase, position, merged)
        position += 1
    return phrase
