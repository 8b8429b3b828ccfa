"""What can go wrong. Every exception of this package is an `AlmanacError`."""

from __future__ import annotations

from typing import Any


class AlmanacError(Exception):
    """Base of all exceptions of this package."""


class ApiError(AlmanacError):
    """The service refused a call. Nothing was charged for it.

    status: HTTP status. code: what the service calls the error, such as `rate_limited`; `invalid_parameters` for 422.
    request_id: names the call in the service's log. retry_after: seconds to wait, where the service says so.
    detail: for 422, the parameters at fault as `{loc, msg, type}`.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        request_id: str | None = None,
        retry_after: float | None = None,
        detail: list[dict[str, Any]] | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.request_id = request_id
        self.retry_after = retry_after
        self.detail = detail or []
        named = "" if request_id is None else f" (request {request_id})"
        super().__init__(f"{message} [{status} {code}]{named}")


class InvalidRequest(ApiError):
    """400 or 422: a parameter is wrong."""


class Unauthorized(ApiError):
    """401: no key, or one that is not valid."""


class PaymentRequired(ApiError):
    """402: the balance is too low, or the answer costs more than `max_credits`."""


class Forbidden(ApiError):
    """403: the key or the licence of the data does not allow it."""


class NotFound(ApiError):
    """404: no such indicator, country, edition, file or figure."""


class RateLimited(ApiError):
    """429: too many calls. `retry_after` says how long to wait."""


class ServiceUnavailable(ApiError):
    """5xx: the service failed."""


class ConnectionFailed(AlmanacError):
    """The service could not be reached, or the answer broke off.

    The client has repeated the call already, safely. The same call made anew may be charged a second time.
    """


class UnexpectedAnswer(AlmanacError):
    """What answered is not the service: another form of answer than it gives."""


class LockError(AlmanacError):
    """An `almanac.lock` cannot be read, or the service no longer serves what it pins."""


class MissingExtra(AlmanacError, ImportError):
    """A library is needed that is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed: pip install 'almanac-data[{extra}]'")


def api_error(status: int, code: str, message: str, **more: Any) -> ApiError:
    """The exception for a status."""
    kind = _BY_STATUS.get(status, ServiceUnavailable if status >= 500 else ApiError)
    return kind(status, code, message, **more)


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    402: PaymentRequired,
    403: Forbidden,
    404: NotFound,
    416: InvalidRequest,
    422: InvalidRequest,
    429: RateLimited,
}
