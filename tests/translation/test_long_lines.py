"""A line of any length is translated, as one line, in bounded memory."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from rnnsearch.batch import Batch
from rnnsearch.config import changed
from rnnsearch.errors import InputWarning
from rnnsearch.run import Run
from rnnsearch.text.codec import Codec
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.moses import FIRST_WORDS, prefixes
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.training import validation
from rnnsearch.training.validation import nll_and_words
from rnnsearch.translation import forced, translator
from rnnsearch.translation.source_lines import cut, sentences
from rnnsearch.translation.translator import Translator

CODEC = Codec(Tokeniser("space", ""), Vocabulary(["a", "b", "."]))


@pytest.fixture(scope="module")
def short(tiny_run: Path) -> Translator:
    """Which reads at most 10 words at once."""
    made = Translator.load(tiny_run)
    made.settings = changed(made.settings, {"translation.max_source_length": 10})
    return made


def parts(line: str, limit: int = 10) -> list[str]:
    return [" ".join(part.words) for part in cut(CODEC.encode(line), CODEC.encode_words, limit, 1)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b . a b", ["a b . a b"]),
        ("a b . b a . a b ? . ! b", ["a b .", "b a .", "a b ? . !", "b"]),
        ("a b . \" b a . ) ' a b b b b", ['a b . "', "b a . ) '", "a b b b b"]),
        ("a " * 25, ["a a a a a a a a a a", "a a a a a a a a a a", "a a a a a"]),
        ("a . " + "b " * 11, ["a .", "b b b b b b b b b b", "b"]),
    ],
)
def test_where_a_line_is_cut(line: str, expected: list[str]) -> None:
    assert parts(line) == expected


@given(st.lists(st.sampled_from(["a", "b", ".", "?!", '"', ")"]), max_size=80), st.integers(10, 20))
def test_nothing_is_lost_and_no_part_is_too_long(words: list[str], limit: int) -> None:
    found = cut(CODEC.encode_words(words), CODEC.encode_words, limit, 1)
    assert [word for part in found for word in part.words] == words
    assert all(0 < len(part.ids) <= limit + 1 for part in found) or not words
    assert len(found) == 1 or len(words) > limit


def test_only_the_beginning_of_a_word_of_too_many_subwords_is_read(tiny_subword_run: Path) -> None:
    codec = Run.open(tiny_subword_run).source
    with pytest.warns(
        InputWarning, match="line 1: only the first 9 of a word's 90,000 letters were read"
    ):
        found = cut(codec.encode("The " + "man" * 30_000 + " sees."), codec.encode_words, 10, 1)
    assert [word for part in found for word in part.words] == ["The", "man" * 30_000, "sees", "."]
    assert all(len(part.ids) <= 11 for part in found)


def test_a_line_that_is_no_line_is_refused(short: Translator) -> None:
    with refusal(r"line 7 has 5,001 words, and 5,000 are the most .write one sentence"):
        short.parts("a " * 5001, 7)


PLACES = """I like tea. /Our parents prefer milk.|No. /Yes. /Maybe.|First sentence.  /Second sentence.
Mr. Smith came on Jan. 5.  /Then he left! /Who?| He works in the U.S. Army.|See No. 5 and p. 3... 4 now.
“Is it?” /Yes… no. /End "So." /He said (it!) /Then 3.5 p.m. and more.|1. Introduction. /Next.
Yahoo! is big. /Wait... what? /"Why?" he asked. /- Yes. /- No.|He is 25. /She is 30.|J. Doe.
At 5 p.m. /Tom came.|At 5 p.m. Monday in the U.S. /The Ford Motor Corp. /It is (dogs, etc.) here. /He has a Ph.D. /“It is.”
Des chats, etc. /Le jardin.|À 18 h. /Puis il part.|En 52 av. J.-C. /L'armée de M. Le Pen.|Il dit : « M. Dupont part. » /« Bon », dit-il.|Il dit : « Bonjour. » /Puis il part. /Ça va ? /« Quoi ? » dit-il. /M. Dupont est là.|C'est 3 000.
Am 3. Oktober ist frei. /Wirklich?|Er kam z.B. Heute nicht. /Ja.
¿Cómo estás? /¡Bien! /—Sí.
你好。/你是谁？/“我不知道。”/他说。
私は学生です。/はい！
यह है। /वह नहीं। /क्या?
كيف حالك؟ /بخير."""
SPLIT = [
    (language, lines.split("|"))
    for language, lines in zip(
        ["en", "en", "en", "en", "en", "fr", "de", "es", "zh", "ja", "hi", "ar"],
        PLACES.split("\n"),
        strict=True,
    )
]
SPLIT.append(("en", ["Contents " + "." * 100_000 + "a", ". " * 10_000 + "a"]))
"""Lines, with a slash where a reader ends a sentence. The time for a row of full stops does not grow with the
square of its length, which would be hours."""


@pytest.mark.parametrize(("language", "lines"), SPLIT)
def test_sentences_of_a_line_are_found(language: str, lines: list[str]) -> None:
    for line in lines:
        assert sentences(line.replace("/", ""), language) == line.split("/")


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_the_page_finds_the_same_sentences(engine_folder: Path) -> None:
    jobs = [({"language": language, **prefix_lists(language)}, lines) for language, lines in SPLIT]
    module = engine_folder / "engine" / "sentences.js"
    program = f"""import {{ sentences }} from {json.dumps(str(module))};
      const jobs = JSON.parse(await new Response(process.stdin).text());
      console.log(JSON.stringify(jobs.map(([rules, lines]) => lines.map((line) => sentences(line, rules)))));"""
    given = json.dumps(
        [(rules, [line.replace("/", "") for line in lines]) for rules, lines in jobs]
    )
    command = ["node", "--input-type=module", "--eval", program]
    found = json.loads(
        subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    )
    for (_, lines), theirs in zip(SPLIT, found, strict=True):
        assert theirs == [[" ".join(one.split()) for one in line.split("/")] for line in lines]


def prefix_lists(language: str) -> dict[str, list[str]]:
    listed = prefixes(language)
    first = FIRST_WORDS.get(language, "").split()
    numeric = sorted(filter(listed.get, listed))
    return {"prefixes": sorted(listed), "numeric_prefixes": numeric, "first_words": first}


def test_every_door_translates_each_sentence(tiny_run: Path, command: Command) -> None:
    """Off by translation.split_sentences; the words are those of the sentences alone."""
    translator = Translator.load(tiny_run)
    alone = translator.translate(SENTENCES)
    (whole,) = translator.translate([" ".join(SENTENCES)])
    assert (whole.parts, whole.tokens) == (3, [word for one in alone for word in one.tokens])
    assert (
        translator.translate(
            [" ".join(SENTENCES)], settings={"translation.split_sentences": False}
        )[0].parts
        == 1
    )
    done = command("translate", tiny_run, stdin=b"  " + " ".join(SENTENCES).encode())
    assert done.out == f"  {whole.text}\n"


SENTENCES = ["The man sees the woman.", "The old woman never sings.", "She sees the man."]


def test_a_long_line_is_translated_as_its_sentences_are(short: Translator) -> None:
    alone = short.translate(SENTENCES, nbest=2)
    before, whole, after = short.translate(["The man.", " ".join(SENTENCES), "The man."], nbest=2)
    assert before.text == after.text
    assert (before.parts, whole.parts) == (1, 3)
    assert whole.tokens == [word for one in alone for word in one.tokens]
    assert whole.text == short.target.text(whole.tokens)
    assert whole.source_tokens == [*short.source.encode(" ".join(SENTENCES)).words, "</s>"]
    assert whole.score == pytest.approx(sum(one.score for one in alone), rel=1e-5)
    logs = [p for one in alone for p in one.log_probabilities]
    assert whole.log_probabilities == pytest.approx(logs, rel=1e-4, abs=1e-5)
    assert whole.alignment.shape == (len(whole.tokens), len(whole.source_tokens))
    np.testing.assert_allclose(whole.alignment.sum(1), 1.0, rtol=1e-5)
    first = alone[0].alignment
    np.testing.assert_allclose(
        whole.alignment[: len(first), : first.shape[1] - 1], first[:, :-1], atol=1e-5
    )
    (other,) = whole.alternatives
    assert other.tokens == [word for one in alone for word in one.alternatives[0].tokens]


def test_what_would_fill_the_memory_is_done_in_smaller_batches(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padding and batch order never change a score."""
    made = Translator.load(tiny_run)
    pairs = list(zip(SENTENCES, SENTENCES[::-1], strict=True))
    expected, scored = made.translate(SENTENCES), list(made.force(pairs))
    monkeypatch.setattr(translator, "SEARCHED_ELEMENTS", 1)
    monkeypatch.setattr(forced, "FORCED_ELEMENTS", 1)
    for some, others in ((expected, made.translate(SENTENCES)), (scored, list(made.force(pairs)))):
        assert [one.tokens for one in some] == [other.tokens for other in others]
        assert [one.score for one in some] == pytest.approx(
            [other.score for other in others], rel=1e-4
        )


def test_a_pair_that_is_too_long_to_be_aligned_is_refused_after_those_before_it(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rnnsearch.translation.scorer.LARGEST_PAIR", 50)
    pairs = [("The man.", "L'homme."), ("The man sees. " * 4, "L'homme voit. " * 4)]
    found = Translator.load(tiny_run).force(pairs)
    assert next(found).tokens
    said = r"pair 2 has \d+ × \d+ words or subwords, which are too many to be aligned"
    with refusal(said):
        next(found)


def test_a_long_development_pair_makes_its_batch_smaller(
    tiny_run: Path, tiny_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NLL and number of words stay the same; no batch of several pairs has more elements than allowed."""
    sizes: list[tuple[int, int]] = []
    network, pairs = Run.open(tiny_run).load_network(), Corpus.open(tiny_store).dev
    assert pairs is not None
    expected, words = nll_and_words(network, pairs, 16)

    def recorded(networks: Any, batch: Batch) -> Any:
        alpha = forced.forced_decoding(networks, batch)[1]
        sizes.append((len(alpha), alpha.numel()))
        return forced.forced_decoding(networks, batch)

    monkeypatch.setattr(validation, "forced_decoding", recorded)
    monkeypatch.setattr(forced, "FORCED_ELEMENTS", 1500)
    assert nll_and_words(network, pairs, 16) == (pytest.approx(expected, rel=1e-6), words)
    assert sum(count for count, _ in sizes) == len(pairs)
    assert all(elements <= 1500 for count, elements in sizes if count > 1)
    assert max(count for count, _ in sizes) > 1
