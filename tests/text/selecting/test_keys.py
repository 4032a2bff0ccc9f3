from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.text.selecting.keys import ABSENT, Keys

numbers_ = st.one_of(st.integers(0, 40), st.integers(0, 2**63 - 1))


@given(st.sets(numbers_), st.lists(numbers_))
def test_every_key_has_its_number_and_others_have_none(keys: set[int], others: list[int]) -> None:
    known = list(keys)
    wanted = [*others, *known]
    found = Keys.of(np.array(known, dtype=np.int64)).numbers(np.array(wanted, dtype=np.int64))
    assert found.tolist() == [known.index(key) if key in keys else ABSENT for key in wanted]


def test_keys_that_wish_for_the_same_slot_find_others() -> None:
    """Products with an odd number may agree in their upper bits only: these keys are chosen by theirs, at the end of the table."""
    candidates = np.arange(1, 200_000, dtype=np.int64)
    slots = (candidates.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - 7)
    crowded = candidates[slots == 127][:40]
    keys = Keys.of(crowded)
    assert len(keys.slots) == 128
    assert keys.numbers(crowded).tolist() == list(range(40))
    assert set(keys.numbers(candidates[slots == 127][40:]).tolist()) == {ABSENT}
    assert set(keys.numbers(candidates[slots == 3]).tolist()) == {ABSENT}  # the crowd has come round to the first slots
