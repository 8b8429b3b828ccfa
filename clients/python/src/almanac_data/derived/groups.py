"""Figures of a group of countries from those of its members, in the order of ISO3. Nothing is filled up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A published row of a series."""

    iso3: str
    year: int
    value: float | None
    status: str | None
    projected: bool


@dataclass(frozen=True)
class Member:
    """figures, divisors: the row of its last own one: of the year, else the newest before it, else the first after.

    by: the row of the year of the series that a sum is divided by; is_divided: whether it is.
    """

    iso3: str
    figures: Row | None
    divisors: Row | None
    by: Row | None = None
    is_divided: bool = False


@dataclass(frozen=True)
class Containment:
    """Two places of which the figure of one may include the other; contained: None where nobody has decided."""

    parent: str
    child: str
    contained: bool | None
    first: float
    last: float


@dataclass(frozen=True)
class GroupFigure:
    """divisor: of a sum that is divided, the sum of what it is divided by."""

    value: float | None
    reason: str | None
    counted: int
    coverage: float
    projected: bool
    divisor: float | None = None


def containments_of(decided: Iterable[Mapping[str, Any]], indicator: str) -> list[Containment]:
    """What holds for one series: its own rows decide, else those of its provider, else those of all."""
    rows = list(decided)
    ranked = [row for of in (indicator, indicator.split(".", 1)[0], "*") for row in rows if row["provider"] == of]
    deciding = {(row["parent"], row["child"]): row["provider"] for row in reversed(ranked)}
    return [
        Containment(
            row["parent"],
            row["child"],
            row["contained"],
            -math.inf if row["from"] is None else row["from"],
            math.inf if row["to"] is None else row["to"],
        )
        for row in ranked
        if deciding[row["parent"], row["child"]] == row["provider"]
    ]


def group_figure(
    method: str, members: Sequence[Member], year: int, containments: Sequence[Containment]
) -> GroupFigure | None:
    """The figure of one year by `sum` or `mean`; None where no member has one."""
    counting = {one.iso3 for one in members if counts(method, one, year)}
    in_year = [one for one in containments if one.first <= year <= one.last and one.parent in counting]
    within = {one.child for one in in_year if one.contained}
    once = [one for one in members if one.iso3 not in within]
    if not any(counts(method, one, year) for one in once):
        return None
    value, counted, share, projected = (_sum if method == "sum" else _mean)(once, year)
    coverage = math.floor(share * 1e6 + 0.5) / 1e6 if math.isfinite(share) else 0.0
    is_covered = coverage * 3 >= 2 and math.isfinite(value)
    is_undecided = any(one.contained is None and one.child in counting for one in in_year)
    reason = "territory" if is_undecided else None if is_covered else "coverage"
    return GroupFigure(value if reason is None else None, reason, counted, coverage, projected, _divisor(once, year))


def _own(row: Row | None, year: int) -> float | None:
    return row.value if row is not None and row.year == year else None


def _last(row: Row | None) -> float:
    return 0.0 if row is None or row.value is None else row.value


def counts(method: str, member: Member, year: int) -> bool:
    """Whether a member has all that a figure of the year takes."""
    if _own(member.figures, year) is None or (member.is_divided and _own(member.by, year) is None):
        return False
    weight = _own(member.divisors, year)
    return method == "sum" or (weight is not None and weight > 0)


def _is_projected(row: Row | None, year: int) -> bool:
    return row is not None and row.year == year and row.projected


def _divisor(members: Sequence[Member], year: int) -> float | None:
    """Summed one by one: `sum` compensates, and gives other bits."""
    if not any(one.is_divided for one in members):
        return None
    total = 0.0
    for one in members:
        if counts("sum", one, year):
            total += _own(one.by, year) or 0.0
    return total


Combined = tuple[float, int, float, bool]


def _sum(members: Sequence[Member], year: int) -> Combined:
    """Covers the share of the last own figures that is there, times that of the people whose country ever has one."""
    total = present = expected = settled = everybody = 0.0
    counted = known = 0
    projected = False
    for member in members:
        people = _last(member.divisors)
        everybody += max(people, 0.0)
        if member.figures is None:
            continue
        known += 1
        settled += max(people, 0.0)
        expected += abs(_last(member.figures))
        value = _own(member.figures, year)
        if value is None or not counts("sum", member, year):
            continue
        total += value
        present += abs(value)
        counted += 1
        projected = projected or _is_projected(member.figures, year) or _is_projected(member.by, year)
    share = present / expected if expected > 0 else counted / known
    return total, counted, share * (settled / everybody) if everybody > 0 else share, projected


def _mean(members: Sequence[Member], year: int) -> Combined:
    """Covers the share of the last own weights that is there."""
    weighed = weights = expected = 0.0
    counted = 0
    projected = False
    for member in members:
        expected += max(_last(member.divisors), 0.0)
        value, weight = _own(member.figures, year), _own(member.divisors, year)
        if value is None or weight is None or weight <= 0:
            continue
        weighed += weight * value
        weights += weight
        counted += 1
        projected = projected or _is_projected(member.figures, year) or _is_projected(member.divisors, year)
    return weighed / weights, counted, weights / expected if expected > 0 else 0.0, projected
