"""Captured updates are those of the ordinary trainer, number for number; nothing captured waits, or holds a value of an earlier update."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from checked_graphs import Checked, StaleError
from pretended_device import Device, pretended_device
from torch import Tensor

from rnnsearch.bench import bench_training
from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.store.batches import Batch
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training import capture
from rnnsearch.training.capture import WARM_UPS, CapturedTrainer, CudaGraphs, Repeated, check_capture, make_trainer
from rnnsearch.training.checkpoint import load_checkpoint, save_checkpoint
from rnnsearch.training.display import Display
from rnnsearch.training.loop import train
from rnnsearch.training.progress import TrainingProgress
from rnnsearch.training.trainer import Trainer, Update

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from gpu_parts.common import relative, small_batch, small_network, small_settings

DROPOUT = ("training.dropout_embedding=0.2", "training.dropout_recurrent=0.2", "training.dropout_readout=0.2")
ADAM = ("training.optimiser=adam", "training.learning_rate=0.0078125", "training.average_decay=0.9", *DROPOUT)
"""A learning rate that float32 holds exactly: the captured one is a float32."""
EXACTLY: list[tuple[str, ...]] = [
    ("training.precision=bfloat16", "training.label_smoothing=0.1", "training.clip_norm=0"),
    ADAM,
    ("training.optimiser=adamw", "training.learning_rate=0.0078125", "training.weight_decay=0.1", "training.clip_norm=0.5"),
    ("training.optimiser=sgd", "training.learning_rate=0.0625", "model.decoder=bidirectional", "model.tie_output=true"),
    ("training.alignment_loss=cross-entropy", "training.alignment_forcing=mixed", "training.alignment_annealing=4"),
]
UPDATES = 7
"""Of two shapes by turns, each of which is run once before it is recorded: the first is repeated three times, the second twice."""


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setattr(capture, "WARM_UPS", 1)
    with pretended_device() as opened:
        yield opened


def batches(device: Device) -> list[Batch]:
    """Of two shapes: the second has more sentences, and a shorter target."""
    plain, more = small_batch(torch.float32, 1), small_batch(torch.float32, 2, sentences=6)
    assert more.known_alignment is not None
    known = more.known_alignment[:, :3]
    more = Batch(more.source, more.source_lengths, more.target[:, :3], more.target_lengths.clamp(max=3), known)
    return [batch.to(device.name) for batch in (plain, more)]


def made(device: Device, *changes: str, graphs: Checked | None = None) -> Trainer:
    """With captured updates, if there are graphs."""
    settings = small_settings(device.name, (*changes, f"training.capture={str(graphs is not None).lower()}"))
    network = small_network(settings, torch.float32).to(device.name)
    if graphs is None:
        return Trainer(network, settings.training, 2 * UPDATES)
    return CapturedTrainer(network, settings.training, 2 * UPDATES, graphs)


def trained(trainer: Trainer, device: Device, numbers: Iterable[int], accumulate: int = 1) -> list[Update]:
    given = batches(device)
    return [trainer.update([given[(number + more) % 2] for more in range(accumulate)], number) for number in numbers]


def weights_of(trainer: Trainer) -> dict[str, Tensor]:
    found = {name: tensor.detach().cpu().clone() for name, tensor in trainer.network.state_dict().items()}
    if trainer.average is not None:
        found |= {f"average {name}": tensor.cpu() for name, tensor in trainer.average.weights.items()}
    return found


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert [name for name in expected if not torch.equal(found[name], expected[name])] == []


def both(device: Device, *changes: str, accumulate: int = 1) -> tuple[Trainer, list[Update], Trainer, list[Update], Checked]:
    """An ordinary training and a captured one, and what their updates said; dropout draws from the stream of one seed."""
    graphs = Checked(device)
    ordinary, captured = made(device, *changes), made(device, *changes, graphs=graphs)
    said = []
    for trainer in (ordinary, captured):
        torch.manual_seed(5)
        said.append(trained(trainer, device, range(1, UPDATES + 1), accumulate))
    return ordinary, said[0], captured, said[1], graphs


@pytest.mark.parametrize("changes", EXACTLY, ids=" ".join)
def test_captured_updates_are_the_ordinary_ones(changes: tuple[str, ...], device: Device) -> None:
    ordinary, wanted, captured, found, graphs = both(device, *changes)
    assert found == wanted
    assert_same(weights_of(captured), weights_of(ordinary))
    assert all(update.applied for update in found)
    assert graphs.recorded == 4  # two shapes, the norm, the step
    assert graphs.repeated == 3 + 2 + 2 * (UPDATES - 1)


def test_an_update_of_several_batches_is_captured(device: Device) -> None:
    ordinary, wanted, captured, found, graphs = both(device, accumulate=3)
    assert found == wanted
    assert_same(weights_of(captured), weights_of(ordinary))
    assert graphs.recorded == 4


def test_the_learning_rate_follows_its_schedule(device: Device) -> None:
    changes = ("training.optimiser=adam", "training.learning_rate=0.01", "training.schedule=cosine", "training.warmup=3")
    ordinary, wanted, captured, found, _ = both(device, *changes)
    assert [one.learning_rate for one in found] == [one.learning_rate for one in wanted]
    assert len({one.learning_rate for one in found}) == UPDATES
    assert relative(weights_of(captured), weights_of(ordinary)) < 1e-5


def test_a_gradient_that_is_not_finite_changes_nothing(device: Device) -> None:
    graphs = Checked(device)
    ordinary, captured = made(device, *ADAM), made(device, *ADAM, graphs=graphs)
    said = []
    for trainer in (ordinary, captured):
        torch.manual_seed(5)
        trained(trainer, device, range(1, 6))
        bias = trainer.network.readout.U_o.bias
        assert bias is not None
        kept, before = bias.detach().clone(), weights_of(trainer)
        bias.detach().fill_(torch.nan)
        broken = trained(trainer, device, [6, 7])
        bias.detach().copy_(kept)
        assert_same(weights_of(trainer), before)
        said.append([(one.applied, one.target_tokens) for one in broken])
        trained(trainer, device, [8, 9])
    assert said[0] == said[1]
    assert [applied for applied, _ in said[1]] == [False, False]
    assert_same(weights_of(captured), weights_of(ordinary))


def test_a_captured_training_is_resumed(device: Device, tmp_path: Path) -> None:
    """And goes on uncaptured as well: a checkpoint does not say how its updates were launched."""
    whole = made(device, *ADAM, graphs=Checked(device))
    torch.manual_seed(5)
    trained(whole, device, range(1, 4))
    save_checkpoint(tmp_path / "state", whole.network, whole.optimiser, whole.average, TrainingProgress(update=3))
    trained(whole, device, range(4, 9))
    for graphs in (Checked(device), None):
        resumed = made(device, *ADAM, graphs=graphs)
        load_checkpoint(tmp_path / "state", resumed.network, resumed.optimiser, resumed.average)
        trained(resumed, device, range(4, 9))
        assert_same(weights_of(resumed), weights_of(whole))


def test_a_captured_update_waits_once(device: Device) -> None:
    trainer = made(device, *ADAM, graphs=Checked(device))
    given = batches(device)
    device.forget()
    for number in range(1, 5):
        trainer.update([given[0]], number)
    assert device.waits == 4 * ["training/trainer.py:numbers_here"]
    assert device.uploads == []


def test_a_shape_that_gives_more_parameters_a_gradient(device: Device) -> None:
    """Targets of one position reach fewer parameters; what was captured for those is captured anew for all."""
    plain = batches(device)[0]
    short = Batch(plain.source, plain.source_lengths, plain.target[:, :1] * 0, plain.target_lengths.clamp(max=1))
    graphs = Checked(device)
    ordinary, captured = made(device), made(device, graphs=graphs)
    for trainer in (ordinary, captured):
        for number, batch in enumerate([short, short, short, plain, plain, plain], 1):
            trainer.update([batch], number)
    assert_same(weights_of(captured), weights_of(ordinary))
    assert graphs.recorded == 6


def test_only_so_many_shapes_are_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "GRAPHS", 2)
    graphs, done = Checked(), []
    repeated = Repeated(graphs)
    for _ in range(WARM_UPS + 2):
        for key in "abc":
            repeated(key, lambda key=key: done.append(key))
    assert "".join(done) == "abc" * (WARM_UPS + 2)
    assert (graphs.recorded, graphs.repeated, graphs.run_plainly) == (2, 4, 2 * WARM_UPS + WARM_UPS + 2)


@pytest.mark.parametrize("fault", ["number", "tensor", "wait"])
def test_a_recording_that_would_go_stale_is_found_out(fault: str, device: Device) -> None:
    graphs = Checked(device)
    there = torch.ones(3).to(device.name)
    given: dict[str, Any] = {"rate": 0.5, "tensor": there.clone()}

    def work() -> None:
        there.mul_(given["rate"]).add_(given["tensor"])
        if fault == "wait" and given["rate"] == 0.25:
            float(there.sum())

    replay = graphs.record(work)
    replay()
    replay()
    given |= {"number": {"rate": 0.25}, "tensor": {"tensor": there.clone()}, "wait": {"rate": 0.25}}[fault]
    with pytest.raises(StaleError):
        replay()


def test_a_trainer_that_keeps_a_number_on_the_host_is_found_out(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the learning rate were a number of the host."""

    def forgetful(self: CapturedTrainer, norm: float, rate: float, *rest: Any) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.repeated("step", self._move)

    monkeypatch.setattr(CapturedTrainer, "_apply", forgetful)
    trainer = made(device, "training.warmup=9", graphs=Checked(device))
    with pytest.raises(StaleError, match="mul_"):
        trained(trainer, device, range(1, 5))


def test_a_whole_training_is_captured(tiny_store: Path, tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """With validations, whose averaged weights come and go, checkpoints, and a resumption halfway."""
    graphs: list[Checked] = []

    def checked(place: str) -> Checked:
        assert place == device.name
        graphs.append(Checked(device))
        return graphs[-1]

    monkeypatch.setattr(capture, "CudaGraphs", checked)
    corpus, found = Corpus.open(tiny_store), []
    sizes = [f"model.{name}_size=6" for name in ("embedding", "hidden", "alignment", "maxout")]
    sizes += ["training.batch_size=4", "training.length_multiple=10", "training.validate_bleu=false", "training.samples=0"]
    ends = ["training.validate_every=2", "training.save_every=2", "training.threads=1", "training.pool_batches=1"]
    for name, captured, stages in (("ordinary", "false", [4]), ("captured", "true", [2, 4])):
        for number, last in enumerate(stages):
            changes = [*sizes, *ends, *ADAM, f"training.capture={captured}", f"training.max_updates={last}", "training.max_length=9"]
            settings = load_config(overrides=[*changes, f"training.device={device.name}"])
            run = train(settings, corpus, tmp_path / name, resume=number > 0, display=Display(0, quiet=True))
        found.append({name: tensor for name, tensor in load_tensors(run.checkpoint_path, "")[0].items() if "random" not in name})
    assert_same(found[1], found[0])
    assert [one.recorded >= 3 for one in graphs] == [True, True]


@pytest.mark.parametrize(
    ("changes", "ranks", "line"),
    [
        (("training.device=cpu",), 1, 'training.capture = true needs a GPU (set training.device = "cuda", or training.capture = false)'),
        (("training.device=cuda",), 4, "training.capture = true needs one process, and there are 4 (set training.capture = false)"),
        (("training.device=cuda:1",), 1, ""),
        (("training.device=cpu", "training.capture=false"), 4, ""),
    ],
)
def test_where_updates_cannot_be_captured(changes: tuple[str, ...], ranks: int, line: str) -> None:
    settings = load_config(overrides=["training.capture=true", *changes]).training
    if not line:
        check_capture(settings, ranks)
        return
    with pytest.raises(InputError) as raised:
        check_capture(settings, ranks)
    assert str(raised.value) == line


def test_nothing_is_written_where_updates_cannot_be_captured(tiny_store: Path, tmp_path: Path) -> None:
    settings = load_config(overrides=["training.capture=true"])
    with pytest.raises(InputError, match="needs a GPU"):
        train(settings, Corpus.open(tiny_store), tmp_path / "run", display=Display(0, quiet=True))
    with pytest.raises(InputError, match="needs a GPU"):
        bench_training(settings, words=20, length=3, repetitions=1)
    assert not (tmp_path / "run").exists()


class FakeCuda:
    """Of torch.cuda, what `CudaGraphs` asks for. events: in which order. To end a capture that has failed fails as well."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake = self

        class Stream:
            def __init__(self, name: Any = "side") -> None:
                self.name = "side" if isinstance(name, torch.device) else name

            def wait_stream(self, other: Stream) -> None:
                fake.events.append(f"{self.name} waits for {other.name}")

        @contextmanager
        def within(one: Any, **named: Any) -> Iterator[None]:
            if named:
                fake.events.append(f"capture on {named['stream'].name} in {named['pool']}")
            try:
                yield
            finally:
                if named and sys.exc_info()[0] is not None:
                    raise RuntimeError("the capture was not ended")

        for name, thing in {
            "Stream": Stream,
            "current_stream": lambda _: Stream("main"),
            "graph_pool_handle": lambda: "one pool",
            "CUDAGraph": lambda: SimpleNamespace(replay=lambda: fake.events.append("replay")),
            "stream": within,
            "device": within,
            "graph": within,
        }.items():
            monkeypatch.setattr(torch.cuda, name, thing)


def test_the_order_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """The side stream begins when the batch is there, and the next part when the side stream is done."""
    fake = FakeCuda()
    fake.install(monkeypatch)
    graphs = CudaGraphs("cuda:1")
    graphs.run(lambda: fake.events.append("work"))
    assert fake.events == ["side waits for main", "work", "main waits for side"]
    fake.events.clear()
    graphs.record(lambda: fake.events.append("work"))()
    assert fake.events == ["capture on side in one pool", "work", "replay"]


def test_what_cannot_be_captured_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(error: Exception) -> Callable[[], None]:
        def work() -> None:
            raise error

        return work

    FakeCuda().install(monkeypatch)
    with pytest.raises(InputError, match=r"cannot be captured: operation not permitted when stream is capturing.*capture = false"):
        CudaGraphs("cuda").record(failing(RuntimeError("operation not permitted\nwhen stream is capturing")))
    with pytest.raises(torch.OutOfMemoryError, match="full"):
        CudaGraphs("cuda").record(failing(torch.OutOfMemoryError("full")))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu() -> None:
    changes = ("training.capture=true", *ADAM)
    found = []
    for captured in (False, True):
        settings = small_settings("cuda", changes if captured else changes[1:])
        trainer = make_trainer(small_network(settings, torch.float32).to("cuda"), settings.training, 0)
        torch.manual_seed(5)
        for number in range(1, 3 * WARM_UPS):
            trainer.update([small_batch(torch.float32, 1 + number % 2).to("cuda")], number)
        found.append(weights_of(trainer))
    assert relative(found[1], found[0]) < 1e-3
