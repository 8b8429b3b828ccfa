"""The test vectors of docs/receipts.md."""

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[4] / "docs" / "receipts.md"


@cache
def vector(name: str) -> str:
    """The fenced block between the comments `receipt-<name>`, or of another whole name."""
    mark = name if "-" in name else f"receipt-{name}"
    pattern = rf"<!-- {mark} -->\n```\w*\n(.*?)```\n<!-- /{mark} -->"
    found = re.search(pattern, PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, name
    return found.group(1)
