"""The signed head of the log (C2SP tlog-checkpoint) and the keys that sign it."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from almanac_data.receipts import ed25519
from almanac_data.receipts.exact_json import Refused, count_of, demand, members_of, parse, text_of

_NAME = r"[!-*,-~]+"
_KEY = re.compile(rf"({_NAME})\+([0-9a-f]{{8}})\+([A-Za-z0-9+/]{{44}})")
_NOTE = re.compile(rf"({_NAME}\n[1-9][0-9]{{0,14}}\n[^\n]+\n)\n((?:— {_NAME} [^ \n]+\n)+)")
_ED25519 = b"\x01"


@dataclass(frozen=True)
class LogKey:
    """A public key, and the sizes of the log for which it counts, both inclusive. text: as it is published."""

    text: str
    name: str
    id: str
    public_key: bytes
    first: int = 1
    last: int | None = None

    def counts_for(self, origin: str, size: int) -> bool:
        return self.name == origin and self.first <= size and (self.last is None or size <= self.last)


@dataclass(frozen=True)
class Checkpoint:
    """origin: the name of the log. signed_by: ids of the keys whose signatures were verified."""

    origin: str
    size: int
    root: bytes
    signed_by: tuple[str, ...]


def parse_key(text: str, first: int = 1, last: int | None = None) -> LogKey:
    """Reads `<name>+<id>+<base64>`. Raises Refused."""
    found = _KEY.fullmatch(text)
    message = f'"{text}" is not a key of a log.'
    if found is None:
        raise Refused(message)
    name, key_id, encoded = found.groups()
    octets = base64.b64decode(encoded)
    expected = sha256(name.encode() + b"\n" + octets).digest()[:4].hex()
    demand(octets[:1] == _ED25519 and len(octets) == 33 and key_id == expected, message)
    return LogKey(text, name, key_id, octets[1:], first, last)


def parse_keys(document: bytes) -> list[LogKey]:
    """Reads the list at `/.well-known/almanac-keys.json`. Raises Refused."""
    entries = members_of(parse(document), "The list of keys", "origin keys", and_others=True)["keys"]
    if not isinstance(entries, list) or not entries:
        raise Refused("The list of keys holds no keys.")
    keys = []
    for entry in entries:
        members = members_of(entry, "A key", "key from to", and_others=True)
        last = None if members["to"] is None else count_of(members["to"], "The last size of a key", 1)
        first = count_of(members["from"], "The first size of a key", 1)
        keys.append(parse_key(text_of(members["key"], "A key"), first, last))
    return keys


def read_checkpoint(note: str, keys: Sequence[LogKey] | None) -> Checkpoint:
    """Reads a checkpoint and verifies every signature by a key that counts.

    keys: None verifies the form only. Raises Refused.
    """
    found = _NOTE.fullmatch(note)
    if found is None:
        raise Refused("The checkpoint is not in the form of a checkpoint.")
    signed, lines = found.groups()
    origin, size, root64, _ = signed.split("\n")
    root = _octets(root64, "The root of the checkpoint")
    demand(len(root) == 32, "The checkpoint is not in the form of a checkpoint.")
    trusted = {(key.name, key.id): key for key in keys or () if key.counts_for(origin, int(size))}
    signed_by = []
    for line in lines[:-1].split("\n"):
        _, name, signature64 = line.split(" ")
        octets = _octets(signature64, "A signature of the checkpoint")
        demand(len(octets) > 4, "A signature of the checkpoint is too short.")
        key = trusted.get((name, octets[:4].hex()))
        if key is None:
            continue
        is_right = ed25519.verify(key.public_key, signed.encode(), octets[4:])
        demand(is_right, f"The signature of the checkpoint by the key {key.id} is wrong.")
        signed_by.append(key.id)
    is_signed = keys is None or len(signed_by) > 0
    demand(is_signed, f"No known key has signed the checkpoint for {size} editions of {origin}.")
    return Checkpoint(origin, int(size), root, tuple(signed_by))


def _octets(text: str, what: str) -> bytes:
    """Decodes base64 in the one form that encodes these bytes."""
    try:
        octets = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Refused(f"{what} is not in base64.") from error
    demand(base64.b64encode(octets).decode() == text, f"{what} is not in base64.")
    return octets
