"""The folder that translates in the browser: what is in it, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import Command
from refusals import refusal

from rnnsearch.lab.palette import properties
from rnnsearch.serve.export import export_page
from rnnsearch.serve.page import KINDS, page_files


def test_the_folder_holds_the_page_and_each_model(
    tiny_run: Path, tiny_reverse_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "page"
    _, sizes = export_page([tiny_run, tiny_reverse_run], folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["engine"] == "local"
    assert [model["name"] for model in config["models"]] == ["en-fr", "fr-en"]
    for model in config["models"]:
        files = list((folder / model["folder"]).iterdir())
        assert {file.name for file in files} == {"model.safetensors", "text.json"}
        assert sum(file.stat().st_size for file in files) == model["bytes"] == sizes[model["name"]]
    assert {
        str(file.relative_to(folder)) for file in folder.rglob("*") if file.suffix in KINDS
    } == set(page_files())


def test_the_page_loads_nothing_from_elsewhere_and_has_no_script_inside() -> None:
    files = page_files()
    page = files["index.html"].decode()
    policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' blob:; "
    assert f'http-equiv="Content-Security-Policy" content="{policy}' in page
    assert not re.search(r"<script(?! type=\"module\" src=)|<style|style=|\son\w+=", page)
    for name, content in files.items():
        found = set(re.findall(r"https?://[^\s\"')]+", content.decode()))
        assert found <= {"http://www.w3.org/2000/svg"}, name
        assert "innerHTML" not in content.decode(), name


def test_the_colours_are_those_of_the_palette() -> None:
    # else write properties() into the file
    assert page_files()["palette.css"].decode() == properties()


def test_every_module_that_a_script_names_is_there() -> None:
    files = page_files()
    for name in (name for name in files if name.endswith(".js")):
        folder = name.rpartition("/")[0]
        for path in re.findall(r'(?:from |new URL\()"([\w./]+\.js)"', files[name].decode()):
            assert str(Path(folder) / path.removeprefix("./")) in files, (name, path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'cell = "gated"',
            'cell = "lstm"',
            r'model\.cell = "lstm": the engine of the page has only gated',
        ),
        ('decoder = "forward"', 'decoder = "backward"', r'model\.decoder = "backward"'),
        ('alignment = "additive"', 'alignment = "dot"', r'model\.alignment = "dot"'),
        (
            'target_language = "fr"',
            'target_language = "th"',
            "no tokeniser for text without spaces",
        ),
    ],
)
def test_what_the_engine_cannot_run_is_refused_before_anything_is_written(
    tiny_run: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    settings = (run / "config.toml").read_text("utf-8")
    assert old in settings
    (run / "config.toml").write_text(settings.replace(old, new), "utf-8")
    with refusal(said):
        export_page([run], tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_a_page_is_replaced_and_other_folders_are_not(tiny_run: Path, tmp_path: Path) -> None:
    export_page([tiny_run], tmp_path / "page")
    export_page([tiny_run], tmp_path / "page")
    (tmp_path / "mine").mkdir()
    (model,) = (tmp_path / "page" / "models").iterdir()
    for name in ("mine", f"page/models/{model.name}", "page"):
        letter = tmp_path / name / "letter.txt"
        letter.touch()
        with refusal("exists and is not empty"):
            export_page([tiny_run], tmp_path / name.partition("/")[0])
        letter.unlink()  # it was there


def test_two_models_of_the_same_languages_are_told_apart(
    tiny_run: Path, other_tiny_run: Path, tmp_path: Path
) -> None:
    _, sizes = export_page([tiny_run, other_tiny_run], tmp_path / "page")
    assert list(sizes) == ["run", "other"]
    with refusal("two models would be called 'run'"):
        export_page([tiny_run, tiny_run], tmp_path / "twice")


def test_the_command(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    done = command(f"export {tiny_run} --out {tmp_path}/page")
    assert done.code == 0
    assert "python -m http.server" in done.err
    assert command(f"export {tmp_path} --out {tmp_path}/other").code == 2
