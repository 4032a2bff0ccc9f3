"""A copy of a network with the same parameters that computes faster."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from rnnsearch.kernels.digest import plain_instead
from rnnsearch.kernels.gated import FastDecoder
from rnnsearch.kernels.products import FastLinear, FastOutput, Precision
from rnnsearch.model.decoder import Decoder
from rnnsearch.model.layers import Linear
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.readout import OutputLayer

FASTER: dict[type[nn.Module], type[FastLinear | FastOutput | FastDecoder]] = {
    Linear: FastLinear,
    OutputLayer: FastOutput,
    Decoder: FastDecoder,
}
"""Class → the subclass that computes the same faster."""
M = TypeVar("M", bound=nn.Module)


def convert(network: TranslationNetwork, dtype: torch.dtype = torch.float32) -> TranslationNetwork:
    """Returns a network with the same parameters that computes faster, with rounding errors of its
    own. Where an equation is edited, it computes as the given network does.

    The copy keeps weights in the precision of the products: once they change, convert again.
    dtype: of the products of float32 layers: float32, bfloat16, or int8 (only without gradients).
    Parameters, states, softmax and gradients stay float32.
    """
    return _copy(network, Precision(dtype), {})


def _copy(module: M, precision: Precision, made: dict[nn.Module, nn.Module]) -> M:
    """Returns a copy of a module that shares all but its submodules. made: module → its copy."""
    if module not in made:
        kind, faster = type(module), FASTER.get(type(module))
        if faster and not plain_instead(faster.EQUALS, faster.WHAT):
            kind = faster  # type: ignore[assignment]
        made[module] = copy = kind.__new__(kind)
        copy.__dict__ = dict(module.__dict__)
        if isinstance(copy, FastLinear | FastOutput | FastDecoder):
            copy.precision = precision
        copy._modules = {
            name: None if one is None else _copy(one, precision, made)
            for name, one in module._modules.items()
        }
    return made[module]  # type: ignore[return-value]
