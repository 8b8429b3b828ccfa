"""The body of an answer: complete, or ConnectionFailed."""

from __future__ import annotations

import http.client
import zlib
from collections.abc import Callable, Iterator
from email.message import Message
from typing import Protocol

from almanac_data.errors import ConnectionFailed, UnexpectedAnswer
from almanac_data.progress import Progress

PIECE_BYTES = 256 * 1024

BROKEN = (OSError, http.client.HTTPException, zlib.error)


See = Callable[["bytes | memoryview"], object]


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def readinto(self, buffer: memoryview, /) -> int | None: ...


class Body:
    """Reads a response once, piece by piece or whole. Decompresses gzip."""

    def __init__(self, response: Readable, headers: Message, progress: Progress) -> None:
        self._response = response
        self._progress = progress
        length, coding = headers.get("Content-Length"), headers.get("Content-Encoding", "identity")
        if coding not in ("identity", "gzip"):
            raise UnexpectedAnswer(f"The answer has the content coding {coding}, which was not asked for.")
        self._is_packed = coding == "gzip"
        self._length = progress.total = int(length) if length is not None and length.isdigit() else None
        # Headers that break off read like complete ones: only an end that can be recognised proves a whole answer.
        is_chunked = headers.get("Transfer-Encoding", "").lower() == "chunked"
        if self._length is None and not is_chunked and not self._is_packed:
            raise ConnectionFailed("The answer broke off within its headers.")

    def pieces(self) -> Iterator[bytes]:
        inflate = zlib.decompressobj(wbits=31) if self._is_packed else None
        received = 0
        try:
            while piece := self._response.read(PIECE_BYTES):
                received += len(piece)
                self._progress.add(len(piece))
                yield piece if inflate is None else inflate.decompress(piece)
        except BROKEN as error:
            raise ConnectionFailed(f"The answer broke off after {received} bytes: {error!r}") from error
        # `read` with a size does not report a connection that ends too early.
        is_short = self._length is not None and received != self._length
        if is_short or (inflate is not None and not inflate.eof):
            raise ConnectionFailed(f"The answer broke off after {received} bytes.")

    def whole(self, see: See | None = None) -> bytes | bytearray:
        """see: is given each piece as it arrives, while the service sends the next."""
        if self._length is None or self._is_packed:
            body = b"".join(self.pieces())
            if see is not None:
                see(body)
            return body
        # Into one buffer: joining pieces takes as long again as receiving them.
        buffer = bytearray(self._length)
        free = memoryview(buffer)
        try:
            while free and (size := self._response.readinto(free[: 4 * PIECE_BYTES])):
                self._progress.add(size)
                if see is not None:
                    see(free[:size])
                free = free[size:]
        except BROKEN as error:
            raise ConnectionFailed(f"The answer broke off: {error!r}") from error
        if free:
            raise ConnectionFailed(f"The answer broke off {len(free)} bytes before its end.")
        return buffer
