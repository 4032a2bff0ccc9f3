"""The words of the built-in corpus, which words.toml lists. Every English form has one French translation
that its sentence decides."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from phrase import Phrase, linked, parallel, word

WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))

Gender = Literal["m", "f"]
Kind = str
Kinds = tuple[Kind, ...]
Forms = Sequence[str]
"""French masculine, feminine, masculine plural, feminine plural."""


@cache
def kinds(names: str) -> Kinds:
    """Returns the kinds of nouns with these names."""
    several = WORDS["kinds"]
    return sum((kinds(several[name]) if name in several else (name,) for name in names.split()), ())


PERSONS, ACTORS, THINGS = kinds("persons"), kinds("actors"), kinds("things")


class Noun(NamedTuple):
    """A noun; its French form shows whether it begins with a vowel sound (`rules.starts_with_vowel`)."""

    singular: str
    plural: str
    french: str
    french_plural: str
    gender: Gender
    kind: Kind


class Adjective(NamedTuple):
    """An adjective; words.toml says what the fields mean."""

    english: str
    forms: Forms
    rank: int
    kinds: Kinds
    predicative: bool = False
    gradable: bool = False
    before_vowel: str = ""


class Determiner(NamedTuple):
    """English singular and plural, and the French forms; an empty form does not exist."""

    english: str
    english_plural: str
    forms: Forms


class Verb(NamedTuple):
    """A verb; the base is also the English plural. subjects, objects: the kinds of noun that make sense."""

    base: str
    third: str
    participle: str
    infinitive: str
    singular: str
    plural: str
    french_participle: str
    auxiliary: str = "avoir"
    subjects: Kinds = PERSONS
    objects: Kinds = ()


class Name(NamedTuple):
    """A person, nation or institution with a fixed translation; the article is not yet elided."""

    phrase: Phrase
    gender: Gender
    kind: Kind


def adjective(forms: str, kinds: Kinds, **others: Any) -> Adjective:
    return Adjective(forms=forms.split(), kinds=kinds, **others)


def determiner(text: str) -> Determiner:
    english, plural, *forms = text.split("|")
    return Determiner(english, plural, forms)


def verb(base: str, third: str, participle: str, french: str, **others: Any) -> Verb:
    return Verb(base, third, participle, *french.split(), **others)


def name(text: str) -> Name:
    source, target, links, gender, kind = text.split("|")
    return Name(linked(source, target, links) if links else word(source, target), gender, kind)


def with_kinds(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: kinds(value) if key in ("kinds", "subjects", "objects") else value for key, value in row.items()
    }


NOUNS = [Noun(*text.split(), kind) for kind, texts in WORDS["nouns"].items() for text in texts]
ADJECTIVES = [adjective(**with_kinds(row)) for row in WORDS["adjectives"]]
OTHER = ADJECTIVES[0]
VERBS = {group: [verb(**with_kinds(row)) for row in rows] for group, rows in WORDS["verbs"].items()}
THE, A, THIS, THE_TWO = (determiner(WORDS["determiners"][key]) for key in ("the", "a", "this", "the_two"))
POSSESSIVES, QUANTITIES = (
    list(map(determiner, WORDS["determiners"][key])) for key in ("possessives", "quantities")
)
PEOPLE, PRONOUNS, NATIONS, BODIES = (list(map(name, texts)) for texts in WORDS["names"].values())
COMPANY, TIMES, OPENERS, FREQUENCIES, ALREADY, SUBORDINATORS = (
    [word(*text.split("|")) for text in texts] for texts in WORDS["phrases"].values()
)
IN_NAMES, TO_NAMES = (
    [parallel(f"{preposition} {english}", french) for english, french in WORDS["places"].items()]
    for preposition in ("in", "to")
)
PLACES = [(word(english, french), kinds(names)) for english, (french, names) in WORDS["prepositions"].items()]
OWNERS = {kind: kinds(names) for kind, names in WORDS["owners"].items()}
MODALS, OBJECT_PRONOUNS = WORDS["modals"], WORDS["object_pronouns"]

ARTICLE_A_BEFORE = {"European"}
"""English words that begin with a vowel letter but not with a vowel sound."""
COMPARED = {"famous", "important"}
"""Adjectives that English compares with "more"."""


@cache
def nouns_of(kinds: Kinds) -> list[Noun]:
    """Returns the nouns of any of the kinds."""
    return [noun for noun in NOUNS if noun.kind in kinds]


@cache
def adjectives_of(kind: Kind) -> list[Adjective]:
    """Returns the adjectives that suit a kind of noun."""
    return [one for one in ADJECTIVES if kind in one.kinds]


@cache
def verbs_for(kind: Kind) -> list[Verb]:
    """Returns the transitive verbs whose object may be of the kind."""
    return [one for one in VERBS["transitive"] if kind in one.objects]
