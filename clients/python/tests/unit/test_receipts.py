"""Receipts, by the vectors of docs/receipts.md."""

import json

import pytest

from almanac_data.receipts import Refused, parse_key, parse_keys, read_checkpoint, verify_one_log, verify_receipt
from almanac_data.receipts.merkle import leaf_hash

from .vectors import vector

RECEIPT = vector("example")
KEYS = vector("keys").encode()


def test_accepts_the_example_and_says_what_it_proves() -> None:
    verified = verify_receipt(RECEIPT.encode(), parse_keys(KEYS))
    assert (verified.row["iso3"], verified.row["year"], verified.row["value"]) == ("DEU", 2023, 958.0)
    assert verified.descriptor["sources"][0]["bytes"] == 1234
    assert verified.root == "a01e8fec1494af11a4fa43236bc76cff4547011222e68a40ba739089301dea4d"
    assert (verified.checkpoint.size, verified.checkpoint.signed_by) == (3, ("47341414",))


def test_hashes_leaves_as_the_page_says() -> None:
    lines = vector("steps").split("\n")
    shown = [(lines[at - 1], line.split()[1]) for at, line in enumerate(lines) if line.startswith("leaf ")]
    assert len(shown) == 4
    for leaf, digest in shown:
        assert leaf_hash(floats(json.loads(leaf))).hex() == digest


def floats(value: object) -> object:
    if isinstance(value, dict):
        return {name: floats(member) for name, member in value.items()}
    if isinstance(value, list):
        return [floats(member) for member in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def test_accepts_the_answer_of_the_service_and_other_spacing() -> None:
    answer = json.dumps({"data": json.loads(RECEIPT), "meta": {"generated_at": "now"}})
    for text in (answer, json.dumps(json.loads(RECEIPT)), f" \n{RECEIPT}\n"):
        assert verify_receipt(text.encode(), parse_keys(KEYS)).row["iso3"] == "DEU"


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("row", {"value": 1}, "The row or its path was altered"),
        ("descriptor", {"unit": "apples"}, "The descriptor or its path was altered"),
        ("edition", {"published_at": "2020-01-01T00:00:00+00:00"}, "The edition, the number of rows or a path"),
    ],
)
def test_names_the_part_that_was_altered(part: str, change: dict[str, object], message: str) -> None:
    receipt = json.loads(RECEIPT)
    altered = {**receipt, part: {**receipt[part], **change}}
    with pytest.raises(Refused, match=message):
        verify_receipt(json.dumps(altered).encode(), parse_keys(KEYS))
    both = {**receipt, "row": {**receipt["row"], "value": 1}, "descriptor": {**receipt["descriptor"], "unit": "x"}}
    with pytest.raises(Refused, match="neither leads"):
        verify_receipt(json.dumps(both).encode(), parse_keys(KEYS))


def test_refuses_a_receipt_with_any_one_character_edited() -> None:
    """Whatever character is replaced or left out: refused, or the same receipt but for the unproved notice."""
    keys = parse_keys(KEYS)
    text = json.dumps(json.loads(RECEIPT), ensure_ascii=False, separators=(",", ":"))
    proved = {name: member for name, member in json.loads(text).items() if name != "notice"}
    refused = harmless = 0
    for at, letter in enumerate(text):
        for other in ("", "0" if letter != "0" else "1"):
            edited = text[:at] + other + text[at + 1 :]
            try:
                verify_receipt(edited.encode(), keys)
            except Refused:
                refused += 1
            else:
                remaining = json.loads(edited)
                assert {name: member for name, member in remaining.items() if name != "notice"} == proved, edited
                harmless += 1
    assert refused > len(text)
    notice = len(json.dumps(json.loads(text)["notice"], ensure_ascii=False, separators=(",", ":")))
    assert harmless <= 2 * notice


def test_refuses_other_keys() -> None:
    keys = parse_keys(KEYS)
    with pytest.raises(Refused, match="No known key"):
        verify_receipt(RECEIPT.encode(), keys[:1])  # counts for the sizes 1 and 2
    with pytest.raises(Refused, match="No known key"):
        verify_receipt(RECEIPT.encode(), [])
    assert verify_receipt(RECEIPT.encode(), None).checkpoint.signed_by == ()
    assert verify_receipt(RECEIPT.encode(), [parse_key(keys[1].text)])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("47341414", "47341415"),
        lambda text: text.replace("log+4", "log2+4"),
        lambda text: text.replace('"to": null', '"to": 0'),
        lambda text: text.replace('"to": null', '"until": null'),
        lambda _: '{"origin": "almanac.example/log", "keys": []}',
        lambda text: text.replace('"origin"', '"name"'),
        lambda text: text.replace('"from": 3', '"from": 3, "from": 3'),
    ],
)
def test_refuses_lists_of_keys_that_are_not_in_form(change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Refused):
        parse_keys(change(KEYS.decode()).encode())


def test_follows_the_log_from_an_earlier_checkpoint() -> None:
    keys = parse_keys(KEYS)
    later = verify_receipt(RECEIPT.encode(), keys).checkpoint
    earlier = read_checkpoint(vector("checkpoint"), keys)
    proof = vector("consistency")
    verify_one_log(earlier, later, proof.encode())
    verify_one_log(later, earlier, json.dumps({"data": json.loads(proof)}).encode())
    verify_one_log(later, later)
    with pytest.raises(Refused, match="is needed"):
        verify_one_log(earlier, later)
    for bad in (proof.replace("cb63", "cb64"), proof.replace('"from": 2', '"from": 1'), '{"from":2,"to":3,"path":[]}'):
        with pytest.raises(Refused):
            verify_one_log(earlier, later, bad.encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda note: note.rstrip("\n"),
        lambda note: note.replace("\n", "\r\n"),
        lambda note: note.replace("\n2\n", "\n02\n"),
        lambda note: note.replace("\n\n", "\nextension\n\n"),
        lambda note: note.replace("—", "-"),
        lambda note: note.replace("WYys6I=", "WYys6J="),  # spare bits that are not zero
        lambda note: note.replace("WYys6I=", "WYys6I=\x85"),
        lambda note: note + "\n",
        lambda note: note.split("\n\n")[0] + "\n\n",
    ],
)
def test_refuses_checkpoints_that_are_not_in_form(change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Refused):
        read_checkpoint(change(vector("checkpoint")), None)
