"""From an answer of the service to a table."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from email.message import Message
from pathlib import Path
from typing import Any

from almanac_data.columns import Columns, read_rows
from almanac_data.errors import ConnectionFailed, UnexpectedAnswer
from almanac_data.questions import DataQuestion
from almanac_data.table import Content, Provenance, Series, Table
from almanac_data.transport import Answer

_FACTS = ("name", "unit", "licence", "licence_url", "attribution")


def provenance_of(headers: Message, generated_at: str | None, series: tuple[Series, ...] = ()) -> Provenance:
    charged, left = headers.get("X-Credits-Charged"), headers.get("X-Credits-Remaining")
    unmatched = headers.get("X-Unmatched-Countries")
    is_repeat = headers.get("Idempotent-Replayed") == "true"
    return Provenance(
        edition=headers.get("X-Snapshot"),
        generated_at=generated_at,
        price=None if is_repeat or charged is None else int(charged),
        balance=None if left is None else int(left),
        request_id=headers.get("X-Request-Id"),
        series=series,
        unmatched=() if unmatched is None else tuple(unmatched.split(", ")),
    )


def series_of(meta: dict[str, Any]) -> tuple[Series, ...]:
    """The indicators of an answer, listed where there are several, else spread over `meta`; then what they are from."""
    own = meta.get("indicators") or ([{**meta, "id": meta["indicator"]}] if "indicator" in meta else [])
    inputs = [record for one in own for record in one.get("derivation", {}).get("inputs", ())]
    series: dict[str, Series] = {}
    for record in [*own, *inputs, *meta.get("weights", ())]:
        series.setdefault(record["id"], record_series(record))
    return tuple(series.values())


def record_series(record: dict[str, Any]) -> Series:
    return Series(id=str(record["id"]), **{name: record.get(name) for name in _FACTS})


def read_json_table(answer: Answer) -> Table:
    columns, meta = read_rows(answer.body.pieces())
    generated_at = meta.get("generated_at")
    return Table(columns, meta, provenance_of(answer.headers, generated_at, series_of(meta)))


def json_data(question: DataQuestion) -> Callable[[Answer], Table]:
    """Reads figures as JSON, with the columns that they have in every other format."""

    def read(answer: Answer) -> Table:
        table = read_json_table(answer)
        columns = table.content
        if not isinstance(columns, dict):
            raise AssertionError("rows of JSON are columns")
        is_named = "indicator" in columns or question.layout == "wide" or bool(question.fields)
        if columns and not is_named:
            columns = {"indicator": [table.meta["indicator"]] * len(table), **columns}
        names = question.columns()
        ordered: Columns = {name: columns[name] for name in names} if columns else {n: [] for n in names}
        return Table(ordered, table.meta, table.provenance, question)

    return read


def parquet_data(question: DataQuestion) -> Callable[[Answer], Table]:
    """Keeps figures as the Parquet file that the service sends."""

    def read(answer: Answer) -> Table:
        import pyarrow
        from pyarrow import parquet

        body = answer.whole()
        try:
            metadata = parquet.read_schema(pyarrow.BufferReader(pyarrow.py_buffer(body))).metadata
            meta = json.loads(metadata[b"meta"])
            series = tuple(record_series(one) for one in json.loads(metadata[b"indicators"]))
        except (pyarrow.ArrowInvalid, KeyError, TypeError) as error:
            raise UnexpectedAnswer("The answer is not a Parquet file of the service.") from error
        return Table(body, meta, provenance_of(answer.headers, meta["generated_at"], series), question)

    return read


def whole_file(to: str | os.PathLike[str] | None) -> Callable[[Answer], tuple[Message, Content]]:
    """Reads a published file into memory, or to a path, where it then is complete or not at all."""
    target = None if to is None else Path(to)

    def read(answer: Answer) -> tuple[Message, Content]:
        digest = hashlib.sha256()
        if target is None:
            body = answer.body.whole(digest.update)
            _check_hash(answer, digest.hexdigest())
            return answer.headers, body
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as draft:
            try:
                for piece in answer.body.pieces():
                    digest.update(piece)
                    draft.write(piece)
                _check_hash(answer, digest.hexdigest())
                draft.close()
                Path(draft.name).replace(target)
            except BaseException:
                Path(draft.name).unlink(missing_ok=True)
                raise
        return answer.headers, target

    return read


def _check_hash(answer: Answer, found: str) -> None:
    """The tag of a published file is its SHA-256."""
    tag = answer.headers.get("ETag", "").strip('"')
    if found != tag:
        raise ConnectionFailed(f"The file arrived with the hash {found}, not {tag}.")


def joined_revisions(tables: Sequence[Table]) -> Table:
    """Revisions of several indicators as one table, each row with its indicator."""
    joined: Columns = {}
    for table in tables:
        named: Columns = {"indicator": [table.meta["indicator"]] * len(table)}
        for name in ("indicator", *table.columns) if len(table) else ():
            joined.setdefault(name, []).extend(named.get(name) or table[name])
    last = tables[-1].provenance
    prices = [table.price for table in tables]
    total = None if None in prices else sum(price or 0 for price in prices)
    series = tuple(one for table in tables for one in table.provenance.series)
    meta = {"indicators": [table.meta for table in tables]}
    provenance = replace(last, price=total, series=series)
    return Table(joined, meta, provenance)
