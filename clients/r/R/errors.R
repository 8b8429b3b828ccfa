# What can go wrong. Every condition of this package has the class `almanac_error`.

# The class of an API error, by HTTP status.
status_classes <- c(
  "400" = "almanac_invalid_request", "401" = "almanac_unauthorized", "402" = "almanac_payment_required",
  "403" = "almanac_forbidden", "404" = "almanac_not_found", "416" = "almanac_invalid_request",
  "422" = "almanac_invalid_request", "429" = "almanac_rate_limited"
)

condition_of <- function(class, message, ...) {
  structure(
    class = c(class, "almanac_error", "error", "condition"),
    list(message = message, call = NULL, ...)
  )
}

# A receipt, checkpoint, list of keys or proof does not hold.
refuse <- function(...) stop(condition_of("almanac_refused", paste0(...)))

demand <- function(is_right, ...) if (!isTRUE(is_right)) refuse(...)

lock_error <- function(...) stop(condition_of("almanac_lock_error", paste0(...)))

# A parameter is wrong; nothing was sent.
wrong_parameter <- function(...) stop(condition_of("almanac_wrong_parameter", paste0(...)))

connection_failed <- function(...) stop(condition_of("almanac_connection_failed", paste0(...)))

unexpected_answer <- function(...) stop(condition_of("almanac_unexpected_answer", paste0(...)))

# The service refused a call, which cost nothing.
api_error <- function(status, code, text, request_id = NULL, retry_after = NULL, detail = list()) {
  kind <- unname(status_classes[as.character(status)])
  if (is.na(kind)) kind <- if (status >= 500) "almanac_service_unavailable" else NULL
  request <- if (is.null(request_id)) "" else paste0(" (request ", request_id, ")")
  message <- paste0(text, advice_for(code, status), " [", status, " ", code, "]", request)
  condition_of(
    c(kind, "almanac_api_error"), message,
    status = status, code = code, text = text, request_id = request_id, retry_after = retry_after, detail = detail
  )
}

# What to do about a refusal, where the service does not say it.
advice_for <- function(code, status) {
  if (status == 401) return(" Set ALMANAC_KEY to a key of your account, for example in ~/.Renviron.")
  switch(code,
    max_credits_exceeded = " Ask for less, or raise max_credits; alm_price() tells the price.",
    insufficient_credits = " alm_balance() tells what is left.",
    ""
  )
}
