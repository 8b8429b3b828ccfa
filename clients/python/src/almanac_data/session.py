"""Calls of one service, under a lock or not, and never dearer than allowed."""

from __future__ import annotations

from typing import Any, TypeVar

from almanac_data import lock as locks
from almanac_data.errors import LockError
from almanac_data.lock import Lock
from almanac_data.questions import AsOf, Query, as_of_text
from almanac_data.transport import Answer, Read, Transport

Result = TypeVar("Result")

KEYS_PATH = "/.well-known/almanac-keys.json"


class Session:
    """max_credits: of a call that states no limit itself."""

    def __init__(self, transport: Transport, lock: Lock | None, max_credits: int | None) -> None:
        self._transport = transport
        self.lock = lock
        self._is_lock_checked = False
        self._max_credits = max_credits
        self.base_url = transport.base_url
        self.call = transport.call

    def limit(self, max_credits: int | None) -> int | None:
        return self._max_credits if max_credits is None else max_credits

    def data(self, path: str, query: Query) -> Any:
        """The member `data` of a free answer."""
        return self.call(path, query, Answer.json)["data"]

    def priced(self, path: str, query: Query, read: Read[Result], max_credits: int | None) -> Result:
        """A call that costs credits. One that asks for the pinned edition is answered from it, or raises LockError."""
        limit = self.limit(max_credits)
        bounded = query if limit is None else [*query, ("max_credits", str(limit))]
        is_pinned = self.lock is not None and ("as_of", self.lock.edition) in query

        def checked(answer: Answer) -> Result:
            served = answer.headers.get("X-Snapshot")
            if is_pinned and self.lock is not None and served != self.lock.edition:
                raise LockError(
                    f"The service answered from {served}, not from {self.lock.edition}, which the lock pins."
                )
            return read(answer)

        return self.call(path, bounded, checked, priced=True)

    def as_of(self, as_of: AsOf) -> Query:
        """The parameter: what was asked for, or the pinned edition, which is checked once."""
        sent = as_of_text(as_of)
        if self.lock is None:
            return [] if sent is None else [("as_of", sent)]
        if sent is not None:
            raise ValueError(f"as_of cannot be given: the lock pins {self.lock.edition}")
        if not self._is_lock_checked:
            self.check_lock()
        return [("as_of", self.lock.edition)]

    def pin(self, edition: str | None) -> Lock:
        """A lock of the served edition, or of the one named."""
        editions, served = self.call(
            "/v1/editions", [], lambda answer: (answer.json()["data"], answer.headers["X-Snapshot"])
        )
        wanted = edition or served
        found = next((one for one in editions if one["id"] == wanted), None)
        if found is None:
            raise LockError(f"The service has no edition {wanted}.")
        return locks.pin(found, self.keys_document(), self._checkpoint())

    def check_lock(self) -> None:
        if self.lock is None:
            raise LockError("This client has no lock.")
        locks.check_edition(self.lock, self.data("/v1/editions", []))
        pinned, present = locks.check_log(self.lock, self.keys_document(), self._checkpoint())
        proof = None
        if pinned.size < present.size:
            sizes = [("from", str(pinned.size)), ("to", str(present.size))]
            proof = bytes(self.call("/v1/log/consistency", sizes, Answer.whole))
        locks.check_growth(pinned, present, proof)
        self._is_lock_checked = True

    def keys_document(self) -> bytes:
        return bytes(self.call(KEYS_PATH, [], Answer.whole))

    def _checkpoint(self) -> str:
        return self.call("/v1/log/checkpoint", [], Answer.whole).decode("utf-8", "replace")
