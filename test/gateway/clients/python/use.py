"""Calls a service through the clients that openapi-python-client makes of its descriptions, and prints what it was told.

`almanac_client` is made of the whole description, `almanac_csv` of the one with CSV alone. Checked by mypy, strictly.
"""

import json
import sys
from http import HTTPStatus
from typing import Any, TypeVar

from almanac_client import AuthenticatedClient
from almanac_client.api.account import ping
from almanac_client.api.catalogue import get_indicator, list_indicators
from almanac_client.api.data import get_data, get_indicator_file, get_ranking, verify_claims
from almanac_client.models import (
    ChosenColumnsAnswer,
    DryRunAnswer,
    ErrorAnswer,
    GetDataLayout,
    GetIndicatorAnswer,
    InvalidAnswer,
    ListIndicatorsAnswer,
    ObservationsAnswer,
    SeveralIndicatorsAnswer,
    VerifyClaimsAnswer,
    WideAnswer,
)
from almanac_client.types import File
from almanac_csv import AuthenticatedClient as CsvClient
from almanac_csv.api.data import get_data as get_data_as_csv
from almanac_csv.models import GetDataFormat

_, BASE_URL, KEY, INDICATOR, OTHER = sys.argv
CLIENT = AuthenticatedClient(base_url=BASE_URL, token=KEY)

Answer = TypeVar("Answer")


def told(answer: object, shape: type[Answer]) -> Answer:
    if not isinstance(answer, shape):
        raise TypeError(f"{shape.__name__} expected, not {answer!r}")
    return answer


def catalogue() -> dict[str, Any]:
    listed = told(list_indicators.sync(client=CLIENT, limit=3, featured=True), ListIndicatorsAnswer)
    first = get_indicator.sync_detailed(INDICATOR, client=CLIENT)
    again = get_indicator.sync_detailed(INDICATOR, client=CLIENT, if_none_match=first.headers["etag"])
    detail = told(first.parsed, GetIndicatorAnswer).data
    return {
        "indicators": [record.id for record in listed.data],
        "detail": [detail.name, len(detail.related)],
        "again": again.status_code,
    }


def figures() -> dict[str, Any]:
    countries = "KEN,DEU"
    indicators = f"{INDICATOR},{OTHER}"
    usual = told(get_data.sync(client=CLIENT, indicator=INDICATOR, countries=countries), ObservationsAnswer)
    several = told(
        get_data.sync(client=CLIENT, indicators=indicators, countries=countries), SeveralIndicatorsAnswer
    )
    chosen = told(
        get_data.sync(client=CLIENT, indicator=INDICATOR, countries=countries, fields="name,value"),
        ChosenColumnsAnswer,
    )
    wide = told(
        get_data.sync(client=CLIENT, indicators=indicators, layout=GetDataLayout.WIDE), WideAnswer
    )
    return {
        "rows": [[row.iso3, row.year, row.value] for row in usual.data],
        "attribution": usual.meta.attribution,
        "several": [[row.indicator, row.iso3, row.year, row.value] for row in several.data],
        "chosen": [[row.name, row.value] for row in chosen.data],
        "wide": [[row.iso3, row.year, row[INDICATOR]] for row in wide.data],
    }


def priced() -> dict[str, Any]:
    dry = told(get_data.sync(client=CLIENT, indicator=INDICATOR, dry_run=True), DryRunAnswer)
    claims = [f"{INDICATOR},KEN,2020,1", f"{INDICATOR},DEU,2020,2"]
    verdicts = told(verify_claims.sync(client=CLIENT, claim=claims), VerifyClaimsAnswer)
    ranking = get_ranking.sync_detailed(INDICATOR, client=CLIENT)
    return {
        "price": dry.data.price,
        "verdicts": [row.verdict.value for row in verdicts.data],
        "charged": int(ranking.headers["x-credits-charged"]),
    }


def failures() -> dict[str, Any]:
    unknown = get_data.sync_detailed(client=CLIENT, indicator="none.such")
    dear = get_data.sync_detailed(client=CLIENT, indicator=INDICATOR, max_credits=1)
    refused = ping.sync_detailed(client=AuthenticatedClient(base_url=BASE_URL, token="none"))
    invalid = told(get_data.sync(client=CLIENT, indicator=INDICATOR, latest=0), InvalidAnswer)

    def code(status: HTTPStatus, answer: object) -> list[object]:
        return [status.value, told(answer, ErrorAnswer).error.code.value]

    return {
        "errors": [
            code(unknown.status_code, unknown.parsed),
            code(dear.status_code, dear.parsed),
            code(refused.status_code, refused.parsed),
        ],
        "invalid": [[*one.loc, one.type_] for one in invalid.detail],
    }


def file() -> dict[str, Any]:
    whole = told(get_indicator_file.sync(INDICATOR, client=CLIENT), File)
    part = get_indicator_file.sync_detailed(INDICATOR, client=CLIENT, range_="bytes=0-3")
    start = told(part.parsed, File).payload.read().decode()
    return {"file": [len(whole.payload.read()), start, part.status_code]}


def csv() -> dict[str, Any]:
    text = get_data_as_csv.sync(
        client=CsvClient(base_url=BASE_URL, token=KEY), indicator=INDICATOR, format_=GetDataFormat.CSV
    )
    return {"csv": told(text, str).split("\r\n")}


print(json.dumps({**catalogue(), **figures(), **priced(), **failures(), **file(), **csv()}))
