"""results.jsonl: one row for each run, appended as it ends; of several rows of a run the last one counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError

Row = dict[str, Any]


class ResultRows:
    """The rows on disk. Whatever ends the process, only the row that was being written can be lost."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with path.open("rb+") as file:
                file.truncate(len(whole))
        for number, line in enumerate(whole.decode("utf-8").split("\n")[:-1], 1):
            try:
                row = json.loads(line)
                self.rows[row["run"]] = row
            except (ValueError, KeyError, TypeError):
                raise InputError("is not a row of results", file=path, line=number, remedy="remove the line") from None

    def add(self, row: Row) -> None:
        """Appends a row, unless it says what the last one of the run says."""
        if self.rows.get(row["run"]) == row:
            return
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows[row["run"]] = json.loads(json.dumps(row))

    def status(self, name: str) -> str:
        """done or failed; "" for a run that has no row."""
        return str(self.rows[name]["status"]) if name in self.rows else ""
