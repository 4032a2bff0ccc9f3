"""The models of a service: names, languages, and the choice of a model for a request."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fastapi import HTTPException

from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.installed import folder_of, model_names
from rnnsearch.pretrained.card import examples_of
from rnnsearch.pretrained.hub import FILES
from rnnsearch.run import Run
from rnnsearch.training.loss import needs_links
from rnnsearch.translation.translator import Translator

_PAIR = re.compile("([a-z]{2,3})-([a-z]{2,3})")
_NAME = re.compile(r"[\w.-]{1,80}")


class ModelPlace(NamedTuple):
    """A model as named on the command line. name: the part before `=`, or empty. runs: several form an
    ensemble."""

    name: str
    runs: tuple[str, ...]

    def copied(self, folder: Path) -> ModelPlace:
        """Copies the files of the models into a folder; returns their place there."""
        copies = []
        for number, run in enumerate(self.runs):
            home = folder_of(run)
            copy = folder / str(number) / home.resolve().name
            (copy / "log").mkdir(parents=True)
            for file in [*home.glob("*"), home / "log" / "examples.json"]:
                if file.is_file() and (FILES.fullmatch(file.name) or file.name == "examples.json"):
                    shutil.copyfile(file, copy / file.relative_to(home))
            copies.append(str(copy))
        return self._replace(runs=tuple(copies))


@dataclass(frozen=True)
class ServedModel:
    """A model of the service.

    name: unique in the service. source, target: language codes; empty if unknown. default: whether requests
    that name only its languages use it. examples: sentences that the page offers. taught_links: whether a
    network of it was trained with word links.
    """

    name: str
    source: str
    target: str
    translator: Translator
    default: bool
    examples: list[str]
    taught_links: bool

    def to_dict(self) -> dict[str, object]:
        networks, decoders = self.translator.networks, self.translator.networks[0].directions
        parameters = sum(tensor.numel() for network in networks for tensor in network.parameters())
        return {
            "name": self.name,
            "source": self.source,
            "target": self.target,
            "default": self.default,
            "sizes": {"parameters": parameters, "networks": len(networks)},
            "beam": self.translator.search.beam,
            # Greedy search finds the words in the order of the translation, so they can be streamed.
            "words_as_they_come": len(decoders) == 1 and not decoders[0].backward,
            "taught_links": self.taught_links,
        }

    @property
    def described(self) -> str:
        """Name and languages, for messages."""
        languages = f"{self.source or '?'} to {self.target or '?'}"
        return f"{self.name} ({languages}{'' if self.default else ', by its name only'})"


def model_place(word: str) -> ModelPlace:
    """Reads `RUN`, `NAME=RUN` or `SRC-TGT=RUN`; `RUN+RUN` is an ensemble. Raises InputError for an invalid
    name."""
    name, equals, runs = word.partition("=")
    if not equals or Path(word).exists():  # a folder's own name may contain `=`
        name, runs = "", word
    elif not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be the name of a model",
            remedy="use letters, digits, points and hyphens, as in en-fr=RUN",
        )
    places = (runs,) if Path(runs).exists() else tuple(runs.split("+"))
    if not all(places):
        raise InputError(f"{word!r} names no run", remedy="write RUN, NAME=RUN or SRC-TGT=RUN")
    return ModelPlace(name, places)


def load_models(
    places: Sequence[ModelPlace], *, device: str = "cpu", precision: str | None = None
) -> list[ServedModel]:
    """Loads the models. A user's own code is never executed. Raises InputError for a run that cannot be
    served.

    precision: replaces the runs' `search.precision`.
    """
    settings, languages, given = [], [], []
    for place in places:
        settings.append([Run.open(run).settings for run in place.runs])
        data, pair = settings[-1][0].data, _PAIR.fullmatch(place.name)
        languages.append((pair[1], pair[2]) if pair else (data.source_language, data.target_language))
        given.append("" if pair else place.name)
    folders = [folder_of(place.runs[0]) for place in places]
    names = model_names(given, ["-".join(pair) if all(pair) else "" for pair in languages], folders)
    models = []
    for number, (place, (source, target)) in enumerate(zip(places, languages, strict=True)):
        translator = Translator.load(*place.runs, device=device, trust_code=False)
        if precision is not None:
            translator.search = changed(translator.search, {"precision": precision})
        taught = any(needs_links(each.training) for each in settings[number])
        default, examples = (source, target) not in languages[:number], examples_of(folders[number])
        models.append(ServedModel(names[number], source, target, translator, default, examples, taught))
    return models


class ServedModels(list[ServedModel]):
    """The served models, in the order of the command line."""

    @property
    def languages(self) -> list[str]:
        """The codes of all source and target languages, sorted."""
        return sorted({code for model in self for code in (model.source, model.target) if code})

    def choose(self, name: str | None, source: str | None, target: str | None) -> ServedModel:
        """Returns the model for a request.

        It is the model of that name, or the first one with those languages; `en-fr` also names the first
        model from en to fr. None stands for any value. Raises HTTPException if no model fits, or models of
        several language pairs do.
        """
        fitting = [
            model
            for model in self
            if source in (None, model.source)
            and target in (None, model.target)
            and name in (None, model.name, f"{model.source}-{model.target}")
        ]
        fitting = [model for model in fitting if model.name == name] or fitting
        if not fitting:
            named = f" {name[:40]!r}" if name else ""
            pair = "from {!r} to {!r}".format(*((word or "any")[:40] for word in (source, target)))
            raise HTTPException(404, f"there is no model{named} {pair}; there are {_list_models(self)}")
        if len({(model.source, model.target) for model in fitting}) > 1:
            raise HTTPException(400, f"several models fit: name one of {_list_models(fitting)}")
        return fitting[0]

    def targets(self, source: str) -> list[str]:
        """Returns the target languages for a source language, in the order of the models."""
        return list(dict.fromkeys(model.target for model in self if model.source == source))


def _list_models(models: Iterable[ServedModel]) -> str:
    return ", ".join(model.described for model in models)
