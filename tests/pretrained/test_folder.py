"""A model as a folder: written whole, read by name, by path and from a hub, and described by its card."""

from __future__ import annotations

import json
import re
import shutil
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
import torch
from command_line import Command
from refusals import refusal

from rnnsearch import Translator
from rnnsearch.installed import VARIABLE, folder_of, installed_models
from rnnsearch.kernels import int8
from rnnsearch.pretrained.card import CardScore, ModelCard, card_markdown, card_of, read_card
from rnnsearch.run import Run
from rnnsearch.settings import Settings

CARD = ModelCard(
    name="en-fr",
    licence="mit",
    data=["Europarl"],
    scores=[CardScore(test="newstest2013", metric="BLEU", value=24.5, signature='nrefs:1|"13a"')],
    limits=["Speeches | and news only\nno recipes"],
)
LINES = ["The man sees the woman.", "", "The committee visits Paris."]


@pytest.fixture(autouse=True)
def without_the_project_s_own_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def others(group: str) -> list[EntryPoint]:
        return [entry for entry in entry_points(group=group) if entry.name != "rnnsearch-models"]

    monkeypatch.setattr("rnnsearch.installed.entry_points", others)


@pytest.fixture(scope="module")
def saved(tiny_subword_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models, `en-fr` of int8 weights in it."""
    home = tmp_path_factory.mktemp("models")
    Translator.load(tiny_subword_run).save_pretrained(home / "en-fr", int8=True, card=CARD)
    return home


def test_whole_weights_translate_as_the_run_does(tiny_run: Path, tmp_path: Path) -> None:
    translator = Translator.load(tiny_run)
    translator.save_pretrained(tmp_path / "model")
    assert {file.name for file in (tmp_path / "model").iterdir()} == {
        *("README.md", "config.toml", "model.safetensors"),
        *("vocabulary.source.txt", "vocabulary.target.txt"),
        *("words.source.bloom", "words.target.bloom"),
    }
    assert Translator.from_pretrained(tmp_path / "model").translate(LINES) == translator.translate(
        LINES
    )


def test_int8_weights_take_a_quarter_and_search_in_int8(
    saved: Path, tiny_subword_run: Path
) -> None:
    model = Translator.from_pretrained(saved / "en-fr")
    assert model.settings.search.precision == "int8"
    whole = Run.open(tiny_subword_run).model_path.stat().st_size
    assert (
        saved / "en-fr" / "model.safetensors"
    ).stat().st_size < 0.5 * whole  # of so small a network much is header
    ours, theirs = (
        one.networks[0].decoder.cell.U.weight.detach()
        for one in (model, Translator.load(tiny_subword_run))
    )
    assert torch.allclose(ours, theirs, atol=float(theirs.abs().max()) / 200)


def test_without_int8_products_a_model_searches_in_float32(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rnnsearch.translation.translator.has_int8", lambda device: False)
    monkeypatch.setattr(int8, "has_int8", lambda device: False)
    translator = Translator.load(saved / "en-fr")
    assert translator.settings.search.precision == "float32"
    assert len(translator.translate(LINES)) == 3
    with refusal("no int8 products"):
        translator.translate(LINES, settings={"search.precision": "int8"})


def test_runs_and_other_folders_are_never_replaced(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    translator = Translator.load(tiny_run)
    with refusal("exists and is not empty"):
        translator.save_pretrained(tmp_path / "run")
    translator.save_pretrained(tmp_path / "model")
    translator.save_pretrained(tmp_path / "model", int8=True)
    (tmp_path / "model" / "notes.txt").touch()
    (tmp_path / "site").mkdir()
    for name in ("config.toml", "README.md"):
        (tmp_path / "site" / name).touch()
    for name in ("model", "site"):
        with refusal("exists and is not empty"):
            translator.save_pretrained(tmp_path / name)
    assert (tmp_path / "model" / "notes.txt").exists()
    with refusal("only a translator of one run"):
        Translator.load(tiny_run, tiny_run).save_pretrained(tmp_path / "two")


def test_the_card_has_the_hub_s_metadata(saved: Path) -> None:
    text = (saved / "en-fr" / "README.md").read_text(encoding="utf-8")
    _, front, prose = text.split("---\n", 2)
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which comes with the extra `hub`")
    metadata = yaml.safe_load(front)
    assert (metadata["language"], metadata["license"], metadata["library_name"]) == (
        ["en", "fr"],
        "mit",
        "rnnsearch",
    )
    (result,) = metadata["model-index"][0]["results"]
    assert result["metrics"] == [{"type": "bleu", "name": 'BLEU (nrefs:1|"13a")', "value": 24.5}]
    assert '| newstest2013 | BLEU | 24.5 | nrefs:1\\|"13a" |' in prose
    assert "- Speeches \\| and news only no recipes\n" in prose


def test_a_card_brings_no_html_and_no_link_and_may_say_nothing() -> None:
    evil = "<script>x</script> [a](javascript:b) `c` [d]: javascript:e <f@g.h>"
    card = ModelCard(
        name="m", description=evil, training=evil, licence=evil, data=[evil], limits=[evil]
    )
    _, _, prose = card_markdown(card, Settings(), 1).split("---\n", 2)
    assert prose.count("javascript:") == 10
    assert re.search(r"(?<!\\)[<>\[\]]", prose.replace('(["..."])[0]', "")) is None
    assert "The training data are not named." in card_markdown(ModelCard(), Settings(), 1)


def test_faults_of_a_card_are_named(tmp_path: Path) -> None:
    file = tmp_path / "card.toml"
    for text, said in [
        ("licens = 'mit'", "licens"),
        ("scores = 3", "scores"),
        ("=", "is not TOML"),
    ]:
        file.write_text(text)
        with refusal(f"card.toml: .*{said}"):
            read_card(file)
    with refusal("cannot be read"):
        read_card(tmp_path / "absent.toml")


# Names


@pytest.fixture
def named(saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(VARIABLE, str(saved))
    monkeypatch.chdir(tmp_path)
    return saved


def test_a_name_stands_for_its_folder(named: Path) -> None:
    assert installed_models() == {"en-fr": named / "en-fr"}
    assert folder_of("en-fr") == named / "en-fr"
    assert folder_of("models/en-fr") == Path("models/en-fr")
    assert Translator.from_pretrained("en-fr").settings == Translator.load("en-fr").settings
    Path("en-fr").mkdir()
    assert folder_of("en-fr") == Path("en-fr")  # a folder comes before a name


def test_an_unknown_name_lists_those_that_are_there(
    named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusal(r"no installed model 'en-fx' \(did you mean 'en-fr'\? installed models: en-fr\)"):
        Translator.load("en-fx")
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr("rnnsearch.installed.entry_points", lambda group: [])
    with refusal(r"no models are installed: pip install 'rnnsearch\[models\]'"):
        Translator.load("en-fr")


def test_a_package_says_where_models_lie_and_is_not_run(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_models_of_mine"
    shutil.copytree(saved, package)
    (package / "__init__.py").write_text(
        "raise RuntimeError('code of a package of models was run')"
    )
    information = tmp_path / "some_models_of_mine-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: some-models-of-mine\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(
        "[rnnsearch.models]\nmine = some_models_of_mine\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert folder_of("en-fr") == package / "en-fr"


def test_commands_take_names(named: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "text.en").write_text("\n".join(LINES) + "\n")
    (tmp_path / "text.fr").write_text("L'homme voit la femme.\n\nLe comité visite Paris.\n")
    expected = [one.text for one in Translator.load("en-fr").translate(LINES)]
    assert command("translate en-fr", stdin="\n".join(LINES).encode()).lines == expected
    assert command("translate en-fr text.en").lines == expected
    assert len(command("translate en-fr en-fr", stdin=b"A man.\n").lines) == 1
    assert command("align en-fr text.en text.fr").code == 0
    wrong = command("align en-fr text.en text.fr --reverse-run en-fr")
    assert (wrong.code, wrong.err) == (
        2,
        "rnnsearch: en-fr: translates from en to fr (the reverse run must translate from fr to en)\n",
    )


def test_the_list(named: Path, command: Command, tmp_path: Path) -> None:
    (line,) = command("models").lines
    assert line.startswith("en-fr        en → fr  0.0 MB  mit  newstest2013 BLEU 24.5")
    (found,) = (json.loads(line) for line in command("models --json").lines)
    assert (found["name"], found["source"], found["scores"][0]["value"]) == ("en-fr", "en", 24.5)


@pytest.mark.parametrize("content", [b"\xff\x00", b"data = 5\n"])
def test_a_damaged_model_is_listed_as_such(
    content: bytes, saved: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(saved / "en-fr", tmp_path / "homes" / "broken")
    (tmp_path / "homes" / "broken" / "config.toml").write_bytes(content)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "homes"))
    (line,) = command("models").lines
    assert line.startswith("broken       damaged: ")
    assert command("translate broken").err.startswith(f"rnnsearch: {tmp_path}/homes/broken")


def test_a_run_becomes_a_model_by_a_command(
    tiny_run: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "card.toml").write_text('licence = "mit"\n')
    done = command(
        f"models --save {tiny_run} --out {tmp_path}/model --int8 --card {tmp_path}/card.toml"
    )
    assert done.code == 0
    assert 'license: "mit"' in (tmp_path / "model" / "README.md").read_text()
    assert command("models --int8").code == command(f"models --save {tiny_run}").code == 2


def test_a_folder_of_any_name_becomes_a_model(tiny_run: Path, tmp_path: Path) -> None:
    Translator.load(tiny_run).save_pretrained(tmp_path / "my model (v2)")
    assert card_of(tmp_path / "my model (v2)").name == "my-model--v2-"
