"""Rows as tables for people, as JSON or as CSV."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from almanac_data.display import text_table, worth_showing
from almanac_data.table import Table

Rows = Sequence[Mapping[str, Any]]


def write_table(given: Namespace, table: Table, heading: str | None = None, top: int | None = None) -> None:
    rows = table.rows[:top]
    full = {**table.attrs, "price": table.price, "meta": table.meta, "rows": rows}
    is_one = len(table.provenance.series) == 1
    is_for_people = not given.json and not given.csv
    if is_for_people:
        print(heading or "\n".join(one.title for one in table.provenance.series))
    write(given, worth_showing(table.columns, rows, is_one) if is_for_people else table.columns, rows, full)
    if is_for_people:
        cost = "" if table.price is None else f"; {table.price:,} charged, {table.provenance.balance or 0:,} left"
        print(f"\n{table.citation}")
        print(f"{len(table):,} rows{cost}")
    if table.unmatched:
        print(f"almanac: no country has the code {', '.join(table.unmatched)}", file=sys.stderr)


def write(given: Namespace, columns: Sequence[str], rows: Rows, full: Any) -> None:
    if given.json:
        print(json.dumps(full, indent=2, ensure_ascii=False))
    elif getattr(given, "csv", False):
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row.get(name) for name in columns] for row in rows)
    else:
        # A pipe has no width: nothing is cut there.
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(text_table(columns, rows, width))


def write_file(path: str | None, content: bytes) -> None:
    if path is None:
        sys.stdout.buffer.write(content)
    else:
        Path(path).write_bytes(content)
