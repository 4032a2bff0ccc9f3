"""Base classes for your own parts of the network: alignment model, cell, encoder or readout.

A recipe names such a class as `package.module:Class`, in `model.alignment`, `model.cell`,
`model.encoder` or `model.readout`. These names are as stable as those of `rnnsearch`; all others in
`rnnsearch.model` may change.
"""

from rnnsearch.model.alignment.base import Alignment, Alpha, Energies, Keys, Memory, Query
from rnnsearch.model.cells import Cell
from rnnsearch.model.encoder import Encoded, Encoder
from rnnsearch.model.layers import Initialiser, Linear, gaussian, orthogonal, zeros
from rnnsearch.model.readout import Readout

__all__ = [
    "Alignment",
    "Alpha",
    "Cell",
    "Encoded",
    "Encoder",
    "Energies",
    "Initialiser",
    "Keys",
    "Linear",
    "Memory",
    "Query",
    "Readout",
    "gaussian",
    "orthogonal",
    "zeros",
]
