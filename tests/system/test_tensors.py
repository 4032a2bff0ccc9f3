"""Tensor files: whole or absent, of the common format, and what is read is what was written; and weights as
int8."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from refusals import refusal
from safetensors.torch import load_file, save_file

from rnnsearch.system.tensors import (
    EMBEDDING,
    OUTPUT,
    SCALE,
    WEIGHT_LIMIT,
    dequantise,
    difference,
    load_tensors,
    quantise,
    save_tensors,
    scales_of,
)

DTYPES = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
)
MATRIX = torch.arange(6.0).view(2, 3)
SOME = {
    **{"matrix": MATRIX, "turned": MATRIX.T, "same": MATRIX},  # which share their memory
    "number": torch.tensor(7),
    "empty": torch.empty(0, 3),
} | {f"of {dtype}": torch.arange(3).to(dtype) for dtype in DTYPES}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return not difference(one, other) and all(
        torch.equal(tensor, other[name]) for name, tensor in one.items()
    )


def test_others_read_what_is_written(tmp_path: Path) -> None:
    save_tensors(tmp_path / "file", SOME, {"note": 1})
    assert same(SOME, load_file(tmp_path / "file"))
    tensors, notes = load_tensors(tmp_path / "file", "")
    assert same(SOME, tensors)
    assert notes == {"note": 1}


def test_equal_tensors_give_equal_bytes_as_the_library_orders_them(tmp_path: Path) -> None:
    """The mode is that of other files."""
    for name in ("a", "b"):
        save_tensors(tmp_path / name, SOME, {"note": 1})
    (tmp_path / "text").touch()
    content = (tmp_path / "a").read_bytes()
    assert content == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "text").stat().st_mode
    save_file(
        {name: tensor.clone().contiguous() for name, tensor in SOME.items()}, tmp_path / "library"
    )
    numbers = sum(tensor.nbytes for tensor in SOME.values())
    assert content[-numbers:] == (tmp_path / "library").read_bytes()[-numbers:]


def test_what_others_or_earlier_versions_wrote_is_read_without_checksum(tmp_path: Path) -> None:
    tensors = {name: tensor.clone().contiguous() for name, tensor in SOME.items()}
    save_file(tensors, tmp_path / "file", metadata={"notes": "{}"})
    assert same(tensors, load_tensors(tmp_path / "file", "")[0])


def test_one_bit_anywhere_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    save_tensors(
        file, {"a": torch.arange(4.0), "b": torch.ones(2, 2, dtype=torch.int64)}, {"update": 12}
    )
    content = file.read_bytes()
    for place in range(len(content)):
        file.write_bytes(
            content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]
        )
        with refusal("file: is damaged"):
            load_tensors(file, "")


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"notes": "[" * 100_000}, "nested too deeply"),
        ({"notes": "3"}, "its notes are no table"),
        ({}, "is damaged: it has no notes"),
        (None, "rnnsearch has not written it"),
    ],
)
def test_notes_that_are_none(tmp_path: Path, metadata: dict[str, str] | None, said: str) -> None:
    save_file({"a": torch.ones(3)}, tmp_path / "file", metadata=metadata)
    with refusal(said):
        load_tensors(tmp_path / "file", "")


@pytest.mark.parametrize(
    ("tensors", "length", "said"),
    [
        (60_000, None, "its header lists more than 50,000 tensors"),
        (300_000, None, "its header is longer than 16,777,216 bytes"),
        (0, 2**60, "its header is longer than 16,777,216 bytes"),
    ],
)
def test_a_header_that_would_take_long_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensors: int, length: int | None, said: str
) -> None:
    entry = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    header = ("{" + ",".join(f'"{number}":{entry}' for number in range(tensors)) + "}").encode()
    (tmp_path / "file").write_bytes((length or len(header)).to_bytes(8, "little") + header)
    monkeypatch.setattr("rnnsearch.system.tensors.safe_open", None)
    with refusal(f"file: is damaged: {said}"):
        load_tensors(tmp_path / "file", "")


def test_pipes_and_folders_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ""):
        with refusal("cannot be read"):
            load_tensors(tmp_path / name, "")
    with refusal(r"nosuch: is missing \(look elsewhere\)"):
        load_tensors(tmp_path / "nosuch", "look elsewhere")


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\t\n"))
    save_tensors(file, {"a": torch.ones(3)}, {})
    assert load_tensors(file, "")[0]["a"].tolist() == [1, 1, 1]
    file.write_bytes(b"")
    with refusal(r"/\\udcff\\t\\n: is damaged"):
        load_tensors(file, "")


# Weights in a quarter of the space: a search in int8 reads of them what it would make of the whole ones.


def test_a_matrix_comes_back_within_half_a_step_of_its_row() -> None:
    """A row of zeros as it was; the integers that are made of what came back are the same."""
    matrix = torch.randn(20, 7) * torch.logspace(-6, 3, 20).unsqueeze(1)
    matrix[5] = 0
    kept = quantise({"a.weight": matrix}, tied=False)
    assert kept["a.weight"].dtype == torch.int8
    back = dequantise(kept, tied=False)["a.weight"]
    assert ((back - matrix).abs() <= 0.5001 * kept["a.weight" + SCALE].unsqueeze(1)).all()
    assert not back[5].any()
    again = (back / scales_of(back, WEIGHT_LIMIT)).round().to(torch.int8)
    assert torch.equal(again, kept["a.weight"])


def test_vectors_and_matrices_of_few_rows_are_kept_exactly() -> None:
    tensors = {"v": torch.randn(30), "v_a.weight": torch.randn(1, 30)}
    assert same(dequantise(quantise(tensors, tied=False), tied=False), tensors)


def test_a_tied_output_is_kept_once() -> None:
    embedding = torch.randn(20, 4)
    kept = quantise({EMBEDDING: embedding, OUTPUT: embedding}, tied=True)
    assert OUTPUT not in kept
    whole = dequantise(kept, tied=True)
    assert torch.equal(whole[OUTPUT], whole[EMBEDDING])
    assert OUTPUT not in dequantise(kept, tied=False)  # it is missing


@pytest.mark.parametrize("scales", [None, torch.ones(19), torch.ones(20, dtype=torch.float64)])
def test_scales_that_do_not_fit_are_refused(scales: torch.Tensor | None) -> None:
    kept = quantise({"a.weight": torch.randn(20, 4)}, tied=False) | {"a.weight" + SCALE: scales}
    with refusal(r"scales of the int8 matrix a\.weight"):
        dequantise(
            {name: tensor for name, tensor in kept.items() if tensor is not None}, tied=False
        )
