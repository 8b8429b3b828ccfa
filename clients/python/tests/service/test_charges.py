"""What is paid is what was answered: once, whatever the network does."""

import random

import pytest

from almanac_data import Almanac, AlmanacError, ConnectionFailed, PaymentRequired

from .conftest import KEY, URL, balance
from .cutting_proxy import cutting

FERTILITY, POPULATION = "world-bank.SP.DYN.TFRT.IN", "world-bank.SP.POP.TOTL"


@pytest.mark.parametrize("seed", range(3))
def test_a_call_over_a_broken_network_is_paid_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("almanac_data.transport.FIRST_WAIT_S", 0.001)
    with cutting(URL, seed) as proxy:
        client = Almanac(KEY, base_url=proxy.url, progress=False, retries=5)
        direct = Almanac(KEY, base_url=URL, progress=False)
        failed = answered = 0
        randomness = random.Random(seed)
        for _ in range(12):
            countries = randomness.sample(["PER", "CHL", "KEN", "DEU", "FRA", "IND", "@eu"], 2)
            asked = {"countries": countries, "years": (1990 + randomness.randrange(30), None)}
            price = direct.price([FERTILITY, POPULATION], **asked)["price"]
            before = balance()
            try:
                table = client.data([FERTILITY, POPULATION], **asked)
            except ConnectionFailed:
                failed += 1
                assert before - balance() in (0, price)
                continue
            answered += 1
            assert before - balance() == price
            assert len(table) == price
            assert table.price in (None, price)
        assert answered > 6
        assert proxy.cuts > answered / 2


def test_claims_in_several_calls_are_paid_once_each(client: Almanac) -> None:
    before = balance()
    verdicts = client.verify([(POPULATION, "PER", 1970 + at % 50, str(at)) for at in range(61)])
    assert len(verdicts) == 61
    assert before - balance() == 61
    with pytest.raises(ValueError, match="61 claims cost 61 credits"):
        client.verify([f"{POPULATION},PER,2000,{at}" for at in range(61)], max_credits=60)
    assert before - balance() == 61


def test_max_credits_is_never_passed(client: Almanac) -> None:
    limited = Almanac(KEY, base_url=URL, max_credits=5)
    before = balance()
    with pytest.raises(PaymentRequired) as caught:
        limited.data(FERTILITY, countries="PER")
    assert caught.value.code == "max_credits_exceeded"
    assert before == balance()
    asked = {"countries": "PER", "years": (2015, 2020)}
    with pytest.raises(PaymentRequired):
        limited.data(FERTILITY, **asked)
    assert limited.data(FERTILITY, **asked, max_credits=6).price == 6
    assert client.data(FERTILITY, **asked, max_credits=6).price == 6
    assert before - balance() == 12


def test_a_refusal_costs_nothing(client: Almanac) -> None:
    before = balance()
    for call in (
        lambda: client.data("none.such"),
        lambda: client.data(FERTILITY, latest=0),
        lambda: client.country("ZZZ"),
        lambda: client.receipt(FERTILITY, "PER", 1066),
        lambda: client.file("none.such"),
        lambda: Almanac("alm_live_wrong", base_url=URL).data(FERTILITY),
        lambda: Almanac(KEY, base_url=f"{URL}/elsewhere").search("x"),
    ):
        with pytest.raises(AlmanacError) as caught:
            call()
        assert getattr(caught.value, "request_id", "") is not None
    assert before == balance()
