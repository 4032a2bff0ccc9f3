"""The Dockerfile, the compose file and the systemd unit start commands that exist, without root, and check
what is there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from rnnsearch.cli.commands import app

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LAST_STAGE = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]


def understood(words: list[str]) -> Any:
    assert words[0] == "serve"
    return typer.main.get_command(app).commands["serve"].make_context("serve", words[1:])  # type: ignore[attr-defined]


def instruction(name: str) -> list[str]:
    found = re.findall(rf"^{name} (\[.*\])$", LAST_STAGE, re.MULTILINE)
    assert len(found) == 1
    words: list[str] = json.loads(found[0])
    return words


def test_the_image_starts_the_service_without_root() -> None:
    program, *words = instruction("ENTRYPOINT")
    assert program == "rnnsearch"
    context = understood([*words, *instruction("CMD")])
    assert context.params["host"] == "0.0.0.0"
    assert f"EXPOSE {context.params['port']}\n" in LAST_STAGE
    assert f"http://127.0.0.1:{context.params['port']}/health" in LAST_STAGE
    assert "\nHEALTHCHECK " in LAST_STAGE
    user = re.findall(r"^USER (\S+)$", LAST_STAGE, re.MULTILINE)
    assert user
    assert user[-1] not in ("0", "root")
    assert LAST_STAGE.index("\nUSER ") < LAST_STAGE.index("\nENTRYPOINT ")
    assert ":latest" not in DOCKERFILE
    assert all(
        "--no-cache-dir" in line for line in DOCKERFILE.splitlines() if "pip install" in line
    )


def test_the_compose_file_serves_models_that_are_there_on_loopback_only() -> None:
    yaml = pytest.importorskip("yaml")
    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    (folder, place, _), *_ = (volume.split(":") for volume in service["volumes"])
    for model in service["command"][:2]:
        name, path = model.split("=")
        assert path == f"{place}/{name}"
        assert (ROOT / folder / name / "model.safetensors").is_file()
    context = understood([*instruction("ENTRYPOINT")[1:], *service["command"]])
    assert context.params["workers"] == 2
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]


def test_the_systemd_unit_starts_the_service() -> None:
    page = (ROOT / "docs" / "how-to" / "serving.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ExecStart=(.*)$", page, re.MULTILINE)
    program, *words = shlex.split(command)
    assert Path(program).name == "rnnsearch"
    understood(words)
    assert "DynamicUser=yes" in page
