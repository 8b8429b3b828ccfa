"""Recomputes one derived figure from published rows, looking at no row that it does not need.

That a country has no row in a year is seen from the two rows between which it would lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

from almanac_data.derived.groups import GroupFigure, Member, Row, containments_of, counts, group_figure
from almanac_data.derived.history import Figure, History, breaks_of, transformed
from almanac_data.derived.transforms import Measured, Transform, is_defined, parse_transforms

SHARE_COVERAGE = 0.95
"""The least coverage of a group whose sum is the whole of a share."""

_OF_GROUPS = ("change", "growth", "index", "mean")


@dataclass(frozen=True)
class Recipe:
    """What is derived: the figure of a place (ISO3, or `@` and a group). aggregate: `declared` for a group."""

    indicator: str
    place: str
    year: int
    transform: tuple[str, ...]
    aggregate: str | None


@dataclass(frozen=True)
class Recomputed:
    """The figure. counted, coverage: of a group in the year, else None."""

    value: float | None
    status: str | None
    projected: bool
    counted: int | None = None
    coverage: float | None = None


@dataclass(frozen=True)
class Rule:
    """What an edition says of a series. divisor: the weights of a mean, the population of a sum."""

    indicator: str
    measured: Measured
    scale: int
    divisor: str | None
    breaks: Sequence[dict[str, Any]]


class Rows(Protocol):
    """The rows of a series by country and year, counted from 1."""

    count: int

    def before(self, iso3: str, year: int) -> int:
        """The last known row that is not after a country and year, which may be of another country; 0 without any."""

    def at(self, index: int) -> Row: ...


class Held(Protocol):
    """What an edition holds. Each fails where it does not know."""

    def rule(self, indicator: str) -> Rule: ...
    def members(self, group: str) -> list[str]: ...
    def territories(self) -> list[dict[str, Any]]: ...
    def rows(self, indicator: str) -> Rows: ...


def recompute(recipe: Recipe, held: Held) -> Recomputed:
    """Raises ValueError where nothing is derived so."""
    rule = held.rule(recipe.indicator)
    transforms = _judged(recipe, rule, held)
    is_group = recipe.place.startswith("@")
    if is_group != (recipe.aggregate == "declared"):
        raise ValueError("aggregate is of groups alone.")
    if is_group:
        by = _divisor(transforms[0], rule) if transforms else None
        history, figures = _group_history(rule, recipe.place[1:], _years(transforms, recipe.year), held, by=by)
        for one in transforms:
            if by is not None and one.is_division:
                places = {year: Figure(of.divisor, None, None, False) for year, of in figures.items()}
                history = transformed(history, one, History(places, ()), (rule.scale, held.rule(by).scale))
            else:
                history = transformed(history, one)
        figure = history.at(recipe.year)
        of_year = figures.get(recipe.year)
        counts = (0, 0.0) if of_year is None else (of_year.counted, of_year.coverage)
        return Recomputed(figure.value, figure.status, figure.projected, *counts)
    figure = _of_country(rule, recipe, transforms, held).at(recipe.year)
    return Recomputed(figure.value, figure.status, figure.projected)


def _judged(recipe: Recipe, rule: Rule, held: Held) -> list[Transform]:
    text = ",".join(recipe.transform)
    transforms = parse_transforms(text) if recipe.transform else []
    is_sum = rule.measured.aggregate == "sum"
    first = 1 if is_sum and transforms and transforms[0].name in ("per_head", "per") else 0
    is_unfit = rule.measured.aggregate == "none" or any(one.name not in _OF_GROUPS for one in transforms[first:])
    if recipe.place.startswith("@") and is_unfit:
        raise ValueError("Figures of groups are not derived so.")
    divisors = {one.of: held.rule(one.of).measured for one in transforms if one.name == "per"}
    if not is_defined(transforms, rule.measured, divisors):
        raise ValueError(f"{text} is not defined for {recipe.indicator}.")
    return transforms


def _divisor(one: Transform, rule: Rule) -> str | None:
    """The series that a transform divides by, if it does."""
    return one.of if one.name == "per" else rule.measured.population if one.name == "per_head" else None


def _years(transforms: Sequence[Transform], year: int) -> list[int]:
    """The years of a series that a chain of transforms takes for one year, ascending."""
    years = {year}
    for one in reversed(transforms):
        years = {taken for year in years for taken in _years_of_one(one, year)}
    return sorted(years)


def _years_of_one(one: Transform, year: int) -> Sequence[int]:
    if one.name in ("change", "growth"):
        return (year - one.number, year)
    if one.name == "index":
        return (one.number, year)
    return range(year - one.number + 1, year + 1) if one.name == "mean" else (year,)


def _of_country(rule: Rule, recipe: Recipe, transforms: Sequence[Transform], held: Held) -> History:
    iso3, year = recipe.place, recipe.year
    history = _country_history(rule, iso3, _years(transforms, year), held)
    for at, one in enumerate(transforms):
        divisor = _divisor(one, rule)
        if one.name == "share":
            if iso3 not in held.members(one.of):
                raise ValueError(f"{iso3} is no member.")
            whole, _ = _group_history(rule, one.of, _years(transforms, year), held, least=SHARE_COVERAGE)
            history = transformed(history, one, reduce(transformed, transforms[:at], whole))
        elif divisor is not None:
            by = held.rule(divisor)
            figures = _country_history(by, iso3, _years(transforms[at:], year), held)
            history = transformed(history, one, figures, (rule.scale, by.scale))
        else:
            history = transformed(history, one)
    return history


def _country_history(rule: Rule, iso3: str, years: Sequence[int], held: Held) -> History:
    """All years from the first to the last: the series may break in any of them."""
    found = _rows_between(held.rows(rule.indicator), iso3, years[0], years[-1])
    figures = {row.year: Figure(row.value, None, row.status, row.projected) for row in found}
    return History(figures, breaks_of(iso3, figures, rule.breaks))


def _rows_between(rows: Rows, iso3: str, first: int, last: int) -> list[Row]:
    found: list[Row] = []
    at = rows.before(iso3, first)
    start = rows.at(at) if at > 0 else None
    if start is None or (start.iso3, start.year) != (iso3, first):
        at += 1
    while at <= rows.count:
        row = rows.at(at)
        if row.iso3 != iso3 or row.year > last:
            break
        found.append(row)
        if row.year == last:
            break
        at += 1
    return found


def _last_own_row(rows: Rows, iso3: str, year: int) -> Row | None:
    """The row of the last own figure: that of the year, else the newest before it, else the first after it."""

    def own(index: int) -> Row | None:
        row = rows.at(index) if 0 < index <= rows.count else None
        return row if row is not None and row.iso3 == iso3 else None

    start = at = rows.before(iso3, year)
    earlier = own(at)
    while earlier is not None and earlier.value is None:
        at -= 1
        earlier = own(at)
    if earlier is not None and earlier.year == year:
        return earlier
    at = start + 1
    later = own(at)  # looked at in any case: it shows that the year has no row
    if earlier is not None:
        return earlier
    while later is not None and later.value is None:
        at += 1
        later = own(at)
    return later


def _group_history(
    rule: Rule, group: str, years: Sequence[int], held: Held, *, least: float = 0, by: str | None = None
) -> tuple[History, dict[int, GroupFigure]]:
    """The figures of a group in some years, as those of a place.

    least: below that coverage there is none; by: a series that they are divided by
    """
    method = "mean" if rule.measured.aggregate == "mean" else "sum"
    territories = held.territories()
    weighed = [of for of in (rule.divisor if method == "mean" else None, by) if of is not None]
    containments = [one for of in (rule.indicator, *weighed) for one in containments_of(territories, of)]
    figures: dict[int, GroupFigure] = {}
    counted: dict[int, str] = {}
    for year in years:
        members = _members(rule, method, held.members(group), year, held, by=by)
        figure = group_figure(method, members, year, containments)
        if figure is None:
            continue
        figures[year] = figure
        own = (one for one in members if one.figures is not None and one.figures.year == year)
        counted[year] = " ".join(one.iso3 for one in own if by is None or counts(method, one, year))
    places = {year: _as_place(one, least) for year, one in figures.items()}
    return History(places, (), counted if least == 0 else None), figures


def _as_place(figure: GroupFigure, least: float) -> Figure:
    if figure.value is None:
        return Figure(None, figure.reason, None, figure.projected)
    if figure.coverage < least:
        return Figure(None, "coverage", None, figure.projected)
    return Figure(figure.value, None, None, figure.projected)


def _members(rule: Rule, method: str, codes: Sequence[str], year: int, held: Held, *, by: str | None) -> list[Member]:
    """Of a sum, the population only counts where a member never had a figure."""
    rows = held.rows(rule.indicator)
    members = [Member(iso3, _last_own_row(rows, iso3, year), None) for iso3 in codes]
    if by is not None:
        members = [replace(one, is_divided=True, by=_row_of(held.rows(by), one, year)) for one in members]
    is_divided = method == "mean" or any(one.figures is None for one in members)
    if not is_divided or rule.divisor is None:
        return members
    divisors = held.rows(rule.divisor)
    return [replace(one, divisors=_last_own_row(divisors, one.iso3, year)) for one in members]


def _row_of(rows: Rows, member: Member, year: int) -> Row | None:
    """The row of the year, where the member has a figure that is divided by it."""
    if member.figures is None or member.figures.year != year:
        return None
    found = _rows_between(rows, member.iso3, year, year)
    return found[0] if found else None
