"""The README.md of an ONNX export: what goes in, what comes out, and a greedy search in a dozen lines."""

from __future__ import annotations

from collections.abc import Sequence

from rnnsearch.config import Settings
from rnnsearch.exporting.onnx_graph import Port

TEXT = """\
# RNNsearch, {source}–{target}, as ONNX

`encoder.onnx` reads sentences, `step.onnx` writes one word of every hypothesis; `config.toml` has the settings, the vocabularies have
one entry a line (line 0 is id 0), and `subwords.*.model` are sentencepiece's. Id 0 is the end of sentence, which ends every source
sentence, too; id 1 is the unknown word.

B: sentences; k: hypotheses of each; J: source positions; K: target vocabulary.

## encoder.onnx

| input | type | shape |
|---|---|---|
| `source` | int64 | B, J: ids, each sentence with its end; padding may be any id |
| `lengths` | int64 | B: real positions, the end included |

Its outputs are inputs of the step, under the same names.

## step.onnx

{inputs}

{outputs}

`previous` is y_{{i−1}}, or −1 before the first word. `alignment` is α_i (Eq. 6 of Bahdanau, Cho & Bengio 2015).{weights}

## Greedy search

```python
{example}```
"""

WEIGHTS = " `weights` are zeros at the first step, `next_weights` afterwards."

EXAMPLE = """\
import numpy as np
import onnxruntime

encoder, step = (onnxruntime.InferenceSession(f"{folder}/{name}.onnx") for name in ("encoder", "step"))


def translate(ids, longest=100):
    \"\"\"Source ids with their end → target ids without theirs.\"\"\"
    values = encoder.run(None, {"source": np.array([ids]), "lengths": np.array([len(ids)])})
    state = dict(zip([port.name for port in encoder.get_outputs()], values))
    found, previous = [], -1
    while len(found) < longest:
WEIGHTS        inputs = {port.name: state[port.name] for port in step.get_inputs() if port.name != "previous"}
        values = step.run(None, inputs | {"previous": np.array([[previous]])})
        result = dict(zip([port.name for port in step.get_outputs()], values))
        previous = int(result["log_probabilities"][0, 0].argmax())
        if previous == 0:
            break
        found.append(previous)
        state |= {name.removeprefix("next_"): value for name, value in result.items() if name.startswith("next_")}
    return found
"""


def readme(settings: Settings, inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    data = settings.data
    more = WEIGHTS if settings.model.wiring == "appendix" else ""
    return TEXT.format(
        source=data.source_language,
        target=data.target_language,
        inputs=table("input", inputs),
        outputs=table("output", outputs),
        weights=more,
        example=example(settings),
    )


def example(settings: Settings) -> str:
    """Python that searches greedily, given `folder`."""
    appendix = settings.model.wiring == "appendix"
    start = '        state.setdefault("weights", np.zeros((1, 1, len(ids)), dtype=np.float32))\n' if appendix else ""
    return EXAMPLE.replace("WEIGHTS", start)


def table(title: str, ports: Sequence[Port]) -> str:
    rows = [f"| `{port.name}` | {port.dtype} | {', '.join(map(str, port.shape))} |" for port in ports]
    return "\n".join([f"| {title} | type | shape |", "|---|---|---|", *rows])
