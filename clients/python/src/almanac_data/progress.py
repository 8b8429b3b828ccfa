"""A progress bar on stderr, for what takes longer than a moment at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

SILENT_S = 0.5
EVERY_S = 0.1
WIDTH = 24


class Progress:
    """Counts the bytes of one download. Use as a context manager: the bar disappears at its end.

    show: True or False, or None for "if stderr is a terminal".
    """

    def __init__(
        self,
        label: str,
        show: bool | None = None,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label = label
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty() if show is None else show
        self._clock = clock
        self._started = clock()
        self._next = self._started + SILENT_S
        self._bytes = 0
        self._drawn = 0
        self.total: int | None = None

    def add(self, size: int) -> None:
        self._bytes += size
        if self._shown and self._clock() >= self._next:
            self._next = self._clock() + EVERY_S
            self._draw()

    def restart(self) -> None:
        """Begins at zero, before the call is repeated."""
        self._bytes = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()

    def _draw(self) -> None:
        elapsed = self._clock() - self._started
        speed = f"{self._bytes / 1e6:,.1f} MB, {self._bytes / 1e6 / elapsed:,.1f} MB/s"
        if self.total:
            share = min(1.0, self._bytes / self.total)
            bar = ("#" * round(share * WIDTH)).ljust(WIDTH, ".")
            line = f"{self._label} [{bar}] {share:4.0%} {speed}"
        else:
            line = f"{self._label} {speed}"
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = max(self._drawn, len(line))
