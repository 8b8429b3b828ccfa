# The client: where the service is, under which key, bounds and lock.

default_url <- "http://localhost:8080"

almanac <- function(key = NULL, base_url = NULL, lock = NULL, max_credits = NULL, timeout = 60, retries = 4) {
  client <- new.env(parent = emptyenv())
  client$base_url <- sub("/+$", "", first_given(base_url, "ALMANAC_URL", default_url))
  key <- trimws(first_given(key, "ALMANAC_KEY", ""))
  client$key <- if (nzchar(key)) key
  client$lock <- if (is.character(lock)) alm_read_lock(lock) else lock
  client$is_lock_checked <- FALSE
  client$max_credits <- whole_number(max_credits, "max_credits")
  client$timeout <- timeout
  client$retries <- retries
  client$surroundings <- list(send = send_by_curl, sleep = Sys.sleep, now = monotonic_s, random = random_number)
  if (!grepl("^https?://", client$base_url)) {
    wrong_parameter("base_url must start with http:// or https://, not ", client$base_url)
  }
  if (!is.numeric(retries) || !retries %in% 0:repeats_max) {
    wrong_parameter("retries must be 0 to ", repeats_max, ", not ", format(retries))
  }
  if (!is.numeric(timeout) || !isTRUE(timeout > 0)) wrong_parameter("timeout must be more than 0 seconds")
  if (!is.null(client$lock) && !inherits(client$lock, "alm_lock")) {
    wrong_parameter("lock must be a file name or what alm_read_lock() gives")
  }
  structure(class = "almanac_client", client)
}

first_given <- function(value, variable, default) {
  if (!is.null(value)) return(value)
  Sys.getenv(variable, default)
}

print.almanac_client <- function(x, ...) {
  key <- if (is.null(x$key)) "no key: set ALMANAC_KEY" else "with a key"
  pinned <- if (is.null(x$lock)) "" else paste0(", edition ", x$lock$edition)
  cat("<almanac> ", x$base_url, ", ", key, pinned, "\n", sep = "")
  invisible(x)
}

# --- calls under a lock or not, and never dearer than allowed ---------------------------------------------------------

# The member `data` of a free answer.
free_data <- function(client, path, query = list(), ...) {
  call_service(client, path, query, function(answer) json_of(answer, ...)$data)
}

# A call that costs credits. One that asks for the pinned edition is answered from it.
priced <- function(client, path, query, read, max_credits = NULL) {
  if (is.null(client$key)) stop(no_key())
  limit <- limit_of(client, max_credits)
  if (!is.null(limit)) query$max_credits <- limit
  pinned <- client$lock$edition
  checked <- function(answer) {
    served <- answer$headers[["x-snapshot"]]
    if (!is.null(pinned) && identical(query$as_of, pinned) && !identical(served, pinned)) {
      lock_error("The service answered from ", served, ", not from ", pinned, ", which the lock pins.")
    }
    read(answer)
  }
  call_service(client, path, query, checked, is_priced = TRUE)
}

no_key <- function() {
  condition_of(
    "almanac_unauthorized",
    "This call needs a key: set the environment variable ALMANAC_KEY, or give almanac(key = ...)."
  )
}

limit_of <- function(client, max_credits) {
  own <- whole_number(max_credits, "max_credits")
  if (is.null(own)) client$max_credits else own
}

# The edition: what was asked for, or the pinned one, which is checked once.
dated <- function(client, query, as_of = NULL) {
  if (is.null(client$lock)) return(c(query, list(as_of = as_of_text(as_of))))
  if (!is.null(as_of)) wrong_parameter("as_of cannot be given: the lock pins ", client$lock$edition)
  if (!client$is_lock_checked) alm_check_lock(client)
  c(query, list(as_of = client$lock$edition))
}
