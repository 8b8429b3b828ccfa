"""Verifies Almanac receipts offline. Written from docs/receipts.md alone; it shares no code with Almanac.

Reads JSON lines {"receipt", "keys", "since"?, "consistency"?}, each with the bytes of a file in base64, and prints a line
for each: `accepted`, or `refused: ` and why.
"""

import base64
import hashlib
import json
import re
import sys
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST_LEVELS = 64
LARGEST_INTEGER = 2**53 - 1

RECEIPT = {"format", "row", "descriptor", "rows", "edition", "checkpoint", "proofs", "notice"}
ROW = {"iso3", "year", "value", "ci_lo", "ci_hi", "status", "projected"}
DESCRIPTOR = {"indicator", "unit", "provider", "sources"}
EDITION = {"edition", "published_at", "indicators", "manifest"}
PROOFS = {"row", "descriptor", "indicator", "edition"}

HASH = re.compile(r"[0-9a-f]{64}")
SIZE = re.compile(r"[1-9][0-9]{0,14}")
NAME = re.compile(r"[!-*,-~]+")


class Refused(Exception):
    """The receipt proves nothing. The message says why."""


def refuse_unless(condition, message):
    if not condition:
        raise Refused(message)


# --- JSON -----------------------------------------------------------------------------------------------------------


def parse_number(text):
    """The double that `text` reads as; refuses a decimal value that this double would not print."""
    number = float(text)
    try:
        same = Decimal(text) == Decimal(repr(number))
    except InvalidOperation:  # an exponent beyond any double
        same = False
    zero = re.fullmatch(r"-?0(\.0+)?([eE].*)?", text)
    refuse_unless(same or zero, f"parse: {text[:40]} is not the value of a double")
    return number + 0.0  # -0.0 + 0.0 is 0.0


def parse_object(pairs):
    names = [name for name, _ in pairs]
    refuse_unless(len(set(names)) == len(names), "parse: a name occurs twice in one object")
    return dict(pairs)


def refuse_constant(name):
    raise Refused(f"parse: {name} is not JSON")


def decode_utf8(octets):
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("parse: not UTF-8") from error


def check_levels(value, level=1):
    if isinstance(value, dict | list):
        refuse_unless(level <= MOST_LEVELS, "parse: nested too deeply")
        for member in value.values() if isinstance(value, dict) else value:
            check_levels(member, level + 1)


def parse(octets):
    text = decode_utf8(octets)
    try:
        value = json.loads(
            text,
            object_pairs_hook=parse_object,
            parse_int=parse_number,
            parse_float=parse_number,
            parse_constant=refuse_constant,
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # a lone surrogate has no UTF-8
    except (ValueError, RecursionError) as error:
        raise Refused(f"parse: {error}") from error
    check_levels(value)
    return value


def parse_body(octets):
    """A body of the API holds in `data` what is also taken alone."""
    value = parse(octets)
    return value["data"] if isinstance(value, dict) and "data" in value else value


def print_number(number):
    """As JavaScript prints it. `repr` has the same digits, in another layout."""
    if number == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, digits))
    point = len(digits) + exponent  # the value is 0.DIGITS * 10 ** point
    if -6 < point <= 0:
        text = "0." + "0" * -point + digits
    elif 0 < point <= 21:
        whole, part = digits[:point].ljust(point, "0"), digits[point:]
        text = f"{whole}.{part}" if part else whole
    else:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return "-" * sign + text


def canonical(value):
    if isinstance(value, dict):
        # Sorted by UTF-16 code units, as RFC 8785 has it.
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return print_number(value)
    return json.dumps(value, ensure_ascii=False)


# --- Members --------------------------------------------------------------------------------------------------------


def check_members(value, names, where):
    refuse_unless(isinstance(value, dict) and set(value) == names, f"members: {where} needs exactly {sorted(names)}")


def check_integer(value, least, where):
    sound = isinstance(value, float) and value.is_integer() and least <= value <= LARGEST_INTEGER
    refuse_unless(sound, f"members: {where} is no integer of at least {least}")


def check_path(value, where):
    refuse_unless(isinstance(value, list), f"members: {where} is no list")
    for sibling in value:
        refuse_unless(isinstance(sibling, str) and HASH.fullmatch(sibling), f"members: {where} holds no hashes")


def check_receipt(receipt):
    check_members(receipt, RECEIPT, "receipt")
    refuse_unless(receipt["format"] == "almanac-receipt/1", "members: unknown format")
    check_members(receipt["row"], ROW, "row")
    check_members(receipt["descriptor"], DESCRIPTOR, "descriptor")
    check_integer(receipt["rows"], 1, "rows")
    check_members(receipt["edition"], EDITION, "edition")
    check_integer(receipt["edition"]["indicators"], 1, "indicators")
    check_members(receipt["proofs"], PROOFS, "proofs")
    for name, proof in receipt["proofs"].items():
        check_members(proof, {"index", "path"}, f"proof of the {name}")
        check_integer(proof["index"], 0, f"index of the {name}")
        check_path(proof["path"], f"path of the {name}")


# --- Trees ----------------------------------------------------------------------------------------------------------


def leaf_hash(leaf):
    return hashlib.sha256(b"\x00" + canonical(leaf).encode("utf-8")).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaf, proof, size, step):
    node, last, root = int(proof["index"]), size - 1, leaf_hash(leaf)
    refuse_unless(node <= last, f"{step}: index beyond the tree")
    for sibling in map(bytes.fromhex, proof["path"]):
        refuse_unless(last != 0, f"{step}: path too long")
        if node % 2 == 1 or node == last:
            root = node_hash(sibling, root)
            while node % 2 == 0 and node != 0:
                node, last = node // 2, last // 2
        else:
            root = node_hash(root, sibling)
        node, last = node // 2, last // 2
    refuse_unless(last == 0, f"{step}: path too short")
    return root


def log_root(receipt, log_size):
    """Steps 3 to 6: from the row up to the root of the log."""
    proofs, rows, edition = receipt["proofs"], receipt["rows"], receipt["edition"]
    size = int(rows) + 1
    indicator_root = root_of(receipt["row"], proofs["row"], size, "row")
    descriptor_root = root_of(receipt["descriptor"], proofs["descriptor"], size, "descriptor")
    refuse_unless(descriptor_root == indicator_root, "descriptor: not of the tree of the row")
    indicator = {"indicator": receipt["descriptor"]["indicator"], "rows": rows, "root": indicator_root.hex()}
    edition_root = root_of(indicator, proofs["indicator"], int(edition["indicators"]), "indicator")
    return root_of({**edition, "root": edition_root.hex()}, proofs["edition"], log_size, "edition")


# --- Checkpoints and keys -------------------------------------------------------------------------------------------


def decode_base64(text, where, length=None):
    """Standard alphabet, padded, spare bits zero: each octet string has one encoding."""
    try:
        octets = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Refused(f"{where}: not base64") from error
    refuse_unless(base64.b64encode(octets).decode() == text, f"{where}: not canonical base64")
    refuse_unless(length in (None, len(octets)), f"{where}: not {length} bytes")
    return octets


@dataclass
class Checkpoint:
    origin: str
    size: int
    root: bytes
    signed: bytes
    signatures: list[tuple[str, bytes, bytes]]  # name, id, signature


def read_checkpoint(text):
    refuse_unless(isinstance(text, str) and text.endswith("\n"), "checkpoint: no text of whole lines")
    lines = text[:-1].split("\n")
    refuse_unless(len(lines) >= 5 and lines[3] == "", "checkpoint: lines missing")
    refuse_unless(NAME.fullmatch(lines[0]), "checkpoint: not an origin")
    refuse_unless(SIZE.fullmatch(lines[1]), "checkpoint: not a size")
    root = decode_base64(lines[2], "checkpoint: root", 32)
    signatures = []
    for line in lines[4:]:
        parts = line.split(" ")
        sound = len(parts) == 3 and parts[0] == "\u2014" and NAME.fullmatch(parts[1])
        refuse_unless(sound, "checkpoint: not a line of a signature")
        octets = decode_base64(parts[2], "checkpoint: signature")
        refuse_unless(len(octets) > 4, "checkpoint: no signature")
        signatures.append((parts[1], octets[:4], octets[4:]))
    signed = "".join(f"{line}\n" for line in lines[:3]).encode("utf-8")
    return Checkpoint(lines[0], int(lines[1]), root, signed, signatures)


@dataclass
class Key:
    name: str
    id: bytes
    public: bytes
    first: int
    last: int | None

    def counts_for(self, checkpoint):
        is_before_last = self.last is None or checkpoint.size <= self.last
        return self.name == checkpoint.origin and self.first <= checkpoint.size and is_before_last

    def has_signed(self, signed, signature):
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, signed)
        except (InvalidSignature, ValueError):
            return False
        return True


def read_key(text, first, last):
    parts = text.split("+", 2)
    sound = len(parts) == 3 and NAME.fullmatch(parts[0]) and re.fullmatch("[0-9a-f]{8}", parts[1])
    refuse_unless(sound, "key: not <name>+<id>+<base64>")
    octets = decode_base64(parts[2], "key", 33)
    expected = hashlib.sha256(parts[0].encode("utf-8") + b"\n" + octets).digest()[:4]
    refuse_unless(octets[0] == 1, "key: not of Ed25519")
    refuse_unless(bytes.fromhex(parts[1]) == expected, "key: the id is not that of the key")
    return Key(parts[0], expected, octets[1:], first, last)


def read_keys(octets):
    document = parse(octets)
    check_members(document, {"origin", "keys"}, "keys")
    entries = document["keys"]
    refuse_unless(isinstance(entries, list) and entries, "keys: no list of keys")
    keys = []
    for entry in entries:
        check_members(entry, {"key", "from", "to"}, "key")
        refuse_unless(isinstance(entry["key"], str), "key: no text")
        check_integer(entry["from"], 1, "from")
        if entry["to"] is not None:
            check_integer(entry["to"], 1, "to")
        keys.append(read_key(entry["key"], entry["from"], entry["to"]))
    return keys


def check_signature(checkpoint, keys):
    trusted = {key.id: key for key in keys if key.counts_for(checkpoint)}
    signed_by = set()
    for name, key_id, signature in checkpoint.signatures:
        key = trusted.get(key_id)
        if key is None or name != key.name:
            continue
        refuse_unless(key.has_signed(checkpoint.signed, signature), "signature: wrong")
        signed_by.add(key_id)
    refuse_unless(signed_by, "signature: none by a key that counts")


# --- Consistency ----------------------------------------------------------------------------------------------------


def check_extends(old, new, proof_octets):
    refuse_unless(old.origin == new.origin, "consistency: checkpoints of two logs")
    if old.size == new.size:
        refuse_unless(old.root == new.root, "consistency: two roots of one size")
        return
    refuse_unless(proof_octets is not None, "consistency: a proof is needed")
    proof = parse_body(proof_octets)
    check_members(proof, {"from", "to", "path"}, "consistency proof")
    check_path(proof["path"], "consistency proof")
    check_integer(proof["from"], 1, "from")
    check_integer(proof["to"], 1, "to")
    refuse_unless((proof["from"], proof["to"]) == (old.size, new.size), "consistency: other sizes")
    check_consistency(old, new, [bytes.fromhex(text) for text in proof["path"]])


def check_consistency(old, new, path):
    node, last = old.size - 1, new.size - 1
    while node % 2 == 1:
        node, last = node // 2, last // 2
    if node != 0:
        refuse_unless(path, "consistency: path too short")
        start, *path = path
    else:
        start = old.root
    old_root = new_root = start
    for sibling in path:
        refuse_unless(last != 0, "consistency: path too long")
        if node % 2 == 1 or node == last:
            old_root, new_root = node_hash(sibling, old_root), node_hash(sibling, new_root)
            while node % 2 == 0 and node != 0:
                node, last = node // 2, last // 2
        else:
            new_root = node_hash(new_root, sibling)
        node, last = node // 2, last // 2
    sound = last == 0 and old_root == old.root and new_root == new.root
    refuse_unless(sound, "consistency: the log does not extend the earlier one")


# --- Receipts -------------------------------------------------------------------------------------------------------


def verify(files):
    keys = read_keys(files["keys"])
    receipt = parse_body(files["receipt"])
    check_receipt(receipt)
    checkpoint = read_checkpoint(receipt["checkpoint"])
    refuse_unless(log_root(receipt, checkpoint.size) == checkpoint.root, "edition: not in the log of the checkpoint")
    check_signature(checkpoint, keys)
    if "since" in files:
        kept = read_checkpoint(decode_utf8(files["since"]))
        check_signature(kept, keys)
        earlier, later = sorted([kept, checkpoint], key=lambda one: one.size)
        check_extends(earlier, later, files.get("consistency"))


def main():
    for line in sys.stdin:
        try:
            verify({name: base64.b64decode(text) for name, text in json.loads(line).items()})
            print("accepted")
        except Refused as error:
            print("refused:", str(error).encode("ascii", "backslashreplace").decode())


if __name__ == "__main__":
    main()
