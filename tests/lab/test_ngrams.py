from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.lab.ngrams import FALLBACK, EncodedText, NgramModel, encode_text
from rnnsearch.text.vocabulary import Vocabulary

Sentence = tuple[str, ...]

WORDS = Vocabulary(["a", "b", "c"])
"""Five symbols can be predicted: those three, the unknown word, and the end of sentence."""

sentences_ = st.lists(
    st.lists(st.sampled_from("abcx"), max_size=6).map(tuple), min_size=1, max_size=12
)


def learnt(sentences: list[Sentence], order: int, vocabulary: Vocabulary = WORDS) -> NgramModel:
    return NgramModel.estimate(encode_text(sentences, vocabulary), len(vocabulary), order)


def probability(model: NgramModel, context: list[int], word: int) -> float:
    """p(word | <s> context)."""
    ids = np.array([model.words, *context, word])
    return math.exp(model.log_probabilities(EncodedText(ids, np.array([0, len(ids)])))[-1])


class PlainKneserNey:
    """The same model from its definition, one probability at a time, on words as strings; `predicted` are the
    words of the vocabulary."""

    def __init__(self, sentences: list[Sentence], order: int, known: str, predicted: int) -> None:
        self.order, self.predicted = order, predicted
        lines = [
            ("<s>", *(word if word in known else "<unk>" for word in sentence), "</s>")
            for sentence in sentences
        ]
        self.counts: dict[Sentence, int] = {}
        for length in range(1, order + 1):
            occurrences = Counter(gram for line in lines for gram in grams(line, length))
            left = defaultdict(set)
            for line in lines:
                for longer in grams(line, length + 1):
                    left[longer[1:]].add(longer[0])
            for gram, count in occurrences.items():
                self.counts[gram] = (
                    count if length == order or gram[0] == "<s>" else len(left[gram])
                )
        self.counts.pop(("<s>",), None)
        self.discounts = {length: self._discounts(length) for length in range(1, order + 1)}

    def _discounts(self, length: int) -> list[float]:
        n = [
            sum(len(gram) == length and count == times for gram, count in self.counts.items())
            for times in range(5)
        ]
        if all(n[1:]):
            y = n[1] / (n[1] + 2 * n[2])
            found = [times - (times + 1) * y * n[times + 1] / n[times] for times in (1, 2, 3)]
            if all(0 < found[times - 1] <= times for times in (1, 2, 3)):
                return [0, *found]
        return [0, *FALLBACK]

    def probability(self, context: Sentence, word: str) -> float:
        """p(word | context), where only the last order − 1 words of the context matter."""
        context = context[max(0, len(context) - self.order + 1) :]
        followers = {
            gram[-1]: count
            for gram, count in self.counts.items()
            if len(gram) == len(context) + 1 and gram[:-1] == context
        }
        shorter = self.probability(context[1:], word) if context else 1 / self.predicted
        if not followers:
            return shorter
        amount = {
            follower: self.discounts[len(context) + 1][min(count, 3)]
            for follower, count in followers.items()
        }
        own = max(followers.get(word, 0) - amount.get(word, 0), 0)
        return (own + sum(amount.values()) * shorter) / sum(followers.values())


def grams(line: Sentence, length: int) -> list[Sentence]:
    return [line[start : start + length] for start in range(len(line) - length + 1)]


@given(sentences_, st.lists(st.sampled_from("abcx"), max_size=5), st.integers(1, 5))
def test_every_probability_is_that_of_the_definition(
    sentences: list[Sentence], asked: list[str], order: int
) -> None:
    model, plain = learnt(sentences, order), PlainKneserNey(sentences, order, "abc", len(WORDS))
    line = ["<s>", *(word if word in "abc" else "<unk>" for word in asked), "</s>"]
    expected = [
        plain.probability(tuple(line[:place]), line[place]) for place in range(1, len(line))
    ]
    found = model.log_probabilities(encode_text([asked], WORDS))
    assert found[0] == 0
    np.testing.assert_allclose(np.exp(found[1:]), expected, rtol=2e-6)


def test_every_probability_is_that_of_the_definition_with_estimated_discounts() -> None:
    """On a text large enough that no order falls back on fixed discounts."""
    random = np.random.default_rng(3)
    words = [chr(number) for number in range(ord("a"), ord("a") + 26)]
    weights = 1 / np.arange(1, 27) ** 1.2
    sentences = [
        tuple(random.choice(words, random.integers(1, 9), p=weights / weights.sum()))
        for _ in range(150)
    ]
    vocabulary = Vocabulary(words[:22])
    model = learnt(sentences[:120], 3, vocabulary)
    plain = PlainKneserNey(sentences[:120], 3, "".join(words[:22]), len(vocabulary))
    assert all(plain.discounts[length][1:] != list(FALLBACK) for length in (2, 3))
    for sentence in sentences[120:]:
        line = ("<s>", *(word if word in words[:22] else "<unk>" for word in sentence), "</s>")
        expected = [plain.probability(line[:place], line[place]) for place in range(1, len(line))]
        np.testing.assert_allclose(
            np.exp(model.log_probabilities(encode_text([sentence], vocabulary))[1:]),
            expected,
            rtol=2e-6,
        )


@given(st.lists(sentences_, min_size=1, max_size=3))
def test_a_sentence_scores_the_same_alone_and_among_others(parts: list[list[Sentence]]) -> None:
    model = learnt(parts[0], 3)
    everything = [sentence for part in parts for sentence in part]
    together = model.cross_entropies(encode_text(everything, WORDS))
    alone = np.concatenate(
        [model.cross_entropies(encode_text([sentence], WORDS)) for sentence in everything]
    )
    assert together.tolist() == alone.tolist()
