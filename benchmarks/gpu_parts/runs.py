"""Whole runs on the built-in corpus: training, resuming, moving between the CPU and the device,
translating on either."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from gpu_parts.common import Options, Write, held, relative, row

from rnnsearch.builtin.corpus import write as write_corpus
from rnnsearch.config import load_config
from rnnsearch.run import Run, read_statistics
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.preparation import prepare
from rnnsearch.training.display import Display
from rnnsearch.training.loop import train
from rnnsearch.translation.translator import Translator

SIZES = [f"model.{name}_size=16" for name in ("embedding", "hidden", "alignment", "maxout")]
OPTIMISERS = {
    "Adadelta": (),
    "Adam": (
        "optimiser.method=adam",
        "optimiser.learning_rate=0.01",
        "optimiser.average_decay=0.9",
    ),
}
CLOSE = 1e-2
"""Limit of relative differences of weights after some updates in float32 on two devices:
differences in rounding grow."""


class Runs:
    """Trains runs in one folder, in stages of the same number of updates."""

    def __init__(self, folder: Path, small: bool) -> None:
        self.folder, self.updates = folder, 1 if small else 20
        batch_size, words = (6, 9) if small else (40, 40)
        self.sizes = [f"training.batch_size={batch_size}", f"training.max_length={words}"]
        write_corpus(folder, 60 if small else 1200, 3 if small else 40)
        train, dev = ((folder / f"{part}.en", folder / f"{part}.fr") for part in ("train", "dev"))
        prepare(*train, folder / "store", dev=dev, settings=load_config().data)
        self.corpus = Corpus.open(folder / "store")
        self.lines = (folder / "test.en").read_text(encoding="utf-8").splitlines()

    def train(
        self, name: str, stages: int, device: str, changes: tuple[str, ...], *, resume: bool = False
    ) -> Path:
        """Trains a run until it has this many stages; it is validated at the end of each."""
        limits = [
            f"max_updates={stages * self.updates}",
            f"validate_every={self.updates}",
            "samples=1",
        ]
        own = [f"stopping.{limit}" for limit in limits]
        own += ["training.threads=1", f"training.device={device}"]
        search = ["search.max_length_ratio=1.0", "search.beam=4", "model.initialisation=glorot"]
        settings = load_config(overrides=[*SIZES, *self.sizes, *own, *search, *changes])
        train(settings, self.corpus, self.folder / name, resume=resume, display=Display(quiet=True))
        return self.folder / name


def difference(run: Path, other: Path) -> float:
    """Returns the relative difference of the weights and averages in two checkpoints."""
    both = [load_tensors(Run.open(path).checkpoint_path, "")[0] for path in (run, other)]
    kept = ("network.", "average.")
    return relative(
        *({name: one for name, one in each.items() if name.startswith(kept)} for each in both)
    )


def runs(options: Options, write: Write) -> None:
    """Compares whole runs. Each is validated, too: the development set is scored and translated on
    the run's device."""
    device = options.device
    with TemporaryDirectory() as folder:
        made = Runs(Path(folder), options.small)
        for name, changes in list(OPTIMISERS.items())[: 1 if options.small else None]:
            with row(
                write, f"{name}: CPU, {device} and CPU again, against the CPU throughout"
            ) as found:
                stayed = made.train(f"{name}-stayed", 3, "cpu", changes)
                moved = made.train(f"{name}-moved", 1, "cpu", changes)
                for stages, place in ((2, device), (3, "cpu")):
                    made.train(moved.name, stages, place, changes, resume=True)
                held(found, difference(moved, stayed), CLOSE)
            with row(write, f"{name}: {device} throughout, against the CPU throughout") as found:
                there = made.train(f"{name}-there", 3, device, changes)
                held(found, difference(there, stayed), CLOSE)
            with row(
                write,
                f"{name}: {device}, resumed after a stage, against {device} throughout, with"
                " dropout",
            ) as found:
                dropout = (*changes, "dropout.recurrent=0.2", "dropout.embedding=0.2")
                whole = made.train(f"{name}-whole", 2, device, dropout)
                resumed = made.train(f"{name}-resumed", 1, device, dropout)
                made.train(resumed.name, 2, device, dropout, resume=True)
                held(found, difference(resumed, whole), 1e-4)
                found["bit for bit"] = found["difference"] == 0.0
        with row(
            write,
            f"bfloat16 products on {device}: NLL of the development set against that with float32",
        ) as found:
            low = made.train("bfloat16", 3, device, ("training.precision=bfloat16",))
            held(found, abs(_nll(low) / _nll(made.folder / "Adadelta-there") - 1.0), 0.02)
        with row(
            write,
            f"translations of the run that was trained on {device}: loaded there, and on the CPU",
        ) as found:
            loaded = (Translator.load(there), Translator.load(there, device=device))
            pairs = zip(*(translator.translate(made.lines) for translator in loaded), strict=True)
            same = [one.text == other.text for one, other in pairs]
            found |= {
                "translations": len(same),
                "the same": sum(same),
                "ok": sum(same) >= 0.9 * len(same),
            }


def _nll(run: Path) -> float:
    return float(read_statistics(run)["validations"][-1]["dev_nll"])


PARTS: dict[str, Callable[[Options, Write], None]] = {"runs": runs}
