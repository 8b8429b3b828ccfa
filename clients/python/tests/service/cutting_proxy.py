"""A network in front of the service that cuts connections, before the call arrives or while its answer comes back."""

from __future__ import annotations

import contextlib
import random
import socket
import socketserver
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class CuttingProxy(socketserver.ThreadingTCPServer):
    """cuts: connections that were cut so far."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: str, randomness: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        parts = urlsplit(address)
        self.target = (parts.hostname or "", parts.port or 80)
        self.randomness = randomness
        self.share = 0.6
        self.cuts = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.BaseRequestHandler):
    """One call: the client closes the connection after each."""

    def handle(self) -> None:
        proxy = self.server
        if not isinstance(proxy, CuttingProxy):
            raise TypeError("a connection of another server")
        is_cut = proxy.randomness.random() < proxy.share
        # None: the call is lost. Else so many bytes of its answer arrive.
        passed = proxy.randomness.choice([None, 0, 0, 10, 400, 1500]) if is_cut else 10**12
        proxy.cuts += is_cut
        request = b""
        while b"\r\n\r\n" not in request and (piece := self.request.recv(65536)):
            request += piece
        if passed is None or not request:
            return
        with socket.create_connection(proxy.target) as upstream:
            upstream.sendall(request)
            with contextlib.suppress(OSError):
                while piece := upstream.recv(65536):
                    self.request.sendall(piece[:passed])
                    passed -= len(piece[:passed])


@contextlib.contextmanager
def cutting(address: str, seed: int) -> Iterator[CuttingProxy]:
    with CuttingProxy(address, random.Random(seed)) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
