"""The card of a model, kept in its config.toml and shown by its README.md, and the installed models by their
cards. Neither torch nor any weight is loaded."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from rnnsearch.config import DataSettings, Settings, first_fault
from rnnsearch.errors import InputError
from rnnsearch.installed import installed_models
from rnnsearch.system.parsing import read_json, read_toml

EXAMPLES = "log/examples.json"
"""Sentences of the development text in a run's folder."""
LONGEST_EXAMPLE = 300
"""Characters of an example: a longer one is left out."""
_MARKUP = re.compile(r"([\\`<>\[\]|])")


class CardScore(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """One figure: `CardScore(test="newstest2013", metric="BLEU", value=24.1,
    signature="nrefs:1|case:mixed|…")`."""

    test: str
    metric: str
    value: float
    signature: str = ""


class ModelCard(BaseModel, extra="forbid", frozen=True):
    """The description of a model by its makers.

    licence: an SPDX name in lowercase, as the hub spells it. data: corpora it was trained on. limits: uses
    that it is not fit for. examples: sentences of its development text, which a page offers.
    """

    name: str = Field("", pattern=r"^[\w.-]{0,80}$")
    description: str = ""
    licence: str = ""
    data: list[str] = []
    training: str = ""
    scores: list[CardScore] = []
    limits: list[str] = []
    examples: list[str] = []


def checked_card(table: dict[str, Any], file: Path | str) -> ModelCard:
    """Returns the card of a table. Raises InputError, naming `file`, for unknown keys and wrong values."""
    try:
        return ModelCard.model_validate(table)
    except ValidationError as error:
        raise InputError(f"model card: {first_fault(error)}", file=file) from None


def card_of(model: Path) -> ModelCard:
    """Returns the card of a model's folder. Raises InputError if it has a fault, OSError or ValueError if its
    config.toml cannot be read."""
    file = model / "config.toml"
    return checked_card(read_toml(file).get("run", {}).get("card", {}), file)


def examples_of(model: Path) -> list[str]:
    """Returns sentences that a page may offer: those of its card, or those that its training showed last."""
    try:
        found = card_of(model).examples or read_json(model / EXAMPLES)
    except (OSError, ValueError):
        return []
    some = found if isinstance(found, list) else []
    return [line for line in some if isinstance(line, str) and 0 < len(line) <= LONGEST_EXAMPLE][:3]


def read_card(path: str | Path) -> ModelCard:
    """Reads a card from a TOML file, for `save_pretrained`. Raises InputError if it cannot be read or has a
    fault."""
    try:
        return checked_card(read_toml(Path(path)), path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError as error:
        raise InputError(f"is not TOML: {error}", file=path) from None


def card_markdown(card: ModelCard, settings: Settings, size: int) -> str:
    """Returns README.md of a model's folder: the hub's metadata in front, then prose. size: bytes of the
    weights."""
    values = {"card": card, "data": settings.data, "model": settings.model, "megabytes": f"{size / 1e6:.1f}"}
    return markdown_of(resources.files("rnnsearch.pretrained") / "card.md.jinja", **values)


def markdown_of(template: Traversable, **values: Any) -> str:
    """Fills in a template of Markdown. Its filter `yaml` quotes what needs it; `line` makes a text one line
    that is no table, HTML, code or link."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    # JSON is YAML
    environment.filters["yaml"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.filters["line"] = lambda text: _MARKUP.sub(r"\\\1", " ".join(str(text).split()))
    return environment.from_string(template.read_text(encoding="utf-8")).render(values)


@dataclass(frozen=True)
class ListedModel:
    """size: bytes of the whole folder. fault: what is wrong with it, or nothing."""

    name: str
    folder: Path
    source: str
    target: str
    size: int
    card: ModelCard
    fault: str = ""


def listed_models() -> list[ListedModel]:
    """Returns the installed models by name; one that is damaged is listed with its fault."""
    return [_listed(name, folder) for name, folder in installed_models().items()]


def opposite_model(data: DataSettings) -> str:
    """Returns the name of an installed model from the target language of these settings to their source
    language, or the empty string."""
    wanted = data.target_language, data.source_language
    names = (one.name for one in listed_models() if (one.source, one.target) == wanted and not one.fault)
    return next(names, "")


def _listed(name: str, folder: Path) -> ListedModel:
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    try:
        card, data = card_of(folder), read_toml(folder / "config.toml")["data"]
        source, target = str(data["source_language"]), str(data["target_language"])
        return ListedModel(name, folder, source, target, size, card)
    except (InputError, OSError, ValueError, KeyError, AttributeError) as error:
        return ListedModel(name, folder, "", "", size, ModelCard(), fault=f"damaged: {error}")
