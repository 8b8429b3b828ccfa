"""Derived figures, by the vectors of docs/derived-vectors.json and docs/receipts.md."""

import json
from typing import Any

import pytest

from almanac_data import Refused, derive, parse_keys, verify_derivation

from .vectors import PAGE, vector

VECTORS = json.loads((PAGE.parent / "derived-vectors.json").read_text(encoding="utf-8"))["vectors"]
RECEIPT, CHAIN = (
    json.dumps(json.loads(vector(f"derivation-{name}")), ensure_ascii=False, separators=(",", ":"))
    for name in ("example", "chain")
)
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


def test_recomputes_the_figures_of_the_examples() -> None:
    verified = verify_derivation(RECEIPT.encode(), KEYS)
    figure = verified.figure
    assert (figure.value, figure.counted, figure.coverage, verified.recipe.place) == (7.5, 2, 0.789474, "@trio")
    assert verified.descriptors[0]["indicator"] == "example.income"
    chain = verify_derivation(CHAIN.encode(), KEYS)
    assert chain.figure.value == pytest.approx(100 * (((4.5 / 0.084) / (4.3 / 0.083)) ** 0.5 - 1), rel=1e-12)
    assert (chain.recipe.transform, chain.figure.status) == (("per_head", "growth:2"), "estimated")
    with pytest.raises(Refused, match=r"The figure is 7\.5, not 7\.25\."):
        verify_derivation(RECEIPT.replace("7.5", "7.25").encode(), None)


@pytest.mark.parametrize("receipt", [RECEIPT, CHAIN], ids=["example", "chain"])
def test_refuses_an_example_with_any_one_character_edited(receipt: str) -> None:
    digits = range(receipt.index('"value":') + 21, receipt.index(',"status"'))
    for at, letter in enumerate(receipt[: receipt.index('"notices":')]):
        edited = receipt[:at] + ("0" if letter != "0" else "1") + receipt[at + 1 :]
        if at in digits:  # beyond the precision of a root
            continue
        with pytest.raises(Refused):
            verify_derivation(edited.encode(), KEYS)
