"""A run: one folder with everything that a trained model needs. It can be moved. Loading it
executes no code from it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w
import torch
from torch import Tensor

from rnnsearch.config import stored
from rnnsearch.errors import InputError
from rnnsearch.installed import folder_of, package_version
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import Settings
from rnnsearch.system.files import (
    check_folder,
    checksum,
    file_checksum,
    read_json,
    read_toml,
    reading,
    write_text,
    writing,
)
from rnnsearch.system.machine import check_memory, usable_device
from rnnsearch.system.tensors import dequantise, difference, load_tensors
from rnnsearch.text.codec import SIDES, Codec, codec_checksums, codec_files, load_codecs

if TYPE_CHECKING:
    from rnnsearch.text.dataset import Corpus

RUN_FORMAT = 1
"""Version of a run's layout, which grows when older runs can no longer be read."""
WEIGHTS_FILE = "model.safetensors"
CHECKPOINT = Path("checkpoints") / "last.safetensors"
"""File from which training resumes, in the folder of a run."""


@dataclass(frozen=True)
class Run:
    """A run: its folder, settings, and vocabularies; weights are read when they are needed.

    path: the folder. source, target: the codecs of both sides.
    """

    path: Path
    settings: Settings
    source: Codec
    target: Codec

    @property
    def model_path(self) -> Path:
        """File of the best weights so far."""
        return self.path / WEIGHTS_FILE

    @property
    def checkpoint_path(self) -> Path:
        """File from which training resumes."""
        return self.path / CHECKPOINT

    @property
    def log_path(self) -> Path:
        """Folder of learning curves and statistics."""
        return self.path / "log"

    @property
    def edited(self) -> set[str]:
        """The functions that were edited when it was trained, as `kernels.digest:edited` names
        them."""
        lines = read_statistics(self.path).get("edited", [])
        return {str(line).partition(" is edited")[0] for line in lines}

    @cached_property
    def checksum(self) -> str:
        """The checksum of everything that its outputs depend on, except search settings."""
        settings = self.settings.data.model_dump_json(), self.settings.model.model_dump_json()
        return checksum(*settings, file_checksum(self.model_path), *codec_files(self.path).values())

    def other_vocabulary(self, other: Run | Corpus) -> str:
        """Returns the first side whose words or subwords differ from those of the other run or
        corpus; "" if there is none."""
        for side in SIDES:
            if getattr(self, side).vocabulary != getattr(other, side).vocabulary:
                return side
        return ""

    def create(self) -> Run:
        """Makes the folder and writes settings and vocabularies; weights come later. Raises
        InputError if it holds a run or other files already, or cannot be written."""
        check_new(self.path)
        with writing(self.path):
            self.checkpoint_path.parent.mkdir(parents=True, exist_ok=True)
            self.log_path.mkdir(exist_ok=True)
            self.source.save(self.path, "source")
            self.target.save(self.path, "target")
            write_config(self.path, self.settings)  # last, because it makes the folder a run
        return self

    @classmethod
    def open(cls, path: str | Path | Run) -> Run:
        """Reads settings and vocabularies. path: the folder, or the name of an installed model; an
        open run is returned.

        Raises InputError if there is no run, or one of another format.
        """
        if isinstance(path, Run):
            return path
        path = folder_of(path)
        file = path / "config.toml"
        if not file.exists() and (path / "data.toml").exists():
            raise InputError("is a dataset", "name the run that was trained with it", file=path)
        with reading(
            file, "name a folder that `rnnsearch train` made", "is not a run", "is damaged"
        ):
            table = read_toml(file)
        header = table.pop("run", {})
        header = header if isinstance(header, dict) else {}
        if header.get("format") != RUN_FORMAT:
            layout, version = (header.get(key, "unknown") for key in ("format", "rnnsearch"))
            own = f"this is rnnsearch {package_version()}, format {RUN_FORMAT}"
            what = f"is a run of format {layout} (rnnsearch {version}); {own}"
            raise InputError(what, "use that version, or train again", file=path)
        settings = stored(table, str(file))
        checksums = header.get("checksums")  # older runs and models have none
        if not isinstance(checksums, dict | None):
            raise InputError("is damaged: run.checksums is not a table", file=file)
        return cls(path, settings, *load_codecs(path, settings.data, checksums))

    def make_network(self, *, trust_code: bool = False, copies: int = 1) -> TranslationNetwork:
        """Returns the network of these settings, with new parameters.

        trust_code: whether parts from outside rnnsearch may be imported. copies: the memory that
        training needs, as a multiple of the parameters'.

        Raises InputError if a part cannot be made, or if memory cannot hold the network.
        """
        held = "weights, gradients and optimiser state" if copies > 1 else "parameters"
        needed = copies * sum(one.nbytes for one in self.shapes(trust_code=trust_code).values())
        check_memory(needed, f"the {held} of this network")
        return self._network(trust_code)

    def shapes(self, *, trust_code: bool = False) -> dict[str, Tensor]:
        """Returns the parameters of the network by name, as tensors with shape and type but without
        their values."""
        # A user's own code may need data.
        return self._empty_network(trust_code).state_dict()

    def _empty_network(self, trust_code: bool) -> TranslationNetwork:
        """Returns the network with parameters that have no values yet."""
        place = torch.device("cpu" if self._foreign else "meta")
        with torch.random.fork_rng(devices=[]), place:  # a foreign part begins as a built-in one
            return self._network(trust_code)

    @property
    def _foreign(self) -> bool:
        model = self.settings.model
        return any(
            ":" in part for part in (model.cell, model.encoder, model.alignment, model.readout)
        )

    def _network(self, trust_code: bool) -> TranslationNetwork:
        sizes = len(self.source.vocabulary), len(self.target.vocabulary)
        try:
            network = TranslationNetwork(self.settings.model, *sizes, trust_code=trust_code)
            if self._foreign and self.settings.training.device == "cpu":
                try_out(network)
            return network
        except Exception as error:
            if isinstance(error, InputError) or not self._foreign:
                raise
            what = "code outside rnnsearch that its settings name raised"
            raise InputError(f"{what} {type(error).__name__}: {error}", file=self.path) from error

    def load_network(self, *, trust_code: bool = False, device: str = "cpu") -> TranslationNetwork:
        """Returns the network with its best weights, on `device`, ready for search. trust_code: as
        in `make_network`. Raises InputError if the weights are missing, damaged or those of another
        network."""
        place = usable_device(device)
        file = self.model_path
        tensors, _ = load_tensors(file, "train it first, or wait for its first validation")
        tensors = dequantise(tensors, tied=self.settings.model.tie_output, file=file)
        if misfit := difference(tensors, self.shapes(trust_code=trust_code)):
            raise InputError(f"does not fit config.toml: {misfit}", file=file)
        for name, tensor in tensors.items():
            if not tensor.isfinite().all():
                what = f"is damaged: {name} holds values that are not numbers"
                raise InputError(what, file=file)
        network = self._empty_network(trust_code)
        network.take(tensors)
        return network.to(place).eval()


@torch.no_grad()
def try_out(network: TranslationNetwork) -> None:
    """Computes the probabilities of two tiny pairs with a copy, so that faults of own parts are
    found before any work."""
    network = deepcopy(network).eval()
    ids, lengths = torch.zeros(2, 3, dtype=torch.long), torch.tensor([3, 2])
    with torch.random.fork_rng(devices=[]):  # dropout draws from it
        read = network.teacher_forced(ids, lengths, ids, target_lengths=lengths)
        for one, part in zip(read, network.directions, strict=True):
            part.output.logits(one.features)


def read_statistics(run: str | Path) -> dict[str, Any]:
    """Reads the statistics of a run folder; empty if it has none yet."""
    path = Path(run) / "log" / "statistics.json"
    with reading(path, "remove it: the next checkpoint writes it again", "is damaged"):
        found = read_json(path) if path.exists() else {}
        if not isinstance(found, dict) or not isinstance(found.get("edited", []), list):
            raise ValueError("it has no statistics")
    return found


def check_new(path: Path, resume: bool = False) -> None:
    """Raises InputError if no run can be made in the folder: it holds a run, unless that is to be
    resumed, or other files than those of a training that was killed."""
    if (path / "config.toml").exists() and not resume:
        remedy = "--resume to go on with it, or name another folder for --out"
        raise InputError("holds a run already", remedy, file=path)
    check_folder(
        path, lambda one: (one / "config.toml").exists() or (one / CHECKPOINT).parent.is_dir()
    )


def write_config(folder: Path, settings: Settings, **about: Any) -> None:
    """Writes config.toml: settings, versions, and checksums of the codecs' files in the folder.
    about: further keys of its table `run`, such as a model's card."""
    header = {"format": RUN_FORMAT, "rnnsearch": package_version(), **about}
    header["checksums"] = codec_checksums(folder)
    table = {"run": header, **settings.model_dump(exclude_none=True)}
    write_text(folder / "config.toml", tomli_w.dumps(table))
