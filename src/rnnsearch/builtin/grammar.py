"""Which rule comes next: a sentence of about the asked number of English words, by chance.

Every method draws from `rules` and returns pairs of phrases with their links. `words` is always the number of English words to
aim at: a phrase may come out shorter or longer, and `corpus` keeps what fits. A choice that the English words would not show
(the gender behind "them", which noun a relative clause describes) is never left to chance, so that one source has one translation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar

from rnnsearch.builtin import lexicon, rules
from rnnsearch.builtin.french import surface
from rnnsearch.builtin.lexicon import ACTORS, ADJECTIVES, NOUNS, PERSONS, Adjective, Determiner, Kind, Kinds, Name, Noun, Verb
from rnnsearch.builtin.phrase import NOTHING, Phrase, capitalised, join, word
from rnnsearch.builtin.rules import NEVER, NOT, NounPhrase, Style, Tense

T = TypeVar("T")
Tenses = tuple[Tense, ...]
COMMA = word(",", ",")
FULL_STOP = word(".", ".")
SUBJECTS: tuple[Kinds, ...] = (
    PERSONS,
    PERSONS,
    PERSONS,
    PERSONS,
    ACTORS,
    ("institution", "zone"),
    ("nation",),
    ("document",),
    lexicon.THINGS,
)
"""What sentences are about; one of these is drawn evenly."""


class Grammar:
    """Draws sentences from one source of random numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def sentence(self, words: int) -> Phrase:
        """A finished pair: elided, contracted, with capital letters and final punctuation."""
        if 4 <= words <= 14 and self.chance(0.05):
            return capitalised(surface(self.question(words)))
        return capitalised(surface(join(self.text(words - 1), FULL_STOP)))

    # Chance. Only `Random.random` is used: its sequence is the same in every version of Python.

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random.random() * len(options))]

    def between(self, low: int, high: int) -> int:
        return low + int(self.random.random() * (high - low + 1))

    # Sentences: openers, subordinate clauses, coordination

    def text(self, words: int) -> Phrase:
        """Everything before the full stop."""
        if words >= 6 and self.chance(0.15):
            opener = self.opener()
            return join(opener, COMMA, self.clauses(words - size(opener) - 1))
        if words >= 9 and self.chance(0.15):
            share = self.between(3, min(words // 2, 14))
            condition = self.clause(share, past=False)
            return join(self.pick(lexicon.SUBORDINATORS), condition, COMMA, self.clauses(words - size(condition) - 2, past=False))
        return self.clauses(words)

    def opener(self) -> Phrase:
        """What stands before the first comma: "Today", "However", "In Paris", "After the meeting"."""
        drawn = self.between(0, 3)
        return lexicon.TODAY if drawn == 0 else lexicon.HOWEVER if drawn == 1 else self.place(3) if drawn == 2 else self.time(3)

    def clauses(self, words: int, past: bool = True) -> Phrase:
        """One main clause, or several in a row. past: whether "was" may occur; it may not beside a French "si"."""
        if words < 10 or (words < 22 and self.chance(0.6)):
            return self.clause(words, past)
        first = self.clauses(int(words * (0.3 + 0.4 * self.random.random())), past)
        if words < 20 and self.chance(0.3):
            return join(first, word("because", "parce que"), self.clause(words - size(first) - 1, past))
        connective = self.pick((word("and", "et"), word("and", "et"), word("but", "mais")))
        return join(first, COMMA, connective, self.clauses(words - size(first) - 2, past))

    def clause(self, words: int, past: bool = True) -> Phrase:
        subject = self.subject(words)
        return join(subject.phrase, self.predicate(subject, words - size(subject.phrase), past))

    def question(self, words: int) -> Phrase:
        length = self.between(1, max(1, words // 2 - 1))
        subject = self.someone() if length == 1 else self.noun_phrase(PERSONS, length, relative=False)
        left = words - size(subject.phrase) - 3
        adverb = self.pick(lexicon.FREQUENCIES) if left >= 2 and self.chance(0.2) else NOTHING
        if left >= 2 and self.chance(0.6):
            verb = self.verb(lexicon.TRANSITIVE, subject.kind)
            rest = self.noun_phrase(verb.objects, left).phrase
        else:
            verb, rest = self.pick(lexicon.INTRANSITIVE), self.adjuncts(left)
        group = rules.verb_group(verb, subject, Style(), base=True)
        return rules.question(subject, group, adverb, rest)

    # Noun phrases

    def subject(self, words: int) -> NounPhrase:
        """The subject of a clause of so many words; short ones are more frequent."""
        if words <= 2:
            return self.someone()
        kinds = self.pick(SUBJECTS)
        if kinds is PERSONS and self.chance(0.3):
            return self.someone()
        length = 2 + int(self.random.random() ** 2 * max(1, words - 3) * 0.7)
        if length >= 5 and kinds is PERSONS and self.chance(0.3):
            first = self.noun_phrase(kinds, self.between(1, 3), relative=False)
            second = self.noun_phrase(kinds, length - size(first.phrase) - 1, relative=False)
            return rules.coordinate(first, second) if first.phrase != second.phrase else second
        return self.noun_phrase(kinds, length)

    def someone(self) -> NounPhrase:
        """One word: a name or a pronoun."""
        return named(self.pick((*lexicon.PEOPLE, *lexicon.PRONOUNS)))

    def noun_phrase(self, kinds: Kinds, words: int, relative: bool = True, negated: bool = False, counted: bool = True) -> NounPhrase:
        """A name, or a noun with what describes it.

        relative: may hold a relative clause. negated: the object of a negated verb. counted: may be indefinite or counted.
        """
        nouns = nouns_of(kinds)
        names = [name for name in names_of(kinds) if size(name.phrase) <= words]
        if names and (words == 1 or not nouns or self.chance(0.15)):
            return named(self.pick(names))
        noun = self.pick(nouns)
        plural = self.chance(0.35)
        adjectives = self.adjectives(noun.kind, words - 2)
        left = words - 2 - len(adjectives)
        described = left >= 3 and not negated
        determiner = self.determiner(plural, adjectives, negated, counted, described)
        core = rules.noun_group(noun, plural, determiner, adjectives, negated)
        if not described:
            return core
        if noun.kind in lexicon.OWNERS and (not relative or self.chance(0.4)):
            owner = self.noun_phrase(lexicon.OWNERS[noun.kind], left - 1, relative, counted=False)
            return replace(core, phrase=join(core.phrase, word("of", "de"), owner.phrase))
        return replace(core, phrase=join(core.phrase, self.relative(core, left))) if relative else core

    def determiner(self, plural: bool, adjectives: Sequence[Adjective], negated: bool, counted: bool, described: bool) -> Determiner:
        """One that exists in this number and makes sense here. described: before a relative clause or "of"."""
        drawn = self.random.random()
        some = plural and (negated or not counted)  # "does not see some", "near some": French has no "des" here
        another = not plural and lexicon.OTHER in adjectives  # "an other" is not English
        if 0.5 <= drawn < 0.7 and not some and not another:
            return lexicon.A
        if 0.7 <= drawn < 0.8 and plural and counted and not negated:
            return self.pick(lexicon.QUANTITIES)
        if 0.8 <= drawn < 0.9 and not described:
            return self.pick(lexicon.POSSESSIVES)
        if drawn >= 0.9:
            return lexicon.THE_TWO if plural and self.chance(0.3) else lexicon.THIS
        return lexicon.THE

    def adjectives(self, kind: Kind, most: int) -> list[Adjective]:
        """At most one of each rank, and "other" besides, which comes first: "the other small house"."""
        chosen: list[Adjective] = []
        for _ in range(min(most, self.pick((0, 1, 1, 1, 2, 2, 3)))):
            ranks = {adjective.rank for adjective in chosen if adjective is not lexicon.OTHER}
            chosen.append(self.pick([one for one in adjectives_of(kind) if one not in chosen and one.rank not in ranks]))
        return sorted(chosen, key=lambda adjective: adjective is not lexicon.OTHER)

    def relative(self, antecedent: NounPhrase, words: int) -> Phrase:
        """A relative clause on the noun right before it."""
        kind = antecedent.kind
        wanted = [verb for verb in lexicon.TRANSITIVE if kind in verb.objects]
        if kind in ("building", "region", "zone") and self.chance(0.3):
            subject = self.noun_phrase(PERSONS, self.between(1, 2), relative=False)
            verb = self.pick(lexicon.INTRANSITIVE)
            return join(word("where", "où"), subject.phrase, rules.verb_group(verb, subject, self.style(words - 3)))
        if wanted and self.chance(0.5):
            verb = self.pick(wanted)
            subject = self.noun_phrase(verb.subjects, min(words - 2, self.between(1, 4)), relative=False)
            group = rules.verb_group(verb, subject, self.style(words - 1 - size(subject.phrase)), antecedent=antecedent)
            return join(word("whom" if kind in PERSONS else "that", "que"), subject.phrase, group)
        return join(word("who" if kind in PERSONS else "that", "qui"), self.predicate(antecedent, words - 1))

    # Predicates: each takes its subject, the words to spend, and whether "was" may occur

    def predicate(self, subject: NounPhrase, words: int, past: bool = True) -> Phrase:
        """The verb and all that follows."""
        if words >= 8 and self.chance(0.25):
            first = self.predicate(subject, self.between(3, words - 4), past)
            return join(first, word("and", "et"), self.predicate(subject, words - size(first) - 1, past))
        options: list[Callable[[NounPhrase, int, bool], Phrase]] = []
        if words <= 6 or subject.kind not in ACTORS:
            options += [self.copula]
        if words >= 4 and any(subject.kind in verb.objects for verb in lexicon.TRANSITIVE):
            options += [self.passive]
        if subject.kind in ACTORS and words >= 2:
            options += [self.transitive, self.transitive, self.transitive]
            if words >= 5:
                options += [self.reporting, self.transfer]
        if subject.kind in PERSONS and (words <= 6 or (words <= 10 and self.chance(0.5))):
            options += [self.intransitive] if words < 3 else [self.intransitive, self.movement, self.speech]
        return self.pick(options)(subject, words, past)

    def style(self, words: int, tenses: Tenses = ("simple", "simple", "perfect", "modal")) -> Style:
        """Tense, negation and adverb of a verb that may take so many words."""
        tense = self.pick(tenses) if words >= 2 else "simple"
        negation = self.pick((NOT, NOT, NOT, NEVER)) if words >= 3 and self.chance(0.3) else NOTHING
        adverbs = (*lexicon.FREQUENCIES, lexicon.ALREADY) if tense == "perfect" and negation is NOTHING else lexicon.FREQUENCIES
        adverb = self.pick(adverbs) if negation is not NEVER and words >= 3 and self.chance(0.15) else NOTHING
        return Style(tense, negation, adverb, self.pick(lexicon.MODALS) if tense == "modal" else ("", "", ""))

    def intransitive(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        group = rules.verb_group(self.pick(lexicon.INTRANSITIVE), subject, self.style(words))
        return join(group, self.adjuncts(words - size(group)))

    def copula(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        """ "is happy", "is very old", "is rare and famous", "is more famous than Alice"."""
        adjectives = [adjective for adjective in adjectives_of(subject.kind) if adjective.predicative]
        chosen = self.pick(adjectives)
        complement = rules.predicate_adjective(chosen, subject)
        if words >= 5 and chosen.english in lexicon.COMPARED and self.chance(0.6):
            other = self.noun_phrase((subject.kind,), words - 4, relative=False)
            complement = join(word("more", "plus"), complement, word("than", "que"), other.phrase)
        elif words >= 4 and self.chance(0.4):
            second = self.pick([adjective for adjective in adjectives if adjective is not chosen])
            complement = join(complement, word("and", "et"), rules.predicate_adjective(second, subject))
        elif words >= 3 and chosen.gradable and self.chance(0.4):
            complement = join(word("very", "très"), complement)
        tenses: Tenses = ("simple", "simple", "past", "past", "modal") if past else ("simple", "simple", "modal")
        return rules.being_group(subject, complement, self.style(words - size(complement) + 1, tenses))

    def passive(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        verb = self.pick([verb for verb in lexicon.TRANSITIVE if subject.kind in verb.objects])
        style = self.style(words - 3)
        group = rules.being_group(subject, rules.passive(verb, subject), style)
        return join(group, word("by", "par"), self.noun_phrase(verb.subjects, words - size(group) - 1).phrase)

    def transitive(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        verb = self.verb(lexicon.TRANSITIVE, subject.kind)
        if "adult" in verb.objects and (words == 2 or (words < 6 and self.chance(0.3))):
            style = self.style(words - 1)
            # The gender behind "them" would show in a participle only.
            pronoun = self.pick(("him", "her") if style.tense == "perfect" else ("him", "her", "them"))
            return rules.verb_group(verb, subject, style, pronoun)
        style = self.style(words - 2)
        group = rules.verb_group(verb, subject, style)
        left = words - size(group)
        if left >= 5 and self.chance(0.3):
            adjunct = self.adjunct(self.between(2, 4))
            return join(group, self.noun_phrase(verb.objects, left - size(adjunct), negated=style.negated).phrase, adjunct)
        return join(group, self.noun_phrase(verb.objects, left, negated=style.negated).phrase)

    def transfer(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        """ "gives the book to the girl"."""
        verb, style = self.pick(lexicon.TRANSFER), self.style(words - 4)
        group = rules.verb_group(verb, subject, style)
        left = words - size(group) - 1
        given = self.noun_phrase(verb.objects, self.between(2, max(2, min(left - 2, 5))), relative=False, negated=style.negated)
        recipient = self.noun_phrase((*PERSONS, "institution"), left - size(given.phrase))
        return join(group, given.phrase, word("to", "à"), recipient.phrase)

    def reporting(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        """ "says that …"; never negated, since French would then want a subjunctive."""
        verb = self.verb(lexicon.REPORTING, subject.kind)
        adverb = self.pick(lexicon.FREQUENCIES) if words >= 6 and self.chance(0.15) else NOTHING
        group = rules.verb_group(verb, subject, Style(adverb=adverb))
        return join(group, word("that", "que"), self.clause(words - size(group) - 1))

    def movement(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        """ "goes to the hospital", "returns to Japan"."""
        group = rules.verb_group(self.pick(lexicon.MOTION), subject, self.style(words - 2))
        left = words - size(group)
        if left <= 2 or self.chance(0.2):
            return join(group, self.pick(lexicon.TO_NAMES))
        return join(group, word("to", "à"), self.noun_phrase(("building", "event"), left - 1, counted=False).phrase)

    def speech(self, subject: NounPhrase, words: int, past: bool) -> Phrase:
        """ "speaks to the teacher"."""
        group = rules.verb_group(lexicon.SPEAK, subject, self.style(words - 2))
        return join(group, word("to", "à"), self.noun_phrase(PERSONS, words - size(group) - 1).phrase)

    # Adjuncts

    def adjuncts(self, words: int) -> Phrase:
        """As many as the words allow."""
        if words < 1:
            return NOTHING
        if words == 1:
            return lexicon.TODAY if self.chance(0.5) else NOTHING
        first = self.adjunct(words if words < 5 else self.between(3, words))
        return join(first, self.adjuncts(words - size(first))) if words - size(first) >= 2 else first

    def adjunct(self, words: int) -> Phrase:
        return self.pick((self.place, self.company, self.time))(words)

    def place(self, words: int) -> Phrase:
        if words <= 2 or self.chance(0.25):
            return self.pick(lexicon.IN_NAMES)
        preposition, kinds = self.pick(lexicon.PLACES)
        return join(preposition, self.noun_phrase(kinds, words - 1, counted=False).phrase)

    def company(self, words: int) -> Phrase:
        return join(self.pick(lexicon.COMPANY), self.noun_phrase(PERSONS, words - 1, counted=False).phrase)

    def time(self, words: int) -> Phrase:
        return join(self.pick(lexicon.TIMES), self.noun_phrase(("event",), words - 1, counted=False).phrase)

    def verb(self, verbs: Sequence[Verb], subject: Kind) -> Verb:
        return self.pick([verb for verb in verbs if subject in verb.subjects])


def size(phrase: Phrase) -> int:
    return len(phrase.source)


def named(name: Name) -> NounPhrase:
    return NounPhrase(name.phrase, name.gender, False, name.kind)


@cache
def nouns_of(kinds: Kinds) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if noun.kind in kinds)


@cache
def names_of(kinds: Kinds) -> tuple[Name, ...]:
    return tuple(name for name in (*lexicon.PEOPLE, *lexicon.NATIONS, *lexicon.BODIES) if name.kind in kinds)


@cache
def adjectives_of(kind: Kind) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in ADJECTIVES if kind in adjective.kinds)
