"""Tables for people: as aligned text, and as HTML for notebooks."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_GAP = "  "
_NARROWEST = 8


def text_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], width: int | None = None) -> str:
    """Columns side by side, numbers to the right.

    width: the widest columns of text are cut until lines fit. The first is not: it names what the row is about.
    """
    if not rows:
        return "no rows"
    cells = [[_shown(row.get(name)) for name in columns] for row in rows]
    is_number = [
        any(_is_number(row.get(name)) for row in rows) and all(_is_number(row.get(name), True) for row in rows)
        for name in columns
    ]
    lines = [list(columns), *cells]
    widths = [max(display_width(line[at]) for line in lines) for at in range(len(columns))]
    if width is not None:
        widths = _fitted(widths, is_number, width)
    texts = [
        _GAP.join(_padded(cell, widths[at], is_number[at]) for at, cell in enumerate(line)).rstrip() for line in lines
    ]
    return "\n".join([texts[0], _GAP.join("-" * one for one in widths), *texts[1:]])


def html_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], caption: str = "") -> str:
    """The same in HTML. caption: is escaped, too."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(_html_cell(row.get(name)) for name in columns)}</tr>" for row in rows)
    title = f"<caption>{'<br>'.join(map(escape, caption.split(chr(10))))}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(value: Any) -> str:
    style = ' style="text-align: right"' if _is_number(value) else ""
    return f"<td{style}>{escape(_shown(value))}</td>"


def worth_showing(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], is_one: bool) -> list[str]:
    """Without columns that are empty, or that name the one indicator of a heading in every row."""
    return [
        name
        for name in columns
        if not (is_one and name == "indicator") and (not rows or any(row[name] is not None for row in rows))
    ]


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return " ".join("".join(one if one.isprintable() else " " for one in str(value)).split())


def _is_number(value: Any, or_missing: bool = False) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)) or (or_missing and value is None)


def _padded(text: str, width: int, is_number: bool) -> str:
    cut = text
    while display_width(cut) > width:
        cut = f"{cut.rstrip('…')[:-1]}…"
    space = " " * (width - display_width(cut))
    return space + cut if is_number else cut + space


def _fitted(widths: list[int], is_number: Sequence[bool], width: int) -> list[int]:
    fitted = list(widths)
    texts = [at for at, number in enumerate(is_number) if at > 0 and not number]
    while sum(fitted) + len(_GAP) * (len(fitted) - 1) > width:
        widest = max(texts, key=lambda at: fitted[at], default=None)
        if widest is None or fitted[widest] <= _NARROWEST:
            return fitted
        fitted[widest] -= 1
    return fitted
