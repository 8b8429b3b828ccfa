"""Frames of pandas, Polars and DuckDB: the same figures by either transport, with what belongs to them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas
import polars
import pytest
from pandas.testing import assert_frame_equal

from almanac_data import Almanac

from .conftest import KEY, URL

FERTILITY, POPULATION = "world-bank.SP.DYN.TFRT.IN", "world-bank.SP.POP.TOTL"
QUESTIONS = [
    {"indicator": FERTILITY, "countries": "@eu", "years": (2010, None)},
    {"indicator": [FERTILITY, POPULATION], "countries": ["PER", "CHL"], "latest": 3},
    {"indicator": [FERTILITY, POPULATION], "countries": ["PER", "CHL"], "layout": "wide"},
    {"indicator": FERTILITY, "countries": "PER", "fields": ["name", "year", "value", "unit", "m49", "status"]},
    {"indicator": FERTILITY, "countries": "PER", "missing": "omit"},
    {"indicator": FERTILITY, "countries": "XXX"},
    {"indicator": FERTILITY},
]


@pytest.mark.parametrize("asked", QUESTIONS)
def test_parquet_and_json_give_the_same_frames(asked: dict[str, object]) -> None:
    columnar = Almanac(KEY, base_url=URL, is_columnar=True).data(**asked)
    plain = Almanac(KEY, base_url=URL, is_columnar=False).data(**asked)
    assert isinstance(columnar.content, bytearray | bytes)
    assert isinstance(plain.content, dict)
    assert columnar.rows == plain.rows
    assert columnar.columns == plain.columns
    assert len(columnar) == len(plain)
    assert columnar.attrs == plain.attrs
    meta = {name: value for name, value in columnar.meta.items() if name != "format"}
    assert meta == plain.meta
    assert_frame_equal(columnar.to_pandas(), plain.to_pandas())
    assert columnar.to_polars().equals(plain.to_polars())
    assert columnar.to_duckdb().sql("FROM almanac").fetchall() == plain.to_duckdb().sql("FROM almanac").fetchall()
    assert repr(columnar) == repr(plain)


def test_a_frame_is_what_pandas_reads_from_the_file(client: Almanac, tmp_path: Path) -> None:
    table = client.bundle("world-bank", tmp_path / "bundle.parquet")
    frame = table.to_pandas()
    assert_frame_equal(frame, pandas.read_parquet(tmp_path / "bundle.parquet"))
    assert len(frame) == len(table) > 800_000
    assert set(frame["indicator"].unique()) == set(frame.attrs["units"])
    held = client.bundle("world-bank")
    assert held.price == 0
    assert bytes(held.content) == (tmp_path / "bundle.parquet").read_bytes()


def test_what_belongs_to_the_figures_travels_with_them(client: Almanac) -> None:
    table = client.data([FERTILITY, POPULATION], countries="PER", latest=1)
    attrs = table.to_pandas().attrs
    assert attrs == table.attrs
    assert attrs["edition"] == table.edition
    assert attrs["licence"] == "CC BY 4.0"
    assert attrs["units"] == {FERTILITY: "births per woman", POPULATION: "people"}
    assert attrs["citation"].count("\n") == 1
    assert json.loads(table.to_arrow().schema.metadata[b"almanac"]) == attrs
    connection = table.to_duckdb('my "figures"')
    [(comment,)] = connection.sql("SELECT comment FROM duckdb_tables() WHERE table_name LIKE 'my%'").fetchall()
    assert json.loads(comment) == attrs
    assert table.to_polars()["year"].dtype == polars.Int32


def test_tables_can_be_kept_as_files(client: Almanac, tmp_path: Path) -> None:
    table = client.rank(FERTILITY, 2022)
    table.save(tmp_path / "ranking.parquet")
    frame = pandas.read_parquet(tmp_path / "ranking.parquet")
    assert_frame_equal(frame, table.to_pandas())
    buffer = io.StringIO()
    frame.to_csv(buffer)
    assert "SOM" in buffer.getvalue()
