"""Code that the parts share: options, rows whose errors do not stop the others, small networks,
differences."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.errors import one_line
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import Settings

Row = dict[str, Any]
Write = Callable[[Row], None]

FLOAT64, FLOAT32 = 1e-9, 1e-3
"""Limits of relative differences between a device and the CPU, which sum in another order and
compute tanh otherwise."""


@dataclass(frozen=True)
class Options:
    """small: sizes with which every part takes seconds on a CPU."""

    device: str = "cuda"
    small: bool = False


@contextmanager
def row(write: Write, what: str) -> Iterator[Row]:
    """Yields a row, and writes it afterwards. An error is written into the row, on one line, and
    does not stop the next row."""
    found: Row = {"what": what}
    try:
        yield found
    except Exception as error:
        found |= {"error": one_line(f"{type(error).__name__}: {error}")[:400]}
    gc.collect()
    torch.cuda.empty_cache()
    write(found)


def held(found: Row, difference: float, limit: float) -> None:
    """Records whether a difference is within its limit; NaN is not."""
    found |= {"difference": difference, "limit": limit, "ok": difference <= limit}


def relative(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> float:
    """Returns the largest relative difference of a tensor: the L2 norm of the difference divided by
    that of the tensor, but at least by a thousandth of the largest norm."""
    if found.keys() != expected.keys():
        raise ValueError(f"other tensors: {sorted(found.keys() ^ expected.keys())[:3]}")
    pairs = [
        [each[name].detach().to_dense().cpu().double() for each in (found, expected)]
        for name in expected
    ]
    least = max([1e-300, *(1e-3 * float(one.norm()) for _, one in pairs)])
    ratios = [float((one - other).norm()) / max(float(other.norm()), least) for one, other in pairs]
    return float(torch.tensor(ratios).max())  # NaN if any of them is NaN


SIZES = {"embedding": 12, "hidden": 16, "encoder": 10, "alignment": 14, "maxout": 8}
VOCABULARY = 40


def small(
    device: str,
    changes: str = "",
    dtype: torch.dtype = torch.float32,
    seed: int = 1,
    sentences: int = 4,
) -> tuple[Settings, TranslationNetwork, Batch]:
    """Returns settings, network and batch of a small model, the same on every machine. changes: of
    its settings, between spaces.

    All parameters are random, and large enough for each part to matter. The sentences have unequal
    lengths, one of them a single word, and a few word links.
    """
    # annotations as large as states
    sizes = SIZES | ({"encoder": 8} if "alignment=dot" in changes else {})
    sizes |= {"maxout": 12} if "tie_output=true" in changes else {}
    overrides = [f"model.{name}_size={size}" for name, size in sizes.items()]
    settings = load_config(overrides=[*overrides, f"training.device={device}", *changes.split()])
    network = TranslationNetwork(settings.model, VOCABULARY, VOCABULARY).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(
                0.4 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            )
    generator.manual_seed(seed)
    source, target = (
        torch.randint(1, VOCABULARY, (sentences, size), generator=generator) for size in (5, 4)
    )
    lengths, target_lengths = (
        torch.randint(2, size + 1, (sentences,), generator=generator) for size in (5, 4)
    )
    lengths[0], target_lengths[0] = 5, 4
    lengths[-1], target_lengths[-1] = 2, 2
    known = torch.zeros(sentences, 4, 5, dtype=dtype)
    for sentence in range(0, sentences, 2):
        source[sentence, lengths[sentence] - 1] = target[sentence, target_lengths[sentence] - 1] = 0
        known[sentence, 0, 0] = known[sentence, 1, 1] = 1.0
    batch = Batch(source, lengths, target, target_lengths, known)
    return settings, network.to(device), batch.to(device)
