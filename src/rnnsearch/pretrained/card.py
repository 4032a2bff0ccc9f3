"""Model cards, which are stored in config.toml and shown in README.md, and the list of installed
models. This module loads neither torch nor weights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from rnnsearch.config import checked
from rnnsearch.errors import InputError
from rnnsearch.figure3 import escape_markdown
from rnnsearch.installed import installed_models
from rnnsearch.settings import DataSettings, Settings
from rnnsearch.system.files import read_json, read_toml, reading

EXAMPLES_FILE = "log/examples.json"
"""File in a run's folder with sentences of the development text."""
LONGEST_EXAMPLE = 300
"""Largest number of characters of an example; longer ones are left out."""
MODEL_FILES = re.compile(
    r"config\.toml|model\.safetensors|vocabulary\.(source|target)\.txt|subwords\.\w+\.model"
    r"|words\.\w+\.bloom|README\.md"
)
"""The names of the files of a model; others on a hub are not downloaded."""


class CardScore(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """One score: `CardScore(test="newstest2013", metric="BLEU", value=24.1,
    signature="nrefs:1|case:mixed|…")`."""

    test: str
    metric: str
    value: float
    signature: str = ""


class ModelCard(BaseModel, extra="forbid", frozen=True):
    """The description of a model by its makers.

    licence: an SPDX identifier in lowercase, as on the hub. data: training corpora. limits: uses
    for which it is unsuitable. examples: source sentences that a page offers.
    """

    name: str = Field("", pattern=r"^[\w.-]{0,80}$")
    description: str = ""
    licence: str = ""
    data: list[str] = []
    training: str = ""
    scores: list[CardScore] = []
    limits: list[str] = []
    examples: list[str] = []


def card_of(model: Path) -> ModelCard:
    """Returns the card in a model's folder. Raises InputError if the card is invalid, OSError or
    ValueError if config.toml cannot be read."""
    file = model / "config.toml"
    return checked(ModelCard, read_toml(file).get("run", {}).get("card", {}), str(file), "")


def examples_of(model: Path) -> list[str]:
    """Returns up to three example sentences: from the model's card, or else from its training
    log."""
    try:
        found = card_of(model).examples or read_json(model / EXAMPLES_FILE)
    except (OSError, ValueError):
        return []
    some = found if isinstance(found, list) else []
    return [line for line in some if isinstance(line, str) and 0 < len(line) <= LONGEST_EXAMPLE][:3]


def read_card(path: str | Path) -> ModelCard:
    """Reads a card from a TOML file, for `save_pretrained`. Raises InputError if it cannot be read
    or is invalid."""
    with reading(Path(path), damaged="is not TOML"):
        table = read_toml(Path(path))
    return checked(ModelCard, table, str(path), "")


def card_markdown(card: ModelCard, settings: Settings, size: int) -> str:
    """Returns README.md of a model's folder: the hub's metadata, then prose. size: bytes of the
    weights."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    how = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    loader = PackageLoader("rnnsearch.pretrained", "")
    environment = Environment(loader=loader, **how)  # type: ignore[arg-type]
    environment.filters["md"] = escape_markdown
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    template = environment.get_template("card.md")
    return template.render(card=card, data=settings.data, model=settings.model, size=size) + "\n"


@dataclass(frozen=True)
class ListedModel:
    """An installed model. size: bytes of its files. fault: an error message, or empty."""

    name: str
    folder: Path
    source: str
    target: str
    size: int
    card: ModelCard
    fault: str = ""


def listed_models() -> list[ListedModel]:
    """Returns the installed models; a damaged one has `fault` set."""
    return [_listed(name, folder) for name, folder in installed_models().items()]


def opposite_model(data: DataSettings) -> str:
    """Returns the name of an installed model for the opposite direction of these settings, or
    ""."""
    wanted = data.target_language, data.source_language
    names = (
        one.name for one in listed_models() if (one.source, one.target) == wanted and not one.fault
    )
    return next(names, "")


def _listed(name: str, folder: Path) -> ListedModel:
    size = 0
    try:
        size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        card, data = card_of(folder), read_toml(folder / "config.toml")["data"]
        source, target = str(data["source_language"]), str(data["target_language"])
        return ListedModel(name, folder, source, target, size, card)
    except (InputError, OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        return ListedModel(name, folder, "", "", size, ModelCard(), fault=f"damaged: {error}")
