"""The scripts of the page on several machines, with stand-ins for Slurm and ssh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from started_commands import SMALL, assert_same_checkpoint, free_port

SCRIPTS = Path(__file__).parents[2] / "docs" / "how-to"
STAND_INS = {
    "scontrol": "echo 127.0.0.1",
    "srun": """while [[ $1 == --* ]]; do shift; done
"$@" & first=$!
"$@" & second=$!
wait $first && wait $second""",
    "ssh": 'shift 2; exec bash -c "$*"',
}


@pytest.mark.parametrize("name", ["train.sbatch", "train-over-ssh.sh"])
def test_scripts_are_sound(name: str) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("needs the command `shellcheck`")
    done = subprocess.run(["shellcheck", SCRIPTS / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("script", "first"), [("train.sbatch", []), ("train-over-ssh.sh", ["one two"])])
def test_scripts_train(
    script: str, first: list[str], tiny_store: Path, whole_run: Path, tmp_path: Path
) -> None:
    """Two nodes with a rank each learn what two processes do."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, body in STAND_INS.items():
        (commands / name).write_text(f"#!/usr/bin/env bash\n{body}\n", encoding="utf-8")
        (commands / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        **{"GLOO_SOCKET_IFNAME": "lo", "FIRST_ADDRESS": "127.0.0.1", "PORT": free_port()},
        **{"SLURM_JOB_NODELIST": "one,two", "SLURM_NNODES": "2", "SLURM_JOB_ID": "7", "RANKS_PER_NODE": "1"},
    }
    recipe = tmp_path / "empty.toml"
    recipe.touch()
    sets = [word for change in SMALL for word in ("--set", change)]
    words = ["bash", SCRIPTS / script, *first, recipe, tiny_store, tmp_path / "run", *sets]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert_same_checkpoint(whole_run, tmp_path / "run")
