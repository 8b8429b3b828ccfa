"""Verification of receipts, offline and with the standard library alone.

`docs/receipts.md` of Almanac fixes the form; this package follows its steps.
"""

from almanac_data.receipts.checkpoints import Checkpoint, LogKey, parse_key, parse_keys, read_checkpoint
from almanac_data.receipts.derivation import VerifiedDerivation, is_derivation, verify_derivation
from almanac_data.receipts.exact_json import Refused
from almanac_data.receipts.receipt import Verified, verify_one_log, verify_receipt, verify_rows

__all__ = [
    "Checkpoint",
    "LogKey",
    "Refused",
    "Verified",
    "VerifiedDerivation",
    "is_derivation",
    "parse_key",
    "parse_keys",
    "read_checkpoint",
    "verify_derivation",
    "verify_one_log",
    "verify_receipt",
    "verify_rows",
]
