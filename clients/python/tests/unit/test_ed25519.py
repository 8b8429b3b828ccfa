"""The vectors of RFC 8032, section 7.1, and what a verifier must refuse."""

import pytest

from almanac_data.receipts import ed25519

# Public key, message, signature.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]
CASES = [tuple(bytes.fromhex(part) for part in vector) for vector in VECTORS]


@pytest.mark.parametrize(("key", "message", "signature"), CASES, ids=["1", "2", "3", "SHA(abc)"])
def test_accepts_the_vectors_and_nothing_next_to_them(key: bytes, message: bytes, signature: bytes) -> None:
    assert ed25519.verify(key, message, signature)
    assert not ed25519.verify(key, message + b"\x00", signature)
    for at in range(0, 64, 7):
        forged = bytearray(signature)
        forged[at] ^= 1
        assert not ed25519.verify(key, message, bytes(forged))


def test_refuses_a_second_form_of_the_same_signature() -> None:
    key, message, signature = CASES[1]
    scalar = int.from_bytes(signature[32:], "little") + ed25519.ORDER
    assert not ed25519.verify(key, message, signature[:32] + scalar.to_bytes(32, "little"))


@pytest.mark.parametrize("length", [0, 31, 33])
def test_refuses_keys_and_signatures_of_another_length(length: int) -> None:
    key, message, signature = CASES[0]
    assert not ed25519.verify(key[:length].ljust(length, b"\0"), message, signature)
    assert not ed25519.verify(key, message, signature[:length])


def test_refuses_keys_that_are_no_point() -> None:
    _, message, signature = CASES[0]
    numbers = (2, ed25519.P, 1 | 1 << 255)
    for number in numbers:  # x**2 has no root; y is not below P; x = 0 with a sign
        assert ed25519.decode(number.to_bytes(32, "little")) is None
        assert not ed25519.verify(number.to_bytes(32, "little"), message, signature)
