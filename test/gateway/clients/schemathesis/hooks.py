"""Rules about several parameters, and about calls before, which OpenAPI cannot say.

A generated request that fits the description is made to fit these, too, so that a refusal of it is a finding. Requests
that are meant to be refused stay as they are, but for a header that a dry run takes no notice of.
"""

import os
import random
import re
import uuid

import schemathesis
from schemathesis.core.parameters import ParameterLocation

INDICATORS = os.environ["INDICATORS"].split(",")
# Every other text is a name, which there may not be.
CODE = re.compile("[A-Za-z]{2,3}|[0-9]{3}")
IDEMPOTENCY_KEY = "Idempotency-Key"
RANGES = ["bytes=0-99", "bytes=-8", "bytes=4-", "bytes=999999999-", "bytes=0-1,4-5"]
# A series of which it is decided what it measures, and how it aggregates.
MEASURED = "alpha.life_expectancy"
# What SDMX-CSV cannot do without.
DIMENSIONS = ["indicator", "iso3", "year", "value"]


@schemathesis.deserializer("application/x-bibtex")
def read_text(ctx, response):
    return response.content.decode("utf-8")


@schemathesis.hook
def before_call(ctx, case, kwargs):
    if is_sound(case, ParameterLocation.QUERY):
        if case.path.endswith("/data") and not {"indicator", "indicators"} & case.query.keys():
            case.query["indicator"] = INDICATORS[0]
        obey_rules(case.query, random.Random(case.id))
        if "{indicator}" in case.operation.path and "transform" in case.query:
            case.path_parameters["indicator"] = MEASURED
            del case.query["indicator"]
    if is_sound(case, ParameterLocation.HEADER):
        if IDEMPOTENCY_KEY in case.headers:
            case.headers[IDEMPOTENCY_KEY] = uuid.uuid4().hex
        if "Range" in case.headers:
            case.headers["Range"] = random.Random(case.id).choice(RANGES)
    elif IDEMPOTENCY_KEY in case.headers:
        case.query.pop("dry_run", None)


def is_sound(case, location):
    component = case.meta and case.meta.components.get(location)
    return component is None or component.mode.is_positive


def obey_rules(query, choice):
    """choice: one call in four asks for what is not there."""
    if "indicators" in query and "indicator" in query:
        del query[choice.choice(["indicator", "indicators"])]
    if "indicator" in query and choice.random() < 0.75:
        query["indicator"] = choice.choice(INDICATORS)
    if "indicators" in query and choice.random() < 0.75:
        query["indicators"] = ",".join(choice.sample(INDICATORS, choice.randint(1, 3)))
    if "as_of" in query and choice.random() < 0.75:
        query["as_of"] = "2026-11-21"
    if "countries" in query:
        places = query["countries"].split(",")
        query["countries"] = ",".join(place if CODE.fullmatch(place) else "@eu" for place in places)
    choose_years(query)
    choose_columns(query)
    choose_derivation(query, choice)


def choose_years(query):
    if "years" in query:
        for bound in ("from", "to"):
            query.pop(bound, None)
    years = [name for name in ("from", "to") if name in query]
    if len(years) == 2:
        query["from"], query["to"] = sorted((query["from"], query["to"]), key=int)


def choose_columns(query):
    if query.get("format") == "sdmx-csv":
        query.pop("layout", None)
    if "fields" not in query:
        return
    columns = list(dict.fromkeys(query["fields"].split(",")))
    if query.get("format") == "sdmx-csv":
        columns += [name for name in DIMENSIONS if name not in columns]
    query["fields"] = ",".join(columns)
    if query.get("layout") == "wide":
        del query["layout"]


def choose_derivation(query, choice):
    """What is defined for the series."""
    if "group" in query:
        query["group"] = "AFG,DEU,KEN"
        if "countries" in query:
            query["countries"] = "KEN"
        query.pop("transform", None)
    elif "aggregate" in query:
        query["aggregate"] = "declared"
        query["country" if "country" in query else "countries"] = "@eu"
    elif "country" in query:
        query["country"] = "KEN"
    if "aggregate" in query or "group" in query:
        query.pop("layout", None)
    if "transform" in query:
        query["transform"] = choice.choice(["change", "change:3,mean:2", "mean:2"])
    if {"transform", "aggregate", "group"} & query.keys():
        query["indicators" if "indicators" in query else "indicator"] = MEASURED
