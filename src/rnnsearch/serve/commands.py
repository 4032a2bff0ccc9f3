"""`rnnsearch serve`: an HTTP service and a page."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from rnnsearch.cli.options import Cores, PositiveOption, Strings, describe, say, search_changes
from rnnsearch.errors import InputError

WRITE_SECONDS = 30.0
"""Seconds after which a client that reads nothing of its answer counts as gone."""
SHORTEST_KEY = 16
"""Characters that a key has at least."""


@dataclass(frozen=True)
class Hosting:
    """Options that say where the service runs, and for whom."""

    host: str = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65_535)] = 8000
    workers: Annotated[int, typer.Option(min=1, max=256)] = 1
    threads: Cores = 0
    device: str = "cpu"
    api_keys: Path | None = None
    cors_origin: Strings = None
    allowed_host: Strings = None


@dataclass(frozen=True)
class Limits:
    """Options that limit requests."""

    max_characters: PositiveOption = 20_000
    max_sentences: PositiveOption = 500
    max_words: Annotated[int, typer.Option(min=1, max=5_000)] = 1_000
    max_beam: Annotated[int, typer.Option(min=1, max=1_000)] = 50
    max_queue: PositiveOption = 4_000
    deadline: Annotated[float, typer.Option(min=0.1, max=86_400)] = 60.0


@describe(
    """
    runs RUN...: Trained runs, one model each; NAME=RUN or SRC-TGT=RUN (as in en-fr=RUN) names a
    model.
    host: Address to listen at. The default can be reached only from this machine.
    port: Port to listen at; 0 = any free port.
    workers: Processes, each with the models in its own memory.
    threads: CPU threads of each process; 0 = divide all cores among them.
    max_characters: Characters of a request, at most.
    max_sentences: Sentences of a request, at most.
    max_words: Words or subwords of a sentence, and of each side of a pair, at most.
    max_beam: Beam size, and number of translations of a sentence, that a request may ask for.
    max_queue: Sentences that may wait in each process, half of them from one client; further
    requests are refused.
    deadline: Seconds after which a request is given up.
    api_keys FILE: Answer only requests with an API key of this file, which has one on each line.
    cors_origin ORIGIN: Allow requests from pages of this origin, as in https://example.org; may be
    repeated.
    allowed_host NAME: Answer only requests to this host name or to this machine's own names; may be
    repeated.
    Without it, a service at 127.0.0.1 answers only to this machine's names.
    """,
    extra="serve",
)
def serve(runs: list[str], *, hosting: Hosting, set_: Strings = None, limits: Limits) -> None:
    """Serve translation and alignment over HTTP, with a web page. After Ctrl-C or SIGTERM it
    finishes running requests and ends."""
    from rnnsearch.serve.server import serve as serve_here
    from rnnsearch.serve.service import ModelPlace, Options

    with bound_socket(hosting.host, hosting.port) as bound:
        options = Options(
            places=list(map(ModelPlace.parse, runs)),
            device=hosting.device,
            search=search_changes(set_),
            threads=hosting.threads,
            workers=hosting.workers,
            keys=read_keys(hosting.api_keys) if hosting.api_keys else (),
            origins=hosting.cors_origin or (),
            hosts=allowed_hosts(bound, hosting.host, hosting.allowed_host or ()),
            characters=limits.max_characters,
            sentences=limits.max_sentences,
            words=limits.max_words,
            beam=limits.max_beam,
            deadline=limits.deadline,
            queue=max(limits.max_queue, limits.max_sentences),
        )
        serve_here(bound, options, say)


def bound_socket(host: str, port: int) -> socket.socket:
    """Returns a socket that listens at this address. Raises InputError if that is impossible.

    The system closes a connection whose client reads nothing of its answer for WRITE_SECONDS.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        bound = socket.create_server(
            (host, port), family=family, backlog=2_048, dualstack_ipv6=both
        )
    except (OSError, UnicodeError) as error:
        what = getattr(error, "strerror", None) or str(error)
        remedy = "name another --host or --port"
        raise InputError(f"cannot listen at {host} port {port}: {what}", remedy) from None
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * WRITE_SECONDS))
    return bound


def allowed_hosts(bound: socket.socket, host: str, more: Sequence[str]) -> frozenset[str]:
    """Returns the accepted names in the Host header; empty for any.

    A loopback socket accepts only local names and those in `more`, against DNS rebinding. For other
    sockets `more` alone decides.
    """
    if not (more or ip_address(bound.getsockname()[0]).is_loopback):
        return frozenset()
    names = {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host, *more}
    return frozenset(name.lower() for name in names)


def read_keys(path: Path) -> frozenset[str]:
    """Returns the digests of the keys in a file, one per line; empty lines and lines that begin
    with # are skipped. Raises InputError for a file that cannot be read or holds no key, and for a
    key that is too short."""
    from rnnsearch.serve.routes import digest
    from rnnsearch.system.files import read_file

    lines = [line.strip() for line in read_file(path).decode("utf-8", "replace").splitlines()]
    keys = {
        line: number for number, line in enumerate(lines, 1) if line and not line.startswith("#")
    }
    if not keys:
        raise InputError("holds no key", "write one key on each line", file=path)
    shortest = min(keys, key=len)
    if len(shortest) < SHORTEST_KEY:
        what = f"a key has at least {SHORTEST_KEY} characters"
        remedy = "for example: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
        raise InputError(what, remedy, file=path, line=keys[shortest])
    return frozenset(map(digest, keys))


@describe(
    """
    runs RUN...: Trained runs or names of models; a page can offer several.
    out DIR: Folder to write.
    """
)
def export(runs: list[Path], *, out: Path) -> None:
    """Export models as a page that translates in any browser, without a server."""
    from rnnsearch.serve.export import export_page

    page, models = export_page(runs, out)
    for name, size in models.items():
        say(f"{name}: {size / 1e6:.1f} MB")
    say(f"the page itself: {page / 1e6:.2f} MB")
    say(f"put {out} on any web host, or look at it now: python -m http.server -d {out}")


COMMANDS: dict[Callable[..., None], str] = {
    serve: "rnnsearch serve en-fr=run --port 8000",
    export: "rnnsearch export run --out page",
}
"""Command → the example that its help shows."""
