"""From a TranslationNetwork's parameters to the matrices that the equations name. Every parameter must find
its place.

Stacked matrices: W_zr = [W_z; W_r], U_zr = [U_z; U_r]; C of the gated unit = [C; C_z; C_r], and W, Q, A of a
scorer's gated unit likewise;
an LSTM's four blocks are the input, forget and output gate and the inner input.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import cast

from torch import Tensor

from plain import alignments, cells, encoders, network, readouts
from plain.vectors import Matrix, Vector, add
from rnnsearch.settings import ModelSettings


class Parameters:
    """Hands out a state dict's tensors as plain lists, by name, and knows which were never asked for."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors
        self.unused = set(tensors)

    def matrix(self, name: str) -> Matrix:
        self.unused.discard(name)
        return cast(Matrix, self._tensors[name].tolist())

    def vector(self, name: str) -> Vector:
        self.unused.discard(name)
        return cast(Vector, self._tensors[name].tolist())

    def blocks(self, name: str, count: int) -> list[Matrix]:
        """The matrix cut into `count` equal parts, one below the other; empty ones if there is no such
        parameter."""
        rows = self.matrix(name) if name in self._tensors else []
        size = len(rows) // count
        return [rows[k * size : (k + 1) * size] for k in range(count)]

    def vectors(self, name: str, count: int) -> list[Vector]:
        whole = self.vector(name)
        size = len(whole) // count
        return [whole[k * size : (k + 1) * size] for k in range(count)]


def gated_unit(parameters: Parameters, at: str) -> cells.Unit:
    W_z, W_r = parameters.blocks(f"{at}W_zr.weight", 2)
    U_z, U_r = parameters.blocks(f"{at}U_zr.weight", 2)
    C, C_z, C_r = parameters.blocks(f"{at}C.weight", 3)
    W = parameters.matrix(f"{at}W.weight")
    U = parameters.matrix(f"{at}U.weight")
    b = parameters.vector(f"{at}W.bias")
    return cells.GatedUnit(W, W_z, W_r, U, U_z, U_r, C, C_z, C_r, b)


def lstm_unit(parameters: Parameters, at: str) -> cells.Unit:
    parts = zip(
        parameters.blocks(f"{at}W.weight", 4),
        parameters.blocks(f"{at}U.weight", 4),
        parameters.blocks(f"{at}C.weight", 4),
        parameters.vectors(f"{at}W.bias", 4),
        strict=True,
    )
    return cells.LSTMUnit(*(cells.Gate(*part) for part in parts))


def tanh_unit(parameters: Parameters, at: str) -> cells.Unit:
    (C,) = parameters.blocks(f"{at}C.weight", 1)
    return cells.TanhUnit(
        parameters.matrix(f"{at}W.weight"),
        parameters.matrix(f"{at}U.weight"),
        C,
        parameters.vector(f"{at}W.bias"),
    )


UNITS = {"gated": gated_unit, "lstm": lstm_unit, "tanh": tanh_unit}


def alignment_model(parameters: Parameters, kind: str, at: str = "") -> alignments.AlignmentModel:
    match kind:
        case "additive":
            (v_a,) = parameters.matrix(f"{at}v_a.weight")
            return alignments.Additive(
                v_a, parameters.matrix(f"{at}W_a.weight"), parameters.matrix(f"{at}U_a.weight")
            )
        case "dot":
            return alignments.Dot()
        case "general":
            return alignments.General(parameters.matrix(f"{at}W.weight"))
        case "window":
            return alignments.Window(
                parameters.matrix(f"{at}W.weight"), parameters.vector(f"{at}W.bias")
            )
        case "fixed":
            return alignments.Fixed()
        case "recurrent" | "recurrent-scalar":
            v_a = parameters.matrix(f"{at}v_a.weight")[0] if kind == "recurrent" else None
            W, Q = three(parameters, f"{at}W.weight"), three(parameters, f"{at}Q.weight")
            return alignments.Recurrent(W, Q, gated_position(parameters, f"{at}unit."), v_a)
        case "coverage":
            return alignments.LinguisticCoverage(
                *coverage_score(parameters, at), parameters.matrix(f"{at}U_f.weight")
            )
        case "coverage-neural":
            A, Q, W = (three(parameters, f"{at}{name}.weight") for name in ("A", "Q", "W"))
            return alignments.NeuralCoverage(
                *coverage_score(parameters, at), A, Q, W, gated_position(parameters, f"{at}unit.")
            )
    raise ValueError(kind)


def three(parameters: Parameters, name: str) -> tuple[Matrix, Matrix, Matrix]:
    """Of the candidate, of z and of r."""
    candidate, z, r = parameters.blocks(name, 3)
    return candidate, z, r


def gated_position(parameters: Parameters, at: str) -> alignments.GatedPosition:
    U_z, U_r = parameters.blocks(f"{at}U_zr.weight", 2)
    return alignments.GatedPosition(parameters.matrix(f"{at}U.weight"), U_z, U_r)


def coverage_score(parameters: Parameters, at: str) -> tuple[Vector, Matrix, Matrix, Matrix]:
    (v_a,) = parameters.matrix(f"{at}v_a.weight")
    W_a, U_a, V_a = (parameters.matrix(f"{at}{name}.weight") for name in ("W_a", "U_a", "V_a"))
    return v_a, W_a, U_a, V_a


def embedding(parameters: Parameters, at: str) -> list[Vector]:
    """e(x) = E x + b for every word x."""
    bias = parameters.vector(f"{at}bias")
    return [add(row, bias) for row in parameters.matrix(f"{at}weight")]


def deep_output(parameters: Parameters, settings: ModelSettings) -> readouts.DeepOutput:
    assert settings.readout in ("maxout", "tanh")
    return readouts.DeepOutput(
        kind="maxout" if settings.readout == "maxout" else "tanh",
        U_o=parameters.matrix("readout.U_o.weight"),
        V_o=parameters.matrix("readout.V_o.weight"),
        C_o=parameters.matrix("readout.C_o.weight"),
        b_o=parameters.vector("readout.U_o.bias"),
        W_o=parameters.matrix("output.weight"),
        b=parameters.vector("output.bias"),
        F=parameters.matrix("output.factor.weight") if settings.factored_output else None,
    )


def encoder(
    parameters: Parameters, settings: ModelSettings, at: str = "encoder."
) -> functools.partial[encoders.Encoded]:
    unit = UNITS[settings.cell]
    match settings.encoder:
        case "bidirectional":
            return functools.partial(
                encoders.bidirectional,
                unit(parameters, f"{at}forwards."),
                unit(parameters, f"{at}backwards."),
            )
        case "forward":
            return functools.partial(encoders.forward, unit(parameters, f"{at}forwards."))
        case "embedding":
            return functools.partial(encoders.embedding)
        case "embedding-position":
            (scale,) = parameters.vector(f"{at}scale")
            return functools.partial(encoders.embedding_position, scale)
    raise ValueError(settings.encoder)


def whole_network(parameters: Parameters, settings: ModelSettings) -> network.Network:
    return network.Network(
        source_embedding=embedding(parameters, "source_embedding."),
        target_embedding=embedding(parameters, "target_embedding."),
        encode=encoder(parameters, settings),
        W_s=parameters.matrix("decoder.W_s.weight"),
        b_s=parameters.vector("decoder.W_s.bias"),
        unit=UNITS[settings.cell](parameters, "decoder.cell."),
        alignment=alignment_model(parameters, settings.alignment, "decoder.alignment."),
        output=deep_output(parameters, settings),
    )
