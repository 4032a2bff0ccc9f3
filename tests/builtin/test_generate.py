"""The generated corpus: exact, deterministic, varied, and in the words of Moses's tokeniser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sacremoses import MosesDetokenizer, MosesTokenizer

from rnnsearch.builtin import entries
from rnnsearch.builtin import generate as corpus
from rnnsearch.builtin.generate import SHORTEST, GeneratedPair, generate, split, write
from rnnsearch.errors import InputError

PAIRS = 4000


@pytest.fixture(scope="module")
def examples() -> list[GeneratedPair]:
    return generate(PAIRS, seed=7)


def test_tokens_are_those_of_moses(examples: list[GeneratedPair]) -> None:
    english, french = MosesTokenizer("en"), MosesTokenizer("fr")
    for example in examples:
        assert english.tokenize(example.source_text, escape=False) == list(example.source)
        assert french.tokenize(example.target_text, escape=False) == list(example.target)


def test_moses_detokeniser_gives_back_the_text(examples: list[GeneratedPair]) -> None:
    english, french = MosesDetokenizer("en"), MosesDetokenizer("fr")
    for example in examples[:1000]:
        assert english.detokenize(list(example.source), unescape=False) == example.source_text
        assert french.detokenize(list(example.target), unescape=False) == example.target_text


def test_text_is_natural() -> None:
    words = ("Aujourd'", "hui", ",", "est-ce", "qu'", "Alice", "n'", "aide", "pas", "l'", "homme", "?")
    assert GeneratedPair((), words, ()).target_text == "Aujourd'hui, est-ce qu'Alice n'aide pas l'homme ?"
    assert GeneratedPair(("Today", ",", "does", "Alice", "help", "?"), (), ()).source_text == "Today, does Alice help?"


def test_links_are_in_range_sorted_and_unique(examples: list[GeneratedPair]) -> None:
    for example in examples:
        assert list(example.links) == sorted(set(example.links))
        assert all(0 <= j < len(example.source) and 0 <= i < len(example.target) for j, i in example.links)


def test_every_target_word_is_linked_and_every_source_word_but_the_helper_of_a_negation(examples: list[GeneratedPair]) -> None:
    alone: Counter[str] = Counter()
    for example in examples:
        assert {i for _, i in example.links} == set(range(len(example.target)))
        linked = {j for j, _ in example.links}
        for j, source in enumerate(example.source):
            if j not in linked:
                alone[source] += 1
                assert example.source[j + 1] == "not"
    assert set(alone) == {"do", "does"}


def test_punctuation_and_names_are_linked_to_themselves(examples: list[GeneratedPair]) -> None:
    same = {".", ",", "?", "Paul", "Marie", "Arthur", "Alice", "Paris"}
    for example in examples:
        for j, i in example.links:
            if example.source[j] in same or example.target[i] in same:
                assert example.source[j] == example.target[i], example


def test_most_links_are_one_to_one(examples: list[GeneratedPair]) -> None:
    """One source word for each target word, as an argmax of attention gives, can reach nearly all links."""
    reachable = sum(len(example.target) for example in examples)
    assert reachable / sum(len(example.links) for example in examples) > 0.97


def test_one_source_has_one_translation() -> None:
    translations: dict[tuple[str, ...], tuple[str, ...]] = {}
    for example in generate(20_000, seed=11):
        assert translations.setdefault(example.source, example.target) == example.target


def test_lengths_reach_from_three_words_to_over_fifty(examples: list[GeneratedPair]) -> None:
    lengths = [len(example.source) for example in examples]
    assert min(lengths) == SHORTEST
    assert max(lengths) > 50
    assert max(max(lengths), *(len(example.target) for example in examples)) <= 60
    assert 0.6 < sum(5 <= length <= 20 for length in lengths) / PAIRS < 0.95
    assert 0 < sum(length > 50 for length in lengths) / PAIRS < 0.05


@pytest.mark.parametrize(("low", "high"), [(3, 3), (3, 8), (20, 25), (51, 60), (70, 90)])
def test_lengths_asked_for_hold_on_both_sides(low: int, high: int) -> None:
    made = generate(20, seed=2, min_words=low, max_words=high)
    assert all(low <= len(side) <= high for example in made for side in (example.source, example.target))


@pytest.mark.parametrize(("low", "high"), [(10, 9), (1, 2)])
def test_impossible_lengths_are_refused(low: int, high: int) -> None:
    with pytest.raises(InputError, match=f"no sentences of {low} to {high} words"):
        generate(1, min_words=low, max_words=high)


def test_thousands_of_sentence_types(examples: list[GeneratedPair]) -> None:
    """A type is the sentence with its open-class words replaced by their class."""
    classes = {form: "noun" for noun in entries.NOUNS for form in (noun.singular, noun.plural)}
    classes |= {adjective.english: "adjective" for adjective in entries.ADJECTIVES}
    classes |= {name.phrase.source[0]: "name" for name in (*entries.PEOPLE, *entries.NATIONS)}
    verbs = (*entries.TRANSITIVE, *entries.INTRANSITIVE, *entries.MOTION, *entries.TRANSFER, entries.SPEAK, *entries.REPORTING)
    classes |= {form.split()[0]: "verb" for verb in verbs for form in (verb.base, verb.third, verb.participle)}
    types = {tuple(classes.get(word, word) for word in example.source) for example in examples}
    assert len(types) > 2000


def test_vocabulary_is_small_enough_to_learn(examples: list[GeneratedPair]) -> None:
    assert len({word for example in examples for word in example.source}) < 300
    assert len({word for example in examples for word in example.target}) < 400


def test_phenomena_occur(examples: list[GeneratedPair]) -> None:
    """What the paper's Figure 3 shows, and the rules beside it, each in a fair number of sentences."""
    french = Counter(word for example in examples for word in example.target)
    for word in ("l'", "n'", "d'", "qu'", "du", "au", "aux", "des", "jamais", "cet", "nouvel", "vieil", "où", "qui"):
        assert french[word] > 0.002 * PAIRS, word
    wanted = {("European", "Economic", "Area"), ("zone", "économique", "européenne")}
    seen = {side[k : k + 3] for example in examples for side in (example.source, example.target) for k in range(len(side) - 2)}
    assert wanted <= seen


def test_the_gender_behind_them_never_shows(examples: list[GeneratedPair]) -> None:
    for example in examples:
        for j, i in example.links:
            if example.source[j] == "them":
                assert example.target[i] == "les"
                assert example.target[i + 1] not in ("a", "ont"), example.target_text


def test_same_seed_same_corpus_in_another_process() -> None:
    code = "from rnnsearch.builtin.generate import generate; print(*(e for e in generate(200, seed=5)), sep='\\n')"
    outputs = set()
    for hash_seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
        outputs.add(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, encoding="utf-8").stdout)
    assert outputs == {"".join(f"{example}\n" for example in generate(200, seed=5))}
    assert generate(200, seed=5) != generate(200, seed=6)


def test_held_out_sentences_occur_nowhere_else() -> None:
    train, dev, test = split(3000, 150, seed=4)
    assert (len(train), len(dev), len(test)) == (3000, 150, 150)
    for side in ("source", "target"):
        sentences = [[getattr(example, side) for example in part] for part in (train, dev, test)]
        assert not set(sentences[1]) & set(sentences[2])
        assert not set(sentences[0]) & (set(sentences[1]) | set(sentences[2]))
        assert len(set(sentences[1])) == len(set(sentences[2])) == 150


def test_a_shared_translation_counts_as_a_shared_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "his law" and "her law" are both "sa loi": two sources, one target."""
    stream = [("his law", "sa loi"), ("her law", "sa loi"), ("a law", "une loi"), ("her law", "sa loi"), ("the law", "la loi")]
    made = [GeneratedPair(tuple(english.split()), tuple(french.split()), ()) for english, french in stream]
    monkeypatch.setattr(corpus, "_stream", lambda seed, low, high: iter(made))
    train, dev, test = split(1, 1)
    assert [example.source_text for example in (*dev, *test, *train)] == ["his law", "a law", "the law"]


def test_held_out_sentences_do_not_depend_on_the_size_of_training() -> None:
    small, large = split(10, 50), split(500, 50)
    assert small[1:] == large[1:]
    assert small[0] == large[0][:10]


def test_write_gives_plain_parallel_files(tmp_path: Path) -> None:
    write(tmp_path / "corpus", 30, 5, seed=3)
    parts = dict(zip(("train", "dev", "test"), split(30, 5, seed=3), strict=True))
    assert sorted(path.name for path in (tmp_path / "corpus").iterdir()) == sorted(
        f"{part}.{ending}" for part in parts for ending in ("en", "fr", "links")
    )
    for part, pairs in parts.items():
        english, french, links = (
            (tmp_path / "corpus" / f"{part}.{ending}").read_bytes().decode().split("\n") for ending in ("en", "fr", "links")
        )
        assert english == [*(example.source_text for example in pairs), ""]
        assert french == [*(example.target_text for example in pairs), ""]
        assert links == [*(" ".join(f"{j}-{i}" for j, i in example.links) for example in pairs), ""]
