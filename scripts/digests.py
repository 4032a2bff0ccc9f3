"""Renews the digests of the functions that kernels equal, after the tests that they do.

    python scripts/digests.py

The tests run with the new digests, since kernels are not used while a digest differs. If one fails,
the old digests stay.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from rnnsearch.kernels import digest, gated, output_loss, products, topk
from rnnsearch.serve import export as static_page
from rnnsearch.translation import posterior

TESTS = (
    "tests/kernels",
    "tests/equations",
    "tests/search",
    "tests/translation/test_quick_alignment.py",
)
KERNELS = (
    products.FastLinear.EQUALS,
    products.FastOutput.EQUALS,
    gated.FastDecoder.EQUALS,
    output_loss.LOSS_EQUALS,
    topk.SUMS_EQUALS,
    posterior.POSTERIOR_EQUALS,
    static_page.ENGINE_EQUALS,
)


def main() -> None:
    """Writes the digests, and the old ones again if a test fails."""
    file = Path(str(digest.DIGESTS))
    before = file.read_text("utf-8") if file.exists() else "{}\n"
    names = sorted({name for names in KERNELS for name in names})
    file.write_text(
        json.dumps({name: digest.source_digest(name) for name in names}, indent=1) + "\n", "utf-8"
    )
    passed = False
    try:
        passed = not subprocess.run([sys.executable, "-m", "pytest", "-q", *TESTS]).returncode
    finally:
        if not passed:
            file.write_text(before, "utf-8")
    if not passed:
        sys.exit("a test failed: the digests are the old ones")


if __name__ == "__main__":
    main()
