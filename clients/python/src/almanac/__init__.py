"""Country statistics with unit, licence, edition and proof attached.

>>> from almanac import Almanac
>>> table = Almanac(key).data("world-bank.SP.POP.TOTL", countries="@eu", latest=10)
"""

from almanac._version import __version__
from almanac.client import Almanac, Receipt
from almanac.derived import derive
from almanac.errors import (
    AlmanacError,
    ApiError,
    ConnectionFailed,
    Forbidden,
    InvalidRequest,
    LockError,
    MissingExtra,
    NotFound,
    PaymentRequired,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
    UnexpectedAnswer,
)
from almanac.lock import Lock
from almanac.receipts import (
    LogKey,
    Refused,
    Verified,
    VerifiedDerivation,
    parse_key,
    parse_keys,
    verify_derivation,
    verify_receipt,
    verify_rows,
)
from almanac.records import Hits
from almanac.table import Provenance, Series, Table

__all__ = [
    "Almanac",
    "AlmanacError",
    "ApiError",
    "ConnectionFailed",
    "Forbidden",
    "Hits",
    "InvalidRequest",
    "Lock",
    "LockError",
    "LogKey",
    "MissingExtra",
    "NotFound",
    "PaymentRequired",
    "Provenance",
    "RateLimited",
    "Receipt",
    "Refused",
    "Series",
    "ServiceUnavailable",
    "Table",
    "Unauthorized",
    "UnexpectedAnswer",
    "Verified",
    "VerifiedDerivation",
    "__version__",
    "derive",
    "parse_key",
    "parse_keys",
    "verify_derivation",
    "verify_receipt",
    "verify_rows",
]
