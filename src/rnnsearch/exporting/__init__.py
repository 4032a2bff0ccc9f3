"""A trained model in other forms: a page that translates in the browser, and ONNX."""

from __future__ import annotations

from rnnsearch.errors import InputError
from rnnsearch.run import Run

PARTS = {
    "cell": ("gated",),
    "encoder": ("bidirectional",),
    "alignment": ("additive",),
    "readout": ("maxout",),
    "decoder": ("forward",),
}
"""Setting → the parts that other engines support. They support all decoder variants and sizes."""


def check_parts(run: Run, engine: str) -> None:
    """Raises InputError for a network with other parts than PARTS; the message names the first such setting,
    and the `engine`."""
    for setting, known in PARTS.items():
        value = getattr(run.settings.model, setting)
        if value not in known:
            what = f'model.{setting} = "{value}": {engine} has only {", ".join(known)}'
            raise InputError(what, file=run.path, remedy="export a model with the parts of recipe multi30k")
