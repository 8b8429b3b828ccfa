"""Calls over a real connection, to a server that fails as the test says."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from almanac_data import Almanac
from almanac_data.errors import (
    ApiError,
    ConnectionFailed,
    InvalidRequest,
    RateLimited,
    ServiceUnavailable,
    UnexpectedAnswer,
)
from almanac_data.transport import Answer, Transport

Step = Callable[[BaseHTTPRequestHandler], None]


def answer(status: int, body: bytes = b"{}", **headers: str) -> Step:
    """An answer; `Content_Length` overrides its length."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return step


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def chunks_without_end(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"5\r\n{'a':\r\n")


def headers_without_end(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le")


def error(status: int, code: str, **headers: str) -> Step:
    body = json.dumps({"error": {"code": code, "message": f"It is {code}."}}).encode()
    return answer(status, body, X_Request_Id="request-7", **headers)


class Server:
    """Plays its steps, one a request; the last one again and again."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.url = ""
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.slept: list[float] = []
        self.now = 0.0

    def transport(self, retries: int = 4) -> Transport:
        def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.now += seconds

        return Transport(
            self.url,
            "alm_key",
            timeout=20,
            retries=retries,
            progress=False,
            sleep=sleep,
            clock=lambda: self.now,
            jitter=lambda: 1.0,
        )

    def keys(self) -> list[str | None]:
        return [headers.get("idempotency-key") for _, headers in self.requests]


@contextmanager
def serving(*steps: Step) -> Iterator[Server]:
    server = Server(list(steps))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.close_connection = True
            at = len(server.requests)
            server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            server.steps[min(at, len(server.steps) - 1)](self)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()


FAULTS = [
    error(503, "unavailable", Retry_After="2"),
    error(429, "rate_limited", Retry_After="2"),
    answer(502, b"<html>bad gateway"),
    hang_up,
    answer(200, b'{"a":1', Content_Length="8"),
    answer(200, gzip.compress(b'{"a": 1}')[:-9], Content_Encoding="gzip"),
    answer(200, b"not gzip", Content_Encoding="gzip"),
    chunks_without_end,
    headers_without_end,
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("read", [Answer.json, lambda given: json.loads(b"".join(given.body.pieces()))])
def test_repeats_a_failed_call_under_one_idempotency_key(fault: Step, read: Callable[[Answer], object]) -> None:
    with serving(fault, fault, answer(200, gzip.compress(b'{"a": 1}'), Content_Encoding="gzip")) as server:
        transport = server.transport()
        assert transport.call("/v1/data", [("q", "a b,@c")], read, priced=True) == {"a": 1}
        assert [path for path, _ in server.requests] == ["/v1/data?q=a%20b%2C%40c"] * 3
        first, *others = server.keys()
        assert first is not None
        assert others == [first, first]
        assert len(server.slept) == 2
        transport.call("/v1/data", [], read, priced=True)
        assert server.keys()[-1] != first


def test_waits_as_told_else_longer_each_time() -> None:
    unavailable = error(503, "unavailable")
    with serving(error(429, "rate_limited", Retry_After="7"), unavailable, unavailable, answer(200)) as server:
        assert server.transport().call("/", [], Answer.json) == {}
        assert server.slept == [7.0, 1.0, 2.0]
        assert server.keys() == [None] * 4


def test_does_not_repeat_what_would_be_made_twice() -> None:
    with serving(hang_up) as server:
        with pytest.raises(ConnectionFailed):
            server.transport().call("/v1/feeds", [], Answer.json, method="POST", body={"name": "a"})
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (error(402, "insufficient_credits"), ApiError),
        (error(404, "indicator_not_found"), ApiError),
        (error(500, "internal_error"), ServiceUnavailable),
        (error(429, "rate_limited", Retry_After="3600"), RateLimited),
        (answer(200, b"<html>"), UnexpectedAnswer),
        (answer(200, b"{}", Content_Encoding="br"), UnexpectedAnswer),
        (answer(301, b"", Location="http://127.0.0.1:1/other"), ApiError),
    ],
)
def test_does_not_repeat_what_would_fail_again(fault: Step, kind: type[Exception]) -> None:
    with serving(fault) as server, pytest.raises(kind) as caught:
        server.transport().call("/v1/data", [], Answer.json, priced=True)
    assert len(server.requests) == 1
    if isinstance(caught.value, ApiError) and caught.value.status != 301:
        assert caught.value.request_id == "request-7"
        assert f"It is {caught.value.code}." in str(caught.value)


def test_gives_up_after_the_repeats_that_are_free() -> None:
    with serving(hang_up) as server:
        with pytest.raises(ConnectionFailed):
            server.transport(retries=5).call("/", [], Answer.json, priced=True)
        assert len(server.requests) == 6
        for retries in (-1, 6):
            with pytest.raises(ValueError, match="0 to 5"):
                server.transport(retries=retries)


def test_does_not_repeat_a_priced_call_that_the_service_has_forgotten() -> None:
    """The service knows an idempotency key for ten minutes: an attempt that hung so long is the last."""
    for priced, attempts in ((True, 2), (False, 3)):
        with serving() as server:

            def hang(handler: BaseHTTPRequestHandler, server: Server = server) -> None:
                server.now += 300.0
                hang_up(handler)

            server.steps = [hang]
            with pytest.raises(ConnectionFailed):
                server.transport(retries=2).call("/", [], Answer.json, priced=priced)
            assert len(server.requests) == attempts


def test_tells_parameters_at_fault() -> None:
    detail = [{"loc": ["query", "latest"], "msg": "Input should be greater than 0", "type": "greater_than"}]
    with serving(answer(422, json.dumps({"detail": detail}).encode())) as server:
        with pytest.raises(InvalidRequest, match="latest: Input should be greater than 0") as caught:
            server.transport().call("/", [], Answer.json)
        assert caught.value.detail == detail


def test_tells_the_places_that_may_be_meant() -> None:
    candidates = [{"iso3": "COD", "name": "DR Congo"}, {"group": "@eu", "name": "European Union"}]
    detail = [
        {"loc": ["query", "countries", 1], "msg": "Which?", "type": "value_error", "ctx": {"candidates": candidates}}
    ]
    with serving(answer(422, json.dumps({"detail": detail}).encode())) as server:
        meant = r"countries\.1: Which\? Candidates: DR Congo \(COD\), European Union \(@eu\) \[422"
        with pytest.raises(InvalidRequest, match=meant):
            server.transport().call("/", [], Answer.json)


def test_sends_the_key_in_the_header_alone() -> None:
    with serving(answer(200)) as server:
        server.transport().call("/v1/ping", [], Answer.json)
        path, headers = server.requests[0]
        assert headers["authorization"] == "Bearer alm_key"
        assert "alm_key" not in path
        assert headers["user-agent"].startswith("almanac-data/")


def test_refuses_addresses_that_are_not_http() -> None:
    for address in ("ftp://x.example", "file:///etc/hosts", "x.example"):
        with pytest.raises(ValueError, match="http"):
            Transport(address, None, timeout=1, retries=0, progress=False)


def test_calls_of_one_verb_share_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("almanac_data.transport.FIRST_WAIT_S", 0.001)
    meta = {"generated_at": "2026-11-21T00:00:00Z", "indicator": "a.b"}
    rows = json.dumps({"data": [{"iso3": "KEN"}, {"iso3": "DEU"}], "meta": meta}).encode()
    repeated = answer(200, rows, X_Credits_Charged="0", Idempotent_Replayed="true")
    with serving(hang_up, repeated, answer(200, rows, X_Credits_Charged="2")) as server:
        client = Almanac("alm_key", base_url=server.url, progress=False)
        table = client.revisions(["a.b", "a.c", "a.d"], max_credits=9)
        limits = [path.rpartition("max_credits=")[2] for path, _ in server.requests]
    assert limits == ["9", "9", "7", "5"]
    assert (len(table), table.price) == (6, None)
