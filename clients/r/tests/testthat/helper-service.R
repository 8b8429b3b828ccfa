fixture <- function(name) testthat::test_path("fixtures", name)

bytes_in <- function(name) readBin(fixture(name), "raw", 1e6)

text_in <- function(name) {
  text <- rawToChar(bytes_in(name))
  Encoding(text) <- "UTF-8"
  text
}

answer <- function(body, status = 200, ...) {
  text <- if (is.character(body)) body else jsonlite::toJSON(body, auto_unbox = TRUE, null = "null", digits = NA)
  list(status = status, headers = list(...), body = charToRaw(enc2utf8(text)))
}

# A client whose calls are answered by functions or answers in turn. `client$sent` has what was asked, `client$waits` the
# seconds between repeats, which pass on the client's clock alone.
scripted <- function(answers, ..., key = "alm_test_key") {
  client <- almanac(key = key, base_url = "http://service.example", ...)
  client$sent <- list()
  client$waits <- numeric()
  clock <- 0
  client$surroundings <- list(
    send = function(address, headers, timeout, method, body) {
      client$sent <- c(client$sent, list(list(address = address, headers = headers, method = method, body = body)))
      next_answer <- answers[[1]]
      if (length(answers) > 1) answers <<- answers[-1]
      if (inherits(next_answer, "condition")) stop(next_answer)
      next_answer
    },
    sleep = function(seconds) {
      client$waits <- c(client$waits, seconds)
      clock <<- clock + seconds
    },
    now = function() clock,
    random = function() 1
  )
  client
}

addresses <- function(client) vapply(client$sent, `[[`, "", "address")

figures <- function(rows, ..., edition = "20261127T020500Z-00000001", headers = list()) {
  meta <- list(
    generated_at = "2026-11-27T02:00:00+00:00", indicator = "atlas.cows", name = "Cows", unit = "heads",
    licence = "CC BY 4.0", licence_url = NULL, attribution = "Atlas", ...
  )
  found <- answer(list(data = rows, meta = meta))
  found$headers <- c(list("x-snapshot" = edition, "x-credits-charged" = "2", "x-credits-remaining" = "98"), headers)
  found
}

cow <- function(iso3, year, value) {
  list(
    iso3 = iso3, year = year, value = value, ci_lo = NULL, ci_hi = NULL, rank = NULL, projected = FALSE
  )
}
