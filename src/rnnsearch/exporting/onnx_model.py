"""A run as two ONNX graphs, the encoder and one step of the decoder, for deployment without Python or
PyTorch.

`torch.onnx.export` makes both from the network; only the encoder's recurrence is replaced, by ONNX's operator
GRU. Values are named as in src/rnnsearch/model. B: sentences; k: hypotheses of each; J: source positions, the
end of sentence included; K: target words.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from rnnsearch.config import Settings
from rnnsearch.errors import InputError
from rnnsearch.exporting import check_parts
from rnnsearch.model.cells import GatedCell
from rnnsearch.model.decoder import DecoderState, Source
from rnnsearch.model.encoder import BidirectionalEncoder, Encoded
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.pretrained.card import markdown_of
from rnnsearch.run import Run
from rnnsearch.system.extras import package_version
from rnnsearch.system.folders import whole_folder
from rnnsearch.system.twins import kernels_used

ENCODER, STEP = "encoder.onnx", "step.onnx"
OPSET = 18
"""Version of ONNX's operators, of 2022."""
AXES = {
    "source": "BJ",
    "lengths": "B",
    "previous": "Bk",
    "cell": "Bk",
    "context": "Bk",
    "weights": "BkJ",
    "annotations": "BJ",
    "keys": "BJ",
    "mask": "BJ",
}
"""Input → its dynamic axes, from the first on."""


def export_onnx(run: str | Path, out: str | Path) -> dict[str, int]:
    """Writes a folder, whole or not at all: both graphs, settings, vocabularies, and a README that explains
    their use.

    Returns file name → bytes. Raises InputError for a run that cannot be opened or has other parts than
    PARTS, for an existing folder that this function did not make, and without the extra `onnx`.
    """
    try:
        import onnxscript  # noqa: F401
    except ImportError:
        remedy = "pip install 'rnnsearch[onnx]'"
        raise InputError("ONNX files need the packages onnx and onnxscript", remedy=remedy) from None
    opened = Run.open(run)
    check_parts(opened, "the ONNX export")
    network = opened.load_network().float()
    source = torch.zeros(2, 3, dtype=torch.int64)
    sentences = {"source": source, "lengths": torch.tensor([3, 2])}
    with kernels_used(False), torch.no_grad():
        encoder, step = EncoderGraph(network), StepGraph(network)
        encoded = dict(zip(EncoderGraph.outputs, encoder(**sentences), strict=True))
        state = {name: encoded[name].repeat(1, 4, 1) for name in ("cell", "context")}
        carried = {"weights": torch.zeros(2, 4, 3)} if step.carries_weights else {}
        of_sentence = {name: encoded[name] for name in ("annotations", "keys", "mask")}
        words = {"previous": torch.zeros(2, 4, dtype=torch.int64), **state, **carried, **of_sentence}
        graphs = {
            ENCODER: _exported(encoder, sentences, EncoderGraph.outputs, opened.settings),
            STEP: _exported(step, words, step.outputs, opened.settings),
        }
    with whole_folder(Path(out), made_here) as folder:
        for name, graph in graphs.items():
            graph.save(folder / name)
        opened.source.save(folder, "source")
        opened.target.save(folder, "target")
        (folder / "config.toml").write_bytes((opened.path / "config.toml").read_bytes())
        text = readme(opened.settings, graphs[STEP].model.graph)
        (folder / "README.md").write_text(text, encoding="utf-8")
        return {name: (folder / name).stat().st_size for name in graphs}


def readme(settings: Settings, step: Any) -> str:
    """Returns the README.md of an export. step: graph of the decoder's step."""
    return markdown_of(
        resources.files("rnnsearch.exporting") / "onnx_readme.md.jinja",
        source=settings.data.source_language,
        target=settings.data.target_language,
        inputs=step.inputs,
        outputs=step.outputs,
        weights=settings.model.wiring == "appendix",
    )


def made_here(folder: Path) -> bool:
    """Tells whether the folder holds such an export; a new one may then replace it."""
    return (folder / ENCODER).is_file() and (folder / STEP).is_file()


class EncoderGraph(nn.Module):
    """The encoder: source ids and lengths → annotations (Eq. 7), their keys U_a h_j, s_0 (A.2.2) and c_0."""

    outputs = ("annotations", "keys", "mask", "cell", "context")

    def __init__(self, network: TranslationNetwork) -> None:
        super().__init__()
        self.network = network
        encoder = cast(BidirectionalEncoder, network.encoder)
        self.size = encoder.summary_size
        self.matrices = gru_matrices(*(cast(GatedCell, one) for one in (encoder.forwards, encoder.backwards)))

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        mask = torch.arange(source.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)
        words = self.network.source_embedding(source).transpose(0, 1)
        positions, batch, _ = words.shape
        states, last = torch.onnx.ops.symbolic_multi_out(
            "GRU",
            (words, *self.matrices, lengths.int()),
            # The reset gate acts before U, as in the paper; in PyTorch's own GRU it acts after U.
            {"direction": "bidirectional", "hidden_size": self.size, "linear_before_reset": 0},
            dtypes=(torch.float32, torch.float32),
            shapes=((positions, 2, batch, self.size), (2, batch, self.size)),
            version=OPSET,
        )
        encoded = Encoded(states.permute(2, 0, 1, 3).flatten(2), last[1])
        read, state = self.network.decoder.start(encoded, lengths, mask)
        return read.annotations, read.keys, mask, state.cell, state.context


def gru_matrices(*cells: GatedCell) -> tuple[Tensor, Tensor, Tensor]:
    """Returns W, R and B of ONNX's operator GRU, one cell per direction: (2, 3n, m), (2, 3n, n), (2, 6n),
    rows in the order z, r, candidate.

    ONNX's z weighs the old state, ours the candidate. σ(−x) = 1 − σ(x), so the rows of z change their sign.
    """

    def stacked(candidate: Tensor, gates: Tensor) -> Tensor:
        z, r = gates.chunk(2)
        return torch.cat((-z, r, candidate))

    of_inputs = torch.stack([stacked(cell.W.weight, cell.W_zr.weight) for cell in cells])
    of_states = torch.stack([stacked(cell.U.weight, cell.U_zr.weight) for cell in cells])
    n = of_states.shape[2]
    bias = torch.zeros(len(cells), 6 * n)
    bias[:, 2 * n : 3 * n] = torch.stack([cast(Tensor, cell.W.bias) for cell in cells])
    return of_inputs, of_states, bias


class StepGraph(nn.Module):
    """One step of the decoder, in its variant.

    Inputs: y_{i−1} (−1 at the first step), the state of every hypothesis, and the encoded sentences. Outputs:
    log p(y_i | y_<i, x), the α of its context, and the next state.
    """

    def __init__(self, network: TranslationNetwork) -> None:
        super().__init__()
        self.network = network
        self.carries_weights = network.decoder.wiring == "appendix"
        more = ("next_weights",) if self.carries_weights else ()
        self.outputs = ("log_probabilities", "alignment", "next_cell", "next_context", *more)

    def forward(
        self,
        previous: Tensor,
        cell: Tensor,
        context: Tensor,
        annotations: Tensor,
        keys: Tensor,
        mask: Tensor,
        weights: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        network, decoder = self.network, self.network.decoder
        first = (previous < 0).unsqueeze(-1)
        embedded = network.target_embedding(previous.clamp(min=0)).masked_fill(first, 0)  # there is no y_0
        word: Tensor | None = decoder.cell.project(embedded)
        source = Source(annotations, keys, mask.unsqueeze(1))
        state = DecoderState(cell, context, annotations if weights is None else weights, None)
        if decoder.wiring == "released":  # the first step has a state already
            advanced = decoder.advance(word, state, source)
            state, word = replace(state, cell=torch.where(first, cell, advanced.cell)), None
        seen, state = decoder.step(word, state, source)
        read = network.readout(decoder.cell.hidden(seen.cell), embedded, seen.context)
        made = torch.log_softmax(network.output(read), -1), seen.weights, state.cell, state.context
        return (*made, state.weights) if self.carries_weights else made


def _exported(
    module: nn.Module, inputs: dict[str, Tensor], outputs: tuple[str, ...], settings: Settings
) -> Any:
    """Returns a graph whose AXES are dynamic."""
    sizes = {name: torch.export.Dim(name) for name in "BkJ"}
    axes = {name: {axis: sizes[size] for axis, size in enumerate(AXES[name])} for name in inputs}
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)  # else it warns of missing packages that are not needed
    try:
        with warnings.catch_warnings(action="ignore"):
            made = torch.onnx.export(
                module.eval(),
                kwargs=inputs,
                input_names=list(inputs),
                output_names=list(outputs),
                opset_version=OPSET,
                dynamic_shapes=axes,
                external_data=False,
                verbose=False,
            )
    finally:
        logger.setLevel(level)
    assert made is not None
    data = settings.data
    made.model.producer_name, made.model.producer_version = "rnnsearch", package_version()
    about = {
        "source_language": data.source_language,
        "target_language": data.target_language,
        "wiring": settings.model.wiring,
    }
    made.model.metadata_props.update(about)
    return made
