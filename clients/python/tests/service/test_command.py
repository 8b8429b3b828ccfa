"""The command, as a program of its own."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from almanac_data import Almanac

from .conftest import KEY, URL

FERTILITY, POPULATION = "world-bank.SP.DYN.TFRT.IN", "world-bank.SP.POP.TOTL"


def run(*words: str, code: int = 0, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ALMANAC_URL": URL, "ALMANAC_KEY": KEY, "COLUMNS": "200", **variables}
    done = subprocess.run(
        [sys.executable, "-m", "almanac_data.cli.main", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=cwd,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_search_and_data(client: Almanac) -> None:
    words = ("births", "per", "woman", "in", "Peru", "and", "the", "EU", "2000", "2020", "--limit", "3")
    found = client.search(" ".join(words[:-2]), limit=3)
    shown = run("search", *words).stdout
    coverage = found[0]["coverage"]
    assert coverage is not None
    extent = f"{coverage['n_countries']} countries, latest {coverage['latest_year']}"
    assert f"{FERTILITY}\n    good; {found[0]['name']}; births per woman; {extent}\n" in shown
    assert f"almanac data {FERTILITY} --countries PER,@eu --years 2000-2020" in shown
    assert json.loads(run("search", *words, "--json").stdout) == {**vars(found), "hits": found}
    listed = csv.DictReader(io.StringIO(run("search", *words, "--csv").stdout))
    assert [(row["id"], row["match"]) for row in listed] == [(one["id"], one["match"]) for one in found]
    nothing = run("search", "expuctencys", code=1)
    assert (nothing.stdout, nothing.stderr) == (
        "no rows\n",
        "almanac: nothing is found for expuctencys; known words like these: expectancy\n",
    )
    assert json.loads(run("search", "expuctencys", "--json", code=1).stdout)["match"] == "none"
    health = run("indicators", "--topic", "health", "--limit", "2", "--csv").stdout
    ids = [one["id"] for one in client.indicators(topic="health", limit=2)]
    assert [row["id"] for row in csv.DictReader(io.StringIO(health))] == ids
    asked = (FERTILITY, POPULATION, "-c", "PER,chl", "-y", "2020-2022", "--wide")
    table = client.data([FERTILITY, POPULATION], countries=["PER", "chl"], years=(2020, 2022), layout="wide")
    full = json.loads(run("data", *asked, "--json").stdout)
    assert full["rows"] == table.rows
    assert full["citation"] == table.citation
    rows = list(csv.DictReader(io.StringIO(run("data", *asked, "--csv").stdout)))
    assert [float(row[FERTILITY]) for row in rows] == table[FERTILITY]
    shown = run("data", *asked).stdout
    assert table.attribution in shown
    assert "6 rows; 12 charged" in shown
    assert f"{FERTILITY}: Fertility rate, total (births per woman), births per woman" in shown
    single = run("data", FERTILITY, "-c", "PER", "-y", "2020").stdout
    assert "ci_lo" not in single
    assert single.count(FERTILITY) == 2  # in the heading and in the reference
    assert "12 credits for 6 rows" in run("data", *asked, "--price").stdout
    named = run("data", FERTILITY, "-c", "Deutschland,UK", "--latest", "1", "--csv")
    assert "DEU" in named.stdout
    assert named.stderr == "almanac: no country has the code UK\n"


def test_rank_and_verify() -> None:
    shown = run("rank", FERTILITY, "--year", "2022", "--top", "3").stdout
    assert "Fertility rate, total (births per woman), 2022" in shown
    assert "Somalia" in shown
    good, bad = f"{POPULATION},PER,2023,33.8e6", f"{POPULATION},PER,2023,7"
    assert "rounded" in run("verify", good).stdout
    wrong_year = f"{FERTILITY},PER,2023,2.004"
    assert f"{wrong_year}: wrong year? 2.004 is {FERTILITY}, PER, 2022" in run("verify", wrong_year, code=1).stdout
    verdicts = json.loads(run("verify", good, bad, "--json", code=1).stdout)
    assert [one["verdict"] for one in verdicts] == ["rounded", "mismatch"]


def test_country_indicator_groups_revisions_and_balance(client: Almanac) -> None:
    shown = run("country", "Viet Nam", "--topic", "energy").stdout
    assert shown.startswith("Vietnam; VNM; East Asia & Pacific")
    country = client.country("VNM", topic="energy")
    assert json.loads(run("country", "VNM", "--topic", "energy", "--json").stdout) == country
    listed = csv.DictReader(io.StringIO(run("country", "vn", "--csv").stdout))
    assert len(list(listed)) == sum(map(len, client.country("VNM")["topics"].values()))
    shown = run("indicator", FERTILITY).stdout
    assert f"{FERTILITY}: Fertility rate, total (births per woman)\n  unit: births per woman" in shown
    assert "credit line: World Bank, World Development Indicators" in shown
    assert json.loads(run("indicator", FERTILITY, "--json").stdout) == client.indicator(FERTILITY)
    assert run("indicator", FERTILITY, "--cite", "bibtex").stdout.rstrip() == client.citation(FERTILITY).rstrip()
    groups = list(csv.DictReader(io.StringIO(run("groups", "--csv").stdout)))
    assert groups[0] == {"group": "@eu", "name": "European Union", "members": "27", "as_of": groups[0]["as_of"]}
    revisions = json.loads(run("revisions", FERTILITY, "-c", "Peru", "--since", "2020-01-01", "--json").stdout)
    assert revisions["rows"] == client.revisions(FERTILITY, countries="PER", since="2020-01-01").rows
    assert json.loads(run("balance", "--json").stdout) == {"balance": client.balance()}
    assert run("balance").stdout == f"{client.balance():,} credits\n"
    named = run("data", FERTILITY, "-c", "PER", "-y", "2000,2010", "--names", "--csv").stdout
    assert [line.split(",")[2:4] for line in named.splitlines()[1:]] == [["Peru", "2000"], ["Peru", "2010"]]


def test_receipts(tmp_path: Path) -> None:
    run("receipt", "get", POPULATION, "PER", "2023", "-o", "receipt.json", cwd=tmp_path)
    run("receipt", "keys", "-o", "keys.json", cwd=tmp_path)
    shown = run(
        "receipt", "verify", "receipt.json", "--keys", "keys.json", cwd=tmp_path, ALMANAC_URL="http://none"
    ).stdout
    assert f"{POPULATION}, PER, 2023: 33845617 people" in shown
    assert "verified: signed by" in shown
    assert "not verified" in run("receipt", "verify", "receipt.json", code=3, cwd=tmp_path).stdout
    key = json.loads((tmp_path / "keys.json").read_text())["keys"][0]["key"]
    run("receipt", "verify", "receipt.json", "--keys", key, cwd=tmp_path)
    text = (tmp_path / "receipt.json").read_text()
    (tmp_path / "receipt.json").write_text(text.replace("33845617", "33845618"))
    refused = run("receipt", "verify", "receipt.json", "--keys", "keys.json", code=1, cwd=tmp_path)
    assert "The row or its path was altered" in refused.stderr


def test_derived_figures(tmp_path: Path) -> None:
    growth = ("--transform", "growth:5", "--aggregate", "declared")
    shown = run("data", POPULATION, "-c", "@eu", "-y", "2023", *growth).stdout
    assert "@eu" in shown
    own = run("data", POPULATION, "--group", "PER,CHL,BOL", "--aggregate", "median", "-y", "2023", "--csv").stdout
    assert "BOL,CHL,PER" in own
    assert "2023" in run("rank", POPULATION, "--year", "2023", "--transform", "growth").stdout
    run("receipt", "get", POPULATION, "@eu", "2023", *growth, "-o", "derived.json", cwd=tmp_path)
    run("lock", cwd=tmp_path)
    verify = ("receipt", "verify", "derived.json", "--keys", "almanac.lock")
    assert f"{POPULATION} growth:5, @eu, 2023: " in run(*verify, cwd=tmp_path).stdout
    figure = json.loads(run(*verify, "--json", cwd=tmp_path).stdout)["figure"]
    assert figure["counted"] == 27
    assert "--rows is of" in run(*verify, "--rows", "derived.json", code=2, cwd=tmp_path).stderr
    text = (tmp_path / "derived.json").read_text()
    (tmp_path / "derived.json").write_text(text.replace('"counted":27', '"counted":26'))
    assert "another counted: 27" in run(*verify, code=1, cwd=tmp_path).stderr


def test_lock(tmp_path: Path, client: Almanac) -> None:
    assert client.editions()[0]["id"] in run("lock", cwd=tmp_path).stdout
    assert "holds" in run("lock", "--check", cwd=tmp_path).stdout
    assert "no rows" in run("lock", "--changes", cwd=tmp_path).stdout
    assert "no rows" in run("revisions", POPULATION, "--since", "almanac.lock", cwd=tmp_path).stdout
    locked = run("--lock", "almanac.lock", "data", POPULATION, "-c", "PER", "--latest", "1", "--csv", cwd=tmp_path)
    assert "33845617" in locked.stdout
    run("receipt", "get", POPULATION, "PER", "2023", "-o", "r.json", cwd=tmp_path)
    run("receipt", "verify", "r.json", "--keys", "almanac.lock", cwd=tmp_path)
    lock = json.loads((tmp_path / "almanac.lock").read_text())
    (tmp_path / "almanac.lock").write_text(json.dumps({**lock, "root": "0" * 64}))
    assert "has the root" in run("lock", "--check", code=1, cwd=tmp_path).stderr
    run("--lock", "almanac.lock", "data", POPULATION, "-c", "PER", code=1, cwd=tmp_path)


def test_key_from_a_file(tmp_path: Path) -> None:
    usual = tmp_path / "almanac" / "key"
    usual.parent.mkdir()
    usual.write_text(f"{KEY}\n")
    asked = ("data", POPULATION, "-c", "PER", "--price")
    run(*asked, ALMANAC_KEY="", XDG_CONFIG_HOME=str(tmp_path))
    run("--key-file", str(usual), *asked, ALMANAC_KEY="alm_live_wrong")
    missing = run(*asked, code=4, ALMANAC_KEY="", XDG_CONFIG_HOME=str(tmp_path / "none")).stderr
    assert "set the variable ALMANAC_KEY" in missing


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("data", "world-bank.SP.POP.TOT"), 4, "Nearest: world-bank.SP.POP.TOTL"),
        (("data", POPULATION, "-c", "Congo"), 4, "Candidates: DR Congo (COD), Congo (COG) [422"),
        (("--max-credits", "1", "data", POPULATION), 4, "max_credits is 1"),
        (("--url", "http://127.0.0.1:1", "search", "x"), 5, "cannot be reached"),
        (("--url", "almanac.example", "search", "x"), 2, "base_url must start with http"),
        (("data", POPULATION, "--years", "x"), 2, "years must be 2020, 2000-2010"),
        (("data",), 2, "INDICATOR"),
        (("--lock", "none.lock", "data", POPULATION), 1, "There is no none.lock"),
        (("receipt", "verify", "none.json"), 2, "none.json"),
    ],
)
def test_exit_codes(words: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    assert message in run(*words, code=code, cwd=tmp_path).stderr.replace("\n", " ")


def test_help_names_every_command() -> None:
    shown = run("--help").stdout
    for command in ("search", "indicators", "data", "rank", "verify", "receipt", "lock"):
        assert f"    {command} " in shown
        run(command, "--help")
    run("--version")


def test_a_reader_that_stops_is_no_error() -> None:
    environment = {**os.environ, "ALMANAC_URL": URL, "ALMANAC_KEY": KEY}
    words = [sys.executable, "-m", "almanac_data.cli.main", "data", FERTILITY, "--csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
