"""JSON of which every byte means one thing: strict parsing, and the canonical form of RFC 8785."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Union

from almanac_data.errors import AlmanacError

LEVELS_MAX = 64
LARGEST_INTEGER = 2**53 - 1

Json = Union[None, bool, float, str, "list[Json]", "dict[str, Json]"]
Members = dict[str, Json]

_ZERO = re.compile(r"-?0(\.0+)?([eE][+-]?[0-9]+)?")
_HASH = re.compile(r"[0-9a-f]{64}")


class Refused(AlmanacError):
    """A receipt, checkpoint, list of keys or proof does not hold. The message says why."""


def demand(condition: bool, message: str) -> None:
    if not condition:
        raise Refused(message)


def parse(data: bytes) -> Json:
    """Parses UTF-8. Refuses repeated names, numbers that are not equal to their double, and lone surrogates."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("This is not UTF-8.") from error
    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=_members,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_constant,
        )
    except (ValueError, RecursionError) as error:
        raise Refused("This is not JSON.") from error
    _check(value)
    return value


def _number(text: str) -> float:
    number = float(text)
    try:
        is_exact = Decimal(text) == Decimal(repr(number)) or _ZERO.fullmatch(text) is not None
    except InvalidOperation:  # an exponent beyond every double
        is_exact = _ZERO.fullmatch(text) is not None
    demand(is_exact, f"The number {text[:40]} is not equal to its double.")
    return number + 0.0  # makes -0.0 a 0.0


def _members(pairs: list[tuple[str, Json]]) -> Members:
    members = dict(pairs)
    demand(len(members) == len(pairs), "A name occurs twice in one object.")
    return members


def _constant(name: str) -> float:
    raise Refused(f"{name} is not JSON.")


def _check(value: Json, level: int = 1) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, (dict, list)):
        demand(level <= LEVELS_MAX, f"Lists and objects lie in each other more than {LEVELS_MAX} deep.")
        if isinstance(value, dict):
            for name in value:
                _check_text(name)
        for member in value.values() if isinstance(value, dict) else value:
            _check(member, level + 1)


def _check_text(text: str) -> None:
    demand(not any("\ud800" <= letter <= "\udfff" for letter in text), "A text is not valid Unicode.")


def canonical(value: Json) -> str:
    """Canonical JSON: members sorted by UTF-16 code units, numbers as JavaScript prints them."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(member) for member in value) + "]"
    if isinstance(value, float):
        return print_number(value)
    return json.dumps(value, ensure_ascii=False)


def print_number(number: float) -> str:
    """As JavaScript prints it. `repr` has the same digits in another layout."""
    if number == 0:
        return "0"
    sign, figures, exponent = Decimal(repr(number)).normalize().as_tuple()
    if not isinstance(exponent, int):
        raise Refused("A number is not finite.")
    digits = "".join(map(str, figures))
    point = len(digits) + exponent  # the value is 0.DIGITS * 10 ** point
    if 0 < point <= 21:
        fraction = digits[point:]
        text = digits[:point].ljust(point, "0") + (f".{fraction}" if fraction else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return "-" * sign + text


def members_of(value: Json, what: str, names: str, *, and_others: bool = False) -> Members:
    """The members of an object: exactly those named, or those and any others."""
    if not isinstance(value, dict):
        raise Refused(f"{what} is not an object.")
    asked = set(names.split())
    is_right = asked <= set(value) if and_others else asked == set(value)
    demand(is_right, f"{what} has other members than {names.replace(' ', ', ')}.")
    return value


def data_of(value: Json) -> Json:
    """The member `data` of an answer; anything else as it is."""
    return value["data"] if isinstance(value, dict) and "data" in value else value


def count_of(value: Json, what: str, least: int) -> int:
    is_count = isinstance(value, float) and value.is_integer() and least <= value <= LARGEST_INTEGER
    if not isinstance(value, float) or not is_count:
        raise Refused(f"{what} is not a count.")
    return int(value)


def text_of(value: Json, what: str) -> str:
    if not isinstance(value, str):
        raise Refused(f"{what} is not a text.")
    return value


def hashes_of(value: Json, what: str) -> list[bytes]:
    if not isinstance(value, list):
        raise Refused(f"{what} is not a list of hashes.")
    found = [one for one in value if isinstance(one, str) and _HASH.fullmatch(one)]
    demand(len(found) == len(value), f"{what} holds something else than hashes.")
    return [bytes.fromhex(one) for one in found]
