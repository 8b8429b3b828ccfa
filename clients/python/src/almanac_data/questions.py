"""Parameters of the verbs, as the service reads them. Wrong ones are refused here, before anything is sent."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Union

Words = str | Sequence[str]
Years = Union[int, str, "tuple[int | None, int | None]", Iterable[int], None]
AsOf = str | date | None
Layout = Literal["long", "wide"]
Missing = Literal["keep", "omit"]
Aggregate = Literal["declared", "median", "min", "max"]

_SPAN = re.compile(r"(-?\d+)?-(-?\d+)?")

LONG_COLUMNS = ("indicator", "iso3", "year", "value", "ci_lo", "ci_hi", "rank", "projected")
GROUP_COLUMNS = ("indicator", "iso3", "group", *LONG_COLUMNS[2:])

Query = list[tuple[str, str]]


def words(value: Words, name: str) -> list[str]:
    """One word, or several."""
    found = [value] if isinstance(value, str) else list(value)
    if not found or not all(isinstance(one, str) and one for one in found):
        raise ValueError(f"{name} must be a text or a list of texts, not {value!r}")
    return found


def _places(value: Words, name: str) -> tuple[str, ...]:
    chosen = tuple(words(value, name)) if value else ()
    # A comma separates places. One within a name (`Hong Kong SAR, China`) says nothing that a space does not.
    return chosen if isinstance(value, str) else tuple(place.replace(",", " ") for place in chosen)


def derived_query(transform: Words, aggregate: Aggregate | None) -> Query:
    query = [("transform", ",".join(words(transform, "transform")))] if transform else []
    return query + ([("aggregate", aggregate)] if aggregate is not None else [])


def years_query(years: Years) -> Query:
    """The years as the service reads them.

    years: `2020`; `(2000, 2010)` or `"2000-2010"` from the first to the last, of which either may be left out;
        `[2000, 2010]`, or any other list, set or `range`: these years alone.
    """
    if years is None:
        return []
    if isinstance(years, str):
        return years_query(_parsed(years))
    if isinstance(years, tuple):
        bounds = [None if year is None else _year(year, years) for year in years]
        if len(bounds) != 2 or bounds == [None, None]:
            raise ValueError(
                f"years must be a pair of the first and the last, or a list of single years, not {years!r}"
            )
        return [(name, str(year)) for name, year in zip(("from", "to"), bounds, strict=True) if year is not None]
    chosen = sorted({_year(year, years) for year in (years if isinstance(years, Iterable) else [years])})
    if not chosen:
        raise ValueError(f"years must be one year or more, not {years!r}")
    if chosen[-1] - chosen[0] == len(chosen) - 1:
        return [("from", str(chosen[0])), ("to", str(chosen[-1]))]
    return [("years", ",".join(map(str, chosen)))]


def _year(year: object, given: Years) -> int:
    """Also one of NumPy."""
    try:
        if isinstance(year, bool):
            raise TypeError
        return operator.index(year)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"years must be whole numbers, not {given!r}") from None


def _parsed(text: str) -> Years:
    """`2020`, `2000-2010`, `2000-`, `-2010`, or years separated by commas."""
    span = _SPAN.fullmatch(text.strip())
    if span and any(span.groups()):
        first, last = (None if year is None else int(year) for year in span.groups())
        return first, last
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ValueError(f"years must be 2020, 2000-2010, 2000-, -2010 or 2000,2010, not {text!r}")
    return [int(part) for part in parts]


def as_of_text(as_of: AsOf) -> str | None:
    """A date, a moment with its offset, or the id of an edition."""
    if isinstance(as_of, datetime) and as_of.tzinfo is None:
        raise ValueError("as_of must be a date, or a datetime with a time zone")
    return as_of.isoformat() if isinstance(as_of, date) else as_of


@dataclass(frozen=True)
class DataQuestion:
    """Which figures: what `data` was asked for, and `price` and `revisions` can be asked for again."""

    indicators: tuple[str, ...]
    countries: tuple[str, ...] = ()
    years: Years = None
    latest: int | None = None
    fields: tuple[str, ...] = ()
    layout: Layout = "long"
    missing: Missing = "keep"
    transform: tuple[str, ...] = ()
    aggregate: Aggregate | None = None
    group: tuple[str, ...] = ()
    names: bool = False

    @classmethod
    def of(
        cls,
        indicator: Words,
        *,
        countries: Words = (),
        years: Years = None,
        latest: int | None = None,
        fields: Words = (),
        layout: Layout = "long",
        missing: Missing = "keep",
        transform: Words = (),
        aggregate: Aggregate | None = None,
        group: Words = (),
        names: bool = False,
    ) -> DataQuestion:
        """From the parameters of `data`. Raises ValueError."""
        return cls(
            tuple(words(indicator, "indicator")),
            _places(countries, "countries"),
            # Read more than once.
            years if isinstance(years, (str, tuple)) or not isinstance(years, Iterable) else list(years),
            latest,
            tuple(words(fields, "fields")) if fields else (),
            layout,
            missing,
            tuple(words(transform, "transform")) if transform else (),
            aggregate,
            _places(group, "group"),
            names,
        )

    def __post_init__(self) -> None:
        for name, value, known in (
            ("layout", self.layout, ("long", "wide")),
            ("missing", self.missing, ("keep", "omit")),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        if self.names and (self.fields or self.layout == "wide"):
            raise ValueError(
                "names must not be sent together with fields, which may have `name`, nor with layout='wide'"
            )
        years_query(self.years)

    def query(self) -> Query:
        is_one = len(self.indicators) == 1
        query = [("indicator" if is_one else "indicators", ",".join(self.indicators))]
        query += [("countries", ",".join(self.countries))] if self.countries else []
        query += years_query(self.years)
        query += [("latest", str(self.latest))] if self.latest is not None else []
        query += [("fields", ",".join(self.columns()))] if self.fields or self.names else []
        query += [("layout", "wide")] if self.layout == "wide" else []
        query += [("missing", "omit")] if self.missing == "omit" else []
        query += derived_query(self.transform, self.aggregate)
        return query + ([("group", ",".join(self.group))] if self.group else [])

    def extent(self) -> Query:
        """Countries and years alone, members of a group of one's own among them."""
        places = ",".join(self.countries + self.group)
        return ([("countries", places)] if places else []) + years_query(self.years)

    def columns(self) -> tuple[str, ...]:
        """Of the answer."""
        if self.layout == "wide":
            return ("iso3", "year", *dict.fromkeys(self.indicators))
        is_grouped = self.aggregate is not None or bool(self.group)
        usual = GROUP_COLUMNS if is_grouped else LONG_COLUMNS
        year = usual.index("year")
        return self.fields or (usual if not self.names else (*usual[:year], "name", *usual[year:]))
