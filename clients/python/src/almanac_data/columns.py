"""Rows of an answer as typed columns, read while they arrive."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from almanac_data.errors import UnexpectedAnswer

Cell = str | int | float | bool | None
Columns = dict[str, list[Cell]]
ColumnType = Literal["text", "integer", "double", "boolean"]

_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(("indicator", "indicator_name", "unit", "iso3", "iso2", "name", "region"), "text"),
    **dict.fromkeys(
        ("income_group", "group", "status", "reason", "method", "kind", "old_status", "new_status"), "text"
    ),
    **dict.fromkeys(("old_edition", "new_edition", "old_unit", "new_unit"), "text"),
    **dict.fromkeys(("m49", "year", "rank", "rank_delta_1y", "rank_lo", "rank_hi", "members", "counted"), "integer"),
    **dict.fromkeys(("projected", "old_projected", "new_projected"), "boolean"),
}

_START = re.compile(r'\s*\{\s*"data"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_END = re.compile(r'\s*\]\s*,\s*"meta"\s*:')
_LONGEST_START = 1024


def column_type(name: str) -> ColumnType:
    """The type of a column: everything unknown is a figure."""
    return _TYPES.get(name, "double")


def columns_of(rows: Iterable[dict[str, Cell]], columns: Columns | None = None) -> Columns:
    """Turns rows into columns. Figures become doubles: JSON writes 2.0 as 2."""
    found: Columns = {} if columns is None else columns
    # One string object for each distinct text: a million rows name the same few countries.
    texts: dict[Cell, Cell] = {}
    for row in rows:
        if not found:
            found.update({name: [] for name in row})
        for name, cells in found.items():
            cell = row[name]
            if isinstance(cell, str):
                cell = texts.setdefault(cell, cell)
            elif cell is not None and column_type(name) == "double":
                cell = float(cell)
            cells.append(cell)
    return found


def read_rows(pieces: Iterable[bytes]) -> tuple[Columns, dict[str, Any]]:
    """Reads `{"data": [rows], "meta": {…}}`, holding neither the text nor the rows as a whole."""
    columns: Columns = {}
    meta: dict[str, Any] = {}
    for _ in (columns_of(rows, columns) for rows in _batches(pieces, meta)):
        pass
    return columns, meta


def _batches(pieces: Iterable[bytes], meta: dict[str, Any]) -> Iterator[list[dict[str, Cell]]]:
    """Rows, as many as each piece completes. Fills `meta` at the end."""
    scan = json.JSONDecoder().raw_decode
    decoder = codecs.getincrementaldecoder("utf-8")()
    text = ""
    has_started = False
    for piece in pieces:
        text += decoder.decode(piece)
        if not has_started:
            start = _START.match(text)
            if start is None and len(text) > _LONGEST_START:
                break
            if start is None:
                continue
            has_started, text = True, text[start.end() :]
        rows: list[dict[str, Cell]] = []
        at = 0
        while (at := _skip(text, at)) < len(text) and text[at] == "{":
            try:
                row, at = scan(text, at)
            except ValueError:  # the rest of this row is in the next piece
                break
            rows.append(row)
        text = text[at:]
        yield rows
    end = _END.match(text)
    if not has_started or end is None:
        raise UnexpectedAnswer("The answer is not a list of rows: is the address that of the service?")
    try:
        meta.update(scan(text, _skip(text, end.end()))[0])
    except ValueError as error:
        raise UnexpectedAnswer("The end of the answer cannot be read.") from error


def _skip(text: str, at: int) -> int:
    """The place of the next row, behind commas and spaces."""
    found = _BETWEEN.match(text, at)
    return at if found is None else found.end()
