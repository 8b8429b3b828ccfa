# HTTP: one call of the service, repeated where that cannot pay twice.

repeated_statuses <- c(429, 502, 503, 504)
# The service repeats an answer for nothing five times within ten minutes. Beyond either, a repeat would be a new call.
repeats_max <- 5
repeatable_s <- 540
longest_wait_s <- 60
first_wait_s <- 0.5

# Sends a request and reads its answer. A failed call is repeated from the start, with the same idempotency key: of a priced
# one the repeat is free. A POST is not repeated: it would make a second thing. `read` is given each answer anew.
call_service <- function(client, path, query, read, is_priced = FALSE, method = "GET", body = NULL) {
  address <- paste0(client$base_url, path, query_text(query))
  headers <- c(
    "User-Agent" = paste0("almanacdata/", utils::packageVersion("almanacdata"), " R/", getRversion()),
    if (!is.null(client$key)) c(Authorization = paste("Bearer", client$key)),
    if (is_priced) c("Idempotency-Key" = new_idempotency_key())
  )
  around <- client$surroundings
  started <- around$now()
  repeats <- 0
  repeat {
    failure <- tryCatch(
      {
        answer <- checked_answer(around$send(address, headers, client$timeout, method, body))
        return(read(answer))
      },
      almanac_api_error = identity,
      almanac_connection_failed = identity
    )
    wait <- if (method != "POST" && repeats < client$retries) wait_s(failure, repeats, around$random)
    is_late <- is_priced && around$now() + sum(wait) - started > repeatable_s
    if (is.null(wait) || is_late) stop(failure)
    around$sleep(wait)
    repeats <- repeats + 1
  }
}

# Seconds before a repeat; NULL where a repeat is of no use.
wait_s <- function(failure, repeats, random) {
  if (inherits(failure, "almanac_api_error")) {
    if (!failure$status %in% repeated_statuses) return(NULL)
    if (!is.null(failure$retry_after)) return(if (failure$retry_after <= longest_wait_s) failure$retry_after)
  }
  first_wait_s * 2^repeats * (0.5 + random() / 2)
}

# The answer of a success; else an error.
checked_answer <- function(answer) {
  if (answer$status >= 200 && answer$status < 300) return(answer)
  stop(refusal_of(answer))
}

refusal_of <- function(answer) {
  headers <- answer$headers
  refusal <- function(code, text, detail = list()) {
    after <- headers[["retry-after"]]
    seconds <- if (!is.null(after) && grepl("^[0-9]+$", after)) as.integer(after)
    api_error(answer$status, code, text, headers[["x-request-id"]], seconds, detail)
  }
  if (answer$status >= 300 && answer$status < 400) {
    to <- if (is.null(headers[["location"]])) "another address" else headers[["location"]]
    return(refusal("redirected", paste0("The service is at ", to, ": use that as base_url.")))
  }
  body <- tryCatch(json_of(answer), almanac_unexpected_answer = function(error) NULL)
  if (is.list(body$detail)) {
    return(refusal("invalid_parameters", paste(vapply(body$detail, fault_text, ""), collapse = "; "), body$detail))
  }
  if (is.list(body$error)) return(refusal(body$error$code, body$error$message))
  refusal("unknown", paste0("HTTP ", answer$status, " without an explanation."))
}

# A parameter at fault, with the places that may be meant instead.
fault_text <- function(one) {
  meant <- vapply(one$ctx$candidates, function(place) {
    paste0(place$name, " (", if (is.null(place$iso3)) place$group else place$iso3, ")")
  }, "")
  where <- paste(unlist(one$loc[-1]), collapse = ".")
  paste0(where, ": ", one$msg, if (length(meant) > 0) paste0(" Candidates: ", paste(meant, collapse = ", ")))
}

# Sends one request. Redirects are not followed: they would carry the key to another host.
send_by_curl <- function(address, headers, timeout, method = "GET", body = NULL) {
  handle <- curl::new_handle()
  if (!is.null(body)) curl::handle_setopt(handle, copypostfields = body)
  curl::handle_setopt(handle,
    customrequest = method,
    followlocation = FALSE, accept_encoding = "gzip",
    connecttimeout = ceiling(timeout), low_speed_limit = 1, low_speed_time = ceiling(timeout)
  )
  curl::handle_setheaders(handle, .list = as.list(headers))
  response <- tryCatch(
    curl::curl_fetch_memory(address, handle),
    error = function(error) {
      host <- sub("^(https?://[^/]+).*", "\\1", address)
      connection_failed(host, " cannot be reached, or the answer broke off: ", conditionMessage(error))
    }
  )
  lines <- curl::parse_headers(response$headers)
  fields <- lines[grepl("^[^:]+:", lines)]
  found <- as.list(trimws(sub("^[^:]+:", "", fields)))
  names(found) <- tolower(sub(":.*", "", fields))
  # Headers that break off read like complete ones: only an end that can be recognised proves a whole answer.
  has_end <- any(c("content-length", "transfer-encoding") %in% names(found)) || !grepl("^HTTP/1", lines[1])
  if (!has_end && response$status_code != 304) connection_failed("The answer broke off within its headers.")
  list(status = response$status_code, headers = found, body = response$content)
}

# The text of a body, as UTF-8.
text_of_body <- function(answer) {
  text <- tryCatch(rawToChar(answer$body), error = function(error) unexpected_answer("The answer is not a text."))
  Encoding(text) <- "UTF-8"
  text
}

# JSON as lists. Numbers are doubles from their text, correctly rounded, which as.numeric() does not promise.
json_of <- function(answer, simplify = FALSE) {
  text <- text_of_body(answer)
  tryCatch(
    jsonlite::parse_json(text, simplifyVector = simplify, flatten = simplify),
    error = function(error) unexpected_answer("The answer is not JSON: is the address that of the service?")
  )
}

query_text <- function(query) {
  query <- query[lengths(query) > 0]
  text <- function(value) if (is.numeric(value)) format_whole(value) else enc2utf8(value)
  values <- vapply(query, function(value) curl::curl_escape(text(value)), "")
  if (length(values) == 0) "" else paste0("?", paste0(names(query), "=", values, collapse = "&"))
}

path_segment <- function(text, name) {
  if (!is.character(text) || length(text) != 1 || !nzchar(text)) wrong_parameter(name, " must be one text")
  curl::curl_escape(enc2utf8(text))
}

# Random without R's generator, so that no call changes what set.seed() promises.
new_idempotency_key <- function() paste(openssl::rand_bytes(16), collapse = "")
random_number <- function() openssl::rand_num(1)
monotonic_s <- function() proc.time()[["elapsed"]]
