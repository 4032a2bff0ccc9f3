"""The translator as the interface promises it, on runs that were trained for a moment."""

from __future__ import annotations

import itertools
import math
import pickle
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from refusals import refusal

from rnnsearch import Translation, Translator
from rnnsearch.config import changed
from rnnsearch.kernels.int8 import Int8Linear
from rnnsearch.kernels.products import Converted
from rnnsearch.translation.batching import READ_AHEAD
from rnnsearch.translation.terms import LONGEST_ARTICLE
from rnnsearch.translation.translator import likelier
from rnnsearch.word_links import merge_subwords

LINES = [
    "The man sees the horse.",
    "",
    "She sleeps.",
    "The European woman, who is old, does not often sing in Paris.",
    "Nobody xyzzy.",
]


@pytest.fixture(params=["tiny_run", "tiny_backward_run", "tiny_bidirectional_run"])
def reader(request: pytest.FixtureRequest) -> Translator:
    """One whose decoder reads from the left, from the right or from both ends."""
    return Translator.load(request.getfixturevalue(request.param))


LONG = {"search.min_length_ratio": 0.5}


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return Translator.load(tiny_run)


def same(one: Translation, other: Translation) -> bool:
    texts = (one.text, one.tokens, one.source_tokens) == (
        other.text,
        other.tokens,
        other.source_tokens,
    )
    scores = one.score == pytest.approx(other.score, abs=1e-3)
    return texts and scores and np.allclose(one.alignment, other.alignment, atol=1e-4)


def test_an_error_between_steps_ends_a_translation(reader: Translator) -> None:
    settings = changed(reader.settings, {"search.batch_size": 2})
    asked = itertools.count()

    def counted(limit: float) -> None:
        if next(asked) >= limit:
            raise KeyboardInterrupt

    parts = [part for line in LINES if line for part in reader.parts(line)]
    whole = reader.translate_parts(parts, each_step=lambda: counted(math.inf), settings=settings)
    assert whole == reader.translate_parts(parts, settings=settings)
    steps = next(asked)
    assert steps > 8
    for limit in (0, 3, steps - 1):
        asked = itertools.count()
        with pytest.raises(KeyboardInterrupt):
            reader.translate_parts(parts, each_step=partial(counted, limit), settings=settings)
        assert next(asked) == limit + 1  # not one step more


def test_results_come_in_the_order_of_the_lines(reader: Translator) -> None:
    together = reader.translate(LINES, batch_size=2, settings=LONG)
    assert [result.source_tokens[:-1] == [] for result in together] == [
        line == "" for line in LINES
    ]
    for line, result in zip(LINES, together, strict=True):
        assert same(result, reader.translate([line], settings=LONG)[0])
    backwards = reader.translate(reversed(LINES), settings=LONG)
    assert all(map(same, together, reversed(backwards)))
    assert reader.translate([]) == []


def counted(lines: Iterator[Any]) -> tuple[Iterator[Any], list[int]]:
    taken: list[int] = []

    def pass_on() -> Iterator[Any]:
        for number, line in enumerate(lines):
            taken.append(number)
            yield line

    return pass_on(), taken


def test_endless_text_is_translated_and_scored_as_it_comes(translator: Translator) -> None:
    for use, ahead in (
        (lambda lines: translator.stream(lines, batch_size=2, beam=1), 2 * READ_AHEAD * 2 + 1),
        (
            lambda lines: translator.stream(lines, full_batches=True, batch_size=2, beam=1),
            READ_AHEAD * 2,
        ),
        (
            lambda lines: translator.force(((line, line) for line in lines), batch_size=2),
            READ_AHEAD * 2,
        ),
    ):
        lines, taken = counted(itertools.repeat("She sleeps."))
        results = use(lines)
        assert next(results).source_tokens == ["She", "sleeps", ".", "</s>"]
        assert len(taken) <= ahead


def test_forced_decoding_repeats_what_search_found(reader: Translator) -> None:
    """Words, their log p and their alignment stand in the order of the sentence, whichever end was written
    first."""
    lines = [line for line in LINES if line]
    found = reader.translate(lines, nbest=4, settings={"search.min_length_ratio": 0.3})
    pairs = [
        (line, one)
        for line, result in zip(lines, found, strict=True)
        for one in (result, *result.alternatives)
        if one.tokens
    ]
    forced = reader.force([(line, one.text) for line, one in pairs], batch_size=3)
    compared = 0
    for (_, one), again in zip(pairs, forced, strict=True):
        if one.tokens == again.tokens and one.finished:
            assert same(one, again)
            assert again.log_probabilities == pytest.approx(one.log_probabilities, abs=1e-3)
            compared += 1
    assert compared


PAIRS = [(LINES[0], "L'homme voit le cheval."), ("", ""), (LINES[2], "Elle dort.")]


def test_pairs_are_scored_and_aligned(translator: Translator) -> None:
    forced = list(translator.force(PAIRS))
    assert translator.score(iter(PAIRS)) == [result.score for result in forced]
    assert translator.align(PAIRS) == forced
    assert all(isinstance(score, float) for score in translator.score(PAIRS))
    assert (
        translator.align(PAIRS, posterior=True, batch_size=1)[0].alignment.shape
        == forced[0].alignment.shape
    )
    assert not np.allclose(
        translator.align(PAIRS, posterior=True)[0].alignment, forced[0].alignment
    )
    assert (translator.score([]), translator.align([])) == ([], [])


LINES_EXPECTED = "NoneType was given, not lines (give a list of strings or pairs)"
NO_TEXT = [
    ("translate", None, LINES_EXPECTED),
    ("translate", ["The man.", None], "line 2 is NoneType, not text (give strings)"),
    ("translate", b"The man.", "bytes was given, not lines"),
    ("translate", {"en": ["The man."]}, "dict was given, not lines (give a list of its values)"),
    (
        "translate",
        SimpleNamespace(__iter__=None, columns=["en"]),
        "SimpleNamespace was given, not lines",
    ),
    ("align", {("a", "b"): 1}, "dict was given, not pairs"),
    (
        "translate",
        ["", b"The man."],
        "line 2 is bytes, not text (decode it, as in line.decode('utf-8'))",
    ),
    ("align", "ab", "str was given, not pairs"),
    ("align", ["ab"], "pair 1 is str, not a source and a target line (give tuples of two strings)"),
    ("align", [("", ""), ("", "", "")], "pair 2 is tuple, not a source and a target line"),
    ("score", [(b"a", "b")], "the source of pair 1 is bytes, not text (decode it"),
]


@pytest.mark.parametrize(("method", "given", "said"), NO_TEXT)
def test_what_is_no_text_is_one_line(
    translator: Translator, method: str, given: Any, said: str
) -> None:
    with refusal(f"^{re.escape(said)}"):
        list(getattr(translator, method)(given))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"no_unk": True}, 'there is no option no_unk (give settings={"search.no_unk": …})'),
        (
            {"faithful": True},
            'there is no option faithful (give settings={"translation.faithful": …})',
        ),
        ({"beem": 3}, "there is no option beem (did you mean 'beam'?)"),
        (
            {"beam": 3, "settings": {"search.beam": 4}},
            "beam and search.beam are the same (give one",
        ),
        ({"settings": {"training.seed": 4}}, "training.seed has no effect here"),
    ],
)
def test_other_settings_are_not_options(
    translator: Translator, options: dict[str, Any], said: str
) -> None:
    with refusal(re.escape(said)):
        translator.translate(["a"], **options)


def test_a_translator_that_was_used_is_pickled(tiny_run: Path, tiny_subword_run: Path) -> None:
    for run in (tiny_run, tiny_subword_run):
        used = Translator.load(run, dictionary={"horse": "cheval"})
        used.translate(LINES[:1], settings={"search.precision": "int8"})
        used.translate(LINES[:1], settings={"search.precision": "bfloat16"})
        used.score(PAIRS)
        expected = used.translate(LINES, beam=2, settings={"search.max_length_ratio": 1.0})
        again = pickle.loads(pickle.dumps(used))
        assert again.translate(LINES, beam=2, settings={"search.max_length_ratio": 1.0}) == expected
        int8 = {"search.precision": "int8"}
        [there], [here] = (one.translate(LINES[:1], settings=int8) for one in (again, used))
        assert there.text == here.text
        # some CPUs sum in another order where a tensor begins at another address
        np.testing.assert_allclose(there.alignment, here.alignment, rtol=1e-5)
        np.testing.assert_allclose(there.log_probabilities, here.log_probabilities, rtol=1e-5)
        assert (again.settings, again.dictionary) == (used.settings, used.dictionary)
        assert used._networks._converted  # what was converted is still there


def test_forced_decoding_takes_words_that_the_vocabulary_lacks(translator: Translator) -> None:
    [result] = translator.force([("Nobody xyzzy.", "Personne ne xyzzyfie.")])
    assert result.tokens == ["Personne", "ne", "xyzzyfie", "."]  # as given, not <unk>
    assert result.source_tokens == ["Nobody", "xyzzy", ".", "</s>"]
    assert len(result.log_probabilities) == 5


def test_unknown_words_become_what_they_look_at(tiny_unknown_run: Path) -> None:
    plain = Translator.load(tiny_unknown_run, dictionary={"horse": "cheval", "The": "Le"})
    lines = ["The horse horse horse.", LINES[3]]
    settings = {"search.min_length_ratio": 1.0, "search.nbest": 2}
    unknown = 0
    for before, after in zip(
        plain.translate(lines, settings=settings),
        plain.translate(lines, settings=settings, replace_unk=True),
        strict=True,
    ):
        for old, new in zip(
            (before, *before.alternatives), (after, *after.alternatives), strict=True
        ):
            for was, word, row in zip(old.tokens, new.tokens, old.alignment, strict=True):
                aligned = old.source_tokens[int(np.argmax(row[:-1]))]
                assert word == (plain.dictionary.get(aligned, aligned) if was == "<unk>" else was)
                unknown += was == "<unk>"
            assert new.score == old.score
            assert "<unk>" not in new.text
    assert unknown


@pytest.mark.parametrize(
    "search",
    [{"search.beam": 1}, {"search.beam": 3, "search.nbest": 3}, {"translation.faithful": True}],
)
def test_a_glossary_binds(
    tiny_run: Path, search: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the network looks at "man" alone, "brave homme" is written; elsewhere, and of
    full stops, what it wrote stays."""
    terms, lines, place = {"man": "brave homme"}, [LINES[0], "", "She sleeps."], 1

    def looking(weights: Any, source_of: Any, target_of: Any, words: int) -> Any:
        return np.eye(source_of[-1] + 1, dtype=np.float32)[[place] * words]

    monkeypatch.setattr("rnnsearch.translation.translator.merge_subwords", looking)
    free, binding = Translator.load(tiny_run), Translator.load(tiny_run, glossary=terms)
    for found in (
        free.translate(lines, glossary=terms, settings=search),
        binding.translate(lines, settings=search),
    ):
        *short, brave, homme = (word for word in found[0].tokens if word != ".")
        assert (brave.lower(), homme) == ("brave", "homme")
        assert all(len(word) <= LONGEST_ARTICLE for word in short)  # they may be articles
        assert len(found[0].confidence) == len(found[0].alignment) == len(found[0].tokens)
        assert [one.text for one in found[1:]] == [
            one.text for one in free.translate(lines[1:], settings=search)
        ]
    assert binding.translate(lines, glossary={}, settings=search) == free.translate(
        lines, settings=search
    )
    place = 3
    assert binding.translate(lines[:1], settings=search) == free.translate(
        lines[:1], settings=search
    )
    assert binding.parts(lines[0])[0].terms[0].translation == ("brave", "homme")


def test_entries_of_an_nbest_list_differ(tiny_subword_run: Path) -> None:
    for one in Translator.load(tiny_subword_run).translate(
        LINES, beam=8, nbest=8, settings={"translation.faithful": True}
    ):
        texts = [each.text for each in (one, *one.alternatives)]
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("seed", range(5))
def test_alignments_in_words(seed: int) -> None:
    """Subwords of a source word are added up, over those of a target word the mean is taken; padding is left
    out, and rows sum to 1 although rounding has taken of their weight."""
    random = np.random.default_rng(seed)
    words = np.sort(
        np.concatenate([[np.arange(4)] * 2, random.integers(0, 4, size=(2, 5))], axis=1)
    )
    weights = random.dirichlet(np.ones(9), size=9).astype(np.float32)
    padded = 0.9 * np.pad(weights, ((0, 0), (0, 3)))
    found = merge_subwords(padded.astype(np.float32), words[0].tolist(), words[1].tolist(), 4)
    assert found.dtype == np.float32
    for i, j in itertools.product(range(4), range(4)):
        rows = words[1] == i
        assert found[i, j] == pytest.approx(
            weights[np.ix_(rows, words[0] == j)].sum() / rows.sum(), abs=1e-5
        )
    # An empty source: the end of sentence is all there is.
    assert merge_subwords(np.ones((1, 1), dtype=np.float32), [0], [0], 1).tolist() == [[1.0]]


def test_int8_products(translator: Translator) -> None:
    """Scores are those of float32 but for the rounding, also with nothing to translate; each matrix is
    converted once."""
    first = translator.translate(LINES, beam=3, settings={"search.precision": "int8"})
    (converted,) = translator._networks.converted("int8", kernels=True)
    products = {
        layer: layer._product for layer in converted.modules() if isinstance(layer, Converted)
    }
    assert sum(isinstance(each, Int8Linear) for each in products.values()) > 5
    again = translator.translate(LINES, beam=3, settings={"search.precision": "int8"})
    assert translator._networks.converted("int8", kernels=True) == [converted]
    assert all(layer._product is product for layer, product in products.items())
    assert [result.score for result in again] == [result.score for result in first]
    found = [
        (line, result)
        for line, result in zip(LINES, first, strict=True)
        if line and result.finished
    ]
    assert found
    for (_, low), high in zip(
        found, translator.force([(line, result.text) for line, result in found]), strict=True
    ):
        assert low.score == pytest.approx(high.score, abs=0.1 * (1 + len(low.tokens)))
        assert low.score != high.score


def test_the_score_of_a_bidirectional_run_is_the_mean_of_its_directions(
    tiny_bidirectional_run: Path,
) -> None:
    """Of the same encoder with either decoder alone: log p, and alignments."""
    translator = Translator.load(tiny_bidirectional_run)
    (network,) = translator.networks
    pairs = [("The man sleeps.", "L'homme dort."), ("She sings.", "Elle ne chante pas souvent.")]
    both = list(translator.force(pairs))
    halves: list[list[Translation]] = []
    for direction in network.directions:
        network.reading_order = "backward" if direction.backward else "forward"
        network.decoder, network.readout, network.output = direction[:3]
        half = Translator([network], translator.source, translator.target)
        halves.append(list(half.force(pairs)))
    for whole, forward, backward in zip(both, *halves, strict=True):
        assert forward.score != pytest.approx(backward.score)
        assert whole.score == pytest.approx((forward.score + backward.score) / 2, abs=1e-4)
        np.testing.assert_allclose(
            whole.alignment, (forward.alignment + backward.alignment) / 2, atol=1e-5
        )


def test_an_ensemble_is_of_one_direction(tiny_backward_run: Path, tiny_run: Path) -> None:
    run = tiny_backward_run
    with refusal(
        r'has model.decoder = "b.*" and .*run has "forward" \(an ensemble needs one value'
    ):
        Translator.load(tiny_run, run)
    thrice, once = Translator.load(run, run, run), Translator.load(run)
    assert all(map(same, thrice.translate(LINES), once.translate(LINES)))
    assert all(map(same, thrice.force(PAIRS), once.force(PAIRS)))


@pytest.mark.parametrize(
    ("gain", "tokens", "least", "expected"),
    [
        (0.2, ["Lait"], 0.15, "Lait"),
        (0.1, ["Lait"], 0.15, "Faites"),
        (-3, ["Lait"], 0.15, "Faites"),
        (2, [], 0.15, "Faites"),
        (-1, ["Lait"], -1.5, "Lait"),
        (-2, ["Lait"], -1.5, "Faites"),
    ],
)
def test_a_label_is_that_of_the_likelier_reading(
    gain: float, tokens: list[str], least: float, expected: str
) -> None:
    weights = np.ones((1, 2), dtype=np.float32)
    one = Translation("Faites", ["Faites"], ["Milk", "</s>"], 0.0, [-3, -1], weights)
    other = Translation("".join(tokens), tokens, ["Milk", "</s>"], 0.0, [-4 + gain], weights)
    assert likelier(one, other, least).text == expected
    assert likelier(one, None, least) is one
