"""Makes the plain-loop references (`plain`) and the small networks (`small`) importable: tests are no package."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
