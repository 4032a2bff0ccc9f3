"""`rnnsearch serve`: an HTTP service and a page."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Device, say
from rnnsearch.errors import InputError


def serve(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Trained runs, one model each; NAME=RUN or SRC-TGT=RUN (as in en-fr=RUN) names a model, RUN+RUN makes an ensemble.",
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen at. Only this machine reaches the default.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen at; 0 = any that is free.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes, each with the models in its own memory.")] = 1,
    threads: Annotated[int, typer.Option(min=0, max=1_024, help="CPU threads of each process; 0 = divide all cores among them.")] = 0,
    device: Device = "cpu",
    precision: Annotated[
        str | None,
        typer.Option(help="Number format of the matrix products: float32, bfloat16 (for CPUs that support it) or int8 (the fastest)."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, max=10_000, help="Sentences translated together, at most.")] = 64,
    max_characters: Annotated[int, typer.Option(min=1, max=10_000_000, help="Characters of a request, at most.")] = 20_000,
    max_sentences: Annotated[int, typer.Option(min=1, max=100_000, help="Sentences of a request, at most.")] = 500,
    max_beam: Annotated[int, typer.Option(min=1, max=1_000, help="Beam size that a request may ask for.")] = 50,
    max_nbest: Annotated[int, typer.Option(min=1, max=1_000, help="Translations of each sentence that a request may ask for.")] = 20,
    max_queue: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Sentences that may wait in each process; further requests are told to come later.")
    ] = 4_000,
    deadline: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds after which a request is given up.")] = 60.0,
    api_keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Answer only requests with an API key of this file, which has one on each line.")
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Let pages of this origin ask, as in https://example.org; may be repeated."),
    ] = None,
    log_text: Annotated[bool, typer.Option("--log-text", help="Also log the texts that users send.")] = False,
) -> None:
    """Translate, align and score over HTTP, with a page for people. It ends with Ctrl-C or SIGTERM, once running requests are done."""
    for needed in ("fastapi", "uvicorn", "httptools", "prometheus_client", "python_multipart", "sentencex", "py3langid"):
        if find_spec(needed) is None:
            raise InputError(f"the command serve needs {needed}", remedy="pip install 'rnnsearch[serve]'")
    from rnnsearch.serving.app import AppOptions
    from rnnsearch.serving.keys import Keys
    from rnnsearch.serving.limits import Limits
    from rnnsearch.serving.served_models import model_place
    from rnnsearch.serving.server import ProcessOptions, address, bound_socket
    from rnnsearch.serving.server import serve as serve_here
    from rnnsearch.serving.supervisor import Supervisor

    limits = Limits(
        characters=max_characters,
        sentences=max_sentences,
        texts=max_sentences,
        beam=max_beam,
        nbest=max_nbest,
        queue=max(max_queue, max_sentences),
        deadline=deadline,
        batch=batch_size,
    )
    app = AppOptions(Keys.read(api_keys) if api_keys else Keys([]), tuple(cors_origin or ()), log_text)
    options = ProcessOptions(tuple(map(model_place, runs)), limits, app, device, precision, threads, workers)
    with bound_socket(host, port) as bound:
        where = address(bound)

        def ready() -> None:
            say(f"serving {', '.join(runs)} at {where} (Ctrl-C to end)")

        if workers == 1:
            serve_here(bound, options, ready)
        else:
            Supervisor(bound, options, say).run(ready)
