"""`scripts/ordinary_french.py`: contractions and elisions of French that was written out."""

from __future__ import annotations

import pytest
from ordinary_french import line, ordinary
from tables import rows

FRENCH = """
le prix de le pain → le prix du pain
à les ministres de les provinces → aux ministres des provinces
De les provinces → Des provinces
de les quatre provinces → des quatre provinces
à le ministre → au ministre
de les restreindre → de les restreindre
de les rendre facultatives → de les rendre facultatives
à les choisir → à les choisir
à le faire → à le faire
de le homme → de l' homme
ce ne est pas que il → ce n' est pas qu' il
ce à quoi → ce à quoi
de le oui → du oui
quelque un de quelque amis → quelqu' un de quelque amis
"""


@pytest.mark.parametrize(("written_out", "expected"), rows(FRENCH))
def test_what_is_written_out_becomes_ordinary(written_out: str, expected: str) -> None:
    words = ordinary(written_out.split())
    assert line(words) == expected.replace("' ", "'")
    assert sum(count for _, count in words) == len(written_out.split())
