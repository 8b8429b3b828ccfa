"""Derived figures: the arithmetic of `docs/derived.md` of Almanac, with the standard library alone.

IEEE doubles, only +, -, * and / in the order in which the formulas stand: the same bits as the service; mean growth
over several years, which takes a root, within 1e-12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from almanac_data.derived.history import Figure, History, transformed
from almanac_data.derived.transforms import parse_transforms

__all__ = ["derive"]


def derive(
    rows: Iterable[Mapping[str, Any]],
    transform: str,
    *,
    breaks: Sequence[int] = (),
    counted: Sequence[str] | None = None,
    divisor: Iterable[Mapping[str, Any]] = (),
    divisor_breaks: Sequence[int] = (),
    scales: tuple[int, int] = (0, 0),
    whole: Iterable[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """The rows of one country under a transform, or two separated by a comma: year, value, reason, status, projected.

    rows: by year, each once: `year`, `value`, and if it has them `status`, `projected` and, of a group, `reason`.
    breaks: years from which on the level is another. counted: by row of a group, which members count.
    divisor: what `per` and `per_head` divide by. scales: powers of ten of the figures and of a population.
    whole: what `share` divides by, the sum of the group. Raises ValueError for what is no transform.
    """
    history = _history(rows, breaks)
    if counted is not None:
        history = History(history.figures, history.breaks, dict(zip(history.figures, counted, strict=True)))
    by, group = _history(divisor, divisor_breaks), _history(whole, ())
    for one in parse_transforms(transform):
        history = transformed(history, one, group if one.name == "share" else by, scales)
        # The sum of a group is taken first, and transformed as a place.
        if not one.is_division:
            group = transformed(group, one)
    return [{"year": year, **vars(figure)} for year, figure in history.figures.items()]


def _history(rows: Iterable[Mapping[str, Any]], breaks: Sequence[int]) -> History:
    figures = {
        row["year"]: Figure(row["value"], row.get("reason"), row.get("status"), bool(row.get("projected")))
        for row in rows
    }
    return History(figures, tuple(breaks))
