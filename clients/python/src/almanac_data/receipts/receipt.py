"""Receipts: each leaf leads by its path to the root that the next leaf holds, the last to the checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from almanac_data.receipts.checkpoints import Checkpoint, LogKey, read_checkpoint
from almanac_data.receipts.exact_json import (
    Json,
    Members,
    Refused,
    count_of,
    data_of,
    demand,
    hashes_of,
    members_of,
    parse,
    text_of,
)
from almanac_data.receipts.merkle import root_of, root_over, verify_consistency

FORMAT = "almanac-receipt/1"
ROW = "iso3 year value ci_lo ci_hi status projected"
DESCRIPTOR = "indicator unit provider sources"
EDITION = "edition published_at indicators manifest"
_FIGURES = frozenset({"value", "ci_lo", "ci_hi"})


@dataclass(frozen=True)
class Verified:
    """What a receipt proves. root: of the edition, rows_root: of the indicator with so many rows, in hexadecimal."""

    row: dict[str, Any]
    descriptor: dict[str, Any]
    edition: dict[str, Any]
    root: str
    checkpoint: Checkpoint
    rows: int
    rows_root: str


def verify_receipt(receipt: bytes, keys: Sequence[LogKey] | None) -> Verified:
    """Verifies a receipt, which is the body of `/v1/receipts` or its `data`.

    keys: None leaves the signature out: the receipt is sound then, but anyone could have made it.
    Raises Refused.
    """
    names = "format row descriptor rows edition checkpoint proofs notice"
    members = members_of(data_of(parse(receipt)), "The receipt", names)
    demand(members["format"] == FORMAT, f"The format of the receipt is not {FORMAT}.")
    row = members_of(members["row"], "The row", ROW)
    descriptor = members_of(members["descriptor"], "The descriptor", DESCRIPTOR)
    rows = count_of(members["rows"], "The number of rows", 1)
    edition = members_of(members["edition"], "The edition", EDITION)
    indicators = count_of(edition["indicators"], "The number of indicators", 1)
    proofs = members_of(members["proofs"], "The proofs", "row descriptor indicator edition")

    def climb(name: str, leaf: Json, size: int) -> bytes:
        what = f"The proof of the {name}"
        proof = members_of(proofs[name], what, "index path")
        index = count_of(proof["index"], f"{what}: the index", 0)
        demand(name != "descriptor" or index == 0, "The descriptor is not the first leaf.")
        return root_of(leaf, index, size, hashes_of(proof["path"], what), what)

    checkpoint = read_checkpoint(text_of(members["checkpoint"], "The checkpoint"), keys)

    def edition_root(indicator_root: bytes) -> str:
        # The edition's tree: a leaf for each indicator.
        leaf: Members = {"indicator": descriptor["indicator"], "rows": float(rows), "root": indicator_root.hex()}
        return climb("indicator", leaf, indicators).hex()

    def leads(indicator_root: bytes) -> bool:
        # The log's tree: a leaf for each edition. Its root and size are those of the checkpoint.
        leaf = {**edition, "root": edition_root(indicator_root)}
        return climb("edition", leaf, checkpoint.size) == checkpoint.root

    # The indicator's tree: the descriptor is leaf 0, and the only one; the rows follow.
    of_row = climb("row", row, rows + 1)
    of_descriptor = climb("descriptor", descriptor, rows + 1)
    is_one = of_row == of_descriptor
    for name, other in (("row", of_descriptor), ("descriptor", of_row)):
        demand(is_one or not leads(other), f"The {name} or its path was altered: all else leads to the checkpoint.")
    demand(is_one, "Row and descriptor do not belong to one tree, and neither leads to the checkpoint.")
    demand(leads(of_row), "The edition, the number of rows or a path was altered: they do not lead to the checkpoint.")
    root = edition_root(of_row)
    return Verified(plain(row), plain(descriptor), plain(edition), root, checkpoint, rows, of_row.hex())


def verify_rows(verified: Verified, rows: bytes) -> None:
    """Refuses unless some rows are all rows of a receipt's tree, one for each country and year.

    rows: a list of rows in any order as JSON, or the body of `/v1/data` with it; members that leaves lack are left out.
    """
    found = data_of(parse(rows))
    if not isinstance(found, list):
        raise Refused("The rows are not a list.")
    cells: dict[tuple[str, float], Members] = {}
    for entry in found:
        members = members_of(entry, "A row", ROW, and_others=True)
        cell = (text_of(members["iso3"], "A country"), _year_of(members["year"]))
        demand(cell not in cells, f"Two rows are of {cell[0]}, {cell[1]:.0f}.")
        cells[cell] = {name: members[name] for name in ROW.split()}
    demand(len(cells) == verified.rows, f"The tree has {verified.rows} rows, not {len(cells)}.")
    root = root_over([verified.descriptor, *(cells[cell] for cell in sorted(cells))])
    demand(root.hex() == verified.rows_root, "The rows are not those of the tree.")


def _year_of(value: Json) -> float:
    if not isinstance(value, float):
        raise Refused("A year is not a number.")
    return value


def plain(members: Members) -> dict[str, Any]:
    """Years and counts as integers; figures stay doubles."""
    return {name: value if name in _FIGURES else _whole(value) for name, value in members.items()}


def _whole(value: Json) -> Any:
    if isinstance(value, dict):
        return plain(value)
    if isinstance(value, list):
        return [_whole(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def verify_one_log(one: Checkpoint, other: Checkpoint, proof: bytes | None = None) -> None:
    """Refuses unless the later of two checkpoints extends the earlier one.

    proof: the body of `/v1/log/consistency`, or its `data`; not needed for one and the same size.
    """
    if one.origin != other.origin:
        raise Refused(f"The checkpoints are of two logs: {one.origin} and {other.origin}.")
    earlier, later = sorted((one, other), key=lambda checkpoint: checkpoint.size)
    path: list[bytes] = []
    if earlier.size != later.size:
        sizes = f"from {earlier.size} to {later.size}"
        if proof is None:
            raise Refused(f"A proof of consistency {sizes} is needed.")
        members = members_of(data_of(parse(proof)), "The proof of consistency", "from to path")
        found = (count_of(members["from"], "from", 1), count_of(members["to"], "to", 1))
        demand(found == (earlier.size, later.size), f"The proof of consistency is not {sizes}.")
        path = hashes_of(members["path"], "The proof of consistency")
    verify_consistency((earlier.size, earlier.root), (later.size, later.root), path)
