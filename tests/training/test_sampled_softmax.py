"""Sampled softmax: exact for V' = V, the paper's gradient otherwise, rows outside V' left alone, nothing as
large as the vocabulary."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from rnnsearch.config import ModelSettings, TrainingSettings
from rnnsearch.model.network import TranslationNetwork, source_mask
from rnnsearch.model.readout import OutputLayer
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.loss import negative_log_likelihood, over_words
from rnnsearch.training.optimiser import coalesced, copies_in_memory, sparse_parameters
from rnnsearch.training.trainer import Trainer

WORDS = 19
SIZES = {
    "embedding_size": 6,
    "hidden_size": 5,
    "alignment_size": 4,
    "maxout_size": 6,
    "initialisation": "glorot",
}
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tied": {"tie_output": True},
    "factored, tied": {"factored_output": True, "tie_output": True, "maxout_size": 4},
    "both directions": {"decoder": "bidirectional"},
    "both directions, tied": {"decoder": "bidirectional", "tie_output": True},
}
OPTIMISERS: dict[str, dict[str, Any]] = {
    "adadelta": {"rho": 0.8},
    "sgd": {"optimiser": "sgd", "learning_rate": 0.3},
    "adam": {"optimiser": "adam", "learning_rate": 0.01},
    "adadelta, weight decay": {"weight_decay": 0.01},
}
models = pytest.mark.parametrize("model", MODELS)


def trainer(model: str, words: int = WORDS, **training: Any) -> Trainer:
    torch.manual_seed(2)
    network = TranslationNetwork(ModelSettings.model_validate(SIZES | MODELS[model]), WORDS, words).double()
    with torch.no_grad():
        for direction in network.directions:
            direction.output.bias.normal_()
    return Trainer(network, TrainingSettings(**training), 0)


def batch(number: int, subset: Tensor | None, words: int = WORDS) -> Batch:
    """Of targets in `subset`; None: in the whole vocabulary, without a sampled softmax."""
    generator = torch.Generator().manual_seed(number)
    source = torch.randint(WORDS, (3, 4), generator=generator)
    inner = torch.arange(words) if subset is None else subset
    target = inner[torch.randint(len(inner), (3, 4), generator=generator)]
    lengths = torch.tensor([4, 3, 1])
    for row, length in enumerate(lengths):
        target[row, length - 1 :] = 0
    return Batch(source, lengths, target, lengths, words=subset)


def subset(number: int, size: int = 8, words: int = WORDS) -> Tensor:
    """Ascending, the end of sentence among them; the last word never."""
    others = 1 + torch.randperm(words - 2, generator=torch.Generator().manual_seed(100 + number))[: size - 1]
    return torch.cat([torch.zeros(1, dtype=torch.int64), others]).sort().values


def reference(network: TranslationNetwork, one: Batch, smoothing: float) -> Tensor:
    """The loss written out: a table of logits over all words, of which those outside V' are struck out."""
    assert one.words is not None
    losses = []
    every = network.teacher_forced(
        one.source, one.source_lengths, one.target, target_lengths=one.target_lengths
    )
    real = source_mask(one.target_lengths, one.target.shape[1])
    for direction, decoded in zip(network.directions, every, strict=True):
        logits = F.linear(decoded.features[real], direction.output.weight, direction.output.bias)
        inside = torch.zeros(logits.shape[1], dtype=torch.bool).index_fill_(0, one.words, True)
        log_p = torch.log_softmax(logits.masked_fill(~inside, -torch.inf), 1)
        of_target = log_p.gather(1, one.target[real].unsqueeze(1)).sum()
        losses.append(-(1 - smoothing) * of_target - smoothing * log_p[:, inside].mean(1).sum())
    return torch.stack(losses).sum()


@models
@pytest.mark.parametrize("optimiser", ["adadelta", "adam"])
@pytest.mark.parametrize(("size", "smoothing"), [(8, 0.1), (8, 0.0), (WORDS, 0.1)])
def test_the_gradient_is_that_of_a_softmax_over_the_subset(
    model: str, optimiser: str, size: int, smoothing: float
) -> None:
    """As rows or whole; two batches of one update may have different subsets. Over all words it is exact."""
    ours = trainer(model, sampled_softmax=size, label_smoothing=smoothing, **OPTIMISERS[optimiser])
    chosen = [torch.arange(WORDS) if size == WORDS else subset(number, size) for number in (1, 2)]
    parts = [batch(number, words) for number, words in enumerate(chosen, 1)]
    assert bool(sparse_parameters(ours.network)) == (optimiser == "adadelta")
    expected = torch.autograd.grad(
        sum((reference(ours.network, one, smoothing) for one in parts), torch.zeros(())), ours.parameters
    )
    ours.add_gradients(parts, 1, 1)
    for (name, parameter), gradient in zip(ours.network.named_parameters(), expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(
            parameter.grad.to_dense(), gradient.to_dense(), rtol=1e-10, atol=1e-12, msg=name
        )


@models
@pytest.mark.parametrize("optimiser", ["adadelta", "sgd"])
def test_rows_outside_the_subsets_are_left_alone(model: str, optimiser: str) -> None:
    """Bit for bit, what the optimiser remembers of them too."""
    ours = trainer(model, sampled_softmax=8, **OPTIMISERS[optimiser])
    outputs = [one for side in ours.network.directions for one in (side.output.weight, side.output.bias)]
    for number in range(1, 6):
        part = subset(number)
        outside = [word for word in range(WORDS) if word not in part.tolist()]
        before = [(one.detach().clone(), copy.deepcopy(ours.optimiser.state[one])) for one in outputs]
        ours.update([batch(number, part)], number)
        for tensor, (values, state) in zip(outputs, before, strict=True):
            assert torch.equal(tensor[outside], values[outside])
            assert not torch.equal(tensor[part], values[part])
            for slot in ("square_avg", "acc_delta", "step") if state else ():
                assert torch.equal(ours.optimiser.state[tensor][slot][outside], state[slot][outside])


def test_the_papers_gradient_and_the_sense_in_which_it_is_unbiased() -> None:
    """By every subset of 7 words, in float64.

    The gradient is ∇E(y) − Σ_{V'} ω ∇E / Σ_{V'} ω with Q uniform on V'. Over all V' of N words, K/N times the
    sum below and K/N times the
    sum above have the exact sums as their means; the ratio is biased, less with each word more, and not at
    all for V' = V.
    """
    torch.manual_seed(3)
    layer = OutputLayer(4, 4, 7, False, None).double()
    with torch.no_grad():
        layer.weight.normal_()
        layer.bias.normal_()
    feature = torch.randn(1, 4, dtype=torch.float64)
    every = [layer.weight, layer.bias]

    def gradient(value: Tensor) -> Tensor:
        return torch.cat([one.flatten() for one in torch.autograd.grad(value, every)])

    def energy(word: int) -> Tensor:
        return (layer.weight[word] * feature[0]).sum() + layer.bias[word]

    energies = [float(energy(word).detach()) for word in range(7)]
    gradients = [gradient(energy(word)) for word in range(7)]
    below = torch.tensor(energies, dtype=torch.float64).exp()
    above = sum(weight * one for weight, one in zip(below, gradients, strict=True))
    exact = gradients[2] - above / below.sum()
    biases = []
    for size in range(1, 8):
        sums_below, sums_above, of_word_2 = [], [], []
        for chosen in itertools.combinations(range(7), size):
            target = 2 if 2 in chosen else chosen[0]
            weight, bias, place = over_words(layer, torch.tensor(chosen), torch.tensor([[target]]))
            loss, nll = negative_log_likelihood(feature, weight, bias, place[0])
            found = -gradient(loss)
            shares = below[[*chosen]] / below[[*chosen]].sum()  # ω; Q is one constant: it cancels
            estimate = sum(share * gradients[word] for share, word in zip(shares, chosen, strict=True))
            torch.testing.assert_close(found, gradients[target] - estimate)
            sums_below.append(7 / size * (nll + energies[target]).exp())
            sums_above.append(sums_below[-1] * (gradients[target] - found))
            if target == 2:
                of_word_2.append(found)
        torch.testing.assert_close(torch.stack(sums_below).mean(), below.sum())
        torch.testing.assert_close(torch.stack(sums_above).mean(0), above)
        biases.append(float((torch.stack(of_word_2).mean(0) - exact).norm()))
    assert biases == sorted(biases, reverse=True)
    assert biases[0] > 0.1
    assert biases[-1] < 1e-12


class LargestTensor(TorchDispatchMode):
    """How many numbers the largest tensor has that is made meanwhile, beside those that are there already."""

    def __init__(self, there: list[Tensor]) -> None:
        super().__init__()
        self.there, self.largest = {tensor.untyped_storage().data_ptr() for tensor in there}, 0

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        result = function(*arguments, **(named or {}))
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, Tensor) and not tensor.is_sparse:
                new = tensor.untyped_storage().data_ptr() not in self.there
                self.largest = max(self.largest, new * tensor.numel())
        return result


@pytest.mark.parametrize("optimiser", ["adadelta", "sgd"])
def test_nothing_as_large_as_the_vocabulary_is_made(optimiser: str) -> None:
    """After the first update, which makes what the optimiser remembers, no tensor has as many numbers as
    there are words."""
    words = 5_000
    ours = trainer("plain", words=words, sampled_softmax=50, **OPTIMISERS[optimiser])
    ours.update([batch(1, subset(1, 50, words), words)], 1)
    there = [*ours.parameters, *(one for state in ours.optimiser.state.values() for one in state.values())]
    with LargestTensor(there) as made:
        ours.update([batch(2, subset(2, 50, words), words)], 2)
    assert 50 * 6 <= made.largest < words
    exact = trainer("plain", words=words, **OPTIMISERS[optimiser])
    with LargestTensor(exact.parameters) as made:
        exact.update([batch(2, None, words)], 1)
    assert made.largest >= 6 * words


def test_a_gradient_in_order_is_not_copied() -> None:
    values = torch.randn(3, 2)
    ordered = torch.sparse_coo_tensor(torch.tensor([[1, 4, 5]]), values, (6, 2), check_invariants=True)
    assert coalesced(ordered).values().data_ptr() == values.data_ptr()
    for indices in ([4, 1, 5], [1, 1, 5]):
        gradient = torch.sparse_coo_tensor(torch.tensor([indices]), values, (6, 2), check_invariants=True)
        torch.testing.assert_close(coalesced(gradient).to_dense(), gradient.to_dense())
        assert coalesced(gradient).is_coalesced()


def test_memory_that_is_asked_for() -> None:
    """Weights, two averages of Adadelta, and whole gradients only where there are any."""
    assert (
        copies_in_memory(TrainingSettings())
        == copies_in_memory(TrainingSettings(sampled_softmax=9, weight_decay=0.1))
        == 4
    )
    assert copies_in_memory(TrainingSettings(sampled_softmax=9)) == 3
