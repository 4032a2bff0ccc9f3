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
from rnnsearch.model.decoder import Decoder, DecoderState, Source, SourceReader
from rnnsearch.model.dropout import Dropout, dropped
from rnnsearch.model.embedding import WordEmbedding
from rnnsearch.model.encoder import ENCODERS, Encoder
from rnnsearch.model.initialise import orthogonal
from rnnsearch.model.readout import READOUTS, OutputLayer, Readout
from rnnsearch.model.resolve import resolve
from rnnsearch.model.sequence_linear import Maps, SequenceLinear, sequence


class TeacherForced(NamedTuple):
    """features: what W_o multiplies, for every target position.

    weights: row i is the α (Eq. 6) of the context that p(y_i) was read from, whichever step of the wiring made it.
    """

    features: Float[Tensor, "batch target feature"]
    weights: Float[Tensor, "batch target source"]


class TranslationNetwork(nn.Module):
    """p(y | x) of RNNsearch, or of a relative that `settings` names. source_words, target_words: K_x, K_y.

    product_dtype: of the matrix products in training; bfloat16 halves their cost where the processor has it, and parameters,
    states, softmax and gradients stay float32.
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
        try:
            scorer = alignment(n, context_size, settings.alignment_size)
        except ValueError as error:
            raise InputError(str(error)) from None
        self.decoder = Decoder(cell(m, n, context_size), scorer, self.encoder.summary_size, settings.wiring)
        self.readout = readout(n, m, context_size, readout_size)
        self.tied = settings.tie_output
        tied = self.target_embedding.weight if settings.tie_output else None
        self.output = OutputLayer(readout_size, m, target_words, settings.factored_output, tied)
        if settings.initialisation == "glorot":
            initialise_glorot(self)

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"], dropout: Dropout | None = None
    ) -> tuple[Source, DecoderState]:
        """Annotations of a batch of sentences, and s_0. lengths: real positions of each, the end of sentence included."""
        dropout = dropout or Dropout()
        mask = source_mask(lengths, source.shape[1])
        embedded = dropped(self.source_embedding(source), dropout.embedding)
        encoded = self.encoder(embedded, mask, dropout.recurrent)
        return self.decoder.start(encoded, lengths, mask, dropout.recurrent)

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"],
        target: Int[Tensor, "batch target"],
        dropout: Dropout | None = None,
        known: Float[Tensor, "batch target source"] | None = None,
    ) -> TeacherForced:
        """Reads the source, then walks the decoder along the given target words (teacher forcing).

        target: y_1 … y_Ty, the end of sentence last; step i sees y_{i−1}. Positions after a sentence's own length are computed too:
        whoever sums over them masks them.
        known: row i replaces α in the context that p(y_i) is read from, unless it is zero; `weights` are the model's own all the same.
        """
        dropout = dropout or Dropout()
        with sequence(Maps(self.product_dtype)):
            encoded, state = self.encode(source, lengths, dropout)
            reader = SourceReader(encoded)
            embedded = dropped(self.target_embedding(target[:, :-1]), dropout.embedding)  # E y_1 … E y_{Ty−1}
            words = self.decoder.cell.project(embedded).split(1, 1)  # each (batch, 1, projected): no state in it, so outside the loop
            rows = [None] * target.shape[1] if known is None else [*known.split(1, 1), None][self.decoder.first_attended :]
            seen: list[DecoderState] = []
            for i in range(target.shape[1]):
                read, state = self.decoder.step(words[i - 1] if i else None, state, reader, rows[i])
                seen.append(read)
            hidden = self.decoder.cell.hidden(torch.cat([state.cell for state in seen], 1))  # (batch, target, n)
            context = torch.cat([state.context for state in seen], 1)  # (batch, target, 2n)
            no_word = embedded.new_zeros(embedded.shape[0], 1, embedded.shape[2])  # at i = 1 the y_0 term is zero
            readout = self.readout(hidden, torch.cat((no_word, embedded), 1), context)
            features = self.output.features(dropped(readout, dropout.readout))
            return TeacherForced(features, torch.cat([state.weights for state in seen], 1))

    def step(
        self,
        previous: Int[Tensor, "batch hypotheses"] | None,
        state: DecoderState,
        source: SourceReader,
        output: Callable[[Tensor], Tensor] | None = None,
    ) -> tuple[Float[Tensor, "batch hypotheses words"], DecoderState, DecoderState]:
        """One word of search: (log p(y_i | y_<i, x), the state it was read from, the state for the next step).

        previous: y_{i−1} of every hypothesis; None at the first step. output: `output.of_words(…)`, where p shall be over those words only.
        """
        embedded = None if previous is None else self.target_embedding(previous)
        word = None if embedded is None else self.decoder.cell.project(embedded)
        seen, state = self.decoder.step(word, state, source)
        logits = (output or self.output)(self.readout(self.decoder.cell.hidden(seen.cell), embedded, seen.context))
        return torch.log_softmax(logits, -1), seen, state


def initialise_glorot(network: TranslationNetwork) -> None:
    """Draws every matrix that is not recurrent anew, v_a included: maps from U(±√(6/(in + out))), embeddings from N(0, 1/m)."""
    for module in network.modules():
        if isinstance(module, OutputLayer) or (isinstance(module, SequenceLinear) and module.init is not orthogonal):
            nn.init.xavier_uniform_(module.weight)
    for embedding in (network.source_embedding, network.target_embedding):  # after the output layer, which may share one
        nn.init.normal_(embedding.weight, 0.0, embedding.weight.shape[1] ** -0.5)


def source_mask(lengths: Int[Tensor, " batch"], positions: int) -> Bool[Tensor, "batch positions"]:
    """True on the real positions of each sentence."""
    return torch.arange(positions, device=lengths.device) < lengths.unsqueeze(1)
