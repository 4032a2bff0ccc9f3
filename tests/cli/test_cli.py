"""How the command is used wrongly, and how it says so: exit code 2 and one line that names the file, the line
and the remedy."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest
import typer
from command_line import Command, assert_refused
from tables import rows
from typer.testing import CliRunner

from rnnsearch.cli.commands import app
from rnnsearch.cli.options import WIDE

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


ELSEWHERE = r"docs/|(?<!README)\.md\b|https?://(?!127\.0\.0\.1|example\.org)"
"""What an installed package does not have: pages of the documentation; web addresses but for example ones."""


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(command: Command, name: str) -> None:
    shown = command(f"{name} --help")
    assert (shown.code, shown.err) == (0, "")
    assert f"Usage: rnnsearch {name} " in shown.out
    assert f"Example: rnnsearch {name}" in " ".join(shown.out.split())
    assert "--quiet" in shown.out
    assert "--debug" in shown.out
    assert not re.search(ELSEWHERE, shown.out)


@pytest.mark.parametrize("columns", [40, WIDE - 1, WIDE])
def test_help_cuts_no_option(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """On a terminal that is narrow, nearly wide enough for a table, and just wide enough."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        with command.make_context(name, [], resilient_parsing=True) as context:
            options = {option for each in command.get_params(context) for option in each.opts}
        shown = CliRunner().invoke(app, [name, "--help"]).output.split()
        assert {option for option in options if option.startswith("-")} <= {
            word.rstrip(",") for word in shown
        }


@pytest.mark.parametrize(("line", "code"), [("--help", 0), ("-h", 0), ("", 2)])
def test_the_help_of_all_names_every_command(command: Command, line: str, code: int) -> None:
    shown = command(line)
    assert (shown.code, shown.err) == (code, "")
    assert all(name in shown.out for name in COMMANDS)
    assert "rnnsearch demo" in shown.out


@pytest.fixture
def places(
    tiny_run: Path, tiny_store: Path, tiny_subword_run: Path, tmp_path: Path
) -> dict[str, Path]:
    """Files and folders that the words of a command name in braces."""
    texts = {
        "three": "The man sees.\nHe sees the man.\nThe story is new.\n",
        "two": "The man.\nThe story.\n",
        "empty": "",
        "blank": "\n\n",
        "nbest": "0 ||| a ||| f= 1 ||| -3\n2 ||| b ||| f= 2 ||| -4\n",
        "unordered": "0 ||| a\n2 ||| b\n1 ||| c\n",
        "toomany": "0 ||| a\n3 ||| b\n",
        "mixed": "0 ||| a\nhello\n",
        "links": "0-0 1-1\n",
        "crooked": "0-0\n0-0 x-1\n",
        "dictionary": "man homme\nwoman\n",
        "glossary": "old man\tvieillard\nman homme\n",
        "torn": "[model\nhidden_size = 3\n",
        "wrong": "[model]\nhiden_size = 3\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "torn").rename(tmp_path / "torn.toml")
    (tmp_path / "wrong").rename(tmp_path / "wrong.toml")
    (tmp_path / "latin1").write_bytes("The man.\nThe café.\n".encode("latin-1"))
    (tmp_path / "short.gz").write_bytes(gzip.compress(b"The man sees the story.\n" * 20)[:40])
    (tmp_path / "plain.gz").write_bytes(b"The man.\n")
    (tmp_path / "folder").mkdir()
    named = {entry.name.split(".")[0]: entry for entry in tmp_path.iterdir()}
    return named | {
        "here": tmp_path,
        "run": tiny_run,
        "store": tiny_store,
        "pieces": tiny_subword_run,
    }


# The words of a command → what its one line must say; {name} is one of `places`.
MISTAKES = """
--nosuch → No such option: --nosuch
nosuch → No such command 'nosuch'
translate → Missing argument
translate {run} {three} --nosuch → (see rnnsearch translate --help)
translate --model en-fr → (a run or model is named without an option, as in rnnsearch translate RUN)
align --run x a b → without an option, as in rnnsearch align RUN
train demo --data x --out y stopping.max_updates=20 → (a setting is --set stopping.max_updates=20)
translate - → no run to load
translate nosuch → there is no folder and no installed model 'nosuch' (
translate no/such → no/such/config.toml: is not a run: No such file or directory (name a folder that `rnnsearch train` made)
translate {store} {three} → store: is a dataset (name the run that was trained with it)
translate {three} {two} → three/config.toml: is not a run: Not a directory
translate {run} {folder} → folder: is a folder, not a text file (name a file in it)
translate {run} {here}/nosuch → nosuch: no such file (check the path)
translate {run} {latin1} → latin1:2: byte 8 of the line is not UTF-8 (convert the file
translate {run} {short} → short.gz: the compressed file is damaged or incomplete
translate {run} {plain} → plain.gz: the compressed file is damaged or incomplete: Not a gzipped file
translate {run} {pieces} {three} → subword-run: has another source vocabulary than
translate {run} {three} --beam 0 → search.beam: Input should be greater than 0
translate {run} {three} --beam 99999999999999999999999 → search.beam: Input should be less than or equal to 1000
translate {run} {three} --search.batch_size 1000000 → search.batch_size: Input should be less than or equal to 10000
translate {run} {three} --threads 1000000 → Invalid value for '--threads'
translate {run} {three} --format rtf → --format does not know 'rtf'
translate {run} {three} --beam five → Invalid value for '--beam'
translate {run} {three} --nbest 7 → search.nbest = 7 is more than search.beam = 4
translate {run} {three} --nbest 2 --format text → --nbest cannot be used with --format text
translate {run} {three} --search.normalise often → search.normalise: Input should be 'none', 'length' or 'gnmt'
translate {run} {three} --search.max_length_ratio inf → search.max_length_ratio: Input should be a finite number
translate {run} {three} --search.max_length_ratio 1e300 → search.max_length_ratio
translate {run} {three} --search.min_length_ratio -1 → search.min_length_ratio
translate {run} {three} --search.coverage_beta nan → search.coverage_beta
translate {run} {three} --search.batch_size 0 → search.batch_size
translate {run} {three} --threads -1 → Invalid value for '--threads'
translate {run} {three} --device abacus → device 'abacus' cannot be used
translate {run} {three} --device cuda:99 → device 'cuda:99' cannot be used
translate {run} {three} --alignment-plots {two} → two: cannot be written: File exists
translate {run} {three} --out {two} → two: already exists (choose another file, or add --overwrite)
translate {run} {three} --out {folder} --overwrite → folder: is not a regular file
translate {run} {three} --out . → is not a regular file (name another file)
translate {run} {three} --out - → an output is not named - (name /dev/stdout to print, or give the whole path)
translate {run} {three} --out  → is not a regular file (name another file)
translate {run} {three} --out {two}/sub/out → two: is a file, not a folder (name another folder)
translate {run} {three} --dictionary {here}/nosuch → nosuch: no such file
translate {run} {three} --glossary {glossary} → glossary:2: is not a source term, a TAB and a target term
translate {run} {three} --prefix {two} → three has 3 lines and
translate {run} {three} --prefix {here}/nosuch → nosuch: no such file
translate - --prefix - → no run to load
translate {run} - --prefix - → both sides cannot come from standard input
translate {run} {three} --prefix {blank} --format html → writes a page only
translate {run} {three} --dictionary {dictionary} → dictionary:2: is not a source word and a target word
score {run} {three} → a run, a source text and a target text are needed (give RUN SRC TGT)
score {run} {three} {two} → three has 3 lines and
score {run} {three} {latin1} → latin1:2: byte 8
score {run} - - → both sides cannot come from standard input
score {run} {three} {three} --search.batch_size 0 → search.batch_size: Input should be
score {run} {three} {three} --out {folder} → is not a regular file (name another file)
score {run} {three} {unordered} → unordered:3: sentence 1 of 3 comes after sentence 2
score {run} {three} {toomany} → toomany:2: sentence 3 of 3 (numbers start at 0, in the order of the source lines)
score {run} {three} {mixed} → mixed:2: is not a line of an n-best list (write id ||| hypothesis ||| …)
score {run} {three} {nbest} --json → nbest: --json and --out cannot be used with an n-best list
align {run} {three} → a run, a source text and a target text are needed
align {run} {two} {three} → two has 2 lines and
align {run} {two} {two} --out {folder} → is not a regular file (name another file)
align {run} {folder} {three} → folder: is a folder, not a text file
align {run} {two} {two} --search.batch_size -1 → search.batch_size: Input should be
evaluate --hyp {three} → Missing option '--ref'
evaluate --hyp {three} --ref {two} → three: has 3 lines, and the references have 2
evaluate --hyp {empty} --ref {empty} → empty: is empty (a test set has at least one pair)
evaluate --hyp {empty} --ref {two} → empty: has 0 lines, and the references have 2
evaluate --ref {two} → there is no system to evaluate (give --hyp FILE, --system NAME=FILE or --run RUN)
evaluate --hyp {two} --ref {two} --by-length → need the source text (give --src FILE)
evaluate --run {run} --ref {two} → need the source text (give --src FILE)
evaluate --hyp {two} --ref {two} --src {three} --by-length → three has 3 lines and
evaluate --hyp - --ref - → only one text can come from standard input
evaluate --hyp {two} --ref {two} --beam 0 → --beam belongs to --run (add --run RUN)
evaluate --hyp {two} {two} --ref {two} → two systems are called two
evaluate --hyp {two} --system {two} --ref {two} → two has no name (--system NAME=HYP)
evaluate --run {three} --ref {two} --src {two} → is not a run
evaluate --hyp {two} --ref {two} --multi-bleu zh → Moses does not split text of the language zh (use --tokenise zh)
evaluate --hyp {two} --ref {two} --tokenise nosuch → no BLEU tokenisation 'nosuch' (use one of none, zh, 13a,
aer --links {three} --gold {links} → three:1: 'The' is not a link
aer --links {links} --gold {crooked} → crooked:2: 'x-1' is not a link
aer --links {links} {links} --gold {links} → the same link file is given twice
aer --links {links} {empty} --gold {links} → empty: there are 0 sentences of links but 1 of gold links
aer --links {links} --gold {here}/nosuch.wa → nosuch.wa: no such file
aer --links {links} --gold {empty} → 1 sentences of links but 0 of gold links
aer --links {links} --gold {links} --json --latex → --json cannot be used with --latex
links --forward {links} --reverse {links} --words given --out {here}/l → --words has no effect on the links
settings model --recipe demo → --recipe is printed alone (remove the rest)
settings --study alignment --recipe demo → --recipe is printed alone
models --save {run} --out {here}/m --json → --json cannot be used with --save
report --alignments {three} --out {here}/r --beam 2 → --beam cannot be used with --alignments
prepare {three} {three} → Missing option '--out'
prepare {three} {two} --out {here}/s → three has 3 lines and
prepare {three} {here}/nosuch --out {here}/s → nosuch: no such file
prepare {empty} {empty} --out {here}/s → the texts are empty
prepare {blank} {blank} --out {here}/s → were dropped (empty side: 2)
prepare {three} {three} --dev {two} {three} --out {here}/s → two has 2 lines and
prepare {three} {three} --dev {three} --out {here}/s → three: has no target text
prepare {three} {three} --out {store} → store: exists and is not empty
prepare {three} {three} --out {two} → two: is a file, not a folder
prepare {three} {three} --out {here}/s --recipe nosuch → no recipe 'nosuch' (name a TOML file or one of aligner, demo,
prepare {three} {three} --out {here}/s --set data.vocabulary_size=0 → data.vocabulary_size: Input should be greater than 0
prepare {three} {three} --out {here}/s --workers -2 → Invalid value for '--workers'
train → Missing argument 'RECIPE'
train demo --out  --data {store} → --out names no folder
train nosuch --data {store} --out {here}/r → no recipe 'nosuch' (name a TOML file or one of aligner, demo,
train {folder} --data {store} --out {here}/r → folder' (name a TOML file or one of
train {here}/nosuch.toml --data {store} --out {here}/r → nosuch.toml: cannot be read: No such file or directory (check the path)
train {torn} --data {store} --out {here}/r → torn.toml: is not TOML
train {wrong} --data {store} --out {here}/r → wrong.toml: unknown setting model.hiden_size (did you mean 'model.hidden_size'?
train demo --data {store} --out {here}/r --set model.hidden_size=big → model.hidden_size: Input should be a valid integer
train demo --data {store} --out {here}/r --set model.cell=mitochondrion → model.cell = 'mitochondrion' is unknown (use one of gated,
train demo --data {store} --out {here}/r --set training.device=abacus → device 'abacus' cannot be used
train demo --data {store} --out {here}/r --set training.batch_size=100001 → training.batch_size: Input should be less than
train demo --data {store} --out {here}/r --set model.hidden_size=100000 → GB of memory, and this machine has
train demo --data {store} --out {here}/r --set data.vocabulary_size=10 → store: the data settings of a prepared dataset are fixed
train demo --data {here}/nosuch --out {here}/r → nosuch: does not exist (make it with `rnnsearch prepare`)
train demo --data {two} --out {here}/r → two: is not a folder (make it with
train demo --data {run} --out {here}/r → run: is not a prepared dataset
train demo --data {store} --out {run} → run: holds a run already (--resume to go on with it, or name another folder for --out)
train demo --data {store} --out {run} --resume → run: was trained with model.embedding_size = 16, which is now
train demo --data {store} --out {two} → two: is a file, not a folder (name another folder)
report {run} --test {two} {two} --out {three} → three: is a file, not a folder (name another folder)
demo --out {here} → belongs to other files or settings (name another folder with --out)
demo --out {two} → two: is a file, not a folder (name another folder)
demo --out {two}/d → two: is a file, not a folder (name another folder)
demo --out {here} --corpus-only → exists and is not empty
demo --out {here}/d --corpus-only --set seed=2 → --set cannot be used with --corpus-only
demo --out {here}/d --set nosuch → --set 'nosuch' is not section.key=value
"""


@pytest.mark.parametrize(("words", "said"), rows(MISTAKES))
def test_a_mistake_is_one_clear_line(
    command: Command, places: dict[str, Path], words: str, said: str
) -> None:
    before = sorted(places["here"].rglob("*"))
    done = command(words.format(**places))
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert done.err.startswith("rnnsearch: ")
    assert said in done.err
    assert sorted(places["here"].rglob("*")) == before  # nothing begun is left lying about


# A file of a run, what in it becomes what (nothing is left: there is no file), and what the line says of it.
DAMAGE = [
    ("config.toml", ".*", "", "copy/config.toml: is not a run: No such file or directory"),
    ("config.toml", "run]", "run", "copy/config.toml: is damaged"),
    ("config.toml", "format = 1", "format = 2", "copy: is a run of format 2"),
    ("config.toml", "format = 1", "fromat = 1", "copy: is a run of format unknown"),
    ("config.toml", ".*", "run = 3\n", "copy: is a run of format unknown"),
    (
        "config.toml",
        "hidden_size",
        "hidden_sise",
        "copy/config.toml: unknown setting model.hidden_sise",
    ),
    (
        "config.toml",
        "hidden_size = 16",
        "hidden_size = 8",
        "copy/model.safetensors: does not fit config.toml",
    ),
    ("config.toml", '"gated"', '"lstm"', "copy/model.safetensors: does not fit config.toml"),
    ("config.toml", '"gated"', '"gates"', "model.cell = 'gates' is unknown"),
    ("model.safetensors", ".*", "", "copy/model.safetensors: is missing (train it first"),
    ("model.safetensors", "(?<=.{2000}).*", "", "copy/model.safetensors: is damaged"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), DAMAGE)
def test_a_damaged_run_is_refused(
    command: Command, tiny_run: Path, tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    shutil.copytree(tiny_run, tmp_path / "copy")
    file = tmp_path / "copy" / name
    content = file.read_bytes().decode("latin-1")
    damaged = re.sub(old, new, content, count=1, flags=re.DOTALL)
    assert damaged != content
    file.write_bytes(damaged.encode("latin-1"))
    if not damaged:
        file.unlink()
    assert_refused(command(f"translate {tmp_path}/copy -", stdin=b"The man.\n"), said)
