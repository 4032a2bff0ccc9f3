"""The words of the built-in corpus. Every English form has one French translation that its sentence decides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from rnnsearch.builtin.phrase import Phrase, linked, parallel, word

Gender = Literal["m", "f"]
Kind = Literal["adult", "child", "role", "institution", "nation", "document", "building", "region", "zone", "event", "thing"]
Kinds = tuple[Kind, ...]
Forms = tuple[str, str, str, str]
"""French masculine, feminine, masculine plural, feminine plural."""

PERSONS: Kinds = ("adult", "child", "role")
ACTORS: Kinds = (*PERSONS, "institution", "nation")
THINGS: Kinds = ("document", "building", "region", "zone", "event", "thing")
ALL: Kinds = (*ACTORS, *THINGS)


@dataclass(frozen=True, slots=True)
class Noun:
    """Whether it begins with a vowel sound is read off the French form (`french.starts_with_vowel`)."""

    singular: str
    plural: str
    french: str
    french_plural: str
    gender: Gender
    kind: Kind


@dataclass(frozen=True, slots=True)
class Adjective:
    """rank: the order of English adjectives, and the reverse order after a French noun; 0 stands before the noun in both.

    predicative: may follow "is", after "very" only if gradable. before_vowel: another masculine singular before a vowel.
    """

    english: str
    forms: Forms
    rank: int
    kinds: Kinds
    predicative: bool = False
    gradable: bool = False
    before_vowel: str = ""


@dataclass(frozen=True, slots=True)
class Determiner:
    """English singular and plural, and the French forms; an empty form does not exist."""

    english: str
    english_plural: str
    forms: Forms


@dataclass(frozen=True, slots=True)
class Verb:
    """English base, third person and participle; French infinitive, third persons, participle (masculine) and auxiliary.

    The base is also the English plural. subjects and objects: the kinds of noun that make sense.
    """

    base: str
    third: str
    participle: str
    infinitive: str
    singular: str
    plural: str
    french_participle: str
    auxiliary: Literal["avoir", "être"] = "avoir"
    subjects: Kinds = PERSONS
    objects: Kinds = ()


@dataclass(frozen=True, slots=True)
class Name:
    """A person, nation or institution with a fixed translation; the article is not yet elided."""

    phrase: Phrase
    gender: Gender
    kind: Kind


NOUNS = (
    Noun("man", "men", "homme", "hommes", "m", "adult"),
    Noun("woman", "women", "femme", "femmes", "f", "adult"),
    Noun("child", "children", "enfant", "enfants", "m", "child"),
    Noun("girl", "girls", "fille", "filles", "f", "child"),
    Noun("minister", "ministers", "ministre", "ministres", "m", "role"),
    Noun("queen", "queens", "reine", "reines", "f", "role"),
    Noun("hero", "heroes", "héros", "héros", "m", "role"),
    Noun("teacher", "teachers", "professeur", "professeurs", "m", "role"),
    Noun("actress", "actresses", "actrice", "actrices", "f", "role"),
    Noun("engineer", "engineers", "ingénieur", "ingénieurs", "m", "role"),
    Noun("nurse", "nurses", "infirmière", "infirmières", "f", "role"),
    Noun("company", "companies", "entreprise", "entreprises", "f", "institution"),
    Noun("government", "governments", "gouvernement", "gouvernements", "m", "institution"),
    Noun("bank", "banks", "banque", "banques", "f", "institution"),
    Noun("committee", "committees", "comité", "comités", "m", "institution"),
    Noun("book", "books", "livre", "livres", "m", "document"),
    Noun("letter", "letters", "lettre", "lettres", "f", "document"),
    Noun("report", "reports", "rapport", "rapports", "m", "document"),
    Noun("newspaper", "newspapers", "journal", "journaux", "m", "document"),
    Noun("law", "laws", "loi", "lois", "f", "document"),
    Noun("story", "stories", "histoire", "histoires", "f", "document"),
    Noun("agreement", "agreements", "accord", "accords", "m", "document"),
    Noun("house", "houses", "maison", "maisons", "f", "building"),
    Noun("school", "schools", "école", "écoles", "f", "building"),
    Noun("hospital", "hospitals", "hôpital", "hôpitaux", "m", "building"),
    Noun("hall", "halls", "hall", "halls", "m", "building"),
    Noun("city", "cities", "ville", "villes", "f", "region"),
    Noun("country", "countries", "pays", "pays", "m", "region"),
    Noun("area", "areas", "zone", "zones", "f", "zone"),
    Noun("meeting", "meetings", "réunion", "réunions", "f", "event"),
    Noun("election", "elections", "élection", "élections", "f", "event"),
    Noun("war", "wars", "guerre", "guerres", "f", "event"),
    Noun("car", "cars", "voiture", "voitures", "f", "thing"),
    Noun("horse", "horses", "cheval", "chevaux", "m", "thing"),
    Noun("flower", "flowers", "fleur", "fleurs", "f", "thing"),
)

OTHER = Adjective("other", ("autre", "autre", "autres", "autres"), 0, ALL)
ADJECTIVES = (
    OTHER,
    Adjective("large", ("grand", "grande", "grands", "grandes"), 0,
              ("institution", "nation", "building", "region", "zone", "thing"), True, True),
    Adjective("small", ("petit", "petite", "petits", "petites"), 0,
              ("child", "institution", "nation", "building", "region", "thing"), True, True),
    Adjective("new", ("nouveau", "nouvelle", "nouveaux", "nouvelles"), 0,
              ("role", "institution", "document", "building", "zone", "event", "thing"), before_vowel="nouvel"),
    Adjective("old", ("vieux", "vieille", "vieux", "vieilles"), 0,
              ("adult", "role", "document", "building", "region", "thing"), True, True, before_vowel="vieil"),
    Adjective("young", ("jeune", "jeune", "jeunes", "jeunes"), 0, PERSONS, True, True),
    Adjective("former", ("ancien", "ancienne", "anciens", "anciennes"), 0, ("role", "institution")),
    Adjective("important", ("important", "importante", "importants", "importantes"), 1,
              ("role", "institution", "nation", "document", "region", "zone", "event"), True, True),
    Adjective("famous", ("célèbre", "célèbre", "célèbres", "célèbres"), 1,
              ("adult", "role", "institution", "document", "building", "region"), True, True),
    Adjective("rare", ("rare", "rare", "rares", "rares"), 1, ("document", "thing"), True, True),
    Adjective("happy", ("heureux", "heureuse", "heureux", "heureuses"), 1, PERSONS, True, True),
    Adjective("European", ("européen", "européenne", "européens", "européennes"), 2,
              ("adult", "role", "institution", "document", "region", "zone", "event"), True),
    Adjective("French", ("français", "française", "français", "françaises"), 2,
              (*PERSONS, "institution", "document", "building", "region", "thing"), True),
    Adjective("foreign", ("étranger", "étrangère", "étrangers", "étrangères"), 2,
              ("adult", "role", "institution", "document", "region", "thing"), True),
    Adjective("international", ("international", "internationale", "internationaux", "internationales"), 2,
              ("institution", "document", "zone", "event")),
    Adjective("economic", ("économique", "économique", "économiques", "économiques"), 3, ("institution", "document", "zone", "event")),
    Adjective("political", ("politique", "politique", "politiques", "politiques"), 3, ("institution", "document", "event")),
)  # fmt: skip

THE = Determiner("the", "the", ("le", "la", "les", "les"))
A = Determiner("a", "some", ("un", "une", "des", "des"))
THIS = Determiner("this", "these", ("ce", "cette", "ces", "ces"))
POSSESSIVES = (
    Determiner("his", "his", ("son", "sa", "ses", "ses")),
    Determiner("her", "her", ("son", "sa", "ses", "ses")),
    Determiner("our", "our", ("notre", "notre", "nos", "nos")),
    Determiner("their", "their", ("leur", "leur", "leurs", "leurs")),
)
THE_TWO = Determiner("", "the two", ("", "", "les deux", "les deux"))
QUANTITIES = (
    Determiner("", "two", ("", "", "deux", "deux")),
    Determiner("", "several", ("", "", "plusieurs", "plusieurs")),
    Determiner("", "all the", ("", "", "tous les", "toutes les")),
)

TRANSITIVE = (
    Verb("see", "sees", "seen", "voir", "voit", "voient", "vu", objects=(*PERSONS, "document", "building", "region", "thing")),
    Verb("read", "reads", "read", "lire", "lit", "lisent", "lu", objects=("document",)),
    Verb("sign", "signs", "signed", "signer", "signe", "signent", "signé", subjects=ACTORS, objects=("document",)),
    Verb("reject", "rejects", "rejected", "rejeter", "rejette", "rejettent", "rejeté", subjects=ACTORS, objects=("document",)),
    Verb("accept", "accepts", "accepted", "accepter", "accepte", "acceptent", "accepté", subjects=ACTORS, objects=("document",)),
    Verb("buy", "buys", "bought", "acheter", "achète", "achètent", "acheté", subjects=ACTORS, objects=("building", "thing")),
    Verb("visit", "visits", "visited", "visiter", "visite", "visitent", "visité", objects=("building", "region", "zone", "nation")),
    Verb("invite", "invites", "invited", "inviter", "invite", "invitent", "invité", subjects=ACTORS, objects=PERSONS),
    Verb("help", "helps", "helped", "aider", "aide", "aident", "aidé", subjects=ACTORS, objects=(*ACTORS, "region")),
    Verb("protect", "protects", "protected", "protéger", "protège", "protègent", "protégé", subjects=ACTORS,
         objects=(*PERSONS, "building", "region", "zone", "thing", "nation")),
    Verb("look for", "looks for", "looked for", "chercher", "cherche", "cherchent", "cherché", objects=(*PERSONS, "document", "thing")),
)  # fmt: skip
INTRANSITIVE = (
    Verb("sleep", "sleeps", "slept", "dormir", "dort", "dorment", "dormi"),
    Verb("work", "works", "worked", "travailler", "travaille", "travaillent", "travaillé"),
    Verb("sing", "sings", "sung", "chanter", "chante", "chantent", "chanté"),
    Verb("arrive", "arrives", "arrived", "arriver", "arrive", "arrivent", "arrivé", "être"),
)
MOTION = (
    Verb("go", "goes", "gone", "aller", "va", "vont", "allé", "être"),
    Verb("return", "returns", "returned", "revenir", "revient", "reviennent", "revenu", "être"),
)
TRANSFER = (Verb("give", "gives", "given", "donner", "donne", "donnent", "donné", objects=("document", "thing")),)
SPEAK = Verb("speak", "speaks", "spoken", "parler", "parle", "parlent", "parlé")
REPORTING = (
    Verb("say", "says", "said", "dire", "dit", "disent", "dit", subjects=ACTORS),
    Verb("think", "thinks", "thought", "penser", "pense", "pensent", "pensé"),
    Verb("know", "knows", "known", "savoir", "sait", "savent", "su"),
)
MODALS = (("must", "doit", "doivent"), ("can", "peut", "peuvent"))

PEOPLE = (
    Name(word("Paul", "Paul"), "m", "adult"),
    Name(word("Marie", "Marie"), "f", "adult"),
    Name(word("Arthur", "Arthur"), "m", "adult"),
    Name(word("Alice", "Alice"), "f", "adult"),
)
PRONOUNS = (Name(word("he", "il"), "m", "adult"), Name(word("she", "elle"), "f", "adult"))
OBJECT_PRONOUNS = {"him": "le", "her": "la", "them": "les"}
NATIONS = (
    Name(word("France", "la France"), "f", "nation"),
    Name(word("Italy", "la Italie"), "f", "nation"),
    Name(word("Japan", "le Japon"), "m", "nation"),
)
BODIES = (
    Name(linked("the European Economic Area", "la zone économique européenne", "0-0 1-3 2-2 3-1"), "f", "zone"),
    Name(linked("the European Union", "la Union européenne", "0-0 1-2 2-1"), "f", "institution"),
    Name(linked("the European Central Bank", "la Banque centrale européenne", "0-0 1-3 2-2 3-1"), "f", "institution"),
    Name(linked("the International Monetary Fund", "le Fonds monétaire international", "0-0 1-3 2-2 3-1"), "m", "institution"),
    Name(linked("the World Health Organisation", "la Organisation mondiale de la santé", "0-0 1-2 2-3 2-4 2-5 3-1"), "f", "institution"),
    Name(linked("the National Assembly", "la Assemblée nationale", "0-0 1-2 2-1"), "f", "institution"),
)  # fmt: skip

IN_NAMES = tuple(
    parallel(*pair)
    for pair in (
        ("in France", "en France"),
        ("in Italy", "en Italie"),
        ("in Japan", "au Japon"),
        ("in Paris", "à Paris"),
        ("in London", "à Londres"),
        ("in Athens", "à Athènes"),
    )
)
TO_NAMES = tuple(parallel(" ".join(("to", *pair.source[1:])), " ".join(pair.target)) for pair in IN_NAMES)
"""French says the same for both: "in France" and "to France" are "en France"."""
COMPANY = (word("with", "avec"), word("for", "pour"), word("without", "sans"))
TIMES = (word("during", "pendant"), word("after", "après"), word("before", "avant"))
PLACES: tuple[tuple[Phrase, Kinds], ...] = (
    (word("in", "dans"), ("building", "region")),
    (word("near", "près de"), ("building", "region")),
    (word("behind", "derrière"), ("building",)),
)
TODAY = word("today", "aujourd' hui")
"""Moses splits "aujourd'hui" after its apostrophe."""
HOWEVER = word("however", "cependant")
FREQUENCIES = (word("often", "souvent"), word("always", "toujours"))
ALREADY = word("already", "déjà")
SUBORDINATORS = (word("when", "quand"), word("if", "si"))

ARTICLE_A_BEFORE = frozenset({"European"})
"""English words that begin with a vowel letter but not with a vowel sound."""

OWNERS: dict[Kind, Kinds] = {
    "role": ("institution", "region", "building"),
    "institution": ("region", "nation"),
    "document": ("role", "institution", "adult", "nation"),
    "building": ("region", "role", "adult"),
    "event": ("institution", "role"),
    "thing": ("adult", "role", "child"),
}
"""What may follow "of" after a noun of the kind: the minister of the country, the report of the committee."""

COMPARED = frozenset({"famous", "important"})
"""Adjectives that English compares with "more"."""


@cache
def nouns_of(kinds: Kinds) -> tuple[Noun, ...]:
    """The nouns of any of the kinds."""
    return tuple(noun for noun in NOUNS if noun.kind in kinds)


@cache
def adjectives_of(kind: Kind) -> tuple[Adjective, ...]:
    """The adjectives that suit a kind of noun."""
    return tuple(adjective for adjective in ADJECTIVES if kind in adjective.kinds)


@cache
def verbs_for(kind: Kind) -> tuple[Verb, ...]:
    """The transitive verbs whose object may be of the kind."""
    return tuple(verb for verb in TRANSITIVE if kind in verb.objects)
