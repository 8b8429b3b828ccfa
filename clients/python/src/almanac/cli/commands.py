"""What each command does. Each returns its exit code and writes to standard output."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from almanac.client import Almanac
from almanac.errors import LockError
from almanac.lock import Lock
from almanac.receipts import LogKey, parse_key, parse_keys, read_checkpoint, verify_one_log, verify_receipt
from almanac.receipts.exact_json import print_number
from almanac.table import Table
from almanac.text import text_table

DONE, NOT_BORNE_OUT, USAGE, NO_KEY = 0, 1, 2, 3

Rows = Sequence[Mapping[str, Any]]


def search(client: Almanac, given: Namespace) -> int:
    found = client.search(" ".join(given.words) or None, topic=given.topic, provider=given.provider, limit=given.limit)
    rows = [
        {
            "id": one["id"],
            "name": one["name"],
            "unit": one["unit"],
            "topic": one["topic"],
            "latest": one["coverage"] and one["coverage"]["latest_year"],
            "countries": one["coverage"] and one["coverage"]["n_countries"],
            "access": one["access_tier"],
        }
        for one in found
    ]
    _write(given, list(rows[0]) if rows else ["id"], rows, found)
    return DONE


def data(client: Almanac, given: Namespace) -> int:
    asked = {
        "countries": given.countries,
        "years": given.years,
        "latest": given.latest,
        "fields": given.fields,
        "layout": "wide" if given.wide else "long",
        "missing": "omit" if given.omit_missing else "keep",
        "as_of": given.as_of,
    }
    if given.price:
        price = client.price(given.indicators, **asked)
        text = f"{price['price']:,} credits for {price['rows']:,} rows; {price['balance_after']:,} would be left"
        print(json.dumps(price) if given.json else text)
        return DONE
    _write_table(given, client.data(given.indicators, **asked))
    return DONE


def rank(client: Almanac, given: Namespace) -> int:
    table = client.rank(given.indicator, given.year, as_of=given.as_of)
    heading = f"{table.meta['name']}, {table.meta['year']}; {table.meta['ranked']} countries ranked"
    _write_table(given, table, heading, given.top)
    return DONE


def verify(client: Almanac, given: Namespace) -> int:
    verdicts = client.verify(given.claims)
    rows = [
        {
            "claim": one["claim"],
            "verdict": one["verdict"],
            "figure": one["value"],
            "unit": one["unit"],
            "because": "; ".join(_because(reason) for reason in one["reasons"][:2]),
        }
        for one in verdicts
    ]
    _write(given, list(rows[0]), rows, verdicts)
    return DONE if all(one["verdict"] in ("exact", "rounded") for one in verdicts) else NOT_BORNE_OUT


def _because(reason: Mapping[str, Any]) -> str:
    place = f"{reason['indicator']}, {reason['iso3']}, {reason['year']}"
    return f"{reason['reason']}: {reason['value']:g} is {place}"


def receipt(client: Almanac, given: Namespace) -> int:
    if given.action == "verify":
        return _verify_receipt(given)
    if given.action == "keys":
        _write_file(given.output, client.keys_document())
    else:
        _write_file(given.output, client.receipt(given.indicator, given.country, given.year, as_of=given.as_of))
    return DONE


def _verify_receipt(given: Namespace) -> int:
    keys = None if given.keys is None else _keys(given.keys)
    verified = verify_receipt(Path(given.file).read_bytes(), keys)
    if given.since is not None:
        # Without universal newlines: a newline of a checkpoint is the byte 0a alone.
        kept = read_checkpoint(Path(given.since).read_bytes().decode("utf-8", "replace"), keys)
        proof = None if given.consistency is None else Path(given.consistency).read_bytes()
        verify_one_log(kept, verified.checkpoint, proof)
    row, descriptor, edition = verified.row, verified.descriptor, verified.edition
    if given.json:
        facts = {"row": row, "descriptor": descriptor, "edition": edition, "root": verified.root}
        print(json.dumps({**facts, "signed_by": verified.checkpoint.signed_by}, indent=2, ensure_ascii=False))
    else:
        unit = "" if descriptor["unit"] is None else f" {descriptor['unit']}"
        figure = "no figure" if row["value"] is None else f"{print_number(row['value'])}{unit}"
        print(f"{descriptor['indicator']}, {row['iso3']}, {row['year']}: {figure}")
        print(f"published {edition['published_at']} in snapshot {edition['edition']}")
        for source in descriptor["sources"]:
            print(f"from {source['url']}, SHA-256 {source['sha256']}, fetched {source['fetched_at']}")
        signers = ", ".join(verified.checkpoint.signed_by)
        print(f"verified: signed by {signers}" if keys else "sound, but not verified: no key was given")
    return DONE if keys else NO_KEY


def _keys(given: str) -> list[LogKey]:
    path = Path(given)
    if not path.exists() and given.count("+") >= 2:
        return [parse_key(given)]
    if path.suffix == ".lock":
        return Lock.read(path).log_keys
    return parse_keys(path.read_bytes())


def lock(client: Almanac, given: Namespace) -> int:
    if given.revisions is not None:
        since = Lock.read(given.file)
        _write_table(
            given, client.revisions(given.revisions, countries=given.countries, years=given.years, since=since)
        )
    elif given.changes:
        changes = client.changes(Lock.read(given.file))
        rows = [row for change in reversed(changes) for row in _changed(change)]
        _write(given, ["indicator", "change", "figures", "snapshot"], rows, changes)
    elif given.check:
        client.check_lock()
        print(f"{given.file} holds: the service serves the pinned edition, and its log extends the pinned one")
    else:
        pinned = client.lock(given.file, edition=given.edition)
        print(f"{given.file} pins {pinned.edition}, root {pinned.root}")
    return DONE


def _changed(change: Mapping[str, Any]) -> list[dict[str, Any]]:
    edition = change["edition"]
    whole = [(word, one) for word in ("added", "withdrawn") for one in change[word]]
    rows: list[dict[str, Any]] = [{"indicator": one, "change": word, "snapshot": edition} for word, one in whole]
    rows += [
        {"indicator": one["to"], "change": f"renamed from {one['from']}", "snapshot": edition}
        for one in change["renamed"]
    ]
    for one in change["revised"]:
        figures = sum(one[kind] for kind in ("added", "changed", "withdrawn", "restored"))
        rows.append({"indicator": one["indicator"], "change": "revised", "figures": figures, "snapshot": edition})
    return rows


COMMANDS: dict[str, Callable[[Almanac, Namespace], int]] = {
    "search": search,
    "data": data,
    "rank": rank,
    "verify": verify,
    "receipt": receipt,
    "lock": lock,
}


def checked_lock(given: Namespace) -> str | None:
    """The lock under which a command runs."""
    if given.command != "lock":
        return str(given.lock) if given.lock else None
    if given.lock is not None:
        raise LockError("`almanac lock` takes the file as its argument, without --lock.")
    return str(given.file) if given.check else None


# --- output -----------------------------------------------------------------------------------------------------------


def _write_table(given: Namespace, table: Table, heading: str | None = None, top: int | None = None) -> None:
    rows = table.rows[:top]
    full = {**table.attrs, "price": table.price, "meta": table.meta, "rows": rows}
    if heading and not given.json and not given.csv:
        print(heading)
    _write(given, table.columns, rows, full)
    if not given.json and not given.csv:
        cost = "" if table.price is None else f"; {table.price:,} charged, {table.provenance.balance or 0:,} left"
        print(f"\n{table.citation}")
        print(f"{len(table):,} rows{cost}")


def _write(given: Namespace, columns: Sequence[str], rows: Rows, full: Any) -> None:
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


def _write_file(path: str | None, content: bytes) -> None:
    if path is None:
        sys.stdout.buffer.write(content)
    else:
        Path(path).write_bytes(content)
