"""Requests that nobody should send: every answer is 2xx or 4xx, in JSON, without a traceback."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = [
    "text",
    "model",
    "source",
    "target",
    "beam",
    "nbest",
    "alignment",
    "source_text",
    "target_text",
    "posterior",
    "q",
    "format",
]
LIKELY = st.sampled_from(
    ["en-fr", "en", "fr", "a cat .", "", 1, 2, True, ["a", "b"], [], "auto", "text"]
)
KINDS = "application/json|application/x-www-form-urlencoded|multipart/form-data; boundary=x|text/plain|\xff|"
PATHS = ("/v1/translate", "/v1/align", "/translate", "/detect")


@settings(max_examples=150)
@given(
    st.sampled_from(PATHS), st.dictionaries(st.sampled_from(FIELDS), LIKELY | VALUES, max_size=6)
)
def test_any_fields_get_an_answer(client: TestClient, path: str, body: dict[str, object]) -> None:
    answer = client.post(
        path, content=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code < 500, (path, body, answer.text)
    if answer.status_code >= 400:
        assert set(answer.json()) == {"error"}
        assert "Traceback" not in answer.text


@settings(max_examples=100)
@given(
    st.sampled_from(PATHS),
    st.binary(max_size=60),
    st.sampled_from(KINDS.split("|")),
)
def test_any_bytes_get_an_answer(client: TestClient, path: str, body: bytes, kind: str) -> None:
    answer = client.post(path, content=body, headers={"Content-Type": kind.encode("latin-1")})
    assert answer.status_code < 500, (path, body, answer.text)
    assert answer.headers["content-type"] == "application/json"
