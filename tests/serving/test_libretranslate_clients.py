"""Clients that were written for LibreTranslate, pointed at the service."""

from __future__ import annotations

from typing import Any

import pytest

deep_translator = pytest.importorskip("deep_translator")
libretranslatepy = pytest.importorskip("libretranslatepy")


def test_libretranslatepy(loopback: Any) -> None:
    client = libretranslatepy.LibreTranslateAPI(loopback.address)
    one, two = (
        client.translate("the man sees a dog .", "en", "fr"),
        client.translate("the girls read .", "en", "fr"),
    )
    assert client.translate("the man sees a dog .  the girls read .\n", "en", "fr") == f"{one}  {two}\n"
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["fr"]},
        {"code": "fr", "name": "French", "targets": ["en"]},
    ]
    found = client.detect("Le chien est dans la maison de mon ami.")
    assert [one["language"] for one in found] == ["fr", "en"]
    assert found[0]["confidence"] > 90


def test_deep_translator(loopback: Any) -> None:
    client = deep_translator.LibreTranslator(
        source="en", target="fr", api_key="any", custom_url=f"{loopback.address}/"
    )
    reference = libretranslatepy.LibreTranslateAPI(loopback.address)
    lines = ["the man sees a dog .", "the girls read ."]
    assert client.translate(lines[0]) == reference.translate(lines[0], "en", "fr")
    assert client.translate_batch(lines) == [reference.translate(line, "en", "fr") for line in lines]
    back = deep_translator.LibreTranslator(
        source="French", target="English", api_key="any", custom_url=f"{loopback.address}/"
    )
    assert back.translate("le chien .") == reference.translate("le chien .", "fr", "en")
