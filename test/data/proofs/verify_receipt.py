"""An independent verifier of receipts, written from docs/receipts.md alone.

Reads JSON lines {"receipt", "keys", "since"?, "consistency"?} with the texts of files, and prints a line for each:
`accepted`, or `refused: ` and why.
"""

import base64
import binascii
import hashlib
import json
import re
import sys
from decimal import Decimal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Refused(Exception):
    pass


def demand(condition, reason):
    if not condition:
        raise Refused(reason)


# JSON: every number is a double, every name occurs once.


def unique(pairs):
    members = dict(pairs)
    demand(len(members) == len(pairs), "a name occurs twice")
    return members


def number(text):
    double = float(text)
    demand(double not in (float("inf"), float("-inf")), f"{text} is too large")
    demand(Decimal(text) == Decimal(repr(double)), f"{text} is not equal to its double")
    return double


def no_constant(text):
    raise Refused(f"{text} is not JSON")


def parse(text):
    try:
        return json.loads(
            text, object_pairs_hook=unique, parse_int=number, parse_float=number, parse_constant=no_constant
        )
    except ValueError as error:
        raise Refused("not JSON") from error


def canonical_number(double):
    if double == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + exponent
    if len(text) <= point <= 21:
        body = text + "0" * (point - len(text))
    elif 0 < point <= 21:
        body = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        body = "0." + "0" * -point + text
    else:
        mantissa = text if len(text) == 1 else f"{text[0]}.{text[1:]}"
        body = f"{mantissa}e{point - 1:+d}"
    return ("-" if sign else "") + body


def canonical(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return canonical_number(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{','.join(map(canonical, value))}]"
    members = (f"{canonical(name)}:{canonical(value[name])}" for name in sorted(value))
    return f"{{{','.join(members)}}}"


def members(value, names, what):
    demand(isinstance(value, dict) and sorted(value) == sorted(names.split()), f"members of {what}")
    return value


def count(value, least, what):
    demand(isinstance(value, float) and value.is_integer() and value >= least, f"{what} is not a count")
    return int(value)


def hashes(value, what):
    demand(isinstance(value, list), f"{what} is not a list")
    for one in value:
        demand(isinstance(one, str) and re.fullmatch("[0-9a-f]{64}", one), f"{what} holds no hash")
    return [bytes.fromhex(one) for one in value]


def text_of(value, what):
    demand(isinstance(value, str), f"{what} is not a text")
    return value


# Trees.


def sha256(data):
    return hashlib.sha256(data).digest()


def leaf_hash(leaf):
    try:
        return sha256(b"\x00" + canonical(leaf).encode())
    except UnicodeEncodeError as error:
        raise Refused("not Unicode") from error


def node_hash(left, right):
    return sha256(b"\x01" + left + right)


def root_of(leaf, index, size, path):
    demand(index < size, "the leaf lies outside its tree")
    node, last, result = index, size - 1, leaf_hash(leaf)
    for sibling in path:
        demand(last > 0, "the path is too long")
        if node % 2 == 1 or node == last:
            result = node_hash(sibling, result)
            while node % 2 == 0 and node != 0:
                node, last = node // 2, last // 2
        else:
            result = node_hash(result, sibling)
        node, last = node // 2, last // 2
    demand(last == 0, "the path is too short")
    return result


def verify_consistency(earlier, later, proof):
    (_, m, old_root), (_, n, new_root) = earlier, later
    demand(m <= n, "the earlier log is the longer one")
    if m == n:
        demand(old_root == new_root, "two logs of one size")
        return
    demand(proof is not None, "a proof of consistency is missing")
    given = parse(proof)
    given = given["data"] if isinstance(given, dict) and "data" in given else given
    members(given, "from to path", "the proof of consistency")
    demand(given["from"] == m and given["to"] == n, "the proof is of other sizes")
    path = hashes(given["path"], "the proof of consistency")
    node, last = m - 1, n - 1
    while node % 2 == 1:
        node, last = node // 2, last // 2
    if node == 0:
        old = new = old_root
    else:
        demand(path, "the proof is too short")
        old = new = path.pop(0)
    for sibling in path:
        demand(last > 0, "the proof is too long")
        if node % 2 == 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while node % 2 == 0 and node != 0:
                node, last = node // 2, last // 2
        else:
            new = node_hash(new, sibling)
        node, last = node // 2, last // 2
    demand(last == 0 and old == old_root and new == new_root, "the log does not extend the earlier one")


# Keys and checkpoints.


def decode64(text):
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise Refused("not base64") from error


def read_keys(text):
    keys = []
    for entry in members(parse(text), "origin keys", "the keys")["keys"]:
        members(entry, "key from to", "a key")
        name, key_id, encoded = text_of(entry["key"], "a key").split("+", 2)
        data = decode64(encoded)
        demand(len(data) == 33 and data[0] == 1, "not an Ed25519 key")
        demand(key_id == sha256(f"{name}\n".encode() + data).hex()[:8], "the id of a key is wrong")
        keys.append((name, key_id, data[1:], entry["from"], entry["to"]))
    return keys


def read_checkpoint(note, keys):
    match = re.fullmatch("([^\n]+)\n([1-9][0-9]*)\n([^\n]+)\n\n((?:— [^ \n]+ [^ \n]+\n)+)", note)
    demand(match, "not a checkpoint")
    origin, size, root = match[1], int(match[2]), decode64(match[3])
    demand(len(root) == 32, "not a root")
    signed = f"{match[1]}\n{match[2]}\n{match[3]}\n".encode()
    trusted = False
    for line in match[4].splitlines():
        _, name, encoded = line.split(" ")
        data = decode64(encoded)
        known = [key for key in keys if key[0] == name and key[1] == data[:4].hex()]
        for _, _, public, start, end in known:
            try:
                Ed25519PublicKey.from_public_bytes(public).verify(data[4:], signed)
            except InvalidSignature as error:
                raise Refused("a signature is wrong") from error
            if name == origin and start <= size and (end is None or size <= end):
                trusted = True
    demand(trusted, "no trusted key that counts has signed")
    return origin, size, root


# Receipts.


def verify(evidence):
    keys = read_keys(evidence["keys"])
    receipt = parse(evidence["receipt"])
    receipt = receipt["data"] if isinstance(receipt, dict) and "data" in receipt else receipt
    members(receipt, "format row descriptor rows edition checkpoint proofs notice", "the receipt")
    demand(receipt["format"] == "almanac-receipt/1", "another format")
    row = members(receipt["row"], "iso3 year value ci_lo ci_hi status projected", "the row")
    descriptor = members(receipt["descriptor"], "indicator unit provider sources", "the descriptor")
    edition = members(receipt["edition"], "edition published_at indicators manifest", "the edition")
    proofs = members(receipt["proofs"], "row descriptor indicator edition", "the proofs")
    rows = count(receipt["rows"], 1, "rows")
    indicators = count(edition["indicators"], 1, "indicators")
    demand(re.fullmatch("[0-9a-f]{64}", text_of(edition["manifest"], "manifest")), "the manifest is no hash")

    def climb(name, leaf, size):
        proof = members(proofs[name], "index path", f"the proof of the {name}")
        return root_of(leaf, count(proof["index"], 0, "an index"), size, hashes(proof["path"], "a path"))

    root = climb("row", row, rows + 1)
    demand(climb("descriptor", descriptor, rows + 1) == root, "row and descriptor have different roots")
    leaf = {"indicator": descriptor["indicator"], "rows": rows, "root": root.hex()}
    edition_root = climb("indicator", leaf, indicators)
    checkpoint = read_checkpoint(text_of(receipt["checkpoint"], "the checkpoint"), keys)
    log_root = climb("edition", {**edition, "root": edition_root.hex()}, checkpoint[1])
    demand(log_root == checkpoint[2], "the root of the log is another")
    if "since" in evidence:
        since = read_checkpoint(evidence["since"], keys)
        demand(since[0] == checkpoint[0], "the checkpoints have two origins")
        earlier, later = sorted([since, checkpoint], key=lambda one: one[1])
        verify_consistency(earlier, later, evidence.get("consistency"))


if __name__ == "__main__":
    for line in sys.stdin:
        try:
            verify(json.loads(line))
            print("accepted")
        except Refused as reason:
            print(f"refused: {reason}")
