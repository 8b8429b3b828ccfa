"""`almanac.lock`: which edition a notebook was written against, and how to recognise it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from almanac_data.errors import LockError
from almanac_data.receipts import (
    Checkpoint,
    LogKey,
    Refused,
    parse_key,
    parse_keys,
    read_checkpoint,
    verify_one_log,
)
from almanac_data.records import Edition

FORMAT = "almanac-lock/1"
_MEMBERS = {"edition", "published_at", "root", "keys", "checkpoint"}


@dataclass(frozen=True)
class PinnedKey:
    """A key of the log as it was published: `<name>+<id>+<base64>`, and the sizes of the log for which it counts."""

    key: str
    first: int
    last: int | None


@dataclass(frozen=True)
class Lock:
    """Pins an edition of the data.

    edition: its id. root: of its Merkle tree, 64 hexadecimal digits. keys: of the log, with their fingerprints.
    checkpoint: the signed head of the log at that time; the log of today has to extend it.
    """

    edition: str
    published_at: str
    root: str
    keys: tuple[PinnedKey, ...]
    checkpoint: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Lock:
        """Raises LockError."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise LockError(f"There is no {os.fspath(path)}: `almanac lock` or `lock()` writes it.") from error
        except (OSError, ValueError) as error:
            raise LockError(f"{os.fspath(path)} cannot be read: {error}") from error
        try:
            if document["format"] != FORMAT:
                raise LockError(f"{os.fspath(path)} is {document['format']!r}, not {FORMAT}.")
            keys = tuple(PinnedKey(one["key"], one["from"], one["to"]) for one in document["keys"])
            texts = {name: str(document[name]) for name in sorted(_MEMBERS - {"keys"})}
            return cls(keys=keys, **texts)
        except (KeyError, TypeError) as error:
            raise LockError(f"{os.fspath(path)} is not an almanac.lock: {error!r}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Replaces the file whole, or leaves it as it is."""
        draft = Path(f"{os.fspath(path)}.{os.getpid()}")
        keys = [{"key": one.key, "from": one.first, "to": one.last} for one in self.keys]
        text = json.dumps({"format": FORMAT, **asdict(self), "keys": keys}, indent=2, ensure_ascii=False)
        draft.write_text(f"{text}\n", encoding="utf-8")
        draft.replace(path)

    @property
    def log_keys(self) -> list[LogKey]:
        """The pinned keys, to verify receipts with. Raises LockError."""
        try:
            return [parse_key(one.key, one.first, one.last) for one in self.keys]
        except Refused as error:
            raise LockError(f"The lock holds a wrong key: {error}") from error


def pin(edition: Edition, keys: bytes, checkpoint: str) -> Lock:
    """A lock of an edition, after the checkpoint is verified with the keys of the same moment. Raises LockError."""
    try:
        known = parse_keys(keys)
        read_checkpoint(checkpoint, known)
    except Refused as error:
        raise LockError(f"The log of the service does not hold: {error}") from error
    pinned = tuple(PinnedKey(key.text, key.first, key.last) for key in known)
    return Lock(edition["id"], edition["published_at"], edition["root"], pinned, checkpoint)


def check_edition(lock: Lock, editions: Iterable[Edition]) -> None:
    """Raises LockError unless the service lists the pinned edition with the pinned root and time."""
    found = next((one for one in editions if one["id"] == lock.edition), None)
    if found is None:
        raise LockError(f"The service has no edition {lock.edition}, which the lock pins.")
    served: dict[str, Any] = dict(found)
    for name, pinned in (("root", lock.root), ("published_at", lock.published_at)):
        if served[name] != pinned:
            raise LockError(
                f"Edition {lock.edition} has the {name} {served[name]}, but the lock pins {pinned}: "
                "this is another service, or its history was changed."
            )


def check_log(lock: Lock, keys: bytes, checkpoint: str) -> tuple[Checkpoint, Checkpoint]:
    """Reads the pinned and the present head of the log, each with its keys.

    Raises LockError where a pinned key is not published any more, or a signature is wrong.
    """
    try:
        published = parse_keys(keys)
        for pinned in lock.log_keys:
            if not any((one.text, one.first) == (pinned.text, pinned.first) for one in published):
                raise LockError(f"The service no longer publishes the key {pinned.id}, which the lock pins.")
        return read_checkpoint(lock.checkpoint, lock.log_keys), read_checkpoint(checkpoint, published)
    except Refused as error:
        raise LockError(f"The log of the service does not hold: {error}") from error


def check_growth(pinned: Checkpoint, present: Checkpoint, proof: bytes | None) -> None:
    """Raises LockError unless the log of today extends the one that the lock pins."""
    try:
        if present.size < pinned.size:
            raise LockError("The log of the service is shorter than the one that the lock pins.")
        verify_one_log(pinned, present, proof)
    except Refused as error:
        raise LockError(f"The log of the service does not extend the pinned one: {error}") from error
