"""The models of a service: what each is called, which languages it translates, and which one a request means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rnnsearch.config import changed
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.serving.refusal import RefusalError
from rnnsearch.translation.translator import Translator

_PAIR = re.compile("([a-z]{2,3})-([a-z]{2,3})")
_NAME = re.compile(r"[\w.-]{1,80}")


class ModelPlace(NamedTuple):
    """One word of the command line. name: given before `=`, or empty. runs: several are an ensemble."""

    name: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class ServedModel:
    """name: unique in the service. source, target: language codes, empty if nobody said them. parameters: of all its networks."""

    name: str
    source: str
    target: str
    parameters: int
    translator: Translator

    def to_dict(self) -> dict[str, object]:
        codecs = {"source": self.translator.source, "target": self.translator.target}
        sizes = {f"{side}_vocabulary": len(codec.vocabulary) for side, codec in codecs.items()}
        return {
            "name": self.name,
            "source": self.source,
            "target": self.target,
            "sizes": {"parameters": self.parameters, "networks": len(self.translator.networks), **sizes},
            "beam": self.translator.search.beam,
            "words_as_they_come": self.grows,
        }

    @property
    def grows(self) -> bool:
        """Whether greedy search writes the words in the order of the translation: then they can be streamed."""
        decoders = self.translator.networks[0].directions
        return len(decoders) == 1 and not decoders[0].backward


def model_place(word: str) -> ModelPlace:
    """`RUN`, `NAME=RUN` or `SRC-TGT=RUN`; `RUN+RUN` is an ensemble. Raises InputError for a name that cannot be one."""
    name, equals, runs = word.partition("=")
    if not equals or Path(word).exists():  # a folder's own name may have the sign
        name, runs = "", word
    elif not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be the name of a model", remedy="use letters, digits, points and hyphens, as in en-fr=RUN")
    places = (runs,) if Path(runs).exists() else tuple(runs.split("+"))
    if not all(places):
        raise InputError(f"{word!r} names no run", remedy="write RUN, NAME=RUN or SRC-TGT=RUN")
    return ModelPlace(name, places)


def load_models(places: Sequence[ModelPlace], *, device: str = "cpu", precision: str | None = None) -> list[ServedModel]:
    """Opens the runs; code that one of them names is never executed. Raises InputError for what cannot be served.

    precision: of the products, in place of that of the runs' settings.
    """
    models: list[ServedModel] = []
    for place in places:
        translator = Translator.load(*place.runs, device=device, trust_code=False)
        if precision is not None:
            translator.search = changed(translator.search, {"precision": precision})
        data = Run.open(Path(place.runs[0])).settings.data
        pair = _PAIR.fullmatch(place.name)
        source, target = (pair[1], pair[2]) if pair else (data.source_language, data.target_language)
        name = place.name or (f"{source}-{target}" if source and target else Path(place.runs[0]).resolve().name)
        if any(model.name == name for model in models):
            what = f"two models would be called {name!r}"
            raise InputError(what, remedy=f"name one of them, as in other={place.runs[0]}")
        parameters = sum(tensor.numel() for network in translator.networks for tensor in network.parameters())
        models.append(ServedModel(name, source, target, parameters, translator))
    return models


class Models:
    """Those that are served, in the order of the command line."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._models = list(models)

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    @property
    def languages(self) -> list[str]:
        """Codes of all sources and targets, sorted."""
        return sorted({code for model in self for code in (model.source, model.target) if code})

    def choose(self, name: str | None, source: str | None, target: str | None) -> ServedModel:
        """The model that a request means, by its name or by its languages; one that is alone need not be named. Raises RefusalError."""
        if name is not None:
            fitting = [model for model in self if model.name == name]
            what = f"there is no model {_shown(name)}"
        else:
            fitting = [model for model in self if source in (None, model.source) and target in (None, model.target)]
            what = f"there is no model from {_shown(source)} to {_shown(target)}"
        if not fitting:
            raise RefusalError(404, f"{what}; there are {self._listed(self._models)}")
        model = fitting[0]
        if source not in (None, model.source) or target not in (None, model.target):
            pair = f"from {_shown(model.source)} to {_shown(model.target)}"
            raise RefusalError(404, f"model {model.name} translates {pair}, not from {_shown(source)} to {_shown(target)}")
        if name is None and len(fitting) > 1 and len({(model.source, model.target) for model in fitting}) > 1:
            raise RefusalError(400, f"several models would do: name one of {self._listed(fitting)}")
        return model

    @staticmethod
    def _listed(models: Sequence[ServedModel]) -> str:
        return ", ".join(f"{model.name} ({model.source or '?'} to {model.target or '?'})" for model in models)


def _shown(value: str | None) -> str:
    """What a client sent, as it is quoted back to it."""
    return "any language" if value is None else repr(value if len(value) <= 40 else value[:39] + "…")
