"""The grammar's rules: pairs of English and French constructions, with agreement. Nothing is random here.

Links are a careful annotator's sure links. Every French word has at least one; the only English words without
any are
"does"/"do" of a negation, whose share of the meaning is carried by the French verb itself ("does not see" →
"ne voit pas").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from entries import (
    ARTICLE_A_BEFORE,
    OBJECT_PRONOUNS,
    A,
    Adjective,
    Determiner,
    Forms,
    Gender,
    Kind,
    Noun,
    Verb,
)
from phrase import NOTHING, Phrase, join, merge_targets, parallel, reorder, weave, word

Tense = Literal["simple", "past", "perfect", "modal"]
NOT = word("not", "ne pas")
NEVER = word("never", "ne jamais")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A pair of noun phrases, with the features for agreement."""

    phrase: Phrase
    gender: Gender
    plural: bool
    kind: Kind


@dataclass(frozen=True, slots=True)
class Style:
    """How a verb is used. negation: NOT, NEVER or NOTHING. modal: English, French singular and plural, for
    tense "modal"."""

    tense: Tense = "simple"
    negation: Phrase = NOTHING
    adverb: Phrase = NOTHING
    modal: tuple[str, str, str] = ("", "", "")

    @property
    def negated(self) -> bool:
        return self.negation is not NOTHING


Templates = tuple[str, str]
SIMPLE: Templates = ("do negation adverb verb pronoun", "negation.0 pronoun verb negation.1 adverb")
COMPOUND: Templates = (
    "auxiliary negation adverb verb pronoun",
    "negation.0 pronoun auxiliary negation.1 adverb verb",
)
MODAL: Templates = (
    "auxiliary negation adverb verb pronoun",
    "negation.0 auxiliary negation.1 adverb pronoun verb",
)
CANNOT: Templates = ("cannot adverb verb pronoun", "cannot.0 cannot.1 cannot.2 adverb pronoun verb")
QUESTION: Templates = ("do subject adverb verb pronoun rest mark", "do subject pronoun verb adverb rest mark")


def noun_group(
    noun: Noun,
    plural: bool,
    determiner: Determiner,
    adjectives: Sequence[Adjective] = (),
    negated: bool = False,
) -> NounPhrase:
    """Returns determiner, adjectives and noun: "the new European economic law" → "la nouvelle loi économique
    européenne".

    English orders adjectives by rank; in French rank 0 stays before the noun and the rest follows it in
    reverse order.
    negated: the object of a negated verb, where "a" becomes "de".
    """
    ordered = sorted(adjectives, key=lambda adjective: adjective.rank)
    french_noun = noun.french_plural if plural else noun.french
    pairs = [
        word(adjective.english, adjective_form(adjective, noun.gender, plural, french_noun))
        for adjective in ordered
    ]
    pairs.append(word(noun.plural if plural else noun.singular, french_noun))
    before = sum(adjective.rank == 0 for adjective in ordered)
    first = determiner_phrase(determiner, noun.gender, plural, pairs[0].source[0], before > 0, negated)
    last = len(pairs)  # the noun's place once the determiner is part 0
    order = [*range(before + 1), last, *range(last - 1, before, -1)]
    return NounPhrase(
        reorder([first, *pairs], [(part, None) for part in order]), noun.gender, plural, noun.kind
    )


def determiner_phrase(
    determiner: Determiner,
    gender: Gender,
    plural: bool,
    next_english: str,
    adjective_first: bool,
    negated: bool,
) -> Phrase:
    """ "a" or "an" by the next English word; "des" is "de" before an adjective, and so is "a" after a negated
    verb."""
    english = determiner.english_plural if plural else determiner.english
    french = agreeing(determiner.forms, gender, plural)
    if english == "a" and next_english[0].lower() in "aeiou" and next_english not in ARTICLE_A_BEFORE:
        english = "an"
    if determiner is A and (negated or (plural and adjective_first)):
        french = "de"
    return parallel(english, french)


def agreeing(forms: Forms, gender: Gender, plural: bool) -> str:
    """Returns the form for a gender and number."""
    return forms[2 * plural + (gender == "f")]


def adjective_form(adjective: Adjective, gender: Gender, plural: bool, next_word: str = "") -> str:
    """Returns the French form. next_word: the noun after the adjective, if it is before one ("un nouvel
    accord")."""
    if adjective.before_vowel and gender == "m" and not plural and next_word and starts_with_vowel(next_word):
        return adjective.before_vowel
    return agreeing(adjective.forms, gender, plural)


def agreeing_participle(verb: Verb, gender: Gender, plural: bool) -> str:
    """Returns the form of a participle; all participles of the lexicon are regular."""
    return verb.french_participle + ("e" if gender == "f" else "") + ("s" if plural else "")


def coordinate(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """ "the man and the woman": a plural, feminine only if both are."""
    gender: Gender = "f" if first.gender == second.gender == "f" else "m"
    return NounPhrase(join(first.phrase, "and|et", second.phrase), gender, True, first.kind)


def verb_group(
    verb: Verb,
    subject: NounPhrase,
    style: Style,
    pronoun: str = "",
    antecedent: NounPhrase | None = None,
    base: bool = False,
) -> Phrase:
    """Returns the verb with auxiliary, negation, adverb and object pronoun, in the order of each language.

    The participle agrees with the subject after "être", and after "avoir" with an object that stands before
    it: a pronoun
    ("l'a vue") or the antecedent of a relative clause ("les lettres qu'il a signées"). base: the English base
    form, in a question.
    """
    object_pronoun = word(pronoun, OBJECT_PRONOUNS[pronoun]) if pronoun else NOTHING
    plural = subject.plural
    if style.tense == "modal":
        return _modal_group(word(verb.base, verb.infinitive), plural, style, object_pronoun)
    if style.tense == "perfect":
        auxiliary = _auxiliary(verb.auxiliary, plural)
        participle = word(
            verb.participle, agreeing_participle(verb, *_agreement(verb, subject, pronoun, antecedent))
        )
        return weave(
            *COMPOUND,
            auxiliary=auxiliary,
            negation=style.negation,
            adverb=style.adverb,
            verb=participle,
            pronoun=object_pronoun,
        )
    helped = style.negation is NOT  # "never" needs no "does"
    do = word("do" if plural else "does", "") if helped else NOTHING
    english = verb.base if plural or helped or base else verb.third
    finite = word(english, verb.plural if plural else verb.singular)
    return weave(
        *SIMPLE, do=do, negation=style.negation, adverb=style.adverb, verb=finite, pronoun=object_pronoun
    )


def being_group(subject: NounPhrase, complement: Phrase, style: Style) -> Phrase:
    """ "is", "was", "has been", "must be" with an adjective or a passive participle: "n'est pas souvent
    heureuse"."""
    plural = subject.plural
    if style.tense == "modal":
        return _modal_group(join("be|être", complement), plural, style, NOTHING)
    if style.tense == "perfect":
        auxiliary, complement = _auxiliary("avoir", plural), join("been|été", complement)
    else:
        auxiliary = _auxiliary("was" if style.tense == "past" else "is", plural)
    return weave(
        *COMPOUND, auxiliary=auxiliary, negation=style.negation, adverb=style.adverb, verb=complement
    )


def passive(verb: Verb, subject: NounPhrase) -> Phrase:
    """Returns the participle of a passive, which agrees with the subject."""
    return word(verb.participle, agreeing_participle(verb, subject.gender, subject.plural))


def predicate_adjective(adjective: Adjective, subject: NounPhrase) -> Phrase:
    """Returns the adjective after "is"."""
    return word(adjective.english, adjective_form(adjective, subject.gender, subject.plural))


def question(subject: NounPhrase, verb: Phrase, adverb: Phrase, rest: Phrase) -> Phrase:
    """ "Does the man often read?" → "Est-ce que l'homme lit souvent ?"; here "does" has its own
    counterpart."""
    do = word("do" if subject.plural else "does", "est-ce que")
    return weave(
        *QUESTION, do=do, subject=subject.phrase, adverb=adverb, verb=verb, rest=rest, mark=word("?", "?")
    )


def _agreement(
    verb: Verb, subject: NounPhrase, pronoun: str, antecedent: NounPhrase | None
) -> tuple[Gender, bool]:
    """Returns what a participle agrees with: nothing (masculine singular) after "avoir" unless an object
    comes before it."""
    if verb.auxiliary == "être":
        return subject.gender, subject.plural
    if antecedent is not None:
        return antecedent.gender, antecedent.plural
    return ("f" if pronoun == "her" else "m"), pronoun == "them"


def _modal_group(verb: Phrase, plural: bool, style: Style, clitic: Phrase) -> Phrase:
    english, singular, french_plural = style.modal
    french = french_plural if plural else singular
    if english == "can" and style.negation is NOT:  # one word in English, three in French
        return weave(
            *CANNOT, cannot=word("cannot", f"ne {french} pas"), adverb=style.adverb, verb=verb, pronoun=clitic
        )
    return weave(
        *MODAL,
        auxiliary=word(english, french),
        negation=style.negation,
        adverb=style.adverb,
        verb=verb,
        pronoun=clitic,
    )


AUXILIARIES = {
    "is": ("is|est", "are|sont"),
    "was": ("was|était", "were|étaient"),
    "avoir": ("has|a", "have|ont"),
    "être": ("has|est", "have|sont"),
}
"""Singular and plural; those of the perfect by the French verb."""


def _auxiliary(name: str, plural: bool) -> Phrase:
    return word(*AUXILIARIES[name][plural].split("|"))


# How neighbouring French words change each other: elision, forms before a vowel, contraction of preposition
# and article. The rules write every word in its full form ("le homme", "de le ministre"); `surface` runs once
# over the finished sentence.

VOWELS = frozenset("aàâeéèêëiîïoôöuùûœ")
ASPIRATED = frozenset({"hall", "halls", "héros"})
"""Words of the lexicon whose h blocks elision; every other h is mute."""

BEFORE_VOWEL = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "ce": "cet", "sa": "son"}
"""Word → its form before a vowel or a mute h. In this grammar "ce" is always a determiner and "sa" always a
possessive."""

CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
"""In this grammar, no preposition precedes an object pronoun, so "le" and "les" after a preposition are
articles."""


def starts_with_vowel(word: str) -> bool:
    """Tells whether the word begins with a vowel sound: a vowel letter or a mute h."""
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
