"""Random sentences of about a given number of English words: the choice of the rules.

Every method combines constructions of `rules` and returns pairs of phrases with their links. `words` is
always the target number of English
words: a phrase may be shorter or longer, and `corpus` keeps those that fit. A choice that the English words
would not
show (the gender behind "them", which noun a relative clause describes) is never left to chance: one source
has one translation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from entries import (
    ACTORS,
    ALREADY,
    COMPANY,
    COMPARED,
    FREQUENCIES,
    IN_NAMES,
    MODALS,
    OPENERS,
    PERSONS,
    PLACES,
    SUBORDINATORS,
    TIMES,
    TO_NAMES,
    VERBS,
    Kind,
    Verb,
    adjectives_of,
    verbs_for,
)
from noun_phrases import NounPhrases, size
from phrase import NOTHING, Phrase, capitalised, join, word
from rules import (
    NEVER,
    NOT,
    NounPhrase,
    Style,
    Tense,
    being_group,
    passive,
    predicate_adjective,
    question,
    surface,
    verb_group,
)

Tenses = tuple[Tense, ...]
COMMA = ",|,"


class GrammarLimits(NamedTuple):
    """Constructions that a clause may have. past: "was", which French does not combine with "si". nested:
    relative clauses and reported speech."""

    past: bool = True
    nested: bool = True


ANYTHING = GrammarLimits()
NO_PAST = GrammarLimits(past=False)


class Grammar(NounPhrases):
    """Draws one sentence."""

    def sentence(self, words: int) -> Phrase:
        """Returns a finished pair: elided, contracted, with capital letters and final punctuation."""
        if 4 <= words <= 14 and self.happens(0.05):
            return capitalised(surface(self.question(words)))
        return capitalised(surface(join(self.text(words - 1), ".|.")))

    # Sentences: openers, subordinate clauses, coordination

    def text(self, words: int) -> Phrase:
        """Returns everything before the full stop."""
        if words >= 6 and self.happens(0.15):
            opener = self.opener()
            return join(opener, COMMA, self.clauses(words - size(opener) - 1))
        if words >= 9 and self.happens(0.15):
            share = self.between(3, min(words // 2, 14))
            condition = self.clause(share, NO_PAST)
            return join(
                self.pick(SUBORDINATORS), condition, COMMA, self.clauses(words - size(condition) - 2, NO_PAST)
            )
        return self.clauses(words)

    def opener(self) -> Phrase:
        """Returns the words before the first comma: "Today", "However", "In Paris", "After the meeting"."""
        if self.happens(0.5):
            return self.pick(OPENERS)
        return self.pick((self.place, self.time))(3)

    def clauses(self, words: int, limits: GrammarLimits = ANYTHING) -> Phrase:
        """Returns one main clause, or several in a row."""
        if words < 10 or (words < 22 and self.happens(0.6)):
            return self.clause(words, limits)
        first = self.clauses(int(words * (0.3 + 0.4 * self.fraction())), limits)
        if words < 20 and self.happens(0.3):
            return join(first, "because|parce que", self.clause(words - size(first) - 1, limits))
        connective = self.pick((word("and", "et"), word("and", "et"), word("but", "mais")))
        return join(first, COMMA, connective, self.clauses(words - size(first) - 2, limits))

    def clause(self, words: int, limits: GrammarLimits = ANYTHING) -> Phrase:
        subject = self.subject(words)
        return join(subject.phrase, self.predicate(subject, words - size(subject.phrase), limits))

    def question(self, words: int) -> Phrase:
        length = self.between(1, max(1, words // 2 - 1))
        subject = self.someone() if length == 1 else self.noun_phrase(PERSONS, length, relative=False)
        left = words - size(subject.phrase) - 3
        adverb = self.pick(FREQUENCIES) if left >= 2 and self.happens(0.2) else NOTHING
        if left >= 2 and self.happens(0.6):
            verb = self.verb(VERBS["transitive"], subject.kind)
            rest = self.noun_phrase(verb.objects, left).phrase
        else:
            verb, rest = self.pick(VERBS["intransitive"]), self.adjuncts(left)
        group = verb_group(verb, subject, Style(), base=True)
        return question(subject, group, adverb, rest)

    # Relative clauses

    def relative(self, antecedent: NounPhrase, words: int) -> Phrase:
        """Returns a relative clause on the noun right before it."""
        kind = antecedent.kind
        wanted = verbs_for(kind)
        if kind in ("building", "region", "zone") and self.happens(0.3):
            subject = self.noun_phrase(PERSONS, self.between(1, 2), relative=False)
            verb = self.pick(VERBS["intransitive"])
            return join("where|où", subject.phrase, verb_group(verb, subject, self.style(words - 3)))
        if wanted and self.happens(0.5):
            verb = self.pick(wanted)
            subject = self.noun_phrase(verb.subjects, min(words - 2, self.between(1, 4)), relative=False)
            group = verb_group(
                verb, subject, self.style(words - 1 - size(subject.phrase)), antecedent=antecedent
            )
            return join(word("whom" if kind in PERSONS else "that", "que"), subject.phrase, group)
        return join(
            word("who" if kind in PERSONS else "that", "qui"), self.predicate(antecedent, words - 1, ANYTHING)
        )

    # Predicates

    def predicate(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        """Returns the verb and everything after it. Several verbs may share a subject: "reads the book and
        sleeps".

        A verb after "and" agrees with that subject, so the part before must not have another verb to which it
        could belong.
        """
        if words >= 8 and self.happens(0.25):
            first = self.predicate(subject, self.between(3, min(words - 4, 7)), limits._replace(nested=False))
            return join(first, "and|et", self.predicate(subject, words - size(first) - 1, limits))
        options: list[Callable[[NounPhrase, int, GrammarLimits], Phrase]] = []
        if words <= 6 or subject.kind not in ACTORS:
            options += [self.copula]
        if words >= 4 and verbs_for(subject.kind):
            options += [self.passive]
        if subject.kind in ACTORS and words >= 2:
            options += [self.transitive, self.transitive, self.transitive]
            if words >= 5:
                options += [self.transfer, self.reporting] if limits.nested else [self.transfer]
        if subject.kind in PERSONS and (words <= 6 or (words <= 10 and self.happens(0.5))):
            options += [self.intransitive] if words < 3 else [self.intransitive, self.movement, self.speech]
        return self.pick(options)(subject, words, limits)

    def style(self, words: int, tenses: Tenses = ("simple", "simple", "perfect", "modal")) -> Style:
        """Returns tense, negation and adverb of a verb of at most this many words."""
        tense = self.pick(tenses) if words >= 2 else "simple"
        negation = self.pick((NOT, NOT, NOT, NEVER)) if words >= 3 and self.happens(0.3) else NOTHING
        adverbs = FREQUENCIES + ALREADY if tense == "perfect" and negation is NOTHING else FREQUENCIES
        adverb = (
            self.pick(adverbs) if negation is not NEVER and words >= 3 and self.happens(0.15) else NOTHING
        )
        return Style(tense, negation, adverb, self.pick(MODALS) if tense == "modal" else ("", "", ""))

    def intransitive(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        group = verb_group(self.pick(VERBS["intransitive"]), subject, self.style(words))
        return join(group, self.adjuncts(words - size(group), limits.nested))

    def copula(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        """ "is happy", "is very old", "is old and famous", "is more famous than Alice"."""
        style = self.style(
            words - 1,
            ("simple", "simple", "past", "past", "modal") if limits.past else ("simple", "simple", "modal"),
        )
        adjectives = [adjective for adjective in adjectives_of(subject.kind) if adjective.predicative]
        chosen = self.pick(adjectives)
        complement = predicate_adjective(chosen, subject)
        left = words - size(being_group(subject, complement, style))
        if left >= 3 and chosen.english in COMPARED and self.happens(0.6):
            other = self.noun_phrase((subject.kind,), left - 2, relative=False)
            complement = join("more|plus", complement, "than|que", other.phrase)
        elif (
            left >= 2 and not style.negated and self.happens(0.4)
        ):  # French would want "ni … ni" after a negation
            second = self.pick([adjective for adjective in adjectives if adjective.rank != chosen.rank])
            complement = join(complement, "and|et", predicate_adjective(second, subject))
        elif left >= 1 and chosen.gradable and self.happens(0.4):
            complement = join("very|très", complement)
        return being_group(subject, complement, style)

    def passive(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        verb = self.pick(verbs_for(subject.kind))
        style = self.style(words - 3)
        group = being_group(subject, passive(verb, subject), style)
        return join(
            group, "by|par", self.noun_phrase(verb.subjects, words - size(group) - 1, limits.nested).phrase
        )

    def transitive(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        verb = self.verb(VERBS["transitive"], subject.kind)
        if "adult" in verb.objects and (words == 2 or (words < 6 and self.happens(0.3))):
            style = self.style(words - 1)
            # The gender of "them" would show only in a participle.
            pronoun = self.pick(("him", "her") if style.tense == "perfect" else ("him", "her", "them"))
            return verb_group(verb, subject, style, pronoun)
        style = self.style(words - 2)
        group = verb_group(verb, subject, style)
        left = words - size(group)
        if left >= 5 and self.happens(0.3):
            adjunct = self.pick((self.place, self.company, self.time))(self.between(2, 4))
            return join(
                group,
                self.noun_phrase(verb.objects, left - size(adjunct), limits.nested, style.negated).phrase,
                adjunct,
            )
        return join(group, self.noun_phrase(verb.objects, left, limits.nested, style.negated).phrase)

    def transfer(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        """ "gives the book to the girl"."""
        verb, style = self.pick(VERBS["transfer"]), self.style(words - 4)
        group = verb_group(verb, subject, style)
        left = words - size(group) - 1
        given = self.noun_phrase(
            verb.objects, self.between(2, max(2, min(left - 2, 5))), relative=False, negated=style.negated
        )
        recipient = self.noun_phrase((*PERSONS, "institution"), left - size(given.phrase), limits.nested)
        return join(group, given.phrase, "to|à", recipient.phrase)

    def reporting(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        """ "says that …"; never negated, since French would then want a subjunctive."""
        verb = self.verb(VERBS["reporting"], subject.kind)
        adverb = self.pick(FREQUENCIES) if words >= 6 and self.happens(0.15) else NOTHING
        group = verb_group(verb, subject, Style(adverb=adverb))
        return join(group, "that|que", self.clause(words - size(group) - 1))

    def movement(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        """ "goes to the hospital", "returns to Japan"."""
        group = verb_group(self.pick(VERBS["motion"]), subject, self.style(words - 2))
        left = words - size(group)
        if left <= 2 or self.happens(0.2):
            return join(group, self.pick(TO_NAMES))
        return join(
            group,
            "to|à",
            self.noun_phrase(("building", "event"), left - 1, limits.nested, counted=False).phrase,
        )

    def speech(self, subject: NounPhrase, words: int, limits: GrammarLimits) -> Phrase:
        """ "speaks to the teacher"."""
        group = verb_group(VERBS["speak"][0], subject, self.style(words - 2))
        return join(group, "to|à", self.noun_phrase(PERSONS, words - size(group) - 1, limits.nested).phrase)

    # Adjuncts

    def adjuncts(self, words: int, relative: bool = True) -> Phrase:
        """Returns as many adjuncts as the words allow, at most one of each sort."""
        sorts = [self.place, self.company, self.time]
        drawn = NOTHING
        while sorts and words - size(drawn) >= 2:
            sort = self.pick(sorts)
            sorts.remove(sort)
            left = words - size(drawn)
            drawn = join(drawn, sort(left if left < 5 else self.between(3, left), relative))
        return join(drawn, OPENERS[0]) if words - size(drawn) == 1 and self.happens(0.5) else drawn

    def place(self, words: int, relative: bool = False) -> Phrase:
        if words <= 2 or self.happens(0.25):
            return self.pick(IN_NAMES)
        preposition, kinds = self.pick(PLACES)
        return join(preposition, self.noun_phrase(kinds, words - 1, relative, counted=False).phrase)

    def company(self, words: int, relative: bool = False) -> Phrase:
        return join(self.pick(COMPANY), self.noun_phrase(PERSONS, words - 1, relative, counted=False).phrase)

    def time(self, words: int, relative: bool = False) -> Phrase:
        return join(self.pick(TIMES), self.noun_phrase(("event",), words - 1, relative, counted=False).phrase)

    def verb(self, verbs: Sequence[Verb], subject: Kind) -> Verb:
        return self.pick([verb for verb in verbs if subject in verb.subjects])
