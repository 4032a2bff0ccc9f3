"""Gives rnnsearch, OpenNMT-py and JoeyNMT the same text and the same CPU minutes of one core, each
with its own recurrent recipe, and compares their translations at each quarter of these minutes.

    python benchmarks/equal_minutes.py --peers peers/bin/python --minutes 90 --out minutes \\
        --text train.en.gz train.de.gz --dev val.en.gz val.de.gz --test test.en.gz test.de.gz

peers.py says how to install the toolkits. rnnsearch reads the text as it is, by `prepare` and the
recipe multi30k, with as many updates as fit. The others read the pieces of sentencepiece (BPE, as
many as rnnsearch has). OpenNMT-py trains by its defaults for recurrent networks (two layers of 500
LSTM units, SGD), JoeyNMT by its recipe for a corpus of this size, iwslt_deen_bahdanau.yaml (256
LSTM units, Adam), with a validation every 200 updates.

Minutes are those of the CPU, of training with its validations. At each quarter the newest
checkpoint is kept, and translates dev with a beam of 5; the last one also translates test. OUT
keeps what is done: the same command continues with the next toolkit. It ends with a table, and
OUT/minutes.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece

from rnnsearch import bleu, chrf
from rnnsearch.config import load_config
from rnnsearch.lab.bench import bench_training
from rnnsearch.lab.figures import Curve, curve_figure
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.formats.lines import read_lines

QUARTERS, BEAM, BATCH, MOST_EPOCHS = 4, 5, 64, 40
SHARE = 0.9
"""Share of our minutes for updates as they were measured."""
WRITING = 1.0
"""Seconds for which a checkpoint may still be written to."""
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ONE_CORE |= {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
PARTS = "train", "dev", "test"
JOEYNMT = """import runpy, torch.optim.lr_scheduler as schedulers
class Plateau(schedulers.ReduceLROnPlateau):
    def __init__(self, *values, verbose=False, **others):
        super().__init__(*values, **others)
schedulers.ReduceLROnPlateau = Plateau
runpy.run_module("joeynmt", run_name="__main__", alter_sys=True)"""
"""Starts JoeyNMT, which sets an option that PyTorch has removed."""


@dataclass(frozen=True)
class Toolkit:
    """train: the command that trains. newest: the newest checkpoint, None before the first.
    translate: (checkpoint, part, output) → a command that translates its source."""

    train: list[str]
    newest: Callable[[], Path | None]
    translate: Callable[[Path, str, Path], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    for part in PARTS[:2]:
        add("--text" if part == "train" else f"--{part}", dest=part, nargs=2, required=True)
    add("--test", nargs=2)
    add("--peers", required=True, help="a Python that has the other toolkits")
    add("--minutes", type=float, default=90)
    add("--words", type=int, default=4000, help="subwords of each side")
    add("--out", type=Path, required=True)
    add("--toolkits", nargs="+", default=list(TOOLKITS), choices=TOOLKITS)
    options = parser.parse_args()
    options.peers = os.path.abspath(options.peers)
    out: Path = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    given = {part: getattr(options, part) for part in PARTS if getattr(options, part)}
    files = {part: [Path(file).absolute() for file in pair] for part, pair in given.items()}
    os.chdir(out)
    parts = {part: list(map(str, pair)) for part, pair in files.items()}
    asked, now = Path("asked.json"), json.dumps([options.minutes, options.words, parts])
    if asked.exists() and asked.read_text("utf-8") != now:
        parser.error("--out has results of other minutes, words or files: name another folder")
    asked.write_text(now, "utf-8")
    if not Path("pieces.trg.model").exists():
        write_pieces(files, options.words)
    rows: list[dict[str, Any]] = []
    for name in options.toolkits:
        kept = Path(f"{name}.json")
        if not kept.exists():
            toolkit = TOOLKITS[name](options, files)
            checkpoints = trained(name, toolkit, options.minutes)
            found = [
                {"toolkit": name, "minutes": minutes, "part": part, **scores}
                for minutes, checkpoint in checkpoints
                for part in PARTS[1:]
                if part in files and (part == "dev" or minutes == options.minutes)
                for scores in [scored(toolkit, checkpoint, part, files[part][1], name)]
            ]
            kept.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        rows += json.loads(kept.read_text("utf-8"))
    for line in table(rows):
        print(line)
    curves = [
        Curve(name, place, [row["minutes"] for row in mine], [row["BLEU"] for row in mine])
        for place, name in enumerate(options.toolkits)
        for mine in [[row for row in rows if row["toolkit"] == name and row["part"] == "dev"]]
    ]
    curve_figure(curves, "CPU minutes", "BLEU").savefig("minutes.svg")


def write_pieces(files: dict[str, list[Path]], words: int) -> None:
    """Writes the parts as plain lines and as pieces of sentencepiece: train.src, train.pieces.src,
    …"""
    for side, place in (("src", 0), ("trg", 1)):
        for part, pair in files.items():
            lines = "".join(f"{line}\n" for line in read_lines(pair[place]))
            Path(f"{part}.{side}").write_text(lines, encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=f"train.{side}",
            model_prefix=f"pieces.{side}",
            vocab_size=words,
            model_type="bpe",
            character_coverage=0.9998,
            minloglevel=2,
        )
        model = sentencepiece.SentencePieceProcessor(model_file=f"pieces.{side}.model")
        for part in files:
            pieces = model.encode(
                Path(f"{part}.{side}").read_text("utf-8").split("\n")[:-1], out_type=str
            )
            text = "".join(f"{' '.join(one)}\n" for one in pieces)
            Path(f"{part}.pieces.{side}").write_text(text, encoding="utf-8")
        listed = [model.id_to_piece(number) for number in range(3, model.get_piece_size())]
        Path(f"onmt.{side}").write_text("".join(f"{w}\t1\n" for w in listed), encoding="utf-8")
        special = ["<unk>", "<pad>", "<s>", "</s>"]
        Path(f"joey.{side}").write_text("\n".join([*special, *listed, ""]), encoding="utf-8")


def trained(name: str, toolkit: Toolkit, minutes: float) -> list[tuple[float, Path]]:
    """Trains for these CPU minutes. Returns the end of each quarter, in minutes, and the newest
    checkpoint at that time."""
    ends = [minutes * quarter / QUARTERS for quarter in range(1, QUARTERS + 1)]
    kept = [(end, Path(f"{name}.{place}")) for place, end in enumerate(ends)]
    for _, copy in kept:  # of a command that was interrupted
        shutil.rmtree(copy) if copy.is_dir() else copy.unlink(missing_ok=True)
    with Path(f"{name}.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            toolkit.train, stdout=log, stderr=log, env=os.environ | ONE_CORE, start_new_session=True
        )
        try:
            for end, copy in kept:
                while process.poll() is None and cpu_seconds(process.pid) < 60 * end:
                    time.sleep(0.2)
                with stopped(process):  # or a checkpoint may go while it is copied
                    newest = toolkit.newest()
                    if newest is None:
                        sys.exit(
                            f"{name}: no checkpoint after {end:g} minutes: {name}.log says why"
                        )
                    (shutil.copytree if newest.is_dir() else shutil.copy)(newest, copy)
                print(f"{name}: {end:g} minutes, {newest}", file=sys.stderr)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return kept


@contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Lets a process wait; one that has ended stays as it is."""
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
    yield
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)


def cpu_seconds(process: int) -> float:
    """Returns the CPU time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(") ")[2].split()
    except FileNotFoundError:  # it has ended
        return float("inf")
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def scored(
    toolkit: Toolkit, checkpoint: Path, part: str, reference: Path, name: str
) -> dict[str, float]:
    out = Path(f"{checkpoint.name}.{part}.out")
    subprocess.run(toolkit.translate(checkpoint, part, out), check=True, env=os.environ | ONE_CORE)
    lines = out.read_text("utf-8").split("\n")[:-1]
    if name != "rnnsearch":
        model = sentencepiece.SentencePieceProcessor(model_file="pieces.trg.model")
        lines = [model.decode(line.split()) for line in lines]
    references = list(read_lines(reference))
    return {
        "BLEU": bleu(lines, references).value,
        "chrF2": chrf(lines, references).value,
    }


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the lines of a table: a row for each toolkit, BLEU and chrF2 at each time."""
    columns = list(dict.fromkeys((row["part"], row["minutes"]) for row in rows))
    columns.sort(key=lambda column: (PARTS.index(column[0]), column[1]))
    lines = ["| | " + " | ".join(f"{part}, {minutes:g} min" for part, minutes in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for name in dict.fromkeys(row["toolkit"] for row in rows):
        found = {(row["part"], row["minutes"]): row for row in rows if row["toolkit"] == name}
        cells = [f"{found[one]['BLEU']:.1f} / {found[one]['chrF2']:.1f}" for one in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def rnnsearch(options: argparse.Namespace, files: dict[str, list[Path]]) -> Toolkit:
    """Prepares the text, and measures how many updates fit. Checkpoints are kept as the mean of
    weights, which translates best before the learning rate has fallen."""
    ours = [sys.executable, "-m", "rnnsearch"]
    size = f"data.vocabulary_size={options.words}"
    shutil.rmtree("store", ignore_errors=True)
    words = ["prepare", *files["train"], "--dev", *files["dev"], "--recipe", "multi30k"]
    subprocess.run([*ours, *map(str, words), "--out", "store", "--set", size], check=True)
    data = Corpus.open(Path("store"))
    settings = load_config("multi30k", [size, "training.threads=1"])
    length = max(1, round(float(data.train.target.lengths.mean())))
    update = bench_training(
        settings, words=len(data.target.vocabulary), length=length, repetitions=10
    ).seconds
    most = MOST_EPOCHS * len(data.train) // settings.training.batch_size
    updates = min(most, round(SHARE * 60 * options.minutes / update))
    every = {"validate": max(1, updates // 12), "save": max(1, updates // 40)}
    changes = ["training.threads=1", "stopping.max_epochs=0", "stopping.samples=0"]
    changes += [f"stopping.max_updates={updates}"]
    changes += [f"stopping.{what}_every={often}" for what, often in every.items()]
    sets = [word for change in changes for word in ("--set", change)]
    shutil.rmtree("run", ignore_errors=True)
    return Toolkit(
        [*ours, "train", "multi30k", "--data", "store", "--out", "run", *sets],
        lambda: Path("run") if any(Path("run/checkpoints").glob("*")) else None,
        lambda run, part, out: [
            *["sh", "-c", f'"$@" > {out}', "sh", *ours, "translate", str(run), f"{part}.src"],
            *["--beam", str(BEAM), "--threads", "1"],
        ],
    )


def opennmt(options: argparse.Namespace, files: dict[str, list[Path]]) -> Toolkit:
    every = 10 if options.minutes < 5 else 100
    for left in Path().glob("onmt_step_*.pt"):
        left.unlink()
    Path("onmt.yml").write_text(
        f"""data: {{c: {{path_src: train.pieces.src, path_tgt: train.pieces.trg}}}}
src_vocab: onmt.src
tgt_vocab: onmt.trg
src_vocab_size: {options.words}
tgt_vocab_size: {options.words}
encoder_type: brnn
decoder_type: rnn
save_model: onmt
save_checkpoint_steps: {every}
keep_checkpoint: 2
train_steps: 1000000
num_workers: 0
""",
        encoding="utf-8",
    )
    onmt = [options.peers, "-W", "ignore", "-m"]
    return Toolkit(
        [*onmt, "onmt.bin.train", "-config", "onmt.yml"],
        lambda: newest_of(Path().glob("onmt_step_*.pt")),
        lambda checkpoint, part, out: [
            *[*onmt, "onmt.bin.translate", "-model", str(checkpoint)],
            *["-src", f"{part}.pieces.src", "-output", str(out)],
            *["-beam_size", str(BEAM), "-batch_size", "30"],
        ],
    )


def joey(options: argparse.Namespace, files: dict[str, list[Path]]) -> Toolkit:
    side = "max_length: 100, lowercase: false, level: word"
    embeddings = "embeddings: {embedding_dim: 256, scale: false}"
    every = 10 if options.minutes < 5 else 200
    shutil.rmtree("joey", ignore_errors=True)
    rnn = f"type: recurrent, rnn_type: lstm, hidden_size: 256, num_layers: 1, {embeddings}"
    text = f"""name: peer
joeynmt_version: 2.3.0
model_dir: joey
use_cuda: false
data:
  train: train.pieces
  dev: dev.pieces
  dataset_type: plain
  sample_dev_subset: 200
  src: {{lang: src, {side}, voc_file: joey.src}}
  trg: {{lang: trg, {side}, voc_file: joey.trg}}
  special_symbols: {{unk_token: <unk>, unk_id: 0, pad_token: <pad>, pad_id: 1, bos_token: <s>,
    bos_id: 2, eos_token: </s>, eos_id: 3}}
training: {{optimizer: adam, learning_rate: 0.001, learning_rate_min: 0.00005,
  scheduling: plateau, patience: 5, decrease_factor: 0.5, batch_size: {BATCH}, batch_type: sentence,
  epochs: 1000, updates: 1000000, validation_freq: {every}, logging_freq: {every}, num_workers: 0,
  early_stopping_metric: loss, overwrite: true, keep_best_ckpts: 1}}
testing: {{batch_size: 30, batch_type: sentence, beam_size: {BEAM}, beam_alpha: 1.0}}
model:
  initializer: xavier_uniform
  embed_initializer: normal
  embed_init_weight: 0.1
  encoder: {{{rnn}, bidirectional: true, dropout: 0.0}}
  decoder: {{{rnn}, dropout: 0.2, hidden_dropout: 0.2, input_feeding: true, init_hidden: last,
    attention: luong}}
"""
    Path("joey.yml").write_text(text, encoding="utf-8")

    def translate(checkpoint: Path, part: str, out: Path) -> list[str]:
        name = f"{checkpoint.name}.yml"
        loaded = text.replace("testing: {", f"testing: {{load_model: {checkpoint.absolute()}, ")
        Path(name).write_text(loaded, encoding="utf-8")
        command = f'"$@" < {part}.pieces.src > {out}'
        return ["sh", "-c", command, "sh", *joeynmt, "translate", name]

    joeynmt = [options.peers, "-W", "ignore", "-c", JOEYNMT]
    return Toolkit(
        [*joeynmt, "train", "joey.yml", "-t"],
        lambda: newest_of(Path("joey").glob("[0-9]*.ckpt")),
        translate,
    )


def newest_of(checkpoints: Iterable[Path]) -> Path | None:
    """Returns the checkpoint of the most updates, which end its name, that is not being written."""
    whole = (path for path in checkpoints if time.time() - path.stat().st_mtime > WRITING)
    return max(whole, key=lambda path: int(path.stem.rpartition("_")[2]), default=None)


TOOLKITS: dict[str, Callable[[argparse.Namespace, dict[str, list[Path]]], Toolkit]] = {
    "rnnsearch": rnnsearch,
    "OpenNMT-py": opennmt,
    "JoeyNMT": joey,
}

if __name__ == "__main__":
    main()
