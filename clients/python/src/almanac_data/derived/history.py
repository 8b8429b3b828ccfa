"""What a series has of one country or group, and its transforms. Where no figure can be derived, there is a reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from almanac_data.derived.transforms import Transform

# From the strongest to the weakest; None is stronger than all, and what is in no list weaker.
# fmt: off
_STATUSES = (
    "reported", "revised", "break", "definition differs", "included elsewhere", "includes another category",
    "adjusted", "special event", "provisional", "unvalidated", "estimated", "imputed", "modelled", "reanalysed",
    "external reanalysis", "partial", "less than", "derogation", "experimental", "low reliability", "not significant",
    "excluded", "suppressed", "not collected", "not applicable", "missing", "projection", "forecast", "predicted",
)
# fmt: on
_WEAKNESS = {word: at for at, word in enumerate(_STATUSES)}


@dataclass(frozen=True)
class Figure:
    """One figure, of a provider or derived. reason: why a derived one is missing."""

    value: float | None
    reason: str | None = None
    status: str | None = None
    projected: bool = False


@dataclass(frozen=True)
class History:
    """figures: by year, ascending. breaks: years from which on the level is another. counted: who counts in a group."""

    figures: dict[int, Figure]
    breaks: tuple[int, ...] = ()
    counted: dict[int, str] | None = None

    def at(self, year: int) -> Figure:
        return self.figures.get(year, _MISSING)

    def breaks_between(self, one: int, other: int) -> bool:
        """Whether the level may change after the earlier of two years and until the later one."""
        first, last = min(one, other), max(one, other)
        return any(first < year <= last for year in self.breaks)

    def counts(self, year: int) -> str | None:
        return None if self.counted is None else self.counted.get(year)


_MISSING = Figure(None)
_NOTHING = History({})


def transformed(history: History, one: Transform, by: History = _NOTHING, scales: tuple[int, int] = (0, 0)) -> History:
    """The same years. by: what is divided by. scales: powers of ten of the figures and of a population."""
    if one.is_division:
        figures = {year: _quotient(figure, by.at(year), one.name, scales) for year, figure in history.figures.items()}
        return replace(history, figures=figures, breaks=history.breaks + by.breaks)
    make = _mean if one.name == "mean" else _compared
    return replace(history, figures={year: make(history, one, year) for year in history.figures})


def _compared(history: History, one: Transform, year: int) -> Figure:
    base_year = one.number if one.name == "index" else year - one.number
    now, base = history.at(year), history.at(base_year)
    inputs = [base, now] if base_year < year else [now, base]
    if now.value is None:
        return _without(now.reason or "gap", inputs)
    if base.value is None:
        return _without(base.reason or "no_base", inputs)
    if history.breaks_between(base_year, year):
        return _without("break", inputs)
    if history.counts(year) != history.counts(base_year):
        return _without("coverage", inputs)
    if one.name == "change":
        return _made(lambda v, base: v - base, now.value, base.value, inputs)
    if base.value == 0:
        return _without("zero", inputs)
    if base.value < 0 or (one.name == "growth" and now.value <= 0):
        return _without("not_positive", inputs)
    if one.name == "index":
        return _made(lambda v, base: 100 * (v / base), now.value, base.value, inputs)
    if one.number == 1:
        return _made(lambda v, base: 100 * ((v - base) / base), now.value, base.value, inputs)
    return _made(lambda v, base: 100 * ((v / base) ** (1 / one.number) - 1), now.value, base.value, inputs)


def _mean(history: History, one: Transform, last: int) -> Figure:
    first = last - one.number + 1
    inputs = [history.at(year) for year in range(first, last + 1)]
    missing = next((figure for figure in inputs if figure.value is None), None)
    if missing is not None:
        return _without(missing.reason or "gap", inputs)
    if history.breaks_between(first, last):
        return _without("break", inputs)
    total = 0.0  # `sum` of newer Pythons compensates, and so has other bits
    for figure in inputs:
        total += figure.value or 0.0
    return _made(lambda whole, years: whole / years, total, one.number, inputs)


def _quotient(figure: Figure, by: Figure, name: str, scales: tuple[int, int]) -> Figure:
    inputs = [figure, by]
    if figure.value is None:
        return _without(figure.reason or "gap", inputs)
    if by.value is None:
        return _without(by.reason or "no_base", inputs)
    if by.value == 0:
        return _without("zero", inputs)
    if by.value < 0:
        return _without("not_positive", inputs)
    if name == "share":
        return _made(lambda v, whole: 100 * (v / whole), figure.value, by.value, inputs)
    own, others = scales if name == "per_head" else (0, 0)
    power = float(f"1e{abs(own - others)}")
    if own < others:
        return _made(lambda v, by: v / by / power, figure.value, by.value, inputs)
    return _made(lambda v, by: v / by * power, figure.value, by.value, inputs)


def _made(formula: Callable[[float, float], float], v: float, by: float, inputs: Sequence[Figure]) -> Figure:
    value = formula(float(v), float(by))
    return Figure(value, None, *_marks(inputs)) if math.isfinite(value) else _without("overflow", inputs)


def _without(reason: str, inputs: Sequence[Figure]) -> Figure:
    return Figure(None, reason, *_marks(inputs))


def _marks(inputs: Sequence[Figure]) -> tuple[str | None, bool]:
    """The status of the weakest, of equally weak ones the first, and whether one is projected."""
    weakest = max(inputs, key=lambda figure: _weakness(figure.status))
    return weakest.status, any(figure.projected for figure in inputs)


def _weakness(status: str | None) -> int:
    """Of several words, the weakest counts."""
    if status is None:
        return -1
    return max(_WEAKNESS.get(word, len(_STATUSES)) for word in status.split(", "))


def breaks_of(iso3: str, figures: Mapping[int, Figure], found: Iterable[Mapping[str, Any]]) -> tuple[int, ...]:
    """Where the series of a country breaks. A slip is left again in the year after it."""
    years: list[int] = []
    for one in found:
        if one["iso3"] in (None, iso3):
            year = int(one["year"])
            years += [year, year + 1] if one["kind"] == "decimal_slip" else [year]
    told = [year for year, figure in figures.items() if "break" in (figure.status or "").split(", ")]
    return (*years, *told)
