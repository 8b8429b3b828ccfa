"""Receipts of derived figures: verified, and recomputed from the rows in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from almanac_data.derived.groups import Row
from almanac_data.derived.recompute import Recipe, Recomputed, Rule, recompute
from almanac_data.derived.transforms import Measured
from almanac_data.receipts.checkpoints import Checkpoint, LogKey, read_checkpoint
from almanac_data.receipts.exact_json import (
    Json,
    Members,
    Refused,
    canonical,
    count_of,
    data_of,
    demand,
    hashes_of,
    members_of,
    parse,
    text_of,
)
from almanac_data.receipts.merkle import leaf_hash, root_of, root_of_several
from almanac_data.receipts.receipt import DESCRIPTOR, EDITION, ROW, plain

FORMAT = "almanac-derivation/1"
_DERIVATION = "format recipe figure series indicators rules manifest edition checkpoint proof notices"
_RULE = "indicator measure scale aggregate divisor population breaks"
_ROOT_TOLERANCE = 1e-12
"""How far a mean growth over several years, which takes a root, may differ."""

Given = list[tuple[int, Json]]


@dataclass(frozen=True)
class VerifiedDerivation:
    """What the receipt of a derived figure proves.

    recipe: what was derived. figure: as it is recomputed. descriptors: of the series whose rows it takes.
    root: of the edition, in hexadecimal.
    """

    recipe: Recipe
    figure: Recomputed
    descriptors: tuple[dict[str, Any], ...]
    edition: dict[str, Any]
    root: str
    checkpoint: Checkpoint


def is_derivation(receipt: bytes) -> bool:
    """Whether a receipt, whatever it is worth, says that it is of a derived figure. Raises Refused."""
    found = data_of(parse(receipt))
    return isinstance(found, dict) and found.get("format") == FORMAT


def verify_derivation(receipt: bytes, keys: Sequence[LogKey] | None) -> VerifiedDerivation:
    """Verifies the receipt of a derived figure, and recomputes the figure from the rows in it.

    A row that it takes and that was left out refuses it, as one changed digit does.
    keys: None leaves the signature out: the receipt is sound then, but anyone could have made it.
    Raises Refused.
    """
    members = members_of(data_of(parse(receipt)), "The derivation", _DERIVATION)
    demand(members["format"] == FORMAT, f"The format of the receipt is not {FORMAT}.")
    edition = members_of(members["edition"], "The edition", EDITION)
    manifest = text_of(members["manifest"], "The manifest").encode()
    demand(sha256(manifest).hexdigest() == edition["manifest"], "The manifest is not that of the edition.")
    held = _Held(_proven_rules(members["rules"], manifest))
    leaves = [_proven_series(one, held) for one in _list_of(members["series"], "The series")]
    what = "The proof of the indicators"
    indicators = count_of(edition["indicators"], "The number of indicators", 1)
    root = root_of_several(leaves, indicators, hashes_of(members["indicators"], what), what).hex()
    checkpoint = read_checkpoint(text_of(members["checkpoint"], "The checkpoint"), keys)
    what = "The proof of the edition"
    proof = members_of(members["proof"], what, "index path")
    index = count_of(proof["index"], f"{what}: the index", 0)
    log_root = root_of({**edition, "root": root}, index, checkpoint.size, hashes_of(proof["path"], what), what)
    altered = "A row, a descriptor, the edition or a path was altered: they do not lead to the checkpoint."
    demand(log_root == checkpoint.root, altered)
    recipe = _recipe(members["recipe"])
    try:
        figure = recompute(recipe, held)
    except ValueError as error:
        raise Refused(str(error)) from error
    _compare(recipe, figure, members_of(members["figure"], "The figure", "value status projected counted coverage"))
    return VerifiedDerivation(recipe, figure, tuple(map(plain, held.descriptors)), plain(edition), root, checkpoint)


def _list_of(value: Json, what: str) -> list[Json]:
    if not isinstance(value, list):
        raise Refused(f"{what} are not a list.")
    return value


def _given(value: Json, name: str) -> Given:
    """The leaves that are given of a tree."""
    entries = [members_of(entry, f"A {name}", f"index {name}") for entry in _list_of(value, f"The leaves ({name})")]
    return [(count_of(one["index"], f"The index of a {name}", 0), one[name]) for one in entries]


def _hashed(given: Given) -> list[tuple[int, bytes]]:
    return [(index, leaf_hash(leaf)) for index, leaf in given]


def _proven_rules(value: Json, manifest: bytes) -> list[Members]:
    rules = members_of(value, "The rules", "given path")
    stated = members_of(parse(manifest), "The manifest", "rules", and_others=True)["rules"]
    head = members_of(stated, "The rules of the manifest", "leaves root")
    known = _given(rules["given"], "rule")
    what = "The proof of the rules"
    size = count_of(head["leaves"], f"{what}: the size", 1)
    found = root_of_several(_hashed(known), size, hashes_of(rules["path"], what), what)
    demand(found.hex() == head["root"], "The rules are not those of the manifest.")
    return [members_of(leaf, "A rule", "", and_others=True) for _, leaf in known]


def _proven_series(value: Json, held: _Held) -> tuple[int, bytes]:
    """Adds the rows to what is held. The leaf in the tree of the edition."""
    series = members_of(value, "A series", "descriptor rows given path index")
    descriptor = members_of(series["descriptor"], "The descriptor", DESCRIPTOR)
    rows = count_of(series["rows"], "The number of rows", 1)
    given = _given(series["given"], "row")
    what = f"The proof of {descriptor['indicator']}"
    demand(all(index > 0 for index, _ in given), f"{what}: the descriptor is not the first leaf.")
    leaves = _hashed([(0, descriptor), *given])
    root = root_of_several(leaves, rows + 1, hashes_of(series["path"], what), what).hex()
    held.add(descriptor, _Rows(rows, given))
    leaf: Members = {"indicator": descriptor["indicator"], "rows": float(rows), "root": root}
    return count_of(series["index"], f"{what}: the index", 0), leaf_hash(leaf)


class _Rows:
    """The rows that a receipt holds of a series."""

    def __init__(self, count: int, given: Given) -> None:
        self.count = count
        self._rows = {index: _row(leaf) for index, leaf in given}
        self._indexes = list(self._rows)
        self._places = [(row.iso3, row.year) for row in self._rows.values()]
        demand(self._places == sorted(set(self._places)), "The rows are not in order.")

    def before(self, iso3: str, year: int) -> int:
        at = bisect_right(self._places, (iso3, year))
        return self._indexes[at - 1] if at > 0 else 0

    def at(self, index: int) -> Row:
        if index not in self._rows:
            raise Refused(f"Row {index} of a series is needed, and left out.")
        return self._rows[index]


def _row(value: Json) -> Row:
    row = members_of(value, "The row", ROW)
    figure, status = row["value"], row["status"]
    if figure is not None and not isinstance(figure, float):
        raise Refused("A value is not a number.")
    label = None if status is None else text_of(status, "A status")
    return Row(text_of(row["iso3"], "A country"), _year(row["year"]), figure, label, row["projected"] is True)


def _year(value: Json) -> int:
    if not isinstance(value, float) or not value.is_integer():
        raise Refused("A year is not a year.")
    return int(value)


class _Held:
    """What a receipt holds of an edition. The hashes of rules were verified: the build wrote them in this form."""

    def __init__(self, rules: Sequence[Members]) -> None:
        self._rules = rules
        self._rows: dict[str, _Rows] = {}
        self.descriptors: list[Members] = []

    def add(self, descriptor: Members, rows: _Rows) -> None:
        self.descriptors.append(descriptor)
        self._rows.setdefault(text_of(descriptor["indicator"], "An indicator"), rows)

    def rows(self, indicator: str) -> _Rows:
        if indicator not in self._rows:
            raise Refused(f"The rows of {indicator} are left out.")
        return self._rows[indicator]

    def rule(self, indicator: str) -> Rule:
        leaf = self._find("indicator", indicator, f"What {indicator} measures is left out.")
        found: dict[str, Any] = members_of(leaf, "The rule of a series", _RULE)
        measured = Measured(found["measure"], found["aggregate"], found["population"])
        return Rule(indicator, measured, int(found["scale"]), found["divisor"], found["breaks"])

    def members(self, group: str) -> list[str]:
        leaf = self._find("group", group, f"The members of @{group} are left out.")
        found = members_of(leaf, "A group", "group members")["members"]
        return [text_of(code, "A member") for code in _list_of(found, "Members")]

    def territories(self) -> list[dict[str, Any]]:
        leaf = self._find("territories", None, "The territories are left out.")
        found: Any = _list_of(members_of(leaf, "Territories", "territories")["territories"], "Territories")
        return list(found)

    def _find(self, member: str, value: str | None, message: str) -> Members:
        """value: None for any."""
        for leaf in self._rules:
            if member in leaf and value in (None, leaf[member]):
                return leaf
        raise Refused(message)


def _recipe(value: Json) -> Recipe:
    recipe = members_of(value, "The recipe", "indicator place year transform aggregate")
    aggregate = recipe["aggregate"]
    demand(aggregate in (None, "declared"), "The figures of members become one otherwise.")
    words = [text_of(word, "A transform") for word in _list_of(recipe["transform"], "The transforms")]
    return Recipe(
        text_of(recipe["indicator"], "The indicator"),
        text_of(recipe["place"], "The place"),
        _year(recipe["year"]),
        tuple(words),
        None if aggregate is None else "declared",
    )


def _compare(recipe: Recipe, found: Recomputed, stated: Members) -> None:
    value = stated["value"]
    if found.value is None or not isinstance(value, float):
        raise Refused("There is no such figure.")
    takes_root = any(word.startswith("growth:") and word != "growth:1" for word in recipe.transform)
    tolerance = _ROOT_TOLERANCE * abs(found.value) if takes_root else 0.0
    is_same = value == found.value or abs(value - found.value) <= tolerance
    demand(is_same, f"The figure is {found.value!r}, not {canonical(value)}.")
    for name in ("status", "projected", "counted", "coverage"):
        recomputed, other = getattr(found, name), stated[name]
        is_same = recomputed == other and isinstance(recomputed, bool) == isinstance(other, bool)
        demand(is_same, f"The figure has another {name}: {recomputed}.")
