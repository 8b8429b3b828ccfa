"""Locks against editions, keys and logs of a service, by the vectors of docs/receipts.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from almanac_data import Lock, LockError
from almanac_data.lock import check_edition, check_growth, check_log, pin

from .vectors import vector

EDITION: Any = {"id": "20261120T020500Z-22222222", "published_at": "2026-11-20T02:05:00+00:00", "root": "2" * 64}
KEYS = json.loads(vector("keys"))
FIRST_KEY = json.dumps({**KEYS, "keys": [{**KEYS["keys"][0], "to": None}]}).encode()
"""The list before the second key replaced the first."""
PROOF = vector("consistency").encode()
CHECKPOINT = json.loads(vector("example"))["checkpoint"]


def lock() -> Lock:
    return pin(EDITION, FIRST_KEY, vector("checkpoint"))


def test_is_read_as_it_was_written(tmp_path: Path) -> None:
    lock().write(tmp_path / "almanac.lock")
    assert Lock.read(tmp_path / "almanac.lock") == lock()
    document = json.loads((tmp_path / "almanac.lock").read_text(encoding="utf-8"))
    assert document["format"] == "almanac-lock/1"
    assert document["keys"] == json.loads(FIRST_KEY)["keys"]
    assert list(tmp_path.iterdir()) == [tmp_path / "almanac.lock"]


def test_holds_after_the_log_has_grown_and_its_key_was_replaced() -> None:
    check_edition(lock(), [{**EDITION, "id": "another"}, EDITION])
    pinned, present = check_log(lock(), vector("keys").encode(), CHECKPOINT)
    assert (pinned.size, present.size) == (2, 3)
    check_growth(pinned, present, PROOF)
    check_growth(pinned, pinned, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda edition: {**edition, "id": "another"}, "has no edition"),
        (lambda edition: {**edition, "root": "3" * 64}, "has the root 333"),
        (lambda edition: {**edition, "published_at": "2026-11-20T02:05:01+00:00"}, "has the published_at"),
    ],
)
def test_refuses_another_edition(change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(LockError, match=message):
        check_edition(lock(), [change(EDITION)])


def test_refuses_a_service_that_hides_the_pinned_key() -> None:
    later = json.dumps({**KEYS, "keys": KEYS["keys"][1:]}).encode()
    with pytest.raises(LockError, match="no longer publishes the key fb379c8e"):
        check_log(lock(), later, CHECKPOINT)


def test_refuses_a_log_that_does_not_extend_the_pinned_one() -> None:
    pinned, present = check_log(lock(), vector("keys").encode(), CHECKPOINT)
    for proof in (None, PROOF.replace(b"cb63", b"cb64"), b"{}"):
        with pytest.raises(LockError, match="does not extend"):
            check_growth(pinned, present, proof)
    with pytest.raises(LockError, match="shorter"):
        check_growth(present, pinned, PROOF)


def test_pins_nothing_that_the_log_does_not_sign() -> None:
    forged = vector("checkpoint").replace("\n2\n", "\n3\n")
    with pytest.raises(LockError, match="does not hold"):
        pin(EDITION, FIRST_KEY, forged)
