"""Search over a lexical shortlist: it equals a search over all words in which all other probabilities are
taken away, and the rest of them scaled to 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import assert_refused
from torch import Tensor

from rnnsearch import Corpus, Hypothesis, InputError, Translator
from rnnsearch.config import SearchSettings
from rnnsearch.text.lexicon import Entries, LexicalTable
from rnnsearch.text.vocabulary import EOS, UNK
from rnnsearch.translation.beam import StepResult, beam_search
from rnnsearch.translation.readers import shortlist_of

LINES = [
    "The man sees the horse.",
    "She sleeps.",
    "The European woman, who is old, does not often sing in Paris.",
    "Nobody xyzzy.",
    "",
]


@pytest.fixture(scope="module")
def table(tiny_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two translations of each word of the tiny store, drawn at random: the search must follow the table, not
    its quality."""
    corpus = Corpus.open(tiny_store)
    source, target = corpus.source.vocabulary, corpus.target.vocabulary
    random = np.random.default_rng(5)
    sources = np.repeat(np.arange(len(source)), 2)
    entries = Entries(sources, random.integers(2, len(target), len(sources)), random.random(len(sources)))
    path = tmp_path_factory.mktemp("table") / "lexicon.gz"
    LexicalTable(entries, len(source)).write(path, source, target)
    return path


def lexicon_of(translations: dict[int, list[int]], source_words: int) -> LexicalTable:
    rows = [
        (source, target, 1 / rank)
        for source, targets in translations.items()
        for rank, target in enumerate(targets, 1)
    ]
    return LexicalTable(Entries(*(np.array(column) for column in zip(*rows, strict=True))), source_words)


@pytest.mark.parametrize(
    ("frequent", "per_word", "expected"),
    [
        (0, 1, [EOS, UNK, 7, 9, 12]),
        (3, 1, [EOS, UNK, 2, 3, 4, 7, 9, 12]),
        (0, 2, [EOS, UNK, 3, 7, 8, 9, 12]),
        (500, 2, list(range(20))),
    ],
)
def test_which_words_are_in_the_shortlist(frequent: int, per_word: int, expected: list[int]) -> None:
    """The specials, the first words, the best of every source word of the batch, the end of sentence's row
    among them."""
    lexicon = lexicon_of({EOS: [12], 4: [7, 8], 5: [9, 3], 6: [15, 16]}, 10)
    batch = np.array([[4, 5, 4, EOS], [8, EOS, EOS, EOS]])
    settings = SearchSettings(lexical_shortlist_frequent=frequent, lexical_shortlist_per_word=per_word)
    assert shortlist_of(batch, lexicon, 20, settings).tolist() == expected


def masked_search(
    translator: Translator, line: str, words: list[int], settings: SearchSettings
) -> list[Hypothesis]:
    """Search over all words, the mean of the members' probabilities being 0 outside `words` and each member's
    scaled to 1 within."""
    codecs = translator.source, translator.target
    members = [Translator([network], *codecs, settings) for network in translator.networks]
    begun = [member._sentences.begin([translator.source.encode(line)], settings) for member in members]
    readers = [one.readers[0] for one in begun]
    inside = torch.isin(torch.arange(len(translator.target.vocabulary)), torch.tensor(words))

    class States(tuple[Any, ...]):
        def select(self, sentences: Tensor | None, hypotheses: Tensor) -> States:
            return States(state.select(sentences, hypotheses) for state in self)

    def step(previous: Tensor | None, states: States) -> StepResult:
        results = [one.step(previous, state) for one, state in zip(readers, states, strict=True)]
        scaled = [
            torch.log_softmax(result.log_probabilities.masked_fill(~inside, -torch.inf), -1).exp()
            for result in results
        ]
        weights = torch.stack([result.weights for result in results]).mean(0)
        return StepResult(
            torch.stack(scaled).mean(0).log(), weights, States(result.state for result in results)
        )

    return beam_search(step, States(one.state for one in readers), begun[0].lengths, settings)[0]


@pytest.fixture(scope="module", params=[1, 2], ids=["one run", "ensemble"])
def translator(
    request: pytest.FixtureRequest, tiny_run: Path, other_tiny_run: Path, table: Path
) -> Translator:
    return Translator.load(*[tiny_run, other_tiny_run][: request.param], lexical_shortlist=table)


@pytest.mark.parametrize("changes", [{}, {"no_unk": True}, {"min_length_ratio": 1.0, "normalise": "length"}])
def test_search_over_a_shortlist(translator: Translator, changes: dict[str, Any]) -> None:
    assert translator.lexical_table is not None
    chosen = {
        "beam": 4,
        "nbest": 3,
        "lexical_shortlist_frequent": 5,
        "lexical_shortlist_per_word": 2,
    } | changes
    settings = SearchSettings.model_validate(translator.search.model_dump() | chosen)
    for line in LINES[:4]:
        ids = np.array([translator.source.encode(line).ids])
        words = shortlist_of(
            ids, translator.lexical_table, len(translator.target.vocabulary), settings
        ).tolist()
        assert len(words) < len(translator.target.vocabulary) / 2
        [found] = translator.translate([line], **settings.model_dump())
        expected = masked_search(translator, line, words, settings)
        for one, other in zip((found, *found.alternatives), expected, strict=True):
            assert one.tokens == translator.target.decode(other.ids).words
            assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)
            np.testing.assert_allclose(one.alignment, other.weights[: len(one.tokens)], atol=1e-4)


LEAST = {"lexical_shortlist_frequent": 0, "lexical_shortlist_per_word": 1}


def allowed(translator: Translator, lines: list[str]) -> set[str]:
    """What may be written for a batch of these lines with the LEAST shortlist."""
    assert translator.lexical_table is not None
    ids = np.concatenate([translator.source.encode(line).ids for line in lines])
    best = translator.lexical_table.best(ids, 1)
    return {translator.target.vocabulary.word(int(number)) for number in best} | {"<unk>"}


def test_a_batch_shares_its_shortlist(translator: Translator) -> None:
    """So together a sentence may use what another's words allow; one by one it may not. Empty lines stay
    where they are."""
    together = translator.translate(LINES, **LEAST)
    assert together[4].tokens == []
    for line, result in zip(LINES[:4], together, strict=False):
        assert set(result.tokens) <= allowed(translator, LINES[:4])
        assert set(translator.translate([line], **LEAST)[0].tokens) <= allowed(translator, [line])
    [result] = translator.sample(LINES[:1], samples=20, **LEAST)
    written = {word for one in (result, *result.alternatives) for word in one.tokens}
    assert written <= allowed(translator, LINES[:1])
    assert len(written) > 2


def test_when_all_words_are_in_it_nothing_changes(tiny_run: Path, table: Path) -> None:
    with_table = Translator.load(tiny_run, lexical_shortlist=table)
    found = with_table.translate(LINES, lexical_shortlist_frequent=10**6, nbest=3)
    assert found == Translator.load(tiny_run).translate(LINES, nbest=3)


def test_command(command: Any, tiny_run: Path, tiny_linked_store: Path, tmp_path: Path) -> None:
    table, text = tmp_path / "lexicon.gz", "\n".join(LINES).encode()
    assert command(f"lexicon {tiny_linked_store} --out {table}").code == 0
    plain = command(f"translate {tiny_run}", stdin=text)
    line = f"translate {tiny_run} --lexical-shortlist {table} --lexical-shortlist-frequent"
    assert command(f"{line} {10**6}", stdin=text) == plain
    few = command(f"{line} 0 --lexical-shortlist-per-word 1", stdin=text)
    assert (few.code, len(few.lines), few.err) == (0, len(plain.lines), plain.err)
    assert few.out != plain.out


def test_a_table_that_does_not_fit_is_one_line(command: Any, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("le the 0.5\nle the\n")
    (tmp_path / "foreign").write_text("xyzzy yzzyx 0.5\n")
    for name, said in (
        ("bad", "bad:2: is not two words and a probability"),
        ("foreign", "has no word pair"),
        ("no", "no such file"),
    ):
        done = command("translate", tiny_run, "--lexical-shortlist", tmp_path / name, stdin=b"The man.\n")
        assert_refused(done, said)
    with pytest.raises(InputError, match="lexical_shortlist_frequent"):
        Translator.load(tiny_run).translate(LINES, lexical_shortlist_frequent=-1)
