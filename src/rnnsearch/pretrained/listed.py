"""What `rnnsearch models` shows of the models that are installed. Neither torch nor any weight is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.installed import installed_models
from rnnsearch.pretrained.card import ModelCard, checked_card
from rnnsearch.system.parsing import read_toml


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
    """The installed models by name; one that is damaged is listed with its fault."""
    return [_listed(name, folder) for name, folder in installed_models().items()]


def _listed(name: str, folder: Path) -> ListedModel:
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    file = folder / "config.toml"
    try:
        table = read_toml(file)
        run, data = table.get("run", {}), table.get("data", {})
        card = checked_card(run.get("card", {}), file)
        return ListedModel(name, folder, str(data["source_language"]), str(data["target_language"]), size, card)
    except (InputError, OSError, ValueError, KeyError, AttributeError) as error:
        return ListedModel(name, folder, "", "", size, ModelCard(), fault=f"damaged: {error}")
