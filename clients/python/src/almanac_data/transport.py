"""HTTP: one call of the service, repeated where that cannot pay twice."""

from __future__ import annotations

import http.client
import json
import platform
import random
import time
import urllib.error
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.message import Message
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from almanac_data._version import __version__
from almanac_data.body import BROKEN, Body
from almanac_data.errors import AlmanacError, ApiError, ConnectionFailed, UnexpectedAnswer, api_error
from almanac_data.progress import Progress

ERROR_BYTES = 64 * 1024
NO_KEY = "This call needs a key: set the variable ALMANAC_KEY, or pass key."

REPEATED_STATUSES = frozenset({429, 502, 503, 504})
# The service repeats an answer for nothing five times within ten minutes. Beyond either, a repeat would be a new call.
REPEATS_MAX = 5
REPEATABLE_S = 540.0
LONGEST_WAIT_S = 60.0
FIRST_WAIT_S = 0.5

Query = Sequence[tuple[str, str]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer:
    headers: Message
    body: Body

    def whole(self) -> bytes | bytearray:
        return self.body.whole()

    def json(self) -> Any:
        try:
            return json.loads(self.whole())
        except ValueError as error:
            raise UnexpectedAnswer("The answer is not JSON: is the address that of the service?") from error


Read = Callable[[Answer], Result]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Transport:
    """Sends calls to one service. Proxies and certificates come from the environment, as with `urllib`."""

    def __init__(
        self,
        base_url: str,
        key: str | None,
        *,
        timeout: float,
        retries: int,
        progress: bool | None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if not 0 <= retries <= REPEATS_MAX:
            raise ValueError(f"retries must be 0 to {REPEATS_MAX}, not {retries}")
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must start with http:// or https://, not {base_url!r}")
        self.base_url = base_url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._retries = retries
        self._progress = progress
        self._sleep = sleep
        self._clock = clock
        self._jitter = jitter
        self._opener = urllib.request.build_opener(_NoRedirects)

    def call(
        self,
        path: str,
        query: Query,
        read: Read[Result],
        *,
        priced: bool = False,
        method: str = "GET",
        body: dict[str, Any] | None = None,
    ) -> Result:
        """Sends a call and reads its answer.

        A failed call is repeated from the start, with the same idempotency key: of a priced one the repeat is free.

        priced: whether the operation costs credits. read: is given each answer anew when the call is repeated.
        body: what is made of it would be made twice, so such a call is not repeated.
        Raises ApiError, ConnectionFailed, UnexpectedAnswer.
        """
        sent = self._headers()
        if priced:
            sent["Idempotency-Key"] = uuid.uuid4().hex
        address = f"{self.base_url}{path}" + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        request = urllib.request.Request(address, content, sent, method=method)  # noqa: S310
        retries = self._retries if body is None else 0
        started = self._clock()
        with Progress(path.rsplit("/", 1)[-1], self._progress) as progress:
            for repeats in range(retries + 1):
                try:
                    return self._attempt(request, read, progress)
                except (ApiError, ConnectionFailed) as error:
                    wait = self._wait(error, repeats)
                    until = self._clock() + (wait or 0) - started
                    if wait is None or repeats == retries or (priced and until > REPEATABLE_S):
                        raise
                    progress.restart()
                    self._sleep(wait)
        raise AssertionError("the last repeat returns or raises")

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept-Encoding": "gzip",
            "User-Agent": f"almanac-data/{__version__} python/{platform.python_version()}",
        }
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _wait(self, error: AlmanacError, repeats: int) -> float | None:
        """Seconds before a repeat; None where a repeat is of no use."""
        if isinstance(error, ApiError):
            if error.status not in REPEATED_STATUSES:
                return None
            if error.retry_after is not None:
                return error.retry_after if error.retry_after <= LONGEST_WAIT_S else None
        return FIRST_WAIT_S * 2.0**repeats * (0.5 + self._jitter() / 2)

    def _attempt(self, request: urllib.request.Request, read: Read[Result], progress: Progress) -> Result:
        try:
            response = self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error, has_key=self._key is not None) from None
        except urllib.error.URLError as error:
            cause = error.reason if isinstance(error.reason, Exception) else error
            where = "base_url, or the variable ALMANAC_URL, says where the service is"
            raise ConnectionFailed(f"{self.base_url} cannot be reached: {error.reason}; {where}.") from cause
        except BROKEN as error:
            raise ConnectionFailed(f"{self.base_url} did not answer: {error!r}") from error
        with response:
            return read(Answer(response.headers, Body(response, response.headers, progress)))


def _refusal(error: urllib.error.HTTPError, has_key: bool) -> ApiError:
    headers = error.headers
    retry_after = headers.get("Retry-After")
    facts = {
        "request_id": headers.get("X-Request-Id"),
        "retry_after": float(retry_after) if retry_after and retry_after.isdigit() else None,
    }
    if 300 <= error.code < 400:
        to = headers.get("Location", "another address")
        return api_error(error.code, "redirected", f"The service is at {to}: use that as base_url.", **facts)
    try:
        body = json.loads(_error_body(error))
        if "detail" in body:
            text = "; ".join(map(_fault, body["detail"]))
            return api_error(error.code, "invalid_parameters", text, detail=body["detail"], **facts)
        message = str(body["error"]["message"]) if has_key or error.code != 401 else NO_KEY
        return api_error(error.code, str(body["error"]["code"]), message, **facts)
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return api_error(error.code, "unknown", f"HTTP {error.code} without an explanation.", **facts)


def _fault(one: dict[str, Any]) -> str:
    """A parameter at fault, with the places that may be meant instead."""
    text = f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}"
    candidates = one.get("ctx", {}).get("candidates", [])
    meant = ", ".join(f"{place['name']} ({place.get('iso3') or place['group']})" for place in candidates)
    return f"{text} Candidates: {meant}" if meant else text


def _error_body(error: urllib.error.HTTPError) -> bytes:
    body = error.read(ERROR_BYTES)
    is_packed = error.headers.get("Content-Encoding") == "gzip"
    return zlib.decompress(body, wbits=31) if is_packed else body
