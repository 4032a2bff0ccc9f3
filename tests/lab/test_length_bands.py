"""Bands of lengths are those of the paper's figure."""

from __future__ import annotations

import numpy as np

from rnnsearch.lab.length_bands import LengthBand, buckets

LENGTHS = [0, 1, 10, 11, 20, 21, 60, 61, 62, 300]


def members(bands: list[LengthBand]) -> dict[str, list[int]]:
    return {str(band): np.array(LENGTHS)[band.chosen].tolist() for band in bands}


def test_buckets_are_those_of_the_figure() -> None:
    assert members(buckets(LENGTHS)) == {
        **{
            "1–10": [0, 1, 10],
            "11–20": [11, 20],
            "21–30": [21],
            "31–40": [],
            "41–50": [],
            "51–60": [60],
        },
        "61+": [61, 62, 300],
    }
    assert members(buckets(LENGTHS, (20, 60))) == {"21–60": [21, 60], "61+": [61, 62, 300]}
