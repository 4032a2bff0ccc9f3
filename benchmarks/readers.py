"""Speed and memory of the readers: the same pairs in every format, each read in a process of its own.

python benchmarks/readers.py [--pairs 50000] [--copies 5]

Prints for each format: pairs per second; its time as a ratio to that of two plain files in the run; how much the peak of resident memory
grows while `pairs` are read, and while `copies` times as many are. The second hardly exceeds the first where memory is bounded. Linux only.
An .arrow file is mapped into memory: what was read of it counts until the system needs the room.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from xml.sax.saxutils import escape

READ = """
import sys, time
from rnnsearch.text.formats.readers import parallel_texts
names = sys.argv[1:]
if names[0].endswith((".parquet", ".arrow")):
    import pyarrow.parquet, pyarrow.compute, pyarrow.ipc
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before, begin = peak(), time.process_time()
pairs = sum(1 for text in parallel_texts(names) for _ in text.pairs())
print(pairs, time.process_time() - begin, (peak() - before) / 1024)
"""


def pairs_of(count: int) -> Iterator[tuple[str, str]]:
    """Sentences of some 25 words, no two alike."""
    for number in range(count):
        words = [f"word{(number * 31 + place * place) % 9973}" for place in range(25)]
        yield f'{number} {" ".join(words)}, "he said".', f"{number} {' '.join(reversed(words))}, « dit-il »."


def write_all(folder: Path, count: int) -> dict[str, list[Path]]:
    """Format → the files to be read."""
    files = {name: [folder / f"corpus.{name}"] for name in ("tsv", "csv", "jsonl", "tmx", "parquet", "arrow")}
    lines = [folder / "corpus.en", folder / "corpus.fr"]
    source, target, tsv, table, objects, memory = (
        path.open("w", encoding="utf-8", newline="") for path in (*lines, *(files[name][0] for name in ("tsv", "csv", "jsonl", "tmx")))
    )
    rows = csv.writer(table)
    memory.write("<tmx><body>\n")
    for left, right in pairs_of(count):
        source.write(f"{left}\n")
        target.write(f"{right}\n")
        tsv.write(f"{left}\t{right}\n")
        rows.writerow((left, right))
        objects.write(json.dumps({"en": left, "fr": right}) + "\n")
        memory.write(f'<tu><tuv xml:lang="en"><seg>{escape(left)}</seg></tuv><tuv xml:lang="fr"><seg>{escape(right)}</seg></tuv></tu>\n')
    memory.write("</body></tmx>\n")
    for file in (source, target, tsv, table, objects, memory):
        file.close()
    write_tables(files["parquet"][0], files["arrow"][0], count)
    return {"lines": lines, **files, **{f"tsv{suffix}": [packed(files["tsv"][0], suffix)] for suffix in (".gz", ".xz", ".zst")}}


def write_tables(parquet: Path, stream: Path, count: int) -> None:
    import pyarrow as arrow
    from pyarrow.parquet import ParquetWriter

    schema = arrow.schema({"en": arrow.string(), "fr": arrow.string()})
    pairs = pairs_of(count)
    with ParquetWriter(parquet, schema) as table, arrow.ipc.new_stream(str(stream), schema) as rows:
        while batch := [pair for _, pair in zip(range(100_000), pairs, strict=False)]:
            part = arrow.table({"en": [left for left, _ in batch], "fr": [right for _, right in batch]}, schema)
            table.write_table(part)
            rows.write_table(part, max_chunksize=1000)


def packed(path: Path, suffix: str) -> Path:
    zstandard = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    out = path.with_name(path.name + suffix)
    openers = {".gz": gzip.open, ".xz": lzma.open, ".zst": zstandard.open}
    with path.open("rb") as plain, openers[suffix](out, "wb") as file:
        while chunk := plain.read(1 << 20):
            file.write(chunk)
    return out


def measure(files: list[Path]) -> tuple[int, float, float]:
    """(pairs, seconds of processor time, MiB by which the peak of memory grew)"""
    done = subprocess.run([sys.executable, "-c", READ, *map(str, files)], check=True, capture_output=True, text=True)
    pairs, seconds, growth = done.stdout.split()
    return int(pairs), float(seconds), float(growth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--copies", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:
        small, large = write_all(Path(one), arguments.pairs), write_all(Path(many), arguments.pairs * arguments.copies)
        results = {name: (measure(small[name]), measure(large[name])) for name in small}
        plain = results["lines"][1][1]
        print(f"{'format':9} {'pairs/s':>9} {'time':>6} {'MiB':>6} {f'MiB × {arguments.copies}':>8}")
        for name, ((_, _, few), (pairs, seconds, growth)) in results.items():
            print(f"{name:9} {pairs / seconds:9,.0f} {seconds / plain:6.2f} {few:6.1f} {growth:8.1f}")


if __name__ == "__main__":
    main()
