"""Verifies receipts: a file with a JSON list of `{receipt, keys, rows?, since?, consistency?}`, each a file in base64.

Prints a line for each: `accepted`, or `refused: ` and why.
"""

import base64
import json
import sys
from pathlib import Path

from almanac_data import Refused, parse_keys, verify_derivation, verify_receipt, verify_rows
from almanac_data.receipts import is_derivation, read_checkpoint, verify_one_log


def verify(files: dict[str, bytes]) -> None:
    keys = parse_keys(files["keys"])
    if is_derivation(files["receipt"]):
        verify_derivation(files["receipt"], keys)
        return
    verified = verify_receipt(files["receipt"], keys)
    if "rows" in files:
        verify_rows(verified, files["rows"])
    if "since" in files:
        kept = read_checkpoint(files["since"].decode("utf-8", "replace"), keys)
        verify_one_log(kept, verified.checkpoint, files.get("consistency"))


for evidence in json.loads(Path(sys.argv[1]).read_text()):
    try:
        verify({name: base64.b64decode(text) for name, text in evidence.items()})
    except Refused as error:
        print("refused:", ascii(str(error)))
    else:
        print("accepted")
