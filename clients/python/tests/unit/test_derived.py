"""Derived figures, by the vectors of docs/derived-vectors.json and docs/receipts.md."""

import json
from typing import Any

import pytest

from almanac import Refused, derive, parse_keys, verify_derivation

from .vectors import PAGE, vector

VECTORS = json.loads((PAGE.parent / "derived-vectors.json").read_text(encoding="utf-8"))["vectors"]
RECEIPT = json.dumps(json.loads(vector("derivation-example")), ensure_ascii=False, separators=(",", ":"))
KEYS = parse_keys(vector("keys").encode())


def rows(cells: list[list[Any]], *more: str) -> list[dict[str, Any]]:
    return [dict(zip(("year", "value", *more), cell, strict=False)) for cell in cells]


@pytest.mark.parametrize("given", VECTORS, ids=lambda given: f"{given['transform']}: {given['name']}")
def test_derives_the_vectors(given: dict[str, Any]) -> None:
    found = derive(
        rows(given["rows"], "status", "projected"),
        given["transform"],
        breaks=given.get("breaks", ()),
        counted=given.get("counted"),
        divisor=rows(given.get("divisor", []), "status", "projected"),
        divisor_breaks=given.get("divisor_breaks", ()),
        scales=given.get("scales", (0, 0)),
        whole=rows(given.get("whole", []), "projected", "reason"),
    )
    expected = rows(given["expected"], "reason", "status", "projected")
    assert [{**row, "value": None} for row in found] == [{**row, "value": None} for row in expected]
    tolerance = 1e-12 if given["transform"] == "growth:5" else 0.0
    for row, other in zip(found, expected, strict=True):
        assert row["value"] == (other["value"] and pytest.approx(other["value"], rel=tolerance, abs=0.0))


def test_derives_nothing_by_what_is_no_transform() -> None:
    for text in ("", "growth:0", "growth:101", "index:20", "mean", "per:", "share:EU", "mean:2,mean:2,mean:2"):
        with pytest.raises(ValueError, match=r"change:N|at most 2"):
            derive([], text)


def test_recomputes_the_figure_of_the_example() -> None:
    verified = verify_derivation(RECEIPT.encode(), KEYS)
    figure = verified.figure
    assert (figure.value, figure.counted, figure.coverage, verified.recipe.place) == (7.5, 2, 0.789474, "@trio")
    assert verified.descriptors[0]["indicator"] == "example.income"
    with pytest.raises(Refused, match=r"The figure is 7\.5, not 7\.25\."):
        verify_derivation(RECEIPT.replace("7.5", "7.25").encode(), None)


def test_refuses_the_example_with_any_one_character_edited() -> None:
    end = RECEIPT.index('"notices":')
    for at, letter in enumerate(RECEIPT[:end]):
        edited = RECEIPT[:at] + ("0" if letter != "0" else "1") + RECEIPT[at + 1 :]
        with pytest.raises(Refused):
            verify_derivation(edited.encode(), KEYS)
