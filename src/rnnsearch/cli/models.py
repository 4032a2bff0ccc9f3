"""`rnnsearch models` and `rnnsearch export`: the models that are installed, how a run becomes one,
and a page that translates in the browser."""

from __future__ import annotations

import json as json_format
from pathlib import Path

from rnnsearch.cli.options import describe, refuse, say
from rnnsearch.errors import InputError
from rnnsearch.system.progress import show


@describe(
    """
    json: Print one JSON object for each model.
    save RUN: Save this run as a model instead, into the folder of --out.
    out DIR: With --save: folder of the model.
    int8: With --save: store 8-bit weights, a quarter of the size.
    card FILE: With --save: TOML file with licence, data, scores and limits for the README.md.
    """
)
def models(
    *,
    json: bool = False,
    save: Path | None = None,
    out: Path | None = None,
    int8: bool = False,
    card: Path | None = None,
) -> None:
    """List the installed models: name, languages, size, licence, scores. Every command accepts
    these names as RUN."""
    from rnnsearch.installed import NO_MODELS
    from rnnsearch.pretrained.card import listed_models

    if save is not None:
        refuse({"--json": json}, "cannot be used with --save")
        return save_as_model(save, out, int8, card)
    refuse({"--out": out, "--int8": int8, "--card": card}, "belongs to --save", "add --save RUN")
    found = listed_models()
    if not found:
        say(NO_MODELS)
    for model in found:
        if json:
            about = {
                name: getattr(model, name) for name in ("name", "source", "target", "size", "fault")
            }
            about |= {"folder": str(model.folder)} | model.card.model_dump(exclude={"name"})
            show(json_format.dumps(about, ensure_ascii=False))
        elif model.fault:
            show(f"{model.name:12} {model.fault}")
        else:
            scores = ", ".join(
                f"{score.test} {score.metric} {score.value:g}" for score in model.card.scores
            )
            licence = model.card.licence or "no licence stated"
            parts = (
                f"{model.source} → {model.target}",
                f"{model.size / 1e6:.1f} MB",
                licence,
                scores,
            )
            show(f"{model.name:12} " + "  ".join(filter(None, parts)))
    return None


def save_as_model(run: Path, out: Path | None, int8: bool, card: Path | None) -> None:
    """Saves a run as a model. Without a card, it has the examples of the run."""
    from rnnsearch.installed import folder_of
    from rnnsearch.pretrained.card import ModelCard, examples_of, read_card
    from rnnsearch.translation.translator import Translator

    if out is None:
        raise InputError("--save needs a folder to write", "add --out DIR")
    described = read_card(card) if card else ModelCard()
    if not described.examples:
        described = described.model_copy(update={"examples": examples_of(folder_of(run))})
    Translator.load(run).save_pretrained(out, int8=int8, card=described)
