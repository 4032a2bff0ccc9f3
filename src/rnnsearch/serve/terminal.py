"""`translate` at a terminal: reads typed sentences and commands, and shows translations with their
attention."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text
from torch import Tensor

from rnnsearch.batch import pad
from rnnsearch.config import changed
from rnnsearch.errors import InputError, did_you_mean
from rnnsearch.evaluation.confidence import UNSURE
from rnnsearch.figure3 import alignment_text, printable
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.pretrained.card import opposite_model
from rnnsearch.records import Translation
from rnnsearch.settings import DataSettings
from rnnsearch.text.codec import Codec, EncodedSentence
from rnnsearch.translation.beginning import word_functions
from rnnsearch.translation.source_lines import noted
from rnnsearch.translation.translator import Translator

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
"""The terminal's own colours, which are readable on light and dark backgrounds."""
ROWS = 8
"""Maximum number of source positions shown for a step."""

COMMANDS = ("matrix", "why", "nbest", "keep", "align", "swap", "help")
"""Methods of Conversation that can be typed, such as `:matrix`; `:help` shows their docstrings."""

Load = Callable[[Sequence[str]], Translator]


def talk(runs: Sequence[str], search: dict[str, Any], load: Load) -> None:
    """Answers typed lines until Ctrl-D, or Ctrl-C at the prompt. search: settings to change.

    The line on the screen that names the loading model is removed after loading.
    """
    try:
        translator = load(runs)
    finally:  # an error message starts on a new line
        print("\n" if os.environ.get("TERM", "dumb") == "dumb" else "\r\x1b[K", end="", flush=True)

    conversation = Conversation(translator, search, load, Console(highlight=False))
    conversation.say("Type a sentence. :help lists the commands, Ctrl-D ends.")
    with suppress(ImportError):
        import readline  # gives `input` line editing and a history

        def complete(word: str, state: int) -> str | None:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            return None if state else word + conversation.completion(line)

        libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
        readline.set_completer_delims(" ")
        readline.set_completer(complete)
    while True:
        try:
            lines = input(conversation.prompt)
        except EOFError:
            return print()
        except KeyboardInterrupt:
            print()
            raise
        try:
            for line in lines.splitlines():  # several where text was pasted
                conversation.answer(line)
        except KeyboardInterrupt:
            conversation.say("stopped")


class Conversation:
    """A conversation at the terminal, with commands about its last answer. search: settings to
    change."""

    def __init__(
        self, translator: Translator, search: dict[str, Any], load: Load, console: Console
    ) -> None:
        self.translator, self.search, self.load, self.console = translator, search, load, console
        self.other: Translator | None = None
        """The model of the other direction, once it is loaded."""
        self.source = ""
        self.result: Translation | None = None

    @property
    def data(self) -> DataSettings:
        """The settings of text, with the languages."""
        return self.translator.settings.data

    @property
    def prompt(self) -> str:
        """The prompt names the languages."""
        return f"{self.data.source_language}-{self.data.target_language}> "

    def say(self, text: str, style: str = "dim") -> None:
        """Prints a line; by default, it is a note."""
        self.console.print(printable(text), markup=False, style=style)

    def answer(self, line: str) -> None:
        """Translates a sentence or executes a command. Bad input gives a message of one line."""
        try:
            if line.startswith(":"):
                name, _, words = line[1:].partition(" ")
                if name.strip() not in COMMANDS:
                    remedy = did_you_mean(name, COMMANDS, ":") or "try :help"
                    raise InputError(f"there is no command :{name}", remedy)
                getattr(self, name.strip())(words.strip())
            elif line.strip():
                self.translate(line.strip())
        except InputError as error:
            self.say(str(error))

    def translate(self, line: str, prefix: str = "") -> None:
        """Translates a sentence, to which commands then refer. prefix: beginning of the
        translation."""
        self.source = line
        limit = changed(self.translator.settings, self.search).translation.max_source_length
        results = self.translator.translate([line], prefix=[prefix], settings=self.search)
        for result in noted(results, self.translator.source, limit, self.say):
            self.show(result)

    def show(self, result: Translation) -> None:
        """Prints source and translation. Linked words have the same colour; unsure words are
        dim."""
        self.result = result
        for line in in_colours(self.source, result):
            self.console.print(line)
        if self.console.no_color or self.console.color_system is None:
            pairs = (
                f"{result.source_tokens[i]}–{result.tokens[j]}" for i, j in sorted(result.links())
            )
            self.say("  ".join(pairs))

    def matrix(self, _: str) -> None:
        """Draw the alignment."""
        result = self._last()
        picture = alignment_text(
            result.source_tokens, result.tokens, result.alignment, self.console.width - 1
        )
        self.console.print(picture, markup=False)

    def why(self, word: str) -> None:
        """Print the energies and weights that wrote WORD."""
        result, translator = self._last(), self.translator
        places = [k for k, token in enumerate(result.tokens) if token.casefold() == word.casefold()]
        if not places:
            raise InputError(
                f"the translation has no word {word!r}", f"words: {' '.join(result.tokens)}"
            )
        # As it was read and written: what was only aligned has no confidence.
        how = changed(translator.settings, self.search).translation
        faithful = how.faithful and bool(result.confidence)
        language = translator.target.tokeniser.language
        _, read, _ = word_functions(translator.source, faithful, language)
        _, written, _ = word_functions(translator.target, faithful)
        source, target = read(result.source_tokens[:-1]), written(result.tokens)
        found = steps(translator.networks[0], translator.target, source, target)
        positions = [translator.source.vocabulary.word(number) for number in source.ids]
        for step, belongs in zip(found, target.word_of, strict=True):
            if belongs == places[0]:
                others = ", ".join(
                    f"{other} {p:.2f}" for other, p in step.likeliest if other != step.written
                )
                self.say(f"{step.written}  p = {step.p:.2f}; otherwise {others}", "bold")
                if step.energies is None:
                    self.say("written without a context")
                    continue
                self.say("  energy  weight")
                for j in (-step.weights).argsort()[:ROWS]:
                    weight, bar = float(step.weights[j]), "█" * round(10 * float(step.weights[j]))
                    self.say(
                        f"{float(step.energies[j]):8.2f}  {weight:6.3f} {bar:10} {positions[j]}", ""
                    )

    def nbest(self, number: str) -> None:
        """Print the NUMBER (5) best translations."""
        self._last()
        nbest = _number("nbest", number or "5")
        search = changed(self.translator.settings, self.search).search
        more = self.search | {"search.nbest": nbest, "search.beam": max(nbest, search.beam)}
        (best,) = self.translator.translate([self.source], settings=more)
        for one in (best, *best.alternatives):
            line = in_colours("", one)[1]
            line.pad_left(1)
            self.console.print(f"{one.score:8.3f}", line)

    def keep(self, beginning: str) -> None:
        """Keep NUMBER words and BEGINNING (Tab completes it), and translate the rest again."""
        self.translate(self.source, self._kept(beginning))

    def _kept(self, beginning: str) -> str:
        """Returns the beginning that `:keep BEGINNING` keeps."""
        number, _, words = beginning.partition(" ")
        if (count := _number("keep", number)) < 0:
            raise InputError(":keep needs a number from 0", "for example :keep 5")
        kept, words = (result := self._last()).before(count), words.lstrip()
        rest = result.text[len(kept) :]
        glued = kept[-1:].isalnum() and words[:1].isalnum()  # it replaces a mark
        glued &= not self.translator.target.tokeniser.unspaced
        gap = "" if rest[:1].strip() and not glued else " "
        return kept + gap + words

    def completion(self, line: str) -> str:
        """Returns what Tab adds to a line: after `:keep NUMBER BEGINNING` the rest of its last
        word, or the next word, of the translation that begins so; elsewhere a tab."""
        command, _, beginning = line.partition(" ")
        if command != ":keep":
            return "\t"
        begun = self._kept(beginning)
        with warnings.catch_warnings(action="ignore"):  # a message would stand in the typed line
            (result,) = self.translator.translate(
                [self.source], prefix=[begun], settings=self.search
            )
        found = re.match(r"\s*\S*", result.text[len(begun.rstrip()) :])
        more = found[0] if found else ""
        if " " in beginning.rstrip() and not line.endswith(" "):
            return more
        return " " * (not line.endswith(" ")) + more.lstrip()

    def align(self, reference: str) -> None:
        """Align your own TRANSLATION."""
        self._last()
        if not reference:
            raise InputError(":align needs a translation", "for example :align Une phrase.")
        (result,) = self.translator.align([(self.source, reference)], posterior=True)
        self.show(result)
        self.say(f"log p = {result.score:.2f}")

    def swap(self, run: str) -> None:
        """Change to the other direction, or to RUN."""
        if run or self.other is None:
            if not (name := run or opposite_model(self.data)):
                what = (
                    f"no model from {self.data.target_language} to {self.data.source_language} is"
                    " installed"
                )
                raise InputError(what, "name a run: :swap RUN")
            self.other = self.load([name])
        self.translator, self.other = self.other, self.translator
        self.source, self.result = "", None

    def help(self, _: str) -> None:
        """Print this list."""
        for name in COMMANDS:
            self.say(f":{name:7} {getattr(self, name).__doc__}", "")
        self.say("Linked words have one colour, unsure words are dim. Ctrl-C stops, Ctrl-D ends.")

    def _last(self) -> Translation:
        if self.result is None:
            raise InputError("there is no translation yet", "type a sentence first")
        return self.result


def _number(command: str, typed: str) -> int:
    try:
        return int(typed)
    except ValueError:
        remedy = f"for example :{command} 5"
        raise InputError(f":{command} needs a number", remedy) from None


def in_colours(source: str, result: Translation) -> tuple[Text, Text]:
    """Returns the source line and the translation: a source word has the colour of the target words
    that attend to it most; unsure words are dim."""
    links = {target: source for source, target in result.links()}
    colour = {place: COLOURS[k % len(COLOURS)] for k, place in enumerate(sorted({*links.values()}))}
    sure = result.confidence or [1.0] * len(result.tokens)
    styles = (
        f"{'' if p >= UNSURE else 'dim '}{colour.get(links.get(k, -1), '')}".strip()
        for k, p in enumerate(sure)
    )
    own = (colour.get(k, "") for k in count())
    return (
        _styled(source, result.source_tokens[:-1], own),
        _styled(result.text, result.tokens, styles),
    )


def _styled(text: str, words: Sequence[str], styles: Iterable[str]) -> Text:
    """Styles the words where they stand in the text; a word that the tokeniser has changed stays
    plain."""
    line, end = Text(printable(text)), 0
    for word, style in zip(words, styles, strict=False):
        if found := re.compile(re.escape(word), re.IGNORECASE).search(line.plain, end):
            line.stylize(style, *found.span())
            end = found.end()
    return line


LIKELIEST = 4
"""Number of words listed with their probabilities for each step."""


class Step(NamedTuple):
    """One step of the decoder, which writes the word or subword `written`.

    energies, weights: (source ids,) e_ij and α_ij of the context that p(y_i) was read from;
    energies are None if it read no context.
    p: p(y_i | y_<i, x). likeliest: the words or subwords with the largest p, best first.
    """

    written: str
    energies: NDArray[np.float32] | None
    weights: NDArray[np.float32]
    p: float
    likeliest: list[tuple[str, float]]


@torch.no_grad()
def steps(
    network: TranslationNetwork,
    codec: Codec,
    source: EncodedSentence,
    target: EncodedSentence,
) -> list[Step]:
    """Returns the steps of forced decoding, in the order of the target ids; the end of sentence is
    the last.

    With a bidirectional decoder, they are those of its left-to-right half. codec: the target codec.
    """
    device, decoder = network.output.weight.device, network.decoder
    ids, lengths = pad([source.ids])
    encoded, state = network.encode(ids.to(device), lengths.to(device))
    backward = network.directions[0].backward
    previous: Tensor | None = None
    energies: list[NDArray[np.float32]] = []
    found: list[Step] = []
    for number in (*target.ids[-2::-1], target.ids[-1]) if backward else target.ids:
        before = state
        log_p, read, state = network.step(previous, before, encoded)
        asking = read if decoder.wiring == "released" else before
        query = replace(before, cell=asking.cell)
        energies.append(decoder.attend(query, encoded, None)[1][0, 0].cpu().numpy())
        attended, p = len(found) - decoder.first_attended, log_p[0, 0].exp()
        best = p.topk(min(LIKELIEST, len(p)))
        words = map(codec.vocabulary.word, best.indices.tolist())
        found.append(
            Step(
                codec.vocabulary.word(number),
                energies[attended] if attended >= 0 else None,
                read.weights[0, 0].cpu().numpy(),
                float(p[number]),
                list(zip(words, best.values.tolist(), strict=True)),
            )
        )
        previous = torch.tensor([[number]], device=device)
    return [*found[-2::-1], found[-1]] if backward else found
