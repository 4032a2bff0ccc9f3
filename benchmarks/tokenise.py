"""Speed of the tokeniser against a plain loop over sacremoses, and whether both give the same words.

    python benchmarks/tokenise.py train.en.gz --language en --lines 100000

Both read the same lines in turns of a few thousand, in one process, so that other work on the machine slows both alike. The tokeniser
begins with an empty memory, and its making is timed too.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice

from sacremoses import MosesTokenizer

from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.tokenise import Tokeniser

TURN = 5_000  # lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="a text, one sentence per line; .gz as is")
    parser.add_argument("--language", default="en")
    parser.add_argument("--lines", type=int, default=100_000, help="of the file, from its beginning")
    arguments = parser.parse_args()
    blanks = Tokeniser("space", arguments.language)  # sacremoses takes invisible characters for words, the tokeniser does not
    lines = (" ".join(blanks.words(line)) for line in islice(read_lines(arguments.file), arguments.lines))
    tokeniser, plain = Tokeniser("moses", arguments.language), MosesTokenizer(arguments.language)
    done = words = differing = 0
    ours = theirs = 0.0
    while turn := list(islice(lines, TURN)):
        started = time.perf_counter()
        expected = [plain.tokenize(line, escape=False) for line in turn]
        between = time.perf_counter()
        found = [tokeniser.words(line) for line in turn]
        ours += time.perf_counter() - between
        theirs += between - started
        done += len(turn)
        words += sum(map(len, found))
        differing += sum(left != right for left, right in zip(found, expected, strict=True))
    print(f"{done:,} lines, {words:,} words of {arguments.file}")
    print(f"sacremoses {done / theirs:,.0f} lines/s, rnnsearch {done / ours:,.0f} lines/s: {theirs / ours:.1f} times")
    print("the words are equal" if not differing else f"the words of {differing:,} lines differ")


if __name__ == "__main__":
    main()
