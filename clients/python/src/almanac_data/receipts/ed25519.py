"""Verification of Ed25519 signatures (RFC 8032, section 5.1.7). The standard library has none.

Only public values are handled, so nothing here needs constant time. One verification takes some milliseconds.
"""

from __future__ import annotations

from hashlib import sha512

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)

# A point as extended coordinates X, Y, Z, T: x = X/Z, y = Y/Z, x*y = T/Z.
Point = tuple[int, int, int, int]

NEUTRAL: Point = (0, 1, 1, 0)


def add(one: Point, other: Point) -> Point:
    """Adds two points; complete, so it doubles as well (RFC 8032, section 5.1.4)."""
    x1, y1, z1, t1 = one
    x2, y2, z2, t2 = other
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(scalar: int, point: Point) -> Point:
    result = NEUTRAL
    while scalar > 0:
        if scalar % 2 == 1:
            result = add(result, point)
        point = add(point, point)
        scalar //= 2
    return result


def decode(encoded: bytes) -> Point | None:
    """The point that 32 bytes encode (section 5.1.3); None where they encode none."""
    number = int.from_bytes(encoded, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= P:
        return None
    # x**2 = (y**2 - 1) / (d*y**2 + 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT_OF_MINUS_ONE % P
    if x * x % P != square or (x == 0 and sign == 1):
        return None
    if x % 2 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def encode(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return (y * inverse % P | (x * inverse % P % 2) << 255).to_bytes(32, "little")


def _base() -> Point:
    y = 4 * pow(5, -1, P) % P
    point = decode(y.to_bytes(32, "little"))
    if point is None:
        raise AssertionError("the base point is on the curve")
    return point


BASE = _base()


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (64 bytes) is that of `message` by the key (32 bytes)."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key = decode(public_key)
    half, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    if key is None or scalar >= ORDER:
        return False
    challenge = int.from_bytes(sha512(half + public_key + message).digest(), "little") % ORDER
    x, y, z, t = key
    minus_key = (P - x, y, z, P - t)
    return encode(add(multiply(scalar, BASE), multiply(challenge, minus_key))) == half
