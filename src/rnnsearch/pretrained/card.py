"""What a model says of itself: kept in its config.toml, and shown by its README.md and by `rnnsearch models`."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rnnsearch.config import Settings, first_fault
from rnnsearch.errors import InputError
from rnnsearch.system.parsing import read_toml


class _Record(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CardScore(_Record):
    """One figure: `CardScore(test="newstest2013", metric="BLEU", value=24.1, signature="nrefs:1|case:mixed|…")`."""

    test: str
    metric: str
    value: float
    signature: str = ""


class ModelCard(_Record):
    """licence: an SPDX name in lowercase, as the hub spells it. data: corpora it was trained on. limits: what it should not be used for."""

    name: str = Field("", pattern=r"^[\w.-]{0,80}$")
    description: str = ""
    licence: str = ""
    data: list[str] = []
    training: str = ""
    scores: list[CardScore] = []
    limits: list[str] = []


def checked_card(table: dict[str, Any], file: Path | str) -> ModelCard:
    """A card from a table. Raises InputError, naming `file`, for unknown keys and wrong values."""
    try:
        return ModelCard.model_validate(table)
    except ValidationError as error:
        raise InputError(f"model card: {first_fault(error)}", file=file) from None


def card_of(model: Path) -> ModelCard:
    """That of a model's folder. Raises InputError if it has a fault, OSError or ValueError if its config.toml cannot be read."""
    file = model / "config.toml"
    return checked_card(read_toml(file).get("run", {}).get("card", {}), file)


def read_card(path: str | Path) -> ModelCard:
    """A card written as a TOML file, for `save_pretrained`. Raises InputError if it cannot be read or has a fault."""
    try:
        return checked_card(read_toml(Path(path)), path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError as error:
        raise InputError(f"is not TOML: {error}", file=path) from None


def card_markdown(card: ModelCard, settings: Settings, size: int) -> str:
    """README.md of a model's folder: the hub's metadata in front, then prose. size: bytes of the weights."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False)
    environment.filters["yaml"] = lambda value: json.dumps(value, ensure_ascii=False)  # JSON is YAML, and quotes what needs it
    environment.filters["line"] = lambda text: " ".join(str(text).split()).replace("|", "\\|")
    template = resources.files("rnnsearch.pretrained").joinpath("card.md.jinja").read_text(encoding="utf-8")
    return environment.from_string(template).render(card=card, data=settings.data, model=settings.model, megabytes=f"{size / 1e6:.1f}")
