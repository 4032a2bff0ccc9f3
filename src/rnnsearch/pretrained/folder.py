"""The folder of a model: the files of a run that are needed for use (no checkpoints, no logs), and
a README.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rnnsearch.arguments import require
from rnnsearch.config import changed
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.pretrained.card import MODEL_FILES, ModelCard, card_markdown
from rnnsearch.run import WEIGHTS_FILE, write_config
from rnnsearch.settings import Settings
from rnnsearch.system.files import file_name, holds_only, whole_folder
from rnnsearch.system.tensors import quantise, save_tensors
from rnnsearch.text.codec import SIDES, Codec


def save_model(
    out: Path,
    settings: Settings,
    codecs: Sequence[Codec],
    network: TranslationNetwork,
    *,
    int8: bool,
    card: ModelCard | None,
) -> None:
    """Writes the folder, whole or not at all. codecs: of source and target. int8: quantise the
    weights, to a quarter of the size; searches then use int8, too.

    Raises InputError if the folder exists and this function did not make it.
    """
    card = card or ModelCard()
    require("card", card, ModelCard)
    if not card.name:
        name = file_name(out.resolve().name)[:80]
        card = card.model_copy(update={"name": name if name.isascii() else ""})
    tensors = network.state_dict()
    if int8:
        settings = changed(settings, {"search.precision": "int8"})
        tensors = quantise(tensors, tied=network.tied)
    with whole_folder(out, is_model) as folder:
        save_tensors(folder / WEIGHTS_FILE, tensors, {})
        for side, codec in zip(SIDES, codecs, strict=True):
            codec.save(folder, side)
        text = card_markdown(card, settings, (folder / WEIGHTS_FILE).stat().st_size)
        (folder / "README.md").write_text(text, encoding="utf-8")
        write_config(folder, settings, card=card.model_dump())


def is_model(folder: Path) -> bool:
    """Tells whether `save_model` made the folder, and all that is in it: nothing else is ever
    replaced."""
    own = ("config.toml", "README.md", WEIGHTS_FILE)
    return all((folder / name).is_file() for name in own) and holds_only(
        folder, MODEL_FILES.fullmatch
    )
