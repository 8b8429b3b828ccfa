"""Transforms of a series: how they are written, and for what each is defined."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_FORM = re.compile(
    r"(?P<name>change|growth)(:(?P<years>[1-9]\d?|100))?|(?P<mean>mean):(?P<mean_years>[1-9]\d?|100)"
    r"|(?P<index>index):(?P<year>\d{4})|(?P<head>per_head)|(?P<per>per):(?P<indicator>[^\s:]{1,255})"
    r"|(?P<share>share):@?(?P<group>[a-z0-9-]{1,64})",
    re.ASCII,
)
_MOST = 2

_GROWING = frozenset({"count", "amount", "ratio", "price", "index"})
_DECIDED = _GROWING | {"rate", "duration", "score", "growth"}
_QUANTITIES = frozenset({"count", "amount"})


@dataclass(frozen=True)
class Transform:
    """number: N, or the year of an index. of: the indicator or the group that it divides by."""

    name: str
    number: int = 0
    of: str = ""

    @property
    def is_division(self) -> bool:
        return self.name in ("per_head", "per", "share")


@dataclass(frozen=True)
class Measured:
    """What decides whether a transform is defined. population: by which figures per head are made."""

    measure: str
    aggregate: str = "none"
    population: str | None = None


def parse_transforms(text: str) -> list[Transform]:
    """Parses a list; of `change` and `growth`, N is 1 unless it is given. Raises ValueError."""
    transforms = [_parse(part.strip()) for part in text.split(",")]
    if len(transforms) > _MOST:
        raise ValueError(f"{text}: at most {_MOST} transforms are applied, one after the other.")
    return transforms


def _parse(text: str) -> Transform:
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is none of change:N, growth:N, index:YYYY, mean:N, per_head, per:<indicator>, share:<group>."
        )
    part = found.groupdict()
    name = next(part[kind] for kind in ("name", "mean", "index", "head", "per", "share") if part[kind])
    number = part["years"] or part["mean_years"] or part["year"] or (1 if part["name"] else 0)
    return Transform(name, int(number), part["indicator"] or part["group"] or "")


def is_defined(transforms: Sequence[Transform], series: Measured, divisors: Mapping[str, Measured]) -> bool:
    """Whether each transform of a chain makes sense for the result of those before it."""
    measured = series
    for one in transforms:
        result = _result(one, measured, divisors.get(one.of))
        if result is None:
            return False
        measured = result
    return True


def _result(one: Transform, of: Measured, by: Measured | None) -> Measured | None:
    """What the result measures; None where the transform is not defined."""
    if one.name in ("change", "mean"):
        result = replace(of, aggregate="none") if one.name == "change" else of
        return result if of.measure in _DECIDED else None
    if one.name in ("growth", "index"):
        return Measured(one.name) if of.measure in _GROWING else None
    if one.name == "per_head":
        return Measured("ratio") if of.population is not None else None
    if one.name == "share":
        return Measured("rate") if of.aggregate == "sum" else None
    is_quantity = of.measure in _QUANTITIES and by is not None and by.measure in _QUANTITIES
    return Measured("ratio") if is_quantity else None
