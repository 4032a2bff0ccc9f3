"""The page's search with a given beginning, and its choices of a word, are those of all sequences of ids."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")


def test_they_are_the_best_of_all_that_agree_with_the_beginning(engine_folder: Path) -> None:
    shutil.copy(Path(__file__).with_name("prefix_search.js"), engine_folder)
    command = ["node", "prefix_search.js"]
    done = subprocess.run(
        command, cwd=engine_folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    for case in json.loads(done.stdout):
        ours, naive = case["ours"], case["naive"]
        assert [ids for ids, _ in ours] == [ids for ids, _ in naive], case["name"]
        scores = [score for _, score in naive]
        assert [score for _, score in ours] == pytest.approx(scores, rel=1e-5), case["name"]
