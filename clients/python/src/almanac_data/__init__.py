"""Country statistics with unit, licence, edition and proof attached.

>>> from almanac_data import Almanac
>>> table = Almanac(key).data("world-bank.SP.POP.TOTL", countries="@eu", latest=10)
"""

from almanac_data._version import __version__
from almanac_data.client import Almanac, Receipt
from almanac_data.derived import derive
from almanac_data.errors import (
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
from almanac_data.lock import Lock
from almanac_data.receipts import (
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
from almanac_data.records import Hits, Listing
from almanac_data.table import Provenance, Series, Table

__all__ = [
    "Almanac",
    "AlmanacError",
    "ApiError",
    "ConnectionFailed",
    "Forbidden",
    "Hits",
    "InvalidRequest",
    "Listing",
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
