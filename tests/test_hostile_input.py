"""Whatever stands in settings, recipes, runs, checkpoints and stores: it is read as it was written, or
refused with one clear line.

A few examples in the default suite; the tests marked slow try ten times as many.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from socket import SHUT_WR
from typing import Any

import pytest
import tomli_w
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from rnnsearch.config import load_config, validated
from rnnsearch.errors import InputError
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.run import Run
from rnnsearch.settings import Settings
from rnnsearch.system.tensors import load_tensors, save_tensors
from rnnsearch.text.batches import collate
from rnnsearch.text.dataset import Corpus
from rnnsearch.training.checkpoint import load_checkpoint
from rnnsearch.training.setup import trainer_of
from rnnsearch.training.trainer import Trainer
from rnnsearch.translation.translator import Translator

amount = pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.slow)])


def fuzz(check: Callable[..., None], examples: int, *strategies: st.SearchStrategy[Any]) -> None:
    """Calls `check` with so many examples of each strategy."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(max_examples=examples, deadline=None, suppress_health_check=checks)(
        given(st.tuples(*strategies))(lambda found: check(*found))
    )()


def refused(work: Callable[[], Any]) -> bool:
    """Whether it raised an InputError of one printable line; any other error is the test's."""
    try:
        work()
        return False
    except InputError as error:
        line = str(error)
    assert line.isprintable()
    assert 0 < len(line) < 6000
    return True


# Values and texts

NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.floats(),
    st.sampled_from(
        [0, -1, 1, 2**31, 2**63, 2**64, 10**400, float("nan"), float("inf"), -float("inf"), 1e308]
    ),
)
WORDS = st.one_of(
    st.text(),
    st.sampled_from(
        [
            "cpu",
            "cuda:99999999999",
            "none",
            "gated",
            "os:system",
            "a:b",
            ":",
            "x\x00y",
            "\x1b[2J",
            "adam",
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS, st.binary(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=5,
)
SECTIONS = {
    name: list(type(getattr(Settings(), name)).model_fields) for name in Settings.model_fields
}
KEYS = [key for keys in SECTIONS.values() for key in keys]


def _section(name: str) -> st.SearchStrategy[Any]:
    return st.one_of(st.dictionaries(st.sampled_from(SECTIONS[name]), VALUES, max_size=3), VALUES)


TABLES = st.one_of(
    st.fixed_dictionaries({}, optional={name: _section(name) for name in SECTIONS}),
    st.dictionaries(WORDS, VALUES, max_size=2),
)
LINES = st.one_of(
    st.builds("[{}]".format, st.one_of(st.sampled_from(list(SECTIONS)), WORDS)),
    st.builds("{} = {}".format, st.one_of(st.sampled_from(KEYS), WORDS), st.one_of(NUMBERS, WORDS)),
    st.builds("{}.{} = {!r}".format, st.sampled_from(list(SECTIONS)), WORDS, VALUES),
    st.sampled_from(["[[", "a = [[[[[[", "]]", "a = 1" + "0" * 5000, "{", "\ufeff", "#"]),
)
RECIPES = st.one_of(
    st.binary(max_size=200),
    st.lists(LINES, max_size=6).map(lambda lines: "\n".join(lines).encode("utf-8", "replace")),
)


@amount
def test_settings(times: int) -> None:
    def check(table: dict[Any, Any]) -> None:
        if not refused(lambda: validated(table, "a\nfile\x1b")):
            made = validated(table, "")
            assert validated(made.model_dump(exclude_none=True), "") == made

    fuzz(check, 200 * times, TABLES)


@amount
@pytest.mark.filterwarnings("ignore::rnnsearch.errors.InputWarning")  # a setting's old name
def test_recipes(tmp_path: Path, times: int) -> None:
    path = tmp_path / "recipe.toml"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        if not refused(lambda: load_config(path)):
            made = load_config(path)
            path.write_text(tomli_w.dumps(made.model_dump(exclude_none=True)), "utf-8")
            assert load_config(path) == made

    fuzz(check, 200 * times, RECIPES)


@amount
def test_overrides(times: int) -> None:
    keys = st.sampled_from(
        [f"{section}.{key}" for section, names in SECTIONS.items() for key in names]
    )
    texts = st.one_of(
        st.text(),
        st.builds("{}={}".format, st.one_of(keys, WORDS), st.one_of(NUMBERS, WORDS, VALUES)),
    )

    def check(override: str) -> None:
        refused(lambda: load_config("", [override]))

    fuzz(check, 200 * times, texts)


# Files

Damage = Callable[[bytes], bytes]


def _flip(place: float, bit: int) -> Damage:
    def damage(content: bytes) -> bytes:
        at = int(place * len(content))
        return (
            content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :] if content else b"x"
        )

    return damage


def _cut(start: float, size: int, instead: bytes) -> Damage:
    return lambda content: (
        content[: int(start * len(content))] + instead + content[int(start * len(content)) + size :]
    )


def _twice(start: float, size: int) -> Damage:
    return lambda content: (
        content[: int(start * len(content)) + size] + content[int(start * len(content)) :]
    )


PLACES = st.floats(0, 0.999)
DAMAGES = st.one_of(
    st.builds(_flip, PLACES, st.integers(0, 7)),
    st.builds(
        _cut,
        PLACES,
        st.integers(0, 40),
        st.one_of(st.binary(max_size=20), st.sampled_from([b"\n", b"9" * 30, b"-1", b"[" * 2000])),
    ),
    st.builds(_twice, PLACES, st.integers(1, 40)),
)


class Folder:
    """A copy of a folder, one file of which at a time is damaged."""

    def __init__(self, original: Path, copy: Path) -> None:
        shutil.copytree(original, copy)
        self.path, self.original = copy, original
        self.files = sorted(path.relative_to(copy) for path in copy.rglob("*") if path.is_file())

    def damaged(self, file: Path, damage: Damage) -> bool:
        """False if the damage changes nothing."""
        before = (self.original / file).read_bytes()
        after = damage(before)
        (self.path / file).write_bytes(after)
        return after != before

    def mended(self, file: Path) -> None:
        shutil.copyfile(self.original / file, self.path / file)


@amount
def test_runs(tiny_subword_run: Path, tmp_path: Path, times: int) -> None:
    folder = Folder(tiny_subword_run, tmp_path / "run")
    expected = Run.open(tiny_subword_run).load_network().state_dict()

    def check(file: Path, damage: Damage) -> None:
        if folder.damaged(file, damage):

            def work() -> None:
                run = Run.open(folder.path)
                found = run.load_network().state_dict()
                if file.name == "model.safetensors":
                    torch.testing.assert_close(found, expected, rtol=0, atol=0)
                Translator.load(folder.path).translate(["The man sees the woman.", ""], beam=2)

            assert refused(work) or file.name == "config.toml"
        folder.mended(file)

    read = [file for file in folder.files if file.parent == Path() and "counts" not in file.name]
    fuzz(check, 40 * times, st.sampled_from(read), DAMAGES)


@pytest.fixture(scope="module")
def stopped(tiny_run: Path) -> Trainer:
    """To load checkpoints into."""
    run = Run.open(tiny_run)
    words = len(run.source.vocabulary), len(run.target.vocabulary)
    return trainer_of(TranslationNetwork(run.settings.model, *words), run.settings)


@amount
def test_bytes_of_a_checkpoint(
    tiny_run: Path, stopped: Trainer, tmp_path: Path, times: int
) -> None:
    content = Run.open(tiny_run).checkpoint_path.read_bytes()
    path = tmp_path / "last.safetensors"

    def check(damage: Damage) -> None:
        path.write_bytes(damage(content))
        assert path.read_bytes() == content or refused(lambda: load_checkpoint(path, stopped))

    fuzz(check, 100 * times, DAMAGES)


SHAPES = st.lists(st.integers(0, 3), max_size=3)
TENSORS = st.builds(
    lambda shape, dtype: torch.zeros(shape, dtype=dtype),
    SHAPES,
    st.sampled_from(
        [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
    ),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@amount
def test_a_checkpoint_that_somebody_made_up(
    tiny_run: Path, stopped: Trainer, tmp_path: Path, times: int
) -> None:
    """Its checksum is right: what is in it has to be looked at."""
    tensors, notes = load_tensors(Run.open(tiny_run).checkpoint_path, "")
    path = tmp_path / "last.safetensors"

    def check(name: str, tensor: Tensor | None, key: str, value: Any) -> None:
        changed = tensors | ({} if tensor is None else {name: tensor})
        if tensor is None:
            del changed[name]
        save_tensors(path, changed, notes | {"progress": notes["progress"] | {key: value}})

        def work() -> None:
            progress = load_checkpoint(path, stopped)
            assert progress.update >= progress.skipped >= 0
            assert all(parameter.isfinite().all() for parameter in stopped.network.parameters())

        refused(work)

    keys = st.one_of(st.sampled_from(list(notes["progress"])), st.text(max_size=5))
    fuzz(
        check,
        100 * times,
        st.sampled_from(list(tensors)),
        st.one_of(st.none(), TENSORS),
        keys,
        JSON,
    )


@amount
def test_stores(tiny_corpus: Path, tmp_path: Path, times: int) -> None:
    from rnnsearch.text.preparation import PrepareOptions, prepare

    dev = tiny_corpus / "dev.en", tiny_corpus / "dev.fr"
    made = tmp_path / "made"
    options = PrepareOptions(links=[tiny_corpus / "dev.links"])
    prepare(*dev, made, dev=dev, settings=load_config("").data, options=options)
    folder = Folder(made, tmp_path / "store")

    def check(file: Path, damage: Damage) -> None:
        if folder.damaged(file, damage):

            def work() -> None:
                corpus = Corpus.open(folder.path)
                collate(corpus.train, range(len(corpus.train)), linked=True)

            assert refused(work)
        folder.mended(file)

    fuzz(check, 60 * times, st.sampled_from(folder.files), DAMAGES)


# Sockets

CHUNKED = "POST /v1/align HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
KEY = "a-key-of-some-length"


@pytest.fixture(scope="module")
def service_with_key(tiny_run: Path) -> Iterator[Any]:
    pytest.importorskip("fastapi", reason="needs the extra `serve`")
    from loopback import Loopback

    from rnnsearch.serve.app import make_app
    from rnnsearch.serve.routes import digest
    from rnnsearch.serve.service import ModelPlace, Options, Service, load_models

    options = Options(places=[ModelPlace("", str(tiny_run))], keys=frozenset([digest(KEY)]))
    server = Loopback(make_app(Service(load_models(options), options)))
    yield server
    server.end()


def test_trailers_are_bounded(service_with_key: Any) -> None:
    """A server that kept them would take all that comes."""
    with service_with_key.connect() as client:
        client.sendall(CHUNKED.replace("POST /v1/align", "GET /health").encode() + b"\r\n0\r\n")
        sent = 0
        with suppress(OSError):
            while sent < 600:
                client.sendall(b"a: b\r\n" * 10_000)
                sent += 1
        assert sent < 600


@pytest.mark.parametrize(
    ("head", "trailer", "status"),
    [
        ("", f"Authorization: Bearer {KEY}", b"401"),
        (f"Authorization: Bearer {KEY}", "Authorization: x", b"200"),
    ],
    ids=["a key in a trailer is none", "a trailer changes no head"],
)
def test_trailers_are_dropped(
    service_with_key: Any, head: str, trailer: str, status: bytes
) -> None:
    body = '{"source_text": "a cat", "target_text": "un chat"}'
    head = f"{CHUNKED}Connection: close\r\n{head}".rstrip()
    answer = service_with_key.answer(
        f"{head}\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n{trailer}\r\n\r\n".encode()
    )
    assert answer.split()[1] == status, answer


FRAMES = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from(
            [
                b"GET /health HTTP/1.1\r\n", b"POST /v1/align HTTP/1.1\r\n", b"Host: a\r\n", b"\r\n", b"\r\n\r\n",
                b"Transfer-Encoding: chunked\r\n", b"Content-Length: 3\r\n", b"Content-Length: -1\r\n", b"0\r\n",
                b"3\r\nabc\r\n", b"ffffffffffffffff\r\n", b"3;a=" + b"b" * 70_000, b"Expect: "
                b"100-continue\r\n",
                b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"X: " + b"y" * 70_000 + b"\r\n", b" folded\r\n",
                b"Connection: close\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            ]
        ),
    ),
    max_size=8,
)  # fmt: skip


@amount
def test_framing(service_with_key: Any, times: int) -> None:
    """Any bytes are answered by 2xx or 4xx, or the connection ends; the service stays."""

    def check(parts: list[bytes]) -> None:
        with service_with_key.connect(timeout=0.05) as client, suppress(OSError):
            client.sendall(b"".join(parts))
            client.shutdown(SHUT_WR)
            answer = client.recv(1_000)
            assert not answer or re.match(rb"HTTP/1\.1 [1245]\d\d ", answer)
            assert not answer.startswith(b"HTTP/1.1 5")

    fuzz(check, 60 * times, FRAMES)
    alive = service_with_key.answer(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert alive.startswith(b"HTTP/1.1 200 ")
