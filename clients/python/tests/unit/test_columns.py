"""Rows read while they arrive are those that `json` reads."""

import json
import random
from itertools import pairwise

import pytest

from almanac_data.columns import read_rows
from almanac_data.errors import UnexpectedAnswer

ROWS = [
    {"iso3": "CIV", "name": 'Côte d’Ivoire "x" ]}', "year": 2023, "value": 2, "rank": None, "projected": False},
    {"iso3": "PER", "name": "東京 \\ {[", "year": 2024, "value": -1.5e-7, "rank": 3, "projected": True},
    {"iso3": "PER", "name": None, "year": 2025, "value": None, "rank": 4, "projected": False},
]
META = {"generated_at": "2026-11-22T15:35:47+00:00", "count": 3, "note": "]}"}
TYPES = {"iso3": str, "name": str, "year": int, "value": float, "rank": int, "projected": bool}


def cut(octets: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(places), len(octets)]
    return [octets[a:b] for a, b in pairwise(bounds)]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_reads_the_same_however_the_body_is_cut(separators: tuple[str, str]) -> None:
    text = json.dumps({"data": ROWS, "meta": META}, ensure_ascii=False, separators=separators).encode()
    randomness = random.Random(1)
    cuts = [[at] for at in range(len(text))]
    cuts += [[randomness.randrange(len(text)) for _ in range(12)] for _ in range(200)]
    for places in [*cuts, list(range(len(text)))]:
        columns, meta = read_rows(cut(text, places))
        assert [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)] == ROWS
        assert meta == META
    for name, cells in columns.items():
        assert {type(cell) for cell in cells if cell is not None} == {TYPES[name]}


def test_reads_no_rows() -> None:
    assert read_rows([b'{"data":[],"meta":{"count":0}}']) == ({}, {"count": 0})


@pytest.mark.parametrize("text", [b"", b"<html>", b"{}", b'{"data":[{"a":1}', b'{"data":[{"a":1}]}', b"x" * 5000])
def test_refuses_what_is_no_answer(text: bytes) -> None:
    with pytest.raises(UnexpectedAnswer):
        read_rows([text])
