"""What each command does. Each returns its exit code and writes to standard output."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from almanac_data.cli.output import write, write_file, write_table
from almanac_data.client import Almanac
from almanac_data.errors import LockError
from almanac_data.lock import Lock
from almanac_data.receipts import (
    LogKey,
    Verified,
    VerifiedDerivation,
    is_derivation,
    parse_key,
    parse_keys,
    read_checkpoint,
    verify_derivation,
    verify_one_log,
    verify_receipt,
    verify_rows,
)
from almanac_data.receipts.exact_json import print_number
from almanac_data.records import Hits

REASONS = 2
"""Of a claim, the first are the likeliest."""

DONE, NOT_BORNE_OUT, USAGE, NO_KEY = 0, 1, 2, 3
NOTHING_FOUND = 1


def search(client: Almanac, given: Namespace) -> int:
    text = " ".join(given.words)
    found = client.search(text, limit=given.limit)
    rows = [_series(one, match=one["match"]) for one in found]
    _write_series(given, rows, {**vars(found), "hits": found})
    if not found:
        nearest = f"; known words like these: {', '.join(found.nearest)}" if found.nearest else ""
        print(f"almanac: nothing is found for {text}{nearest}", file=sys.stderr)
        return NOTHING_FOUND
    options = _named(found)
    if options and not given.json and not given.csv:
        print(f"\nfor the places and years named: almanac data {found[0]['id']} {options}")
    return DONE


def _named(found: Hits) -> str:
    """Places and years that were named, as options of `almanac data`."""
    places = [*(place["iso3"] for place in found.places), *(f"@{group['id']}" for group in found.groups)]
    countries = [f"--countries {','.join(places)}"] if places else []
    span = sorted({min(found.years), max(found.years)}) if found.years else []
    return " ".join(countries + ([f"--years {'-'.join(map(str, span))}"] if span else []))


def indicators(client: Almanac, given: Namespace) -> int:
    found = client.indicators(topic=given.topic, provider=given.provider, limit=given.limit)
    _write_series(given, [_series(one, topic=one["topic"], access=one["access_tier"]) for one in found], found)
    return DONE


def _series(one: Mapping[str, Any], **more: str) -> dict[str, Any]:
    coverage = one["coverage"] or {}
    extent = {"latest": coverage.get("latest_year"), "countries": coverage.get("n_countries")}
    return {"id": one["id"], "name": one["name"], "unit": one["unit"], **extent, **more}


def _write_series(given: Namespace, rows: Sequence[Mapping[str, Any]], full: Any) -> None:
    if given.json or given.csv:
        write(given, list(rows[0]) if rows else ["id"], rows, full)
    else:
        # Ids are to be copied, and names to be read: neither is cut, however narrow the terminal is.
        print("\n".join(f"{row['id']}\n    {_summary(row)}" for row in rows) or "no rows")


def _summary(row: Mapping[str, Any]) -> str:
    span = "" if row["countries"] is None else f"{row['countries']} countries, latest {row['latest']}"
    terms = "shown, not exported" if row.get("access") == "display" else ""
    parts = (row.get("match"), row["name"], row["unit"], row.get("topic"), span, terms)
    return "; ".join(part for part in parts if part)


def data(client: Almanac, given: Namespace) -> int:
    asked = {
        "countries": given.countries,
        "years": given.years,
        "latest": given.latest,
        "fields": given.fields,
        "layout": "wide" if given.wide else "long",
        "missing": "omit" if given.omit_missing else "keep",
        "transform": given.transform,
        "aggregate": given.aggregate,
        "group": given.group,
        "names": given.names,
        "as_of": given.as_of,
    }
    if given.price:
        price = client.price(given.indicators, **asked)
        text = f"{price['price']:,} credits for {price['rows']:,} rows; {price['balance_after']:,} would be left"
        print(json.dumps(price) if given.json else text)
        return DONE
    write_table(given, client.data(given.indicators, **asked))
    return DONE


def rank(client: Almanac, given: Namespace) -> int:
    table = client.rank(given.indicator, given.year, transform=given.transform, as_of=given.as_of)
    heading = f"{table.meta['name']}, {table.meta['year']}; {table.meta['ranked']} countries ranked"
    write_table(given, table, heading, given.top)
    return DONE


def indicator(client: Almanac, given: Namespace) -> int:
    if given.cite:
        print(client.citation(given.indicator, style=given.cite).rstrip("\n"))
        return DONE
    found = client.indicator(given.indicator)
    if given.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return DONE
    coverage = found["coverage"]
    extent = coverage and f"{coverage['n_countries']} countries, {coverage['yr_min']} to {coverage['yr_max']}"
    facts = {"unit": found["unit"], "topic": found["topic"], "figures": extent, "provider": found["provider"]["name"]}
    facts |= {"licence": found["licence"], "credit line": found["attribution"]}
    print(f"{found['id']}: {found['name']}")
    print("\n".join(f"  {name}: {fact}" for name, fact in facts.items() if fact))
    print(f"\n{found['description']}" if found["description"] else "")
    return DONE


def groups(client: Almanac, given: Namespace) -> int:
    found = client.groups()
    rows = [
        {"group": f"@{one['id']}", "name": one["name"], "members": len(one["members"]), "as_of": one["as_of"]}
        for one in found
    ]
    write(given, list(rows[0]), rows, found)
    return DONE


def country(client: Almanac, given: Namespace) -> int:
    found = client.country(given.country, topic=given.topic, as_of=given.as_of)
    rows = [{"topic": topic, **item} for topic, items in found["topics"].items() for item in items]
    columns = ("topic", "indicator", "name", "year", "value", "unit", "rank")
    if not given.json and not given.csv:
        about = [found["name"], found["iso3"], found["region"], found["income_group"]]
        print("; ".join(part for part in about if part))
    write(given, columns, rows, found)
    return DONE


def revisions(client: Almanac, given: Namespace) -> int:
    is_lock = given.since is not None and Path(given.since).is_file()
    since = Lock.read(given.since) if is_lock else given.since
    write_table(given, client.revisions(given.indicators, countries=given.countries, years=given.years, since=since))
    return DONE


def balance(client: Almanac, given: Namespace) -> int:
    credits_left = client.balance()
    print(json.dumps({"balance": credits_left}) if given.json else f"{credits_left:,} credits")
    return DONE


def verify(client: Almanac, given: Namespace) -> int:
    verdicts = client.verify(given.claims)
    rows = [
        {
            "claim": one["claim"],
            "verdict": one["verdict"],
            "figure": one["value"],
            "deviation_percent": one["deviation_percent"],
            "unit": one["unit"],
        }
        for one in verdicts
    ]
    write(given, list(rows[0]), rows, verdicts)
    for one in () if given.json else verdicts:
        for unread in one["unread"]:
            print(f"{one['claim']}: the {unread['part']} should be {unread['expected']}")
        for reason in one["reasons"][:REASONS]:
            print(f"{one['claim']}: {_because(reason)}")
    return DONE if all(one["verdict"] in ("exact", "rounded") for one in verdicts) else NOT_BORNE_OUT


def _because(reason: Mapping[str, Any]) -> str:
    place = f"{reason['indicator']}, {reason['iso3']}, {reason['year']}"
    others = "" if reason["matches"] == 1 else f", and {reason['matches'] - 1} more agree"
    return f"{reason['reason'].replace('_', ' ')}? {print_number(float(reason['value']))} is {place}{others}"


def receipt(client: Almanac, given: Namespace) -> int:
    if given.action == "verify":
        return _verify_receipt(given)
    if given.action == "keys":
        write_file(given.output, client.keys_document())
    else:
        derived = {"transform": given.transform, "aggregate": given.aggregate}
        receipt = client.receipt(given.indicator, given.country, given.year, **derived, as_of=given.as_of)
        write_file(given.output, receipt)
    return DONE


def _verify_receipt(given: Namespace) -> int:
    keys = None if given.keys is None else _keys(given.keys)
    document = Path(given.file).read_bytes()
    verified: Verified | VerifiedDerivation
    if is_derivation(document):
        if given.rows is not None:
            raise ValueError("--rows is of receipts of one row")
        verified = verify_derivation(document, keys)
    else:
        verified = verify_receipt(document, keys)
        if given.rows is not None:
            verify_rows(verified, Path(given.rows).read_bytes())
    if given.since is not None:
        # Without universal newlines: a newline of a checkpoint is the byte 0a alone.
        kept = read_checkpoint(Path(given.since).read_bytes().decode("utf-8", "replace"), keys)
        proof = None if given.consistency is None else Path(given.consistency).read_bytes()
        verify_one_log(kept, verified.checkpoint, proof)
    facts, heading, descriptors = _proved(verified)
    edition, signers = verified.edition, verified.checkpoint.signed_by
    if given.json:
        facts = {**facts, "edition": edition, "root": verified.root, "signed_by": signers}
        print(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        print(heading)
        print(f"published {edition['published_at']} in snapshot {edition['edition']}")
        for source in [source for one in descriptors for source in one["sources"]]:
            print(f"from {source['url']}, SHA-256 {source['sha256']}, fetched {source['fetched_at']}")
        print(f"verified: signed by {', '.join(signers)}" if keys else "sound, but not verified: no key was given")
    return DONE if keys else NO_KEY


def _proved(verified: Verified | VerifiedDerivation) -> tuple[dict[str, Any], str, Sequence[Mapping[str, Any]]]:
    """What a receipt proves as JSON and in words, and whose rows it takes."""
    if isinstance(verified, VerifiedDerivation):
        recipe, figure = verified.recipe, verified.figure
        words = " ".join((recipe.indicator, *recipe.transform))
        facts = {"recipe": asdict(recipe), "figure": asdict(figure), "descriptors": verified.descriptors}
        value = print_number(figure.value or 0.0)
        part = "" if figure.counted is None else f", of {figure.counted} members, coverage {figure.coverage}"
        return facts, f"{words}, {recipe.place}, {recipe.year}: {value}{part}; recomputed", verified.descriptors
    row, descriptor = verified.row, verified.descriptor
    unit = "" if descriptor["unit"] is None else f" {descriptor['unit']}"
    value = "no figure" if row["value"] is None else f"{print_number(row['value'])}{unit}"
    heading = f"{descriptor['indicator']}, {row['iso3']}, {row['year']}: {value}"
    return {"row": row, "descriptor": descriptor}, heading, (descriptor,)


def _keys(given: str) -> list[LogKey]:
    path = Path(given)
    if not path.exists() and given.count("+") >= 2:
        return [parse_key(given)]
    if path.suffix == ".lock":
        return Lock.read(path).log_keys
    return parse_keys(path.read_bytes())


def lock(client: Almanac, given: Namespace) -> int:
    if given.changes:
        changes = client.changes(Lock.read(given.file))
        rows = [row for change in reversed(changes) for row in _changed(change)]
        write(given, ["indicator", "change", "figures", "snapshot"], rows, changes)
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
    "indicators": indicators,
    "indicator": indicator,
    "groups": groups,
    "data": data,
    "country": country,
    "rank": rank,
    "revisions": revisions,
    "verify": verify,
    "receipt": receipt,
    "lock": lock,
    "balance": balance,
}


def checked_lock(given: Namespace) -> str | None:
    """The lock under which a command runs."""
    if given.command != "lock":
        return str(given.lock) if given.lock else None
    if given.lock is not None:
        raise LockError("`almanac lock` takes the file as its argument, without --lock.")
    return str(given.file) if given.check else None
