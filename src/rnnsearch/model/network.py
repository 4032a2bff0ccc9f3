"""RNNsearch and RNNencdec: the parts wired together (appendix A)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from rnnsearch.config import ModelSettings
from rnnsearch.errors import InputError
from rnnsearch.model.alignment import ALIGNMENTS, Alignment
from rnnsearch.model.cells import CELLS, Cell
from rnnsearch.model.decoder import Decoder, DecoderState, Known, Source
from rnnsearch.model.dropout import Dropout, dropped
from rnnsearch.model.encoder import ENCODERS, Encoder, PositionedEmbeddingEncoder
from rnnsearch.model.initialise import initialising, orthogonal
from rnnsearch.model.layers import Linear, WordEmbedding, linear_cache
from rnnsearch.model.readout import READOUTS, OutputLayer, Readout, log_probabilities
from rnnsearch.model.resolve import resolve


class Direction(NamedTuple):
    """The parts that one reading order of the target has for itself. backward: y_{Ty−1} … y_1 and then the
    end of sentence, not y_1 … y_Ty."""

    decoder: Decoder
    readout: Readout
    output: OutputLayer
    backward: bool


class TeacherForced(NamedTuple):
    """features: what W_o multiplies, for every target position. Row i belongs to y_i whatever the direction
    that the decoder reads in.

    weights: row i is the α (Eq. 6) of the context that p(y_i) was read from, whichever step of the decoder
    variant made it.
    attended: False where it was read from none (the first word read, in the variant `appendix`); its row is
    then 0, no alignment.
    hidden, previous: the state and E y_{i−1} (0 for the first word read) that `features` were read from,
    beside the context.
    """

    features: Float[Tensor, "batch target feature"]
    weights: Float[Tensor, "batch target source"]
    attended: Bool[Tensor, "batch target"]
    hidden: Float[Tensor, "batch target hidden"]
    previous: Float[Tensor, "batch target embedding"]


class TranslationNetwork(nn.Module):
    """p(y | x) of RNNsearch, or of a relative that `settings` names. source_words, target_words: K_x, K_y.

    `directions` are its decoders: one, or one from each end of the target over the same annotations, which
    share its embeddings too.
    product_dtype: of the matrix products in training; bfloat16 halves their cost where the CPU has it, and
    parameters, states, softmax and gradients stay float32.
    """

    def __init__(
        self,
        settings: ModelSettings,
        source_words: int,
        target_words: int,
        *,
        product_dtype: torch.dtype = torch.float32,
        trust_code: bool = False,
    ) -> None:
        super().__init__()
        cell = resolve("model.cell", settings.cell, CELLS, Cell, trust_code)
        encoder = resolve("model.encoder", settings.encoder, ENCODERS, Encoder, trust_code)
        alignment = resolve("model.alignment", settings.alignment, ALIGNMENTS, Alignment, trust_code)
        readout = resolve("model.readout", settings.readout, READOUTS, Readout, trust_code)
        m, n, readout_size = settings.embedding_size, settings.hidden_size, settings.maxout_size
        self.product_dtype = product_dtype
        self.source_embedding = WordEmbedding(source_words, m)
        self.target_embedding = WordEmbedding(target_words, m)
        self.encoder = encoder(m, settings.encoder_size or n, cell)
        context_size = self.encoder.annotation_size
        self.tied = settings.tie_output
        tied = self.target_embedding.weight if settings.tie_output else None

        def direction(backward: bool) -> Direction:
            try:
                scorer = alignment(n, context_size, settings.alignment_size)
            except ValueError as error:
                raise InputError(str(error)) from None
            decoder = Decoder(cell(m, n, context_size), scorer, self.encoder.summary_size, settings.wiring)
            deep_output = readout(n, m, context_size, readout_size)
            output = OutputLayer(readout_size, m, target_words, settings.factored_output, tied)
            return Direction(decoder, deep_output, output, backward)

        self.reading = settings.decoder
        self.decoder, self.readout, self.output, _ = direction(self.reading == "backward")
        if self.reading == "bidirectional":
            self.backward_decoder, self.backward_readout, self.backward_output, _ = direction(True)
        if settings.initialisation == "glorot" and initialising():
            initialise_glorot(self)

    @property
    def directions(self) -> list[Direction]:
        """Returns the decoder that `model.decoder` names; of a bidirectional one the left-to-right half, then
        the other."""
        first = Direction(self.decoder, self.readout, self.output, self.reading == "backward")
        if self.reading != "bidirectional":
            return [first]
        return [first, Direction(self.backward_decoder, self.backward_readout, self.backward_output, True)]

    def begin(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        dropout: Dropout | None = None,
    ) -> list[tuple[Source, DecoderState]]:
        """Returns each direction's source and s_0 for a batch of sentences; the annotations are computed
        once.

        lengths: real positions of each sentence, the end of sentence included.
        """
        dropout = dropout or Dropout()
        mask = source_mask(lengths, source.shape[1])
        embedded = dropped(self.source_embedding(source), dropout.embedding)
        encoded = self.encoder(embedded, mask, dropout.recurrent)
        return [
            direction.decoder.start(encoded, lengths, mask, dropout.recurrent)
            for direction in self.directions
        ]

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        dropout: Dropout | None = None,
    ) -> tuple[Source, DecoderState]:
        """Does as `begin`, for the first direction."""
        return self.begin(source, lengths, dropout)[0]

    def teacher_forced(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        target: Int[Tensor, "batch target"],
        dropout: Dropout | None = None,
        known: Float[Tensor, "batch target source"] | None = None,
        target_lengths: Int[Tensor, " batch"] | None = None,
    ) -> list[TeacherForced]:
        """Reads the source, then walks every decoder along the given target words (teacher forcing).

        target: y_1 … y_Ty, the end of sentence last; step i sees y_{i−1}. Positions after a sentence's own
        length are computed too: whoever sums over them masks them.
        known: row i replaces α in the context that p(y_i) is read from, unless it is zero; `weights` are the
        model's own all the same.
        target_lengths: the end of sentence included; a decoder that reads from there must be told.
        """
        dropout = dropout or Dropout()
        with linear_cache(self.product_dtype)():
            results = []
            for direction, (encoded, state) in zip(
                self.directions, self.begin(source, lengths, dropout), strict=True
            ):
                if not direction.backward:
                    results.append(self._follow(direction, encoded, state, target, dropout, known))
                    continue
                if target_lengths is None:
                    raise ValueError(
                        "a decoder that reads from right to left needs the lengths of the targets"
                    )
                order = right_to_left(target_lengths, target.shape[1])
                turned = None if known is None else reordered(known, order)
                decoded = self._follow(direction, encoded, state, target.gather(1, order), dropout, turned)
                rows = {
                    name: reordered(each, order)
                    for name, each in decoded._asdict().items()
                    if name != "attended"
                }
                results.append(TeacherForced(attended=decoded.attended.gather(1, order), **rows))
            return results

    def _follow(
        self,
        direction: Direction,
        encoded: Source,
        state: DecoderState,
        target: Int[Tensor, "batch target"],
        dropout: Dropout,
        known: Float[Tensor, "batch target source"] | None,
    ) -> TeacherForced:
        """Walks one decoder along the target words as it reads them."""
        decoder = direction.decoder
        embedded = dropped(self.target_embedding(target[:, :-1]), dropout.embedding)  # E y_1 … E y_{Ty−1}
        no_word = embedded.new_zeros(embedded.shape[0], 1, embedded.shape[2])  # at i = 1 the y_0 term is zero
        previous = torch.cat((no_word, embedded), 1)  # (batch, target, m)
        seen = decoder.follow(previous, state, encoded, known)
        hidden = decoder.cell.hidden(seen.cell)  # (batch, target, n)
        readout = direction.readout(hidden, previous, seen.context)
        features = direction.output.features(dropped(readout, dropout.readout))
        attended = (torch.arange(target.shape[1], device=target.device) >= decoder.first_attended).expand(
            target.shape
        )
        return TeacherForced(features, seen.weights, attended, hidden, previous)

    def step(
        self,
        previous: Int[Tensor, "batch hypotheses"] | None,
        state: DecoderState,
        source: Source,
        output: Callable[[Tensor], Tensor] | None = None,
        direction: int = 0,
        known: Known = None,
    ) -> tuple[Float[Tensor, "batch hypotheses words"], DecoderState, DecoderState]:
        """Does one word of search: returns (log p(y_i | y_<i, x), the state it was read from, the state for
        the next step).

        previous: y_{i−1} of every hypothesis; None at the first step. output: `output.of_words(…)`, where p
        shall be over those words only.
        direction: which of `directions`; y_<i are the words that it has read, which stand after y_i if it
        reads backward. known: weights that make the context in place of α.
        """
        decoder, readout, whole_output, _ = self.directions[direction]
        embedded = None if previous is None else self.target_embedding(previous)
        word = None if embedded is None else decoder.cell.project(embedded)
        seen, state = decoder.step(word, state, source, known)
        read = readout(decoder.cell.hidden(seen.cell), embedded, seen.context)
        return log_probabilities(output or whole_output, read), seen, state


def initialise_glorot(network: TranslationNetwork) -> None:
    """Draws every matrix that is not recurrent anew, v_a included: layers from U(±√(6/(in + out))),
    embeddings from N(0, 1/m)."""
    for module in network.modules():
        if isinstance(module, OutputLayer) or (isinstance(module, Linear) and module.init is not orthogonal):
            nn.init.xavier_uniform_(module.weight)
    for embedding in (
        network.source_embedding,
        network.target_embedding,
    ):  # after the output layer, which may share one
        nn.init.normal_(embedding.weight, 0.0, embedding.weight.shape[1] ** -0.5)
    if isinstance(network.encoder, PositionedEmbeddingEncoder):
        nn.init.constant_(network.encoder.scale, network.encoder.annotation_size**-0.5)


def source_mask(lengths: Int[Tensor, " batch"], positions: int) -> Bool[Tensor, "batch positions"]:
    """Returns True on the real positions of each sentence."""
    return torch.arange(positions, device=lengths.device) < lengths.unsqueeze(1)


def right_to_left(lengths: Int[Tensor, " batch"], positions: int) -> Int[Tensor, "batch positions"]:
    """Returns the position that comes at each place when the words are read from their end; the end of
    sentence and padding stay in place.

    It is its own inverse.
    """
    place, end = torch.arange(positions, device=lengths.device), lengths.unsqueeze(1) - 1
    return torch.where(place < end, end - 1 - place, place)


def reordered(
    rows: Float[Tensor, "batch target width"], order: Int[Tensor, "batch target"]
) -> Float[Tensor, "batch target width"]:
    """Returns each sentence's rows in this order."""
    sentence = torch.arange(len(rows), device=rows.device).unsqueeze(1)
    return rows.flatten(0, 1).index_select(0, (sentence * rows.shape[1] + order).flatten()).view(rows.shape)
