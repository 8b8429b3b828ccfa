"""Tests against a running service with the starter data: ALMANAC_URL and ALMANAC_KEY say where and with which key."""

import json
import os
import urllib.request
from typing import Any

import pytest

from almanac_data import Almanac

URL = os.environ["ALMANAC_URL"]
KEY = os.environ["ALMANAC_KEY"]


@pytest.fixture
def client() -> Almanac:
    return Almanac(KEY, base_url=URL, progress=False)


def ask(path: str) -> Any:
    """The JSON of an answer, without the client."""
    request = urllib.request.Request(URL + path, headers={"Authorization": f"Bearer {KEY}"})  # noqa: S310
    with urllib.request.urlopen(request) as response:  # noqa: S310
        return json.load(response)


def balance() -> int:
    return int(ask("/v1/ping")["data"]["balance"])
