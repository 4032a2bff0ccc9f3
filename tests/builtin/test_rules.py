"""Constructions of the grammar, word for word as a French reader expects them, and their links."""

from __future__ import annotations

import pytest

from rnnsearch.builtin import entries
from rnnsearch.builtin.entries import (
    ADJECTIVES,
    NATIONS,
    NOUNS,
    PEOPLE,
    POSSESSIVES,
    PRONOUNS,
    QUANTITIES,
    THE,
    THE_TWO,
    THIS,
    A,
    Determiner,
    Verb,
)
from rnnsearch.builtin.french import surface
from rnnsearch.builtin.phrase import NOTHING, Phrase, join, word
from rnnsearch.builtin.rules import (
    NEVER,
    NOT,
    NounPhrase,
    Style,
    being_group,
    coordinate,
    noun_group,
    passive,
    predicate_adjective,
    question,
    verb_group,
)

NOUN = {noun.singular: noun for noun in NOUNS}
ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}
VERB = {
    verb.base: verb
    for verb in (*entries.TRANSITIVE, *entries.INTRANSITIVE, *entries.MOTION, *entries.TRANSFER, entries.SPEAK, *entries.REPORTING)
}
HIS = POSSESSIVES[0]
ALL_THE = QUANTITIES[-1]
MUST, CAN = entries.MODALS
OFTEN = entries.FREQUENCIES[0]


def group(noun: str, plural: bool = False, determiner: Determiner = THE, adjectives: str = "", negated: bool = False) -> NounPhrase:
    return noun_group(NOUN[noun], plural, determiner, [ADJECTIVE[name] for name in adjectives.split()], negated)


def texts(phrase: Phrase) -> tuple[str, str]:
    written = surface(phrase)
    return " ".join(written.source), " ".join(written.target)


def person(name: str) -> NounPhrase:
    chosen = next(one for one in (*PEOPLE, *PRONOUNS, *NATIONS) if one.phrase.source == (name,))
    return NounPhrase(chosen.phrase, chosen.gender, False, chosen.kind)


@pytest.mark.parametrize(
    ("noun_phrase", "english", "french"),
    [
        # order and agreement of adjectives
        (group("area", adjectives="economic European"), "the European economic area", "la zone économique européenne"),
        (group("law", True, adjectives="new European economic"),
         "the new European economic laws", "les nouvelles lois économiques européennes"),
        (group("report", adjectives="political famous French"),
         "the famous French political report", "le rapport politique français célèbre"),
        (group("house", adjectives="other small"), "the other small house", "l' autre petite maison"),
        (group("newspaper", True, adjectives="international"), "the international newspapers", "les journaux internationaux"),
        (group("actress", adjectives="happy"), "the happy actress", "l' actrice heureuse"),
        (group("nurse", True, adjectives="foreign"), "the foreign nurses", "les infirmières étrangères"),
        # masculine singular before a vowel sound, and only there
        (group("agreement", determiner=A, adjectives="new"), "a new agreement", "un nouvel accord"),
        (group("hospital", adjectives="old"), "the old hospital", "le vieil hôpital"),
        (group("hero", adjectives="old"), "the old hero", "le vieux héros"),
        (group("man", True, adjectives="old"), "the old men", "les vieux hommes"),
        (group("election", adjectives="new"), "the new election", "la nouvelle élection"),
        (group("engineer", adjectives="former"), "the former engineer", "l' ancien ingénieur"),
        # determiners
        (group("engineer", determiner=A), "an engineer", "un ingénieur"),
        (group("law", determiner=A, adjectives="European"), "a European law", "une loi européenne"),
        (group("book", determiner=A, adjectives="old"), "an old book", "un vieux livre"),
        (group("city", True, A), "some cities", "des villes"),
        (group("city", True, A, "large"), "some large cities", "de grandes villes"),
        (group("city", True, A, "other"), "some other cities", "d' autres villes"),
        (group("city", True, A, "famous"), "some famous cities", "des villes célèbres"),
        (group("book", determiner=A, negated=True), "a book", "de livre"),
        (group("agreement", determiner=A, negated=True), "an agreement", "d' accord"),
        (group("book", determiner=THE, negated=True), "the book", "le livre"),
        (group("hospital", determiner=THIS), "this hospital", "cet hôpital"),
        (group("school", determiner=THIS), "this school", "cette école"),
        (group("hero", True, THIS), "these heroes", "ces héros"),
        (group("school", determiner=HIS), "his school", "son école"),
        (group("house", determiner=HIS), "his house", "sa maison"),
        (group("horse", True, HIS), "his horses", "ses chevaux"),
        (group("girl", True, ALL_THE), "all the girls", "toutes les filles"),
        (group("hero", True, ALL_THE), "all the heroes", "tous les héros"),
        (group("country", True, THE_TWO), "the two countries", "les deux pays"),
        (coordinate(group("woman"), group("man")), "the woman and the man", "la femme et l' homme"),
    ],
)  # fmt: skip
def test_noun_phrase(noun_phrase: NounPhrase, english: str, french: str) -> None:
    assert texts(noun_phrase.phrase) == (english, french)


def test_links_of_a_noun_phrase_cross() -> None:
    assert set(group("law", adjectives="new European economic").phrase.links) == {(0, 0), (1, 1), (2, 4), (3, 3), (4, 2)}


@pytest.mark.parametrize(
    ("first", "second", "gender"), [("woman", "girl", "f"), ("woman", "man", "m"), ("man", "woman", "m"), ("man", "child", "m")]
)
def test_coordination_is_feminine_only_if_both_are(first: str, second: str, gender: str) -> None:
    both = coordinate(group(first), group(second))
    assert (both.gender, both.plural) == (gender, True)


MAN, WOMAN, WOMEN = group("man"), group("woman"), group("woman", True)


@pytest.mark.parametrize(
    ("subject", "verb", "style", "pronoun", "english", "french"),
    [
        (MAN, "see", Style(), "", "sees", "voit"),
        (WOMEN, "see", Style(), "", "see", "voient"),
        (MAN, "see", Style(adverb=OFTEN), "", "often sees", "voit souvent"),
        # negation in two parts
        (MAN, "see", Style(negation=NOT), "", "does not see", "ne voit pas"),
        (WOMEN, "see", Style(negation=NOT), "", "do not see", "ne voient pas"),
        (MAN, "help", Style(negation=NOT), "", "does not help", "n' aide pas"),
        (MAN, "see", Style(negation=NEVER), "", "never sees", "ne voit jamais"),
        (MAN, "see", Style(negation=NOT, adverb=OFTEN), "", "does not often see", "ne voit pas souvent"),
        (MAN, "see", Style("perfect", NOT), "", "has not seen", "n' a pas vu"),
        (WOMEN, "arrive", Style("perfect", NOT), "", "have not arrived", "ne sont pas arrivées"),
        (MAN, "see", Style("modal", NOT, modal=MUST), "", "must not see", "ne doit pas voir"),
        (MAN, "see", Style("modal", NOT, modal=CAN), "", "cannot see", "ne peut pas voir"),
        (WOMEN, "see", Style("modal", NEVER, modal=CAN), "", "can never see", "ne peuvent jamais voir"),
        (WOMEN, "accept", Style("modal", NOT, OFTEN, CAN), "", "cannot often accept", "ne peuvent pas souvent accepter"),
        # participles
        (WOMEN, "see", Style("perfect"), "", "have seen", "ont vu"),
        (WOMAN, "return", Style("perfect"), "", "has returned", "est revenue"),
        (WOMEN, "go", Style("perfect", adverb=entries.ALREADY), "", "have already gone", "sont déjà allées"),
        (coordinate(MAN, WOMAN), "arrive", Style("perfect"), "", "have arrived", "sont arrivés"),
        # pronouns move before the verb
        (MAN, "see", Style(), "her", "sees her", "la voit"),
        (WOMAN, "invite", Style(), "him", "invites him", "l' invite"),
        (WOMAN, "look for", Style(), "them", "looks for them", "les cherche"),
        (MAN, "see", Style(negation=NOT), "him", "does not see him", "ne le voit pas"),
        (MAN, "help", Style(negation=NOT), "her", "does not help her", "ne l' aide pas"),
        (MAN, "see", Style("perfect"), "her", "has seen her", "l' a vue"),
        (MAN, "see", Style("perfect", NOT), "her", "has not seen her", "ne l' a pas vue"),
        (WOMAN, "see", Style("perfect"), "him", "has seen him", "l' a vu"),
        (MAN, "invite", Style("modal", modal=MUST), "her", "must invite her", "doit l' inviter"),
        (MAN, "see", Style("modal", NOT, modal=CAN), "them", "cannot see them", "ne peut pas les voir"),
    ],
)  # fmt: skip
def test_verb_group(subject: NounPhrase, verb: str, style: Style, pronoun: str, english: str, french: str) -> None:
    assert texts(verb_group(VERB[verb], subject, style, pronoun)) == (english, french)


def test_negation_links_both_parts_to_not_and_leaves_does_alone() -> None:
    assert set(verb_group(VERB["see"], MAN, Style(negation=NOT)).links) == {(1, 0), (2, 1), (1, 2)}


def test_cannot_is_linked_to_all_three_words() -> None:
    assert set(verb_group(VERB["see"], MAN, Style("modal", NOT, modal=CAN)).links) == {(0, 0), (0, 1), (0, 2), (1, 3)}


@pytest.mark.parametrize(
    ("antecedent", "participle"),
    [(group("report"), "signé"), (group("letter"), "signée"), (group("report", True), "signés"), (group("letter", True), "signées")],
)
def test_participle_agrees_with_the_antecedent_of_its_relative_clause(antecedent: NounPhrase, participle: str) -> None:
    assert texts(verb_group(VERB["sign"], MAN, Style("perfect"), antecedent=antecedent)) == ("has signed", f"a {participle}")


@pytest.mark.parametrize(
    ("subject", "complement", "style", "english", "french"),
    [
        (WOMAN, "happy", Style(), "is happy", "est heureuse"),
        (WOMEN, "old", Style(), "are old", "sont vieilles"),
        (MAN, "old", Style("past"), "was old", "était vieux"),
        (coordinate(WOMAN, MAN), "happy", Style(), "are happy", "sont heureux"),
        (coordinate(WOMAN, WOMEN), "happy", Style(), "are happy", "sont heureuses"),
        (WOMAN, "famous", Style(negation=NOT, adverb=OFTEN), "is not often famous", "n' est pas souvent célèbre"),
        (WOMEN, "foreign", Style("past", NOT), "were not foreign", "n' étaient pas étrangères"),
        (WOMAN, "French", Style("modal", NOT, modal=CAN), "cannot be French", "ne peut pas être française"),
        (WOMAN, "happy", Style("modal", modal=MUST), "must be happy", "doit être heureuse"),
    ],
)  # fmt: skip
def test_being_with_an_adjective(subject: NounPhrase, complement: str, style: Style, english: str, french: str) -> None:
    assert texts(being_group(subject, predicate_adjective(ADJECTIVE[complement], subject), style)) == (english, french)


@pytest.mark.parametrize(
    ("subject", "style", "english", "french"),
    [
        (group("law"), Style(), "is rejected", "est rejetée"),
        (group("law", True), Style("perfect"), "have been rejected", "ont été rejetées"),
        (group("report"), Style("perfect", NOT), "has not been rejected", "n' a pas été rejeté"),
        (group("report", True), Style("modal", modal=MUST), "must be rejected", "doivent être rejetés"),
    ],
)
def test_passive(subject: NounPhrase, style: Style, english: str, french: str) -> None:
    assert texts(being_group(subject, passive(VERB["reject"], subject), style)) == (english, french)


def test_question() -> None:
    asked = question(person("Alice"), verb_group(VERB["read"], person("Alice"), Style(), base=True), OFTEN, group("book").phrase)
    assert texts(asked) == ("does Alice often read the book ?", "est-ce qu' Alice lit souvent le livre ?")
    assert {(0, 0), (0, 1)} <= set(asked.links), "here does has a counterpart"


def test_contraction_crosses_phrases() -> None:
    letter = join(group("letter").phrase, word("of", "de"), group("committee").phrase)
    assert texts(letter) == ("the letter of the committee", "la lettre du comité")
    assert texts(join(word("to", "à"), person("Italy").phrase)) == ("to Italy", "à l' Italie")
    assert texts(join(word("than", "que"), person("Alice").phrase)) == ("than Alice", "qu' Alice")


@pytest.mark.parametrize("verb", VERB.values(), ids=lambda verb: verb.base)
def test_every_plain_verb_form_has_one_counterpart(verb: Verb) -> None:
    """French forms that two English forms share are fine; the reverse would make the corpus ambiguous."""
    for subject in (MAN, WOMEN):
        phrase = verb_group(verb, subject, Style())
        assert len(phrase.target) == 1
        assert phrase.source == tuple((verb.base if subject.plural else verb.third).split())


def test_style_is_negated_by_either_negation() -> None:
    assert [Style(negation=negation).negated for negation in (NOTHING, NOT, NEVER)] == [False, True, True]
