"""Strict parsing and canonical form."""

import json
import math
import random
import struct

import pytest

from almanac_data.receipts.exact_json import Refused, canonical, parse, print_number

# Of RFC 8785, appendix B, and the bounds of docs/receipts.md.
PRINTED = [
    (0.0, "0"),
    (-0.0, "0"),
    (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (9007199254740992.0, "9007199254740992"),
    (295147905179352830000.0, "295147905179352830000"),
    (9.999999999999997e22, "9.999999999999997e+22"),
    (1e21, "1e+21"),
    (999999999999999900000.0, "999999999999999900000"),
    (1e-6, "0.000001"),
    (9.999999999999997e-7, "9.999999999999997e-7"),
    (-2.5e-7, "-2.5e-7"),
    (1.5e300, "1.5e+300"),
    (333333333.3333332, "333333333.3333332"),
    (958.0, "958"),
]


@pytest.mark.parametrize(("number", "text"), PRINTED)
def test_prints_numbers_as_javascript_does(number: float, text: str) -> None:
    assert print_number(number) == text


def test_prints_and_reads_any_double() -> None:
    randomness = random.Random(8785)
    for _ in range(5_000):
        number = struct.unpack("<d", randomness.randbytes(8))[0]
        if math.isfinite(number):
            text = print_number(number)
            assert float(text) == number
            assert parse(text.encode()) == number
            digits = text.split("e")[0].lstrip("-").replace(".", "").strip("0")
            assert len(digits) <= 17


def test_sorts_members_by_utf16_and_escapes_as_little_as_possible() -> None:
    document = {"\ue000": 1.0, "\U0001f600": 2.0, "b": [None, True, {"z": 'a"\\\b\n\x01\u00e9'}], "a": 1.5}
    expected = '{"a":1.5,"b":[null,true,{"z":"a\\"\\\\\\b\\n\\u0001\u00e9"}],"\U0001f600":2,"\ue000":1}'
    assert canonical(document) == expected
    assert parse(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":1,"\\u0061":1}',
        '[{"x":{"y":1,"y":2}}]',
        "0.10000000000000001",
        "9007199254740993",
        "1e400",
        "-1e400",
        "1e-400",
        "1e99999999999999999999",
        "1" * 5000,
        "NaN",
        "-Infinity",
        "01",
        "1.",
        "+1",
        "",
        "{}{}",
        "[1,]",
        "'a'",
        '"\t"',
        '"\\ud800"',
        '{"\\udfff":1}',
        "[" * 65 + "]" * 65,
        "[" * 100_000,
        "\ufeff{}",
        "\u0661",
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(Refused):
        parse(text.encode("utf-8", "surrogatepass"))


def test_refuses_bytes_that_are_not_utf8() -> None:
    for octets in (b'"\xff"', b'"\xed\xa0\x80"', '"ä"'.encode("latin-1"), "{}".encode("utf-16")):
        with pytest.raises(Refused):
            parse(octets)


def test_accepts_other_forms_of_exact_numbers() -> None:
    assert parse(b"[1.0, 1e0, -0, 0.000e7, 100E-2, 1e21]") == [1.0, 1.0, 0.0, 0.0, 1.0, 1e21]
    assert str(parse(b"-0")) == "0.0"
    assert parse(("[" * 64 + "]" * 64).encode()) is not None
