"""Compares training and translating on one core, or on a GPU, with other toolkits, with networks of the
same size on the same synthetic text.

    python -m venv peers
    peers/bin/pip install --no-deps joeynmt==2.3.0 OpenNMT-py==3.5.1 pymarian==1.12.42
    peers/bin/pip install torch==2.13.0 numpy sacrebleu pyyaml tqdm setuptools \\
        configargparse ctranslate2 pyonmttok rapidfuzz pyahocorasick fasttext-wheel spacy six \\
        importlib-metadata packaging matplotlib sentencepiece subword-nmt tensorboard \\
        portalocker requests huggingface-hub
    python benchmarks/peers.py --peers peers/bin/python --size small

JoeyNMT and OpenNMT-py require older versions of torch and protobuf that conflict, hence --no-deps.
The last three lines of packages are for OpenNMT-py, JoeyNMT and pymarian, in this order. If a
toolkit cannot be imported, the command ends before anything is measured; --toolkits can leave it
out.

On a GPU (--device cuda --size gpu --matmul high), rnnsearch captures its updates and computes in
bfloat16, and commands may use all cores. gpu.py runs this as its part `peers`, with the Python that
runs it.

The sentences have one length; their words are drawn uniformly. Training uses batches of 80 pairs
and Adam, without dropout. The time of a command with few updates is subtracted from that of one
with more, so that loading and saving do not count. For translation, the network is hardly trained,
translations have the length of their sources, and the time of 64 sentences is subtracted from that
of 640 (192 at the paper's size). Words are target words without ends of sentences. If a toolkit
fails later, the table has "–", and its message is on stderr. Toolkits made with torch use their own
precision of matrix products or, with --matmul medium, that of
torch.set_float32_matmul_precision("medium").
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

BATCH, SENTENCES = 80, 2400
SEARCHED = 64


@dataclass(frozen=True)
class Size:
    embedding: int
    hidden: int
    alignment: int
    maxout: int
    words: int
    length: int
    beam: int
    updates: int
    translated: int
    device: str = "cpu"


SIZES = {
    "tiny": Size(16, 16, 16, 8, 200, 5, 2, 1, 70),
    "small": Size(256, 512, 512, 256, 10_000, 15, 5, 15, 640),
    "paper": Size(620, 1000, 1000, 500, 30_000, 25, 12, 3, 192),
    "gpu": Size(620, 1000, 1000, 500, 30_000, 25, 12, 100, 2400),
}


@dataclass(frozen=True)
class Toolkit:
    """train: number of updates → command. translate: (source, output) → command."""

    train: Callable[[int], list[str]]
    translate: Callable[[Path, Path], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--peers", help="a Python that has the other toolkits; without one, rnnsearch runs alone")
    add("--size", choices=SIZES, default="small")
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--toolkits", nargs="+", choices=["rnnsearch", *PEERS], help="only these")
    add(
        "--matmul",
        choices=["highest", "high", "medium"],
        default="highest",
        help="of torch, for its toolkits",
    )
    arguments = parser.parse_args()
    if not arguments.peers and set(arguments.toolkits or ()) & PEERS.keys():
        parser.error("--toolkits: all but rnnsearch need --peers")
    size = replace(SIZES[arguments.size], device=arguments.device)
    for name in MODULES.keys() & set(arguments.toolkits or PEERS) if arguments.peers else ():
        fault = import_fault(arguments.peers, MODULES[name])
        if fault:
            parser.exit(2, f"peers.py: {name}: {fault} (--help names the packages that it needs)\n")
    print("| toolkit | training, words/s | translating, words/s |\n|---|---|---|")
    for row in measured(arguments.toolkits, arguments.peers, size, arguments.matmul):
        print("|", " | ".join(row), "|", flush=True)


def measured(
    names: Sequence[str] | None, python: str | None, size: Size, matmul: str
) -> Iterator[tuple[str, str, str]]:
    """Yields the name of each toolkit and its words per second in training and in translation.

    python: has the other toolkits; None if there is none.
    """
    # not resolved: the link belongs to the environment, its target does not
    python = python and os.path.abspath(python)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_text(size)
        toolkits = {"rnnsearch": rnnsearch(size)}
        if python:
            toolkits |= {name: make(python, size, matmul) for name, make in PEERS.items()}
        for name in names or toolkits:
            yield name, trained(toolkits[name], size), translated(toolkits[name], size)


def import_fault(python: str, modules: str) -> str:
    """Returns the last line of this Python's error when it imports the modules; "" if it can."""
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", f"import {modules}"],
            check=False,
            capture_output=True,
            text=True,
        )
    except OSError as error:
        return f"{python}: {error.strerror}"
    return (
        (done.stderr.strip() or "it cannot be imported").splitlines()[-1] if done.returncode else ""
    )


def trained(toolkit: Toolkit, size: Size) -> str:
    few, many = (
        timed(toolkit.train(updates), size.device) for updates in (size.updates, 3 * size.updates)
    )
    if few is None or many is None:
        return "–"
    return f"{2 * size.updates * BATCH * size.length / (many - few):,.0f}"


def translated(toolkit: Toolkit, size: Size) -> str:
    seconds, words = [], []
    for name in ("few", "many"):
        Path(f"{name}.out").unlink(missing_ok=True)
        command = toolkit.translate(Path(f"{name}.src"), Path(f"{name}.out"))
        seconds.append(timed(command, size.device))
        out = Path(f"{name}.out")
        words.append(len(out.read_text(encoding="utf-8").split()) if out.exists() else 0)
    if seconds[0] is None or seconds[1] is None or words[1] < size.translated * size.length / 2:
        return f"– ({words[1] / size.translated:.1f} words per sentence)"
    return f"{(words[1] - words[0]) / (seconds[1] - seconds[0]):,.0f}"


def timed(command: list[str], device: str) -> float | None:
    """Returns the seconds of a command, on the CPU with one core, or None if it failed."""
    one = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    pin: list[str] = []
    if device == "cpu":
        one |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        if sys.platform == "linux":
            pin = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    started = time.perf_counter()
    done = subprocess.run(
        [*pin, *command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | one,
    )
    if done.returncode:
        print(done.stdout[-2000:], file=sys.stderr)
    return None if done.returncode else time.perf_counter() - started


def write_text(size: Size) -> None:
    """Writes train.src, train.trg, dev.src, dev.trg, few.src and many.src, and the vocabulary in
    the format of each toolkit."""
    chance = random.Random(1)
    words = [f"w{number}" for number in range(size.words - 4)]
    for side in ("src", "trg"):
        needed = SENTENCES * size.length
        text = [*words, *chance.choices(words, k=needed - len(words))]
        chance.shuffle(text)
        lines = [
            " ".join(text[start : start + size.length]) for start in range(0, needed, size.length)
        ]
        parts = {
            "train": lines,
            "dev": lines[:8],
            "few": lines[:SEARCHED],
            "many": lines[: size.translated],
        }
        for name, part in parts.items():
            Path(f"{name}.{side}").write_text("\n".join(part) + "\n", encoding="utf-8")
    Path("onmt.words").write_text("".join(f"{word}\t1\n" for word in words), encoding="utf-8")
    Path("joey.words").write_text(
        "\n".join(["<unk>", "<pad>", "<s>", "</s>", *words]) + "\n", encoding="utf-8"
    )
    Path("marian.yml").write_text(
        "".join(f"{json.dumps(w)}: {i}\n" for i, w in enumerate(["</s>", "<unk>", *words])),
        encoding="utf-8",
    )


def rnnsearch(size: Size) -> Toolkit:
    gpu = size.device != "cpu"
    Path("ours.toml").write_text(
        f"""[data]
tokeniser = "space"
vocabulary_size = {size.words}
[model]
embedding_size = {size.embedding}
hidden_size = {size.hidden}
alignment_size = {size.alignment}
maxout_size = {size.maxout}
initialisation = "glorot"
[training]
batch_size = {BATCH}
precision = "fastest"
threads = 1
device = "{size.device}"
capture = {str(gpu).lower()}
[optimiser]
method = "adam"
[stopping]
validate_every = 1000000
validate_bleu = false
[search]
beam = {size.beam}
batch_size = {SEARCHED}
precision = "{"bfloat16" if gpu else "int8"}"
min_length_ratio = 1.0
max_length_ratio = 1.0
""",
        encoding="utf-8",
    )
    ours = [sys.executable, "-m", "rnnsearch"]
    prepare = "prepare train.src train.trg --dev dev.src dev.trg --recipe ours.toml --out store"
    timed([*ours, *prepare.split()], size.device)

    def train(updates: int) -> list[str]:
        shutil.rmtree("run", ignore_errors=True)
        words = f"train ours.toml --data store --out run --set stopping.max_updates={updates}"
        return [*ours, *words.split()]

    return Toolkit(
        train,
        lambda source, out: [
            "sh",
            "-c",
            f"{sys.executable} -m rnnsearch translate run {source} --device {size.device} > {out}",
        ],
    )


def opennmt(python: str, size: Size, matmul: str) -> Toolkit:
    Path("onmt.yml").write_text(
        f"""data: {{c: {{path_src: train.src, path_tgt: train.trg}}}}
src_vocab: onmt.words
tgt_vocab: onmt.words
src_vocab_size: {size.words}
tgt_vocab_size: {size.words}
encoder_type: brnn
decoder_type: rnn
rnn_type: GRU
layers: 1
hidden_size: {size.hidden}
word_vec_size: {size.embedding}
global_attention: mlp
dropout: [0.0]
batch_size: {BATCH}
batch_type: sents
optim: adam
learning_rate: 0.001
save_model: onmt
num_workers: 0
{"" if size.device == "cpu" else "world_size: 1, gpu_ranks: [0]".replace(", ", chr(10))}
""",
        encoding="utf-8",
    )
    search = (
        f"-beam_size {size.beam} -batch_size {SEARCHED} -batch_type sents "
        f"-min_length {size.length} -max_length {size.length}"
        f"{'' if size.device == 'cpu' else ' -gpu 0'}"
    ).split()

    def train(updates: int) -> list[str]:
        ends = ["-train_steps", str(updates), "-save_checkpoint_steps", str(updates)]
        return as_torch_multiplies(python, "onmt.bin.train", matmul, ["-config", "onmt.yml", *ends])

    def translate(source: Path, out: Path) -> list[str]:
        files = ["-model", f"onmt_step_{size.updates}.pt", "-src", str(source), "-output", str(out)]
        return as_torch_multiplies(python, "onmt.bin.translate", matmul, [*files, *search])

    return Toolkit(train, translate)


def joey(python: str, size: Size, matmul: str) -> Toolkit:
    side = "max_length: 100, lowercase: false, level: word, voc_file: joey.words"
    embeddings = f"embeddings: {{embedding_dim: {size.embedding}}}"
    rnn = (
        f"type: recurrent, rnn_type: gru, hidden_size: {size.hidden}, num_layers: 1, dropout: 0.0, "
        f"{embeddings}"
    )
    settings = f"""name: peer
joeynmt_version: 2.3.0
model_dir: joey
use_cuda: {str(size.device != "cpu").lower()}
data:
  train: train
  dev: dev
  dataset_type: plain
  src: {{lang: src, {side}}}
  trg: {{lang: trg, {side}}}
  special_symbols: {{unk_token: <unk>, unk_id: 0, pad_token: <pad>, pad_id: 1, bos_token: <s>, bos_id: 2, eos_token: </s>, eos_id: 3}}
training: {{optimizer: adam, learning_rate: 0.001, scheduling: exponential, decrease_factor: 0.99,
  batch_size: {BATCH}, batch_type: sentence, epochs: 1000,
  updates: UPDATES, validation_freq: UPDATES, logging_freq: 1, overwrite: true, num_workers: 0}}
testing: {{batch_size: {SEARCHED}, batch_type: sentence, beam_size: {size.beam}, min_output_length: {size.length},
  max_output_length: {size.length}}}
model:
  initializer: xavier_uniform
  encoder: {{{rnn}, bidirectional: true}}
  decoder: {{{rnn}, hidden_dropout: 0.0, input_feeding: true, attention: bahdanau, init_hidden: bridge}}
"""

    def train(updates: int) -> list[str]:
        Path("joey.yml").write_text(settings.replace("UPDATES", str(updates)), encoding="utf-8")
        return as_torch_multiplies(python, "joeynmt.__main__", matmul, ["train", "joey.yml", "-t"])

    def translate(source: Path, out: Path) -> list[str]:
        command = as_torch_multiplies(python, "joeynmt.__main__", matmul, ["translate", "joey.yml"])
        return ["sh", "-c", f'"$@" < {source} > {out}', "sh", *command]

    return Toolkit(train, translate)


def marian(python: str, size: Size, matmul: str) -> Toolkit:
    words = "vocabs marian.yml marian.yml"
    network = (
        f"type s2s --dim-emb {size.embedding} --dim-rnn {size.hidden} --enc-cell gru --dec-cell gru "
        "--enc-type bidirectional"
    )
    work = (
        f"mini-batch {BATCH} --maxi-batch 20 --max-length 100 --optimizer adam --learn-rate 0.001 "
        "--cpu-threads 1 -w 4000"
    )
    files = "train-sets train.src train.trg --model marian.npz --overwrite"
    search = (
        f"models marian.npz --{words} --beam-size {size.beam} --mini-batch {SEARCHED} --maxi-batch 10 "
        "--cpu-threads 1 -w 2000"
    )
    program = (
        "import sys, pymarian; t = pymarian.Translator(sys.argv[1]); "
        "lines = open(sys.argv[2]).read().splitlines(); open(sys.argv[3], "
        "'w').write('\\n'.join(t.translate(lines)) + '\\n')"
    )

    def train(updates: int) -> list[str]:
        for left in Path().glob("marian.npz*"):
            left.unlink()
        settings = f"--{network} --{words} --{work} --{files} --after {updates}u"
        return [
            python,
            "-c",
            "import sys, pymarian; pymarian.Trainer(sys.argv[1]).train()",
            settings,
        ]

    return Toolkit(
        train,
        lambda source, out: [
            python,
            "-c",
            program,
            f"--{search} --max-length-factor 1 --word-penalty -100",
            str(source),
            str(out),
        ],
    )


def as_torch_multiplies(python: str, module: str, matmul: str, words: list[str]) -> list[str]:
    """Returns the command for a module's program with torch's float32 matmul precision set."""
    program = (
        f"import runpy, sys, torch; torch.set_float32_matmul_precision({matmul!r}); "
        f"runpy.run_module({module!r}, run_name='__main__')"
    )
    return [python, "-W", "ignore", "-c", program, *words]


PEERS = {"OpenNMT-py": opennmt, "JoeyNMT": joey, "Marian": marian}
MODULES = {
    "OpenNMT-py": "onmt.bin.train, onmt.bin.translate",
    "JoeyNMT": "joeynmt.__main__, joeynmt.training",
    "Marian": "pymarian",
}
"""Toolkit → modules that its Python must be able to import."""


if __name__ == "__main__":
    main()
