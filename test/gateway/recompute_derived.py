"""Recomputes derived figures from the files of providers, by docs/derived.md alone.

Arguments: the mirror of the providers, the folder of curated tables, and a JSON file { "rules": by series, "calls": [{ indicator,
transform, countries, groups, own, method, from, to, rows }] }. Prints { "wrong": [...], "rows": number, "seen": count by reason }.
"""
import csv
import json
import math
import sys
from collections import Counter
from datetime import date
from functools import lru_cache
from itertools import groupby
from pathlib import Path

mirror, curated, asked = Path(sys.argv[1]), Path(sys.argv[2]), json.load(open(sys.argv[3]))
rules = asked["rules"]


def table(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


countries = {row["iso3"]: row for row in table(curated / "countries.csv") if row["enabled"] == "true"}
places = {(row["scheme"], row["code"]): row["iso3"] for row in table(curated / "places.csv")}
settings = {(file.stem, row["slug"]): row for file in (curated / "overlay").glob("*.csv") for row in table(file)}
# The estimates of the United Nations' revision of 2024 end in 2023.
FORECAST = 2024
# Of these nobody says so: what lies ahead is a forecast.
UNMARKED = {"gapminder.number_of_people_in_poverty": date.today().year + 1}


def place_of(scheme, code):
    iso3 = places.get((scheme, code), code)
    return iso3 if iso3 in countries else None


def world_bank(code):
    for row in table(mirror / "world-bank/datahub-wdi-long/indicators" / code.lower() / "data.csv"):
        yield place_of("worldbank", row["Country Code"]), row["Year"], row["Value"], None


@lru_cache(maxsize=None)
def gapminder_places():
    own = table(mirror / "gapminder/ddf--entities--geo--country.csv")
    return {row["country"]: row["iso3166_1_alpha3"] for row in own}


def gapminder(slug):
    [path] = (mirror / "gapminder").rglob(f"ddf--datapoints--{slug}--by--geo--time.csv")
    for row in table(path):
        code = row["geo"]
        iso3 = place_of("gapminder", code) or place_of("gapminder", gapminder_places().get(code, ""))
        yield iso3, row["time"], row[slug], None


POPULATION = {"total": "Total", "under-5s": "Under-5s", "under-15s": "Under-15s", "ages-65": "Ages 65+"}


def owid(slug):
    column = POPULATION[slug.removeprefix("population-")]
    for row in table(mirror / "owid/grapher/population-by-age-group-with-projections.csv"):
        estimate, forecast = row[column], row[f"{column} (Projected)"]
        if estimate or forecast:
            yield place_of("owid", row["Code"]), row["Year"], estimate or forecast, not estimate


READERS = {"world-bank": world_bank, "gapminder": gapminder, "owid": owid}


class Cell:
    """A figure, or why there is none."""

    def __init__(self, value, reason=None, projected=False, status=None, inputs=()):
        finite = value is None or math.isfinite(value)
        self.value, self.reason = (value, reason) if finite else (None, "overflow")
        self.projected = projected or any(cell.projected for cell in inputs)
        # There is no other status in these files.
        self.status = "forecast" if any(cell.status for cell in inputs) else status


@lru_cache(maxsize=None)
def series(indicator):
    """By country and year."""
    provider, slug = indicator.split(".", 1)
    own = settings.get((provider, slug), {})
    least, most = float(own.get("min") or "-inf"), float(own.get("max") or "inf")
    forecast = int(own.get("projected_from") or UNMARKED.get(indicator, FORECAST)) if rules[indicator]["has_projections"] else 9999
    found = {}
    for iso3, year, text, projected in READERS[provider](slug):
        if iso3 is None or text == "" or not least <= float(text) <= most:
            continue
        is_projected = int(year) >= forecast if projected is None else projected
        found.setdefault(iso3, {})[int(year)] = Cell(float(text), None, is_projected, "forecast" if projected else None)
    return found


def breaks_in(indicator, iso3):
    for found in rules[indicator]["breaks"]:
        if found["iso3"] in (None, iso3):
            yield found["year"]
            if found["kind"] == "decimal_slip":
                yield found["year"] + 1


NOTHING = Cell(None)


def missing(cells, otherwise):
    """The reason of the first that is missing; None where none is."""
    for cell, reason in zip(cells, otherwise):
        if cell.value is None:
            return cell.reason or reason
    return None


def compare(cells, breaks, word, number, counted):
    """Each year with an earlier one, or with a base year."""
    for year, now in cells.items():
        at = number if word == "index" else year - number
        base = cells.get(at, NOTHING)
        inputs = (now, base)
        reason = missing([now, base], ["gap", "no_base"])
        if not reason and any(min(at, year) < one <= max(at, year) for one in breaks):
            reason = "break"
        if not reason and counted and counted.get(at) != counted.get(year):
            reason = "coverage"
        if not reason and word != "change":
            if base.value == 0:
                reason = "zero"
            elif base.value < 0 or (word == "growth" and now.value <= 0):
                reason = "not_positive"
        if reason:
            yield year, Cell(None, reason, inputs=inputs)
        elif word == "change":
            yield year, Cell(now.value - base.value, inputs=inputs)
        elif word == "index":
            yield year, Cell(100 * (now.value / base.value), inputs=inputs)
        elif number == 1:
            yield year, Cell(100 * ((now.value - base.value) / base.value), inputs=inputs)
        else:
            yield year, Cell(100 * ((now.value / base.value) ** (1 / number) - 1), inputs=inputs)


def average(cells, breaks, number):
    for year in cells:
        taken = [cells.get(year - back, NOTHING) for back in reversed(range(number))]
        reason = missing(taken, ["gap"] * number)
        if not reason and any(year - number + 1 < one <= year for one in breaks):
            reason = "break"
        total = 0.0
        for cell in taken:
            total += cell.value or 0.0
        yield year, Cell(None if reason else total / number, reason, inputs=taken)


def divide(cells, by, result):
    for year, cell in cells.items():
        other = by.get(year, NOTHING)
        reason = missing([cell, other], ["gap", "no_base"])
        if not reason and other.value <= 0:
            reason = "zero" if other.value == 0 else "not_positive"
        yield year, Cell(None if reason else result(cell.value, other.value), reason, inputs=[cell, other])


def under(indicator, place, cells, breaks, words, counted=None):
    """What a chain makes of the figures of a place."""
    for position, word in enumerate(words):
        name, _, argument = word.partition(":")
        if name in ("change", "growth", "index"):
            cells = dict(compare(cells, breaks, name, int(argument), counted))
        elif name == "mean":
            cells = dict(average(cells, breaks, int(argument)))
        elif name == "share":
            whole = {year: enough(figure) for year, figure in declared(indicator, argument).items()}
            whole = under(indicator, None, whole, [], words[:position])
            cells = dict(divide(cells, whole, lambda a, b: 100 * (a / b)))
        else:
            by = argument or rules[indicator]["population"]
            powers = rules[indicator]["scale"] - rules[by]["scale"] if name == "per_head" else 0
            power = float(f"1e{abs(powers)}")
            ratio = (lambda a, b: a / b / power) if powers < 0 else (lambda a, b: a / b * power)
            cells = dict(divide(cells, series(by).get(place, {}), ratio))
            breaks = [*breaks, *breaks_in(by, place)]
    return cells


def enough(figure):
    """A whole of shares, of which 95 % has to be covered."""
    cell = figure["cell"]
    lacks = cell.value is not None and figure["coverage"] < 0.95
    return Cell(None, "coverage", cell.projected) if lacks else cell


@lru_cache(maxsize=None)
def members_of(group):
    [row] = [row for row in table(curated / "groups.csv") if row["id"] == group]
    if row["members"]:
        return sorted(set(row["members"].split()) & set(countries))
    column, _, values = row["rule"].partition(": ")
    return sorted(iso3 for iso3, of in countries.items() if of[column] in values.split("; "))


@lru_cache(maxsize=None)
def containments(indicator):
    """What holds for a series: of each pair its own rows, else those of its provider, else those of all."""
    by_pair = {}
    for row in table(curated / "territories.csv"):
        by_pair.setdefault((row["parent"], row["child"]), []).append(row)
    found = []
    for rows in by_pair.values():
        for subject in (indicator, indicator.split(".", 1)[0], "*"):
            own = [row for row in rows if row["provider"] == subject]
            if own:
                found += own
                break
    return found


def last_own(cells, year):
    """Of the year, else the newest before it, else the first after it."""
    if year in cells:
        return cells[year].value
    before = [one for one in cells if one < year]
    return cells[max(before) if before else min(cells)].value if cells else None


def group_year(indicator, members, year):
    rule = rules[indicator]
    mean, by = rule["aggregate"] == "mean", rule["divisor"]
    figures, weights = series(indicator), series(by) if by else {}
    own = {iso3: figures.get(iso3, {}).get(year) for iso3 in members}
    weight = {iso3: weights.get(iso3, {}).get(year) for iso3 in members}
    counts = {one for one in members if own[one] and (not mean or (weight[one] and weight[one].value > 0))}
    held = [
        row
        for id in ([indicator, by] if mean else [indicator])
        for row in containments(id)
        if row["parent"] in counts and int(row["from"] or -9999) <= year <= int(row["to"] or 9999)
    ]
    within = {row["child"] for row in held if row["contained"] == "yes"}
    undecided = any(row["contained"] == "" and row["child"] in counts for row in held)
    once = [one for one in members if one not in within]
    total = present = expected = settled = everybody = 0.0
    known, counted, projected = 0, 0, False
    for one in once:
        people = last_own(weights.get(one, {}), year) or 0.0
        everybody += max(people, 0.0)
        if mean:
            if one in counts:
                total += weight[one].value * own[one].value
                present += weight[one].value
                projected = projected or own[one].projected or weight[one].projected
                counted += 1
            continue
        if one not in figures:
            continue
        known += 1
        settled += max(people, 0.0)
        expected += abs(last_own(figures[one], year))
        if own[one]:
            total += own[one].value
            present += abs(own[one].value)
            projected = projected or own[one].projected
            counted += 1
    if counted == 0:
        return None
    if mean:
        total, share = total / present, present / everybody if everybody else 0
    else:
        share = present / expected if expected else counted / known
        share = share * (settled / everybody) if everybody else share
    coverage = math.floor(share * 1e6 + 0.5) / 1e6
    reason = "territory" if undecided else None if coverage * 3 >= 2 else "coverage"
    cell = Cell(None if reason else total, reason, projected)
    return {"cell": cell, "members": len(once), "counted": counted, "coverage": coverage}


def order_year(indicator, members, year, method):
    figures = series(indicator)
    own = [cells[year] for cells in (figures.get(one, {}) for one in members) if year in cells]
    if not own:
        return None
    values = sorted(cell.value for cell in own)
    middle = len(values) // 2
    half = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    value = {"min": values[0], "max": values[-1], "median": half}[method]
    covered = 3 * len(own) >= 2 * len(members)
    cell = Cell(value if covered else None, None if covered else "coverage", any(one.projected for one in own))
    coverage = math.floor(len(own) / len(members) * 1e6 + 0.5) / 1e6
    return {"cell": cell, "members": len(members), "counted": len(own), "coverage": coverage}


def group_figures(indicator, members, method="declared"):
    years = sorted({year for one in members for year in series(indicator).get(one, {})})
    if method == "declared":
        found = ((year, group_year(indicator, members, year)) for year in years)
    else:
        found = ((year, order_year(indicator, members, year, method)) for year in years)
    return {year: figure for year, figure in found if figure}


@lru_cache(maxsize=None)
def declared(indicator, group):
    return group_figures(indicator, members_of(group))


def group_rows(call, code, members, figures):
    own, rule = series(call["indicator"]), rules[call["indicator"]]
    counted = {year: [one for one in members if year in own.get(one, {})] for year in figures}
    cells = {year: figure["cell"] for year, figure in figures.items()}
    method = rule["aggregate"] if call["method"] == "declared" else call["method"]
    for year, cell in under(call["indicator"], None, cells, [], call["transform"], counted).items():
        of = figures[year]
        percent = round(of["coverage"] * 1e6) // 10**4 / 100
        yield [None, code, year, cell.value, cell.reason, None, cell.projected, of["members"], of["counted"], percent, method]


def rows_of(call):
    indicator, words = call["indicator"], call["transform"]
    groups = [("@" + one, members_of(one), declared(indicator, one)) for one in call["groups"]]
    if call["own"]:
        own = sorted(call["own"])
        groups.append((",".join(own), own, group_figures(indicator, own, call["method"])))
    for group in sorted(groups, key=lambda one: one[0]):
        yield from group_rows(call, *group)
    shares = [word.partition(":")[2] for word in words if word.startswith("share:")]
    for iso3 in sorted(call["countries"]):
        if any(iso3 not in members_of(group) for group in shares):
            continue
        cells = series(indicator).get(iso3, {})
        for year, cell in under(indicator, iso3, cells, list(breaks_in(indicator, iso3)), words).items():
            yield [iso3, None, year, cell.value, cell.reason, cell.status, cell.projected, None, None, None, None]


def is_same(mine, theirs, words):
    if mine[:3] + mine[4:] != theirs[:3] + theirs[4:]:
        return False
    if mine[3] is None or theirs[3] is None or mine[3] == theirs[3]:
        return mine[3] == theirs[3]
    takes_root = any(word.startswith("growth:") and word != "growth:1" for word in words)
    return takes_root and abs(mine[3] - theirs[3]) <= 1e-12 * max(abs(mine[3]), 100)


wrong, seen, compared = [], Counter(), 0
for call in asked["calls"]:
    expected = sorted(
        (row for row in rows_of(call) if call["from"] <= row[2] <= call["to"]),
        key=lambda row: (row[0] is not None, row[0] or row[1], row[2]),
    )
    about = {name: call[name] for name in ("indicator", "transform", "own", "method")}
    if len(expected) != len(call["rows"]):
        wrong.append({**about, "rows": [len(expected), len(call["rows"])]})
    for mine, theirs in zip(expected, call["rows"]):
        compared += 1
        seen[f"reason {mine[4]}"] += 1
        seen["projected"] += mine[6]
        for name in (word.partition(":")[0] for word in call["transform"]):
            seen[f"{name} {'figure' if mine[3] is not None else 'none'}"] += 1
        if mine[10]:
            seen[f"group {mine[10]}"] += 1
        if not is_same(mine, theirs, call["transform"]):
            wrong.append({**about, "mine": mine, "theirs": theirs})
json.dump({"wrong": wrong[:20], "rows": compared, "seen": seen}, sys.stdout)
