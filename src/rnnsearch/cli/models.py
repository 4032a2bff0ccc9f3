"""`rnnsearch models`: the models that are installed, and how a run becomes one."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import say
from rnnsearch.errors import InputError
from rnnsearch.system.progress import show


def models(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each model.")] = False,
    save: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Save this run as a model instead, into the folder of --out."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="With --save: folder of the model.")] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="With --save: store 8-bit weights, a quarter of the size.")
    ] = False,
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --save: TOML file with licence, data, scores and limits for the README.md.",
        ),
    ] = None,
) -> None:
    """List the installed models: name, languages, size, licence, scores. Every command accepts
    these names as RUN."""
    if save is not None:
        return _save(save, out, int8, card)
    if out or int8 or card:
        raise InputError("--out, --int8 and --card belong to --save", remedy="add --save RUN")
    from rnnsearch.installed import INSTALL
    from rnnsearch.pretrained.card import listed_models

    found = listed_models()
    if not found:
        say(f"no models are installed: {INSTALL}")
    for model in found:
        if json:
            show(
                json_format.dumps(
                    {
                        "name": model.name,
                        "folder": str(model.folder),
                        "source": model.source,
                        "target": model.target,
                        "bytes": model.size,
                        "fault": model.fault,
                        **model.card.model_dump(exclude={"name"}),
                    },
                    ensure_ascii=False,
                )
            )
        elif model.fault:
            show(f"{model.name:12} {model.fault}")
        else:
            scores = ", ".join(f"{score.test} {score.metric} {score.value:g}" for score in model.card.scores)
            parts = (
                f"{model.source} → {model.target}",
                f"{model.size / 1e6:.1f} MB",
                model.card.licence or "no licence stated",
                scores,
            )
            show(f"{model.name:12} " + "  ".join(part for part in parts if part))
    return None


def _save(run: Path, out: Path | None, int8: bool, card: Path | None) -> None:
    from rnnsearch.pretrained.card import ModelCard, examples_of, read_card
    from rnnsearch.translation.translator import Translator

    if out is None:
        raise InputError("--save needs a folder to write", remedy="add --out DIR")
    described = read_card(card) if card else ModelCard()
    if not described.examples:
        described = described.model_copy(update={"examples": examples_of(run)})
    Translator.load(run).save_pretrained(out, int8=int8, card=described)
