"""Runs a command and turns what goes wrong into a message and an exit code."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from almanac_data.cli.commands import COMMANDS, NOT_BORNE_OUT, USAGE, checked_lock
from almanac_data.cli.parser import build_parser
from almanac_data.client import Almanac
from almanac_data.errors import AlmanacError, ApiError, ConnectionFailed, LockError, UnexpectedAnswer
from almanac_data.receipts import Refused

REFUSED_CALL, UNREACHABLE, INTERRUPTED = 4, 5, 130


def main(arguments: Sequence[str] | None = None) -> int:
    given = build_parser().parse_args(arguments)
    try:
        code = COMMANDS[given.command](_client(given), given)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever reads has enough. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (AlmanacError, ValueError, OSError) as error:
        print(f"almanac: {error}", file=sys.stderr)
        return _exit_code(error)


def _client(given: Namespace) -> Almanac:
    # JSON, even where pyarrow is installed: importing it takes longer than most answers.
    return Almanac(
        _key(given.key_file),
        base_url=given.url,
        lock=checked_lock(given),
        max_credits=given.max_credits,
        is_columnar=False,
    )


def _key(key_file: str | None) -> str | None:
    """From the file that is named, else from the environment, else from the usual file."""
    if key_file is not None:
        return Path(key_file).read_text(encoding="utf-8").strip()
    if os.environ.get("ALMANAC_KEY"):
        return os.environ["ALMANAC_KEY"]
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "almanac" / "key"
    return usual.read_text(encoding="utf-8").strip() if usual.is_file() else None


def _exit_code(error: Exception) -> int:
    if isinstance(error, (Refused, LockError)):
        return NOT_BORNE_OUT
    if isinstance(error, ApiError):
        return REFUSED_CALL
    return UNREACHABLE if isinstance(error, (ConnectionFailed, UnexpectedAnswer)) else USAGE


if __name__ == "__main__":
    sys.exit(main())
