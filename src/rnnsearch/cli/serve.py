"""`rnnsearch serve`: an HTTP service and a page."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Device, Precision, say
from rnnsearch.errors import InputError
from rnnsearch.installed import need

WRITE_SECONDS = 30.0
"""Seconds after which a client that reads nothing of its answer counts as gone."""
SHORTEST_KEY = 16
"""Characters that a key has at least."""

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="Trained runs, one model each; NAME=RUN or SRC-TGT=RUN (as in en-fr=RUN) names a model, "
        "RUN+RUN makes an ensemble.",
    ),
]
Host = Annotated[
    str, typer.Option(help="Address to listen at. The default can be reached only from this machine.")
]
Port = Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen at; 0 = any free port.")]
Workers = Annotated[
    int, typer.Option(min=1, max=256, help="Processes, each with the models in its own memory.")
]
Threads = Annotated[
    int, typer.Option(min=0, max=1_024, help="CPU threads of each process; 0 = divide all cores among them.")
]
BatchSize = Annotated[int, typer.Option(min=1, max=10_000, help="Sentences translated together, at most.")]
MaxCharacters = Annotated[int, typer.Option(min=1, max=10_000_000, help="Characters of a request, at most.")]
MaxSentences = Annotated[int, typer.Option(min=1, max=100_000, help="Sentences of a request, at most.")]
MaxWords = Annotated[
    int, typer.Option(min=1, max=5_000, help="Words of a sentence, and of each side of a pair, at most.")
]
MaxBeam = Annotated[int, typer.Option(min=1, max=1_000, help="Beam size that a request may ask for.")]
MaxNbest = Annotated[
    int, typer.Option(min=1, max=1_000, help="Translations of each sentence that a request may ask for.")
]
MaxQueue = Annotated[
    int,
    typer.Option(
        min=1,
        max=1_000_000,
        help="Sentences that may wait in each process; further requests are refused (status 503).",
    ),
]
MaxRequests = Annotated[
    int,
    typer.Option(
        min=1,
        max=100_000,
        help="Requests of one API key, or of one address, that are answered at a time; further ones are "
        "refused (status 429).",
    ),
]
Deadline = Annotated[
    float, typer.Option(min=0.1, max=86_400, help="Seconds after which a request is given up.")
]
ApiKeyFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Answer only requests with an API key of this file, which has one on each line."
    ),
]
CorsOrigin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ORIGIN",
        help="Allow requests from pages of this origin, as in https://example.org; may be repeated.",
    ),
]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Answer only requests to this host name or to this machine's own names; may be repeated. "
        "Without it, a service at 127.0.0.1 answers only to this machine's names.",
    ),
]
LogText = Annotated[bool, typer.Option("--log-text", help="Also log the texts that users send.")]


def serve(
    runs: Runs,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    threads: Threads = 0,
    device: Device = "cpu",
    precision: Precision = None,
    batch_size: BatchSize = 64,
    max_characters: MaxCharacters = 20_000,
    max_sentences: MaxSentences = 500,
    max_words: MaxWords = 1_000,
    max_beam: MaxBeam = 50,
    max_nbest: MaxNbest = 20,
    max_queue: MaxQueue = 4_000,
    max_requests: MaxRequests = 32,
    deadline: Deadline = 60.0,
    api_keys: ApiKeyFile = None,
    cors_origin: CorsOrigin = None,
    allowed_host: AllowedHost = None,
    log_text: LogText = False,
) -> None:
    """Serve translation, alignment and scores over HTTP, with a web page. After Ctrl-C or SIGTERM it finishes
    running requests and ends."""
    need("serve")
    from rnnsearch.serving.app import Options
    from rnnsearch.serving.limits import Limits
    from rnnsearch.serving.served_models import model_place
    from rnnsearch.serving.server import serve as serve_here

    limits = Limits(
        characters=max_characters,
        sentences=max_sentences,
        words=max_words,
        beam=max_beam,
        nbest=max_nbest,
        queue=max(max_queue, max_sentences),
        deadline=deadline,
        batch=batch_size,
        requests=max_requests,
    )
    keys = read_keys(api_keys) if api_keys else frozenset()
    with bound_socket(host, port) as bound:
        options = Options(
            places=tuple(map(model_place, runs)),
            limits=limits,
            device=device,
            precision=precision,
            threads=threads,
            workers=workers,
            keys=keys,
            origins=cors_origin or (),
            hosts=allowed_hosts(bound, host, allowed_host or ()),
            log_text=log_text,
        )
        serve_here(bound, options, say)


def bound_socket(host: str, port: int) -> socket.socket:
    """Returns a socket that listens at this address. Raises InputError if that is impossible.

    The system closes a connection whose client reads nothing of its answer for WRITE_SECONDS.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        bound = socket.create_server((host, port), family=family, backlog=2_048, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        remedy = "name another --host or --port"
        raise InputError(f"cannot listen at {host} port {port}: {what}", remedy=remedy) from None
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # of Linux
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * WRITE_SECONDS))
    return bound


def allowed_hosts(bound: socket.socket, host: str, more: Sequence[str]) -> frozenset[str]:
    """Returns the accepted names in the Host header; empty for any.

    A loopback socket accepts only local names and those in `more`, against DNS rebinding. For other sockets
    `more` alone decides.
    """
    if not (more or ip_address(bound.getsockname()[0]).is_loopback):
        return frozenset()
    names = {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host, *more}
    return frozenset(name.lower() for name in names)


def read_keys(path: Path) -> frozenset[str]:
    """Returns the digests of the keys in a file, one per line; empty lines and lines that begin with # are
    skipped. Raises InputError for a file that cannot be read or holds no key, and for a key that is too
    short."""
    from rnnsearch.serving.guard import digest
    from rnnsearch.system.files import read_file

    lines = [line.strip() for line in read_file(path).decode("utf-8", "replace").splitlines()]
    keys = {line: number for number, line in enumerate(lines, 1) if line and not line.startswith("#")}
    if not keys:
        raise InputError("holds no key", file=path, remedy="write one key on each line")
    shortest = min(keys, key=len)
    if len(shortest) < SHORTEST_KEY:
        what = f"a key has at least {SHORTEST_KEY} characters"
        remedy = "for example: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
        raise InputError(what, file=path, line=keys[shortest], remedy=remedy)
    return frozenset(map(digest, keys))
