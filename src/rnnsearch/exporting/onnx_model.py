"""A run as two ONNX graphs, the encoder and one step of the decoder, for whoever deploys without Python or PyTorch.

Values keep the names that they have in src/rnnsearch/model. B: sentences; k: hypotheses of each; J: source positions, the end of sentence
included.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from rnnsearch.config import ModelSettings
from rnnsearch.exporting.onnx_graph import Graph, Port, require_onnx
from rnnsearch.exporting.onnx_readme import readme
from rnnsearch.exporting.parts import check_parts
from rnnsearch.run import Run
from rnnsearch.system.folders import whole_folder

ENCODER, STEP = "encoder.onnx", "step.onnx"

Weights = dict[str, NDArray[np.float32]]


def export_onnx(run: str | Path, out: str | Path) -> dict[str, int]:
    """Writes a folder, whole or not at all: both graphs, settings, vocabularies, and a README that says how they are used.

    Returns the bytes of each graph. Raises InputError for a run that cannot be opened or has other parts than PARTS, for a folder that is
    there and was not made by this function, and without the package `onnx`.
    """
    require_onnx()
    opened = Run.open(run)
    check_parts(opened, "the ONNX export")
    network = opened.load_network()
    weights = {name: tensor.to(torch.float32).numpy() for name, tensor in network.state_dict().items()}
    data, model = opened.settings.data, opened.settings.model
    metadata = {"source_language": data.source_language, "target_language": data.target_language, "wiring": model.wiring}
    with whole_folder(Path(out), made_here) as folder:
        encoder(weights, model).save(folder / ENCODER, encoder_outputs(model), metadata)
        step(weights, model).save(folder / STEP, step_outputs(model), metadata)
        opened.source.save(folder, "source")
        opened.target.save(folder, "target")
        (folder / "config.toml").write_bytes((opened.path / "config.toml").read_bytes())
        (folder / "README.md").write_text(readme(opened.settings, step_inputs(model), step_outputs(model)), encoding="utf-8")
        return {name: (folder / name).stat().st_size for name in (ENCODER, STEP)}


def made_here(folder: Path) -> bool:
    """Whether the folder holds such an export, which a new one may replace."""
    return (folder / ENCODER).is_file() and (folder / STEP).is_file()


def annotation_size(model: ModelSettings) -> int:
    return 2 * (model.encoder_size or model.hidden_size)


def encoder_outputs(model: ModelSettings) -> list[Port]:
    """What the step reads of a sentence, and s_0 and c_0 of its only hypothesis."""
    cell = Port("cell", "float32", ("B", 1, model.hidden_size))
    return [*_source_ports(model), cell, Port("context", "float32", ("B", 1, annotation_size(model)))]


def step_inputs(model: ModelSettings) -> list[Port]:
    """y_{i−1}, −1 for none; the state of every hypothesis; the sentences'. The variant `appendix` also carries α_{i−1}."""
    weights = [Port("weights", "float32", ("B", "k", "J"))] if model.wiring == "appendix" else []
    return [Port("previous", "int64", ("B", "k")), *_state_ports(model, ""), *weights, *_source_ports(model)]


def step_outputs(model: ModelSettings) -> list[Port]:
    """log p(y_i | y_<i, x), the α of the context that it was read from, and the state for the next step."""
    carried = [Port("next_weights", "float32", ("B", "k", "J"))] if model.wiring == "appendix" else []
    seen = [Port("log_probabilities", "float32", ("B", "k", "K")), Port("alignment", "float32", ("B", "k", "J"))]
    return [*seen, *_state_ports(model, "next_"), *carried]


def _source_ports(model: ModelSettings) -> list[Port]:
    annotations = Port("annotations", "float32", ("B", "J", annotation_size(model)))
    return [annotations, Port("keys", "float32", ("B", "J", model.alignment_size)), Port("mask", "bool", ("B", "J"))]


def _state_ports(model: ModelSettings, prefix: str) -> list[Port]:
    cell = Port(f"{prefix}cell", "float32", ("B", "k", model.hidden_size))
    return [cell, Port(f"{prefix}context", "float32", ("B", "k", annotation_size(model)))]


def encoder(weights: Weights, model: ModelSettings) -> Graph:
    """Source ids and lengths → the annotations (Eq. 7), their keys U_a h_j, and s_0 = tanh(W_s ←h_1 + b) (A.2.2)."""
    graph = Graph("encoder", [Port("source", "int64", ("B", "J")), Port("lengths", "int64", ("B",))])
    op = graph.op
    e = embed(graph, weights, "source_embedding", "source")  # (B, J, m)
    size = model.encoder_size or model.hidden_size
    matrices = gru_matrices([cell_weights(weights, f"encoder.{side}") for side in ("forwards", "backwards")])
    lengths32 = op("Cast", "lengths", to=6)  # int32
    names = [graph.weight(f"encoder.{name}", array) for name, array in zip("WRB", matrices, strict=True)]
    # linear_before_reset = 0: the reset acts before U, as in the paper. Y is (J, 2, B, n), Y_h (2, B, n).
    states, last = op("GRU", op("Transpose", e, perm=[1, 0, 2]), *names, lengths32, outputs=2, direction="bidirectional", hidden_size=size)
    joined = op("Reshape", op("Transpose", states, perm=[2, 0, 1, 3]), graph.numbers(0, 0, 2 * size))
    op("Identity", joined, name="annotations")
    linear(graph, weights, "decoder.alignment.U_a", joined, name="keys")
    backwards = op("Gather", last, graph.weight("second", np.array(1)), axis=0)  # ←h_1, (B, n)
    op("Unsqueeze", op("Tanh", linear(graph, weights, "decoder.W_s", backwards)), graph.numbers(1), name="cell")
    positions = op("Shape", "source", start=1, end=2)
    count = op("Range", graph.weight("zero", np.array(0)), op("Squeeze", positions), graph.weight("one", np.array(1)))
    op("Less", count, op("Unsqueeze", "lengths", graph.numbers(1)), name="mask")
    shape = op("Concat", op("Shape", "source", start=0, end=1), graph.numbers(1), graph.numbers(2 * size), axis=0)
    op("ConstantOfShape", shape, name="context")
    return graph


def step(weights: Weights, model: ModelSettings) -> Graph:
    """One step of the decoder variant: attend, advance and read in its order (model/decoder.py)."""
    graph = Graph("step", step_inputs(model))
    return Step(graph, weights).of(model.wiring)


@dataclass(frozen=True)
class Hypotheses:
    """The names of s, c and α of every hypothesis at some point of a step."""

    cell: str
    context: str
    weights: str


class Step:
    """What the decoder does, operator by operator."""

    def __init__(self, graph: Graph, weights: Weights) -> None:
        self.graph, self.weights = graph, weights
        op = graph.op
        none = op("Less", "previous", graph.weight("zero", np.array(0)))
        self.first = op("Unsqueeze", none, graph.numbers(2))  # (B, k, 1)
        embedded = embed(graph, weights, "target_embedding", op("Max", "previous", graph.weight("zero", np.array(0))))
        self.embedded = op("Where", self.first, graph.scalar(0.0), embedded)  # there is no y_0, and no embedding for it

    def of(self, wiring: str) -> Graph:
        state = Hypotheses("cell", "context", "weights")
        if wiring == "eq4":
            state = seen = self.advance(self.attend(state))
        elif wiring == "appendix":
            seen = state
            state = self.advance(self.attend(state))
            self.graph.op("Identity", state.weights, name="next_weights")
        else:  # released: the first step has a state already
            advanced = self.advance(state).cell
            state = seen = self.attend(Hypotheses(self.graph.op("Where", self.first, "cell", advanced), "context", "weights"))
        self.read(seen)
        self.graph.op("Identity", state.cell, name="next_cell")
        self.graph.op("Identity", state.context, name="next_context")
        self.graph.op("Identity", seen.weights, name="alignment")
        return self.graph

    def attend(self, state: Hypotheses) -> Hypotheses:
        """α_i and c_i (Eq. 5, Eq. 6): e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)."""
        graph, op = self.graph, self.graph.op
        query = op("Unsqueeze", self.linear("decoder.alignment.W_a", state.cell), graph.numbers(2))  # (B, k, 1, n')
        hidden = op("Tanh", op("Add", query, op("Unsqueeze", "keys", graph.numbers(1))))  # (B, k, J, n')
        energies = op("Squeeze", self.linear("decoder.alignment.v_a", hidden), graph.numbers(3))
        masked = op("Where", op("Unsqueeze", "mask", graph.numbers(1)), energies, graph.scalar(-np.inf))
        weights = op("Softmax", masked, axis=2)
        return Hypotheses(state.cell, op("MatMul", weights, "annotations"), weights)

    def advance(self, state: Hypotheses) -> Hypotheses:
        """s' = (1 − z)∘s + z∘s̃ (A.2.2)."""
        graph, op = self.graph, self.graph.op
        size = self.weights["decoder.cell.U.weight"].shape[0]
        projected = op("Concat", *(self.linear(f"decoder.cell.{part}", self.embedded) for part in ("W", "W_zr")), axis=2)
        sums = op("Add", projected, self.linear("decoder.cell.C", state.context))  # [candidate; z; r]
        inner, gates = op("Split", sums, graph.numbers(size, 2 * size), outputs=2, axis=2)
        gates = op("Sigmoid", op("Add", gates, self.linear("decoder.cell.U_zr", state.cell)))
        z, r = op("Split", gates, graph.numbers(size, size), outputs=2, axis=2)
        candidate = op("Tanh", op("Add", inner, self.linear("decoder.cell.U", op("Mul", r, state.cell))))
        cell = op("Add", state.cell, op("Mul", z, op("Sub", candidate, state.cell)))
        return Hypotheses(cell, state.context, state.weights)

    def read(self, seen: Hypotheses) -> None:
        """log p(y_i): maxout of t̃_i = U_o s + V_o E y_{i−1} + C_o c, and the softmax of W_o t_i (A.2.2)."""
        graph, op = self.graph, self.graph.op
        layer = op("Add", self.linear("readout.U_o", seen.cell), self.linear("readout.C_o", seen.context))
        layer = op("Add", layer, self.linear("readout.V_o", self.embedded))
        size = self.weights["readout.U_o.weight"].shape[0] // 2
        t = op("ReduceMax", op("Reshape", layer, graph.numbers(0, 0, size, 2)), axes=[3], keepdims=0)
        if "output.factor.weight" in self.weights:
            t = self.linear("output.factor", t)
        tied = "output.weight" not in self.weights
        logits = linear(graph, self.weights, "target_embedding" if tied else "output", t, bias="output.bias")
        op("LogSoftmax", logits, axis=2, name="log_probabilities")

    def linear(self, module: str, x: str) -> str:
        return linear(self.graph, self.weights, module, x)


def linear(graph: Graph, weights: Weights, module: str, x: str, *, bias: str = "", name: str = "") -> str:
    """W x (+ b) on the last dimension."""
    bias = bias or f"{module}.bias"
    matrix = graph.op("Transpose", graph.weight(f"{module}.weight", weights[f"{module}.weight"]), perm=[1, 0])
    if bias not in weights:
        return str(graph.op("MatMul", x, matrix, name=name))
    return str(graph.op("Add", graph.op("MatMul", x, matrix), graph.weight(bias, weights[bias]), name=name))


def embed(graph: Graph, weights: Weights, module: str, ids: str) -> str:
    """e(x) = E x + b."""
    rows = graph.op("Gather", graph.weight(f"{module}.weight", weights[f"{module}.weight"]), ids, axis=0)
    return str(graph.op("Add", rows, graph.weight(f"{module}.bias", weights[f"{module}.bias"])))


def cell_weights(weights: Weights, cell: str) -> Weights:
    names = ("W.weight", "W.bias", "W_zr.weight", "U.weight", "U_zr.weight")
    return {name: weights[f"{cell}.{name}"] for name in names}


def gru_matrices(cells: list[Weights]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """(W, R, B) of ONNX's operator GRU, one cell per direction: (2, 3n, m), (2, 3n, n), (2, 6n), rows in the order z, r, candidate.

    There z weighs the old state, here the candidate: σ(−x) = 1 − σ(x), so its rows change their sign.
    """

    def stacked(candidate: NDArray[np.float32], gates: NDArray[np.float32]) -> NDArray[np.float32]:
        z, r = np.split(gates, 2)
        return np.concatenate((-z, r, candidate))

    of_inputs = np.stack([stacked(cell["W.weight"], cell["W_zr.weight"]) for cell in cells])
    of_states = np.stack([stacked(cell["U.weight"], cell["U_zr.weight"]) for cell in cells])
    size = of_states.shape[2]
    bias = np.zeros((len(cells), 6 * size), dtype=np.float32)
    bias[:, 2 * size : 3 * size] = np.stack([cell["W.bias"] for cell in cells])
    return of_inputs, of_states, bias
