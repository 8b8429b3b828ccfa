"""What a call answers: rows, with everything that belongs to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from almanac_data.arrow import arrow_of_columns, arrow_of_parquet
from almanac_data.columns import Cell, Columns
from almanac_data.display import html_table, text_table, worth_showing
from almanac_data.errors import MissingExtra
from almanac_data.questions import DataQuestion

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow


@dataclass(frozen=True)
class Series:
    """An indicator in an answer. unit: free text. licence: of the figures. attribution: publish it with them."""

    id: str
    name: str | None
    unit: str | None
    licence: str | None
    licence_url: str | None
    attribution: str | None

    @property
    def title(self) -> str:
        """Id, name and unit."""
        named = ", ".join(part for part in (self.name, self.unit) if part)
        return f"{self.id}: {named}" if named else self.id


@dataclass(frozen=True)
class Provenance:
    """Where an answer comes from.

    edition: the snapshot that answered. generated_at: when it was built, ISO 8601; it is published seconds later.
    price: credits charged; None where an attempt was charged whose answer was lost.
    balance: credits left; None for calls without a key. unmatched: codes asked for that no country has.
    """

    edition: str | None
    generated_at: str | None
    price: int | None
    balance: int | None
    request_id: str | None
    series: tuple[Series, ...] = ()
    unmatched: tuple[str, ...] = ()


SHOWN_ROWS = 10
SHOWN_SERIES = 5

Content = Columns | bytes | bytearray | Path


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of one answer, which show as a table.

    Iterate over it for rows as dictionaries, or turn it into a frame of the library that you use. `table[0]` is a row,
    `table[:3]` some of them, `table["value"]` a column. Missing figures are None, and NaN or null in frames.

    columns: names, in order. meta: what the service says about the answer. provenance: edition, price, indicators.
    question: what `data` was asked for; None for other answers.
    """

    content: Content
    meta: dict[str, Any]
    provenance: Provenance
    question: DataQuestion | None = None
    _cache: dict[str, Any] = field(default_factory=dict, compare=False)

    # --- rows ---------------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        if isinstance(self.content, dict):
            return list(self.content)
        return list(self.to_arrow().column_names)

    def __len__(self) -> int:
        if isinstance(self.content, dict):
            return len(next(iter(self.content.values()), []))
        return int(self.to_arrow().num_rows)

    @overload
    def __getitem__(self, key: str) -> list[Cell]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Cell]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, Cell]]: ...
    def __getitem__(self, key: str | int | slice) -> list[Cell] | dict[str, Cell] | list[dict[str, Cell]]:
        """The cells of a column by its name, a row by its position, or several rows."""
        if isinstance(key, str):
            return self._column(key)
        at = range(len(self))[key]
        if isinstance(at, int):
            return self._rows(range(at, at + 1))[0]
        return self._rows(at)

    def _column(self, name: str) -> list[Cell]:
        if name not in self.columns:
            raise KeyError(f"no column {name!r}: there are {', '.join(self.columns)}")
        if isinstance(self.content, dict):
            return self.content[name]
        cells: list[Cell] = self.to_arrow().column(name).to_pylist()
        return cells

    def _rows(self, at: range) -> list[dict[str, Cell]]:
        if isinstance(self.content, dict):
            return [{name: cells[row] for name, cells in self.content.items()} for row in at]
        return list(self.to_arrow().take(list(at)).to_pylist()) if at else []

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        names = self.columns
        for cells in zip(*(self[name] for name in names), strict=True):
            yield dict(zip(names, cells, strict=True))

    def __repr__(self) -> str:
        rows = self[:SHOWN_ROWS]
        shown = text_table(self._columns_worth_showing(rows), rows)
        return "\n".join([*self._heading(), shown, *self._footing()])

    def _repr_html_(self) -> str:
        rows = self[:SHOWN_ROWS]
        shown = html_table(self._columns_worth_showing(rows), rows, "\n".join(self._heading()))
        return f"{shown}<p>{'<br>'.join(map(escape, self._footing()))}</p>"

    def _columns_worth_showing(self, rows: list[dict[str, Cell]]) -> list[str]:
        return worth_showing(self.columns, rows, len(self.provenance.series) == 1)

    def _heading(self) -> list[str]:
        return [one.title for one in self.provenance.series[:SHOWN_SERIES]]

    def _footing(self) -> list[str]:
        rows = len(self)
        more = [f"… {rows - SHOWN_ROWS:,} more rows"] if rows > SHOWN_ROWS else []
        cost = "" if self.price is None else f", {self.price:,} credits"
        credit = self.citation.split("\n")[:SHOWN_SERIES] if self.provenance.series else []
        lost = [f"no country has the code {', '.join(self.unmatched)}"] if self.unmatched else []
        return [*more, f"{rows:,} rows, snapshot {self.edition}{cost}", *credit, *lost]

    @property
    def rows(self) -> list[dict[str, Cell]]:
        """All rows as dictionaries."""
        return list(self)

    # --- where they come from -----------------------------------------------------------------------------------------

    @property
    def edition(self) -> str | None:
        """The snapshot that answered; `as_of` takes it."""
        return self.provenance.edition

    @property
    def price(self) -> int | None:
        """Credits charged; None where an attempt whose answer was lost was charged."""
        return self.provenance.price

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Codes asked for that no country has."""
        return self.provenance.unmatched

    @property
    def licences(self) -> list[str]:
        """Names of the licences, each once."""
        return _distinct([one.licence for one in self.provenance.series])

    @property
    def attribution(self) -> str:
        """The credit line to publish with the figures."""
        return "; ".join(_distinct([one.attribution for one in self.provenance.series]))

    @property
    def citation(self) -> str:
        """A reference for each indicator, one a line."""
        return "\n".join(self._reference(one) for one in self.provenance.series)

    def _reference(self, series: Series) -> str:
        licence = f" ({series.licence})" if series.licence else ""
        name = f"{series.name}, " if series.name else ""
        day = f" of {self.provenance.generated_at[:10]}" if self.provenance.generated_at else ""
        return f"{series.attribution}{licence}: {name}{series.id}. Almanac, snapshot {self.edition}{day}."

    @property
    def attrs(self) -> dict[str, Any]:
        """What travels with a frame: edition, licence, credit line, citation, units. All of it is valid in JSON."""
        return {
            "edition": self.edition,
            "generated_at": self.provenance.generated_at,
            "licence": "; ".join(self.licences),
            "attribution": self.attribution,
            "citation": self.citation,
            "units": {one.id: one.unit for one in self.provenance.series},
        }

    # --- frames -------------------------------------------------------------------------------------------------------

    def to_arrow(self) -> pyarrow.Table:
        """A `pyarrow.Table`; the metadata of its schema has `almanac`, which is `attrs` as JSON."""
        if "arrow" not in self._cache:
            _need("pyarrow", "pandas")
            table = arrow_of_columns(self.content) if isinstance(self.content, dict) else arrow_of_parquet(self.content)
            self._cache["arrow"] = table.replace_schema_metadata({"almanac": json.dumps(self.attrs)})
        return self._cache["arrow"]

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame`, with `attrs`."""
        _need("pandas", "pandas")
        frame = self.to_arrow().replace_schema_metadata(None).to_pandas()
        frame.attrs.update(self.attrs)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame`. Polars keeps no metadata of a frame: take `attrs` of this table."""
        _need("polars", "polars")
        import polars

        frame = polars.from_arrow(self.to_arrow())
        if not isinstance(frame, polars.DataFrame):
            raise TypeError("a table with columns gives a frame")
        return frame

    def to_duckdb(
        self, name: str = "almanac", connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Writes a table into a DuckDB database, by default a new one in memory. Its comment is `attrs` as JSON."""
        _need("duckdb", "duckdb")
        import duckdb

        target = duckdb.connect() if connection is None else connection
        quoted = '"' + name.replace('"', '""') + '"'
        comment = json.dumps(self.attrs).replace("'", "''")
        target.register("almanac_answer", self.to_arrow())
        try:
            target.execute(f"CREATE TABLE {quoted} AS FROM almanac_answer")
        finally:
            target.unregister("almanac_answer")
        target.execute(f"COMMENT ON TABLE {quoted} IS '{comment}'")
        return target

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as Parquet, with `attrs` in its metadata."""
        from pyarrow import parquet

        parquet.write_table(self.to_arrow(), path)


def has_arrow() -> bool:
    """Whether pyarrow is installed. It is not imported for that."""
    return find_spec("pyarrow") is not None


def _need(library: str, extra: str) -> None:
    if find_spec(library) is None:
        raise MissingExtra(library, extra)


def _distinct(texts: Sequence[str | None]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
