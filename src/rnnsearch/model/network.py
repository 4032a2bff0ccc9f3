"""RNNsearch and RNNencdec: the whole network (appendix A)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from rnnsearch.errors import InputError
from rnnsearch.model.alignment import ALIGNMENTS, Alignment
from rnnsearch.model.cells import CELLS, Cell
from rnnsearch.model.decoder import Decoder, DecoderState, Source
from rnnsearch.model.encoder import ENCODERS, Encoder, PositionedEmbeddingEncoder
from rnnsearch.model.layers import Linear, WordEmbedding, dropped, orthogonal
from rnnsearch.model.readout import READOUTS, OutputLayer, Readout
from rnnsearch.settings import DropoutSettings, ModelSettings


class Direction(NamedTuple):
    """The parts for one reading order of the target. backward: whether the order is y_{Ty−1} … y_1
    and then the end of sentence, not y_1 … y_Ty."""

    decoder: Decoder
    readout: Readout
    output: OutputLayer
    backward: bool


class TeacherForced(NamedTuple):
    """Results of teacher forcing; row i belongs to y_i in any reading order. features: the input of
    W_o.

    weights: row i is the α (Eq. 6) of the context that p(y_i) was read from.
    attended: False if p(y_i) was read from no context (the first word in the variant `appendix`);
    row i of weights is then 0.
    hidden, previous: the state and E y_{i−1} (0 for the first word) from which `features` were
    computed, with the context.
    """

    features: Float[Tensor, "batch target feature"]
    weights: Float[Tensor, "batch target source"]
    attended: Bool[Tensor, "batch target"]
    hidden: Float[Tensor, "batch target hidden"]
    previous: Float[Tensor, "batch target embedding"]


class TranslationNetwork(nn.Module):
    """p(y | x) of RNNsearch, or of another model in `settings`. source_words, target_words: K_x,
    K_y.

    `directions` are its decoders: one, or two, which read the target from either end and share
    annotations and embeddings.
    """

    def __init__(
        self,
        settings: ModelSettings,
        source_words: int,
        target_words: int,
        *,
        trust_code: bool = False,
    ) -> None:
        super().__init__()
        cell = resolve("model.cell", settings.cell, CELLS, Cell, trust_code)
        encoder = resolve("model.encoder", settings.encoder, ENCODERS, Encoder, trust_code)
        alignment = resolve(
            "model.alignment", settings.alignment, ALIGNMENTS, Alignment, trust_code
        )
        readout = resolve("model.readout", settings.readout, READOUTS, Readout, trust_code)
        m, n, readout_size = settings.embedding_size, settings.hidden_size, settings.maxout_size
        self.source_embedding = WordEmbedding(source_words, m)
        self.target_embedding = WordEmbedding(target_words, m)
        self.encoder = encoder(m, settings.encoder_size or n, cell)
        context_size = self.encoder.annotation_size
        self.tied = settings.tie_output
        tied = self.target_embedding.weight if self.tied else None

        def parts() -> tuple[Decoder, Readout, OutputLayer]:
            try:
                scorer = alignment(n, context_size, settings.alignment_size)
            except ValueError as error:
                raise InputError(str(error)) from None
            if settings.alignment not in ALIGNMENTS:
                from rnnsearch.model.alignment.check import check_results

                try:
                    check_results(scorer, n, context_size)
                except ValueError as error:
                    remedy = "the class rnnsearch.extending.Alignment describes each method"
                    what = f"model.alignment = {settings.alignment!r}: {error}"
                    raise InputError(what, remedy) from error
            decoder = Decoder(
                cell(m, n, context_size), scorer, self.encoder.summary_size, settings.wiring
            )
            deep_output = readout(n, m, context_size, readout_size)
            output = OutputLayer(readout_size, m, target_words, settings.factored_output, tied)
            return decoder, deep_output, output

        self.reading_order = settings.decoder
        self.decoder, self.readout, self.output = parts()
        if self.reading_order == "bidirectional":
            self.backward_decoder, self.backward_readout, self.backward_output = parts()
        if settings.initialisation == "glorot":
            initialise_glorot(self)

    def take(self, tensors: Mapping[str, Tensor]) -> None:
        """Makes the given tensors its parameters, which may have no values yet."""
        self.load_state_dict(tensors, assign=True)
        for direction in self.directions if self.tied else ():
            direction.output.weight = self.target_embedding.weight

    @property
    def directions(self) -> list[Direction]:
        """Returns the decoders that `model.decoder` names; if there are two, the left-to-right one
        is the first."""
        first = Direction(self.decoder, self.readout, self.output, self.reading_order == "backward")
        if self.reading_order != "bidirectional":
            return [first]
        return [
            first,
            Direction(self.backward_decoder, self.backward_readout, self.backward_output, True),
        ]

    def begin(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        dropout: DropoutSettings | None = None,
    ) -> list[tuple[Source, DecoderState]]:
        """Returns (encoded sentences, first state) for each direction; the annotations are computed
        once.

        lengths: real positions of each sentence, the end of sentence included.
        """
        dropout = dropout or DropoutSettings()
        mask = source_mask(lengths, source.shape[1])
        embedded = dropped(self.source_embedding(source), dropout.embedding)
        encoded = self.encoder(embedded, mask, dropout.recurrent)
        return [
            direction.decoder.start(encoded, lengths, mask, dropout.recurrent)
            for direction in self.directions
        ]

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Source, DecoderState]:
        """Returns what `begin` returns for the first direction."""
        return self.begin(source, lengths)[0]

    def teacher_forced(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        target: Int[Tensor, "batch target"],
        dropout: DropoutSettings | None = None,
        known: Float[Tensor, "batch target source"] | None = None,
        target_lengths: Int[Tensor, " batch"] | None = None,
    ) -> list[TeacherForced]:
        """Encodes the source, and runs every decoder over the given target words (teacher forcing).

        target: y_1 … y_Ty, the end of sentence last; step i sees y_{i−1}. Positions after a
        sentence's end are computed, too; the caller must mask them.
        known: row i replaces α in the context for p(y_i), unless it is zero; the returned `weights`
        are always the model's own.
        target_lengths: with the end of sentence; a decoder that reads from right to left needs
        them.
        """
        dropout = dropout or DropoutSettings()
        results = []
        begun = self.begin(source, lengths, dropout)
        for direction, start in zip(self.directions, begun, strict=True):
            if not direction.backward:
                results.append(self._teacher_force(direction, start, target, dropout, known))
                continue
            assert target_lengths is not None
            order = right_to_left(target_lengths, target.shape[1])
            turned = None if known is None else reordered(known, order)
            decoded = self._teacher_force(
                direction, start, reordered(target, order), dropout, turned
            )
            results.append(TeacherForced(*(reordered(rows, order) for rows in decoded)))
        return results

    def _teacher_force(
        self,
        direction: Direction,
        start: tuple[Source, DecoderState],
        target: Int[Tensor, "batch target"],
        dropout: DropoutSettings,
        known: Float[Tensor, "batch target source"] | None,
    ) -> TeacherForced:
        """Runs one decoder over the target words, in its reading order."""
        decoder, (encoded, state) = direction.decoder, start
        # E y_1 … E y_{Ty−1}
        embedded = dropped(self.target_embedding(target[:, :-1]), dropout.embedding)
        no_word = embedded.new_zeros(embedded.shape[0], 1, embedded.shape[2])  # there is no y_0
        previous = torch.cat((no_word, embedded), 1)  # (batch, target, m)
        states = decoder.teacher_force(previous, state, encoded, known)
        hidden = decoder.cell.hidden(states.cell)  # (batch, target, n)
        readout = direction.readout(hidden, previous, states.context)
        features = direction.output.features(dropped(readout, dropout.readout))
        attended = torch.arange(target.shape[1], device=target.device) >= decoder.first_attended
        return TeacherForced(
            features, states.weights, attended.expand(target.shape), hidden, previous
        )

    def step(
        self,
        previous: Int[Tensor, "batch hypotheses"] | None,
        state: DecoderState,
        source: Source,
        direction: int = 0,
    ) -> tuple[Float[Tensor, "batch hypotheses words"], DecoderState, DecoderState]:
        """Does one step of search. Returns (log p(y_i | y_<i, x), the state from which it was read,
        the next state).

        previous: y_{i−1} of every hypothesis; None at the first step. direction: index in
        `directions`; y_<i are the words that it has read, which are to the right of y_i if it reads
        backward.
        """
        decoder, readout, output, _ = self.directions[direction]
        embedded = None if previous is None else self.target_embedding(previous)
        word = None if embedded is None else decoder.cell.project(embedded)
        predicting_state, state = decoder.step(word, state, source)
        hidden = decoder.cell.hidden(predicting_state.cell)
        features = output.features(readout(hidden, embedded, predicting_state.context))
        # (batch, hypotheses, words); without gradients, log p takes their place
        logits = output.logits(features)
        log_p = torch.log_softmax(logits, -1, out=None if logits.requires_grad else logits)
        return log_p, predicting_state, state


def initialise_glorot(network: TranslationNetwork) -> None:
    """Initialises every matrix that is not recurrent, v_a included: layers from U(±√(6/(in +
    out))), embeddings from N(0, 1/m)."""
    for module in network.modules():
        if isinstance(module, OutputLayer) or (
            isinstance(module, Linear) and module.init is not orthogonal
        ):
            nn.init.xavier_uniform_(module.weight)
    # After the output layer, which may share the target embedding.
    for embedding in (network.source_embedding, network.target_embedding):
        nn.init.normal_(embedding.weight, 0.0, embedding.weight.shape[1] ** -0.5)
    if isinstance(network.encoder, PositionedEmbeddingEncoder):
        nn.init.constant_(network.encoder.scale, network.encoder.annotation_size**-0.5)


def source_mask(lengths: Int[Tensor, " batch"], positions: int) -> Bool[Tensor, "batch positions"]:
    """Returns a mask: True on the real positions of each sentence."""
    return torch.arange(positions, device=lengths.device) < lengths.unsqueeze(1)


def right_to_left(lengths: Int[Tensor, " batch"], positions: int) -> Int[Tensor, "batch positions"]:
    """Returns the permutation that reverses the words of each sentence; the end of sentence and
    padding keep their places.

    It is its own inverse.
    """
    place, end = torch.arange(positions, device=lengths.device), lengths.unsqueeze(1) - 1
    return torch.where(place < end, end - 1 - place, place)


def reordered(
    rows: Shaped[Tensor, "batch target *width"], order: Int[Tensor, "batch target"]
) -> Shaped[Tensor, "batch target *width"]:
    """Returns the rows of each sentence in its given order."""
    sentence = torch.arange(len(rows), device=rows.device).unsqueeze(1)
    return (
        rows.flatten(0, 1)
        .index_select(0, (sentence * rows.shape[1] + order).flatten())
        .view(rows.shape)
    )


Part = TypeVar("Part", bound=nn.Module)


def resolve(
    setting: str,
    name: str,
    built_in: Mapping[str, type[Part] | str],
    base: type[Part],
    trust_code: bool,
) -> type[Part]:
    """Returns the class with the `name` that the setting has: one of `built_in`, a class or its
    `module:Class`, or a user's own subclass of `base`.

    A user's own code is imported only with `trust_code`, also from the current directory. Raises
    InputError for a name that is neither built in nor importable, and for a user's own code without
    `trust_code`.
    """
    known = built_in.get(name)
    if isinstance(known, type):
        return known
    if not known and ":" not in name:
        raise InputError(
            f"{setting} = {name!r} is unknown",
            f"use one of {', '.join(built_in)}, or package.module:Class",
        )
    if not (known or trust_code):
        raise InputError(
            f"{setting} = {name!r} names code outside rnnsearch",
            "add --trust-code if you trust the author of this run",
        )
    part = import_named(setting, known or name)
    if not (isinstance(part, type) and issubclass(part, base)):
        raise InputError(
            f"{setting} = {name!r} is not a subclass of {base.__module__}:{base.__name__}"
        )
    return part


def import_named(setting: str, name: str) -> Any:
    """Imports what a setting names as `package.module:name`, also from the current directory.
    Raises InputError if that fails."""
    if not name.startswith("rnnsearch.") and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    module_name, _, own = name.partition(":")
    try:
        return getattr(importlib.import_module(module_name), own)
    except (Exception, SystemExit) as error:  # foreign code may raise anything
        what = f"{setting} = {name!r} cannot be imported: it raised {type(error).__name__}: {error}"
        raise InputError(what, "write package.module:name") from error
