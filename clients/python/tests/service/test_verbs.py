"""Every verb against the plain answer of the service. Needs nothing but the standard library."""

import hashlib
import json
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from almanac_data import (
    Almanac,
    Forbidden,
    InvalidRequest,
    Lock,
    LockError,
    NotFound,
    Refused,
    Unauthorized,
    parse_keys,
    verify_derivation,
    verify_receipt,
)

from .conftest import KEY, URL, ask, balance

FERTILITY, POPULATION = "world-bank.SP.DYN.TFRT.IN", "world-bank.SP.POP.TOTL"
REMITTANCES = "world-bank.BX.TRF.PWKR.CD.DT"


def test_catalogue(client: Almanac) -> None:
    assert client.indicators() == ask("/v1/indicators")["data"]
    some = client.indicators(topic="health", provider="world-bank", limit=2)
    assert some == ask("/v1/indicators?topic=health&provider=world-bank&limit=2")["data"]
    assert Almanac(base_url=URL).indicator(FERTILITY) == ask(f"/v1/indicators/{FERTILITY}")["data"]
    assert "sources" in client.indicator(FERTILITY, include=["sources", "twins"])
    assert client.editions() == ask("/v1/editions")["data"]
    assert client.changes() == ask("/v1/changes")["data"]
    assert client.changes(since=client.editions()[0]["id"]) == []
    stranger = Almanac(base_url=URL)
    assert stranger.countries(region="South Asia") == ask("/v1/countries?region=South%20Asia")["data"]
    assert stranger.groups() == ask("/v1/groups")["data"]
    assert stranger.topics() == ask("/v1/topics")["data"]
    assert stranger.citation(FERTILITY).startswith(f"@misc{{{FERTILITY}-{client.editions()[0]['id']}")
    [item] = json.loads(stranger.citation(FERTILITY, style="csl-json"))
    assert item["title"] == "Fertility rate, total (births per woman)"
    with pytest.raises(ValueError, match="style must be"):
        stranger.citation(FERTILITY, style="apa")  # type: ignore[arg-type]
    assert client.balance() == balance()


@pytest.mark.parametrize("is_columnar", [False, None])
def test_listed_years_are_these_alone_and_cost_no_others(is_columnar: bool | None) -> None:
    client = Almanac(KEY, base_url=URL, is_columnar=is_columnar)
    for years in ([2000, 2010], "2000,2010", range(2000, 2011, 10)):
        before = balance()
        table = client.data(FERTILITY, countries=["PER", "CHL"], years=years, names=True)
        found = [("Chile", 2000), ("Chile", 2010), ("Peru", 2000), ("Peru", 2010)]
        assert [(row["name"], row["year"]) for row in table] == found
        assert (table.price, before - balance()) == (4, 4)
        assert client.price(FERTILITY, countries=["PER", "CHL"], years=years)["price"] == 4
        assert [meta["years"] for meta in client.revisions(table).meta["indicators"]] == [[2000, 2010]]
    for years in ((2000, 2010), "2000-2010", range(2000, 2011)):
        assert client.data(FERTILITY, countries="PER", years=years)["year"] == list(range(2000, 2011))
    newest = client.data(FERTILITY, countries="PER", years=[1990, 2000, 2010], latest=2)
    assert newest["year"] == [2000, 2010]


def test_feed_links_are_made_listed_and_revoked(client: Almanac) -> None:
    asked = {"countries": ["Peru", "Chile"], "years": [2000, 2010], "names": True}
    made = client.make_feed("Births", FERTILITY, **asked, format="json", monthly_cap=50, expires="2099-12-31")
    assert (made["name"], made["format"], made["price"], made["monthly_cap"]) == ("Births", "json", 4, 50)
    table = client.data(FERTILITY, **asked)
    before = balance()
    path = urlsplit(made["url"]).path
    with urllib.request.urlopen(URL + path) as response:  # noqa: S310
        assert json.load(response)["data"] == table.rows
    assert before - balance() == 4
    assert [one["id"] for one in client.feeds() if one["state"] == "active"] == [made["id"]]
    assert "Births" in repr(client.feeds())
    assert client.revoke_feed(made["id"])["state"] == "revoked"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(URL + path)  # noqa: S310
    with pytest.raises(InvalidRequest, match="more than the cap"):
        client.make_feed("Births", FERTILITY, monthly_cap=1)
    with pytest.raises(NotFound):
        client.revoke_feed("none")


def test_unknown_ids_and_names_come_with_the_nearest(client: Almanac) -> None:
    with pytest.raises(NotFound, match=r"Nearest: world-bank\.SP\.POP\.TOTL"):
        client.data("world-bank.SP.POP.TOT")
    with pytest.raises(NotFound, match=r"Nearest: world-bank\.SP\.POP\.TOTL"):
        client.indicator("sp.pop.totl")
    with pytest.raises(NotFound, match=r"Candidates: Peru \(PER\)"):
        client.country("Perru")
    assert client.country("Viet Nam", topic="energy") == client.country("VNM", topic="energy")
    assert client.receipt(POPULATION, "Peru", 2023).verify(client.keys()).row["iso3"] == "PER"
    [verdict] = client.verify([(POPULATION, "Korea, Rep.", 2023, "1")])
    assert verdict["iso3"] == "KOR"


def test_search_gives_hits_and_what_was_read_in_the_words(client: Almanac) -> None:
    found = client.search("births per woman in Peru and the EU 2020", limit=3)
    answer = ask("/v1/search?q=births+per+woman+in+Peru+and+the+EU+2020&limit=3")
    assert found == answer["data"]
    assert vars(found) == {name: answer["meta"][name] for name in ("match", "places", "groups", "years", "nearest")}
    assert (found.match, found[0]["id"], found.years) == ("good", FERTILITY, [2020])
    assert [place["iso3"] for place in found.places] + [group["id"] for group in found.groups] == ["PER", "eu"]
    nothing = Almanac(base_url=URL).search("expuctencys")
    assert (nothing, nothing.match, nothing.nearest) == ([], "none", ["expectancy"])


def test_places_by_any_usual_name(client: Almanac) -> None:
    named = ["Viet Nam", "Deutschland", "Hong Kong SAR, China", "Korea, Rep.", "Nordics", "UK", "zzz"]
    table = client.data(FERTILITY, countries=named, years=2020)
    coded = client.data(FERTILITY, countries=["VNM", "DEU", "HKG", "KOR", "@nordic"], years=2020)
    assert {"DEU", "KOR", "SWE"} <= set(table["iso3"])
    assert "CHN" not in table["iso3"]
    assert (table.rows, table.price) == (coded.rows, coded.price)
    assert (table.unmatched, coded.unmatched) == (("UK", "ZZZ"), ())
    assert repr(table).endswith("no country has the code UK, ZZZ")
    assert client.revisions(table).unmatched == ("UK", "ZZZ")
    before = balance()
    with pytest.raises(InvalidRequest, match=r"Candidates: DR Congo \(COD\), Congo \(COG\); ") as refused:
        client.data(FERTILITY, countries=["Congo", "Perru"])
    assert refused.value.message.endswith("Candidates: Peru (PER)")
    assert before == balance()


def test_figures(client: Almanac) -> None:
    table = client.data(FERTILITY, countries=["per", "152"], years=(2020, 2024))
    answer = ask(f"/v1/data?indicator={FERTILITY}&countries=per,152&from=2020&to=2024")
    assert table.rows == [{"indicator": FERTILITY, **row} for row in answer["data"]]
    assert table.price == len(table) == answer["meta"]["count"]
    assert table.provenance.balance is not None
    assert table.licences == [answer["meta"]["licence"]]
    assert table.attribution == answer["meta"]["attribution"]
    assert table.edition == client.editions()[0]["id"]
    assert table["iso3"][0] == "CHL"
    assert f"{FERTILITY}. Almanac, snapshot {table.edition} of {answer['meta']['generated_at'][:10]}." in table.citation


def test_derived_figures(client: Almanac) -> None:
    asked = {"countries": "PER", "years": (2015, 2020), "transform": ["per_head", "growth:2"]}
    price = client.price(REMITTANCES, **asked)["price"]
    for columnar in (False, None):
        chosen = Almanac(KEY, base_url=URL, is_columnar=columnar)
        table = chosen.data(REMITTANCES, **asked, fields=["year", "value", "reason"])
        assert table.price == price > len(table)
        assert [one.id for one in table.provenance.series] == [REMITTANCES, POPULATION]
    world = client.data(POPULATION, countries="@world", aggregate="declared", latest=1)
    [figure] = world.rows
    assert (figure["iso3"], figure["group"]) == (None, "@world")
    receipt = client.receipt(POPULATION, "@world", figure["year"], aggregate="declared")
    assert verify_derivation(receipt, client.keys()).figure.value == figure["value"]
    own = client.data(POPULATION, group=["PER", "CHL", "BOL"], years=2020, fields=["group", "members", "value"])
    assert (own.rows[0]["group"], own.rows[0]["members"], own.price) == ("BOL,CHL,PER", 3, 3)
    assert set(client.revisions(own).rows) == set()
    ranking = client.rank(REMITTANCES, 2020, transform="per_head")
    assert ranking.rows == ask("/v1/rankings/world-bank.BX.TRF.PWKR.CD.DT?year=2020&transform=per_head")["data"]


def test_rank_and_country(client: Almanac) -> None:
    ranking = client.rank(FERTILITY, 2022)
    answer = ask(f"/v1/rankings/{FERTILITY}?year=2022")
    assert ranking.rows == answer["data"]
    assert ranking.meta == answer["meta"]
    assert ranking.price == 1
    assert client.country("per", topic="energy") == ask("/v1/countries/per?topic=energy")["data"]


def test_price_is_what_is_charged(client: Almanac) -> None:
    for asked in (
        {"indicator": FERTILITY, "countries": "@eu", "latest": 2},
        {"indicator": [FERTILITY, POPULATION], "countries": "PER", "layout": "wide"},
        {"indicator": FERTILITY, "countries": "PER", "fields": ["value"], "missing": "omit"},
        {"indicator": FERTILITY, "countries": "XXX"},
    ):
        before = balance()
        price = client.price(**asked)
        assert balance() == before
        table = client.data(**asked)
        assert (table.price, before - balance()) == (price["price"], price["price"])
        assert price["rows"] == len(table)


def test_files_are_whole_and_paid_once(client: Almanac, tmp_path: Path) -> None:
    held = client.file(FERTILITY)
    before = balance()
    written = client.file(FERTILITY, tmp_path / "fertility.parquet")
    assert before == balance()
    assert written.price == 0
    octets = (tmp_path / "fertility.parquet").read_bytes()
    assert octets == held.content
    assert hashlib.sha256(octets).hexdigest()
    assert written.attrs["units"] == {FERTILITY: "births per woman"}
    assert list(tmp_path.iterdir()) == [tmp_path / "fertility.parquet"]
    with pytest.raises(NotFound):
        client.file("none.such", tmp_path / "none.parquet")
    with pytest.raises(OSError, match="missing"):
        client.file(FERTILITY, tmp_path / "missing" / "file.parquet")


def test_receipts_and_keys(client: Almanac, tmp_path: Path) -> None:
    receipt = client.receipt(FERTILITY, "per", 2023)
    figure = client.data(FERTILITY, countries="PER", years=2023).rows[0]["value"]
    verified = receipt.verify(client.keys())
    assert verified.row["value"] == figure
    assert verified.root == client.editions()[0]["root"]
    receipt.save(tmp_path / "receipt.json")
    keys = parse_keys(client.keys_document())
    assert verify_receipt((tmp_path / "receipt.json").read_bytes(), keys) == verified
    with pytest.raises(Refused):
        verify_receipt(receipt.replace(b'"year":2023', b'"year":2022'), keys)
    with pytest.raises(NotFound):
        client.receipt(FERTILITY, "PER", 1066)


def test_lock_pins_an_edition(client: Almanac, tmp_path: Path) -> None:
    path = tmp_path / "almanac.lock"
    lock = client.lock(path)
    assert Lock.read(path) == lock
    assert lock.edition == client.editions()[0]["id"]
    locked = Almanac(KEY, base_url=URL, lock=path)
    plain, pinned = client.data(FERTILITY, countries="PER"), locked.data(FERTILITY, countries="PER")
    assert pinned.rows == plain.rows
    assert pinned.meta["as_of"] == lock.edition
    assert locked.rank(FERTILITY).rows == client.rank(FERTILITY).rows
    assert locked.keys() == client.keys()
    assert len(client.revisions(plain, since=lock)) == 0
    with pytest.raises(ValueError, match="the lock pins"):
        locked.data(FERTILITY, as_of="2026-01-01")


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        ("root", lambda text: ("1" if text[0] != "1" else "2") + text[1:], "has the root"),
        ("published_at", lambda text: text.replace("2026", "2025"), "has the published_at"),
        ("edition", lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"), "has no edition"),
        ("checkpoint", lambda text: text.replace("\n1\n", "\n2\n", 1), "does not hold"),
    ],
)
def test_an_edited_lock_is_refused(client: Almanac, tmp_path: Path, name, edit, message) -> None:  # type: ignore[no-untyped-def]
    lock = client.lock(tmp_path / "almanac.lock")
    edited = Lock(**{**vars(lock), name: edit(getattr(lock, name))})
    before = balance()
    with pytest.raises(LockError, match=message):
        Almanac(KEY, base_url=URL, lock=edited).data(FERTILITY, countries="PER")
    assert before == balance()


def test_locks_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="There is no"):
        Almanac(KEY, base_url=URL, lock=tmp_path / "none.lock")
    for text in ("", "{}", "[]", '{"format": "almanac-lock/2"}', '{"format": "almanac-lock/1", "keys": [{}]}'):
        (tmp_path / "bad.lock").write_text(text)
        with pytest.raises(LockError):
            Lock.read(tmp_path / "bad.lock")


def test_refusals_are_exceptions_with_code_and_request(client: Almanac, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALMANAC_KEY")
    with pytest.raises(Unauthorized) as missing:
        Almanac(base_url=URL).data(FERTILITY)
    assert (missing.value.status, missing.value.code) == (401, "unauthorized")
    assert "set the variable ALMANAC_KEY" in missing.value.message
    display = [one["id"] for one in client.indicators() if one["access_tier"] == "display"]
    for indicator in display[:1]:
        with pytest.raises(Forbidden):
            client.data(indicator)
