busy <- function(status, ...) answer(list(error = list(code = "busy", message = "Busy.")), status, ...)
broken <- condition_of("almanac_connection_failed", "The answer broke off.")
paid <- figures(list(cow("FRA", 2000L, 1)))

test_that("a failed call is repeated under one idempotency key", {
  client <- scripted(list(broken, busy(503), busy(429, "retry-after" = "7"), paid))
  table <- alm_data("atlas.cows", client = client)
  expect_equal(nrow(table), 1)
  keys <- vapply(client$sent, function(one) one$headers[["Idempotency-Key"]], "")
  expect_length(unique(keys), 1)
  expect_match(keys[1], "^[0-9a-f]{32}$")
  expect_equal(client$waits, c(0.5, 1, 7))
})

test_that("every call has a key of its own, and none touches the random numbers of the session", {
  set.seed(1)
  before <- .Random.seed
  client <- scripted(list(paid))
  for (time in 1:3) alm_data("atlas.cows", client = client)
  expect_length(unique(vapply(client$sent, function(one) one$headers[["Idempotency-Key"]], "")), 3)
  expect_identical(.Random.seed, before)
})

test_that("what cannot be repeated safely is not", {
  for (status in c(400, 401, 402, 403, 404, 422, 500)) {
    client <- scripted(list(busy(status), paid))
    expect_error(alm_data("atlas.cows", client = client), class = "almanac_api_error")
    expect_length(client$sent, 1)
  }
  patient <- scripted(list(busy(429, "retry-after" = "3600"), paid))
  expect_error(alm_data("atlas.cows", client = patient), class = "almanac_rate_limited")
  expect_length(patient$sent, 1)
})

test_that("a priced call is repeated at most so often and so long as the service repeats its answer for nothing", {
  client <- scripted(list(broken), retries = 5)
  expect_error(alm_data("atlas.cows", client = client), class = "almanac_connection_failed")
  expect_length(client$sent, 6)
  slow <- scripted(list(broken), retries = 5)
  passed <- 0
  slow$surroundings$now <- function() {
    passed <<- passed + 200
    passed
  }
  expect_error(alm_data("atlas.cows", client = slow), class = "almanac_connection_failed")
  expect_lt(length(slow$sent), 5)
  expect_error(almanac(retries = 6), class = "almanac_wrong_parameter")
})

test_that("errors say what to do, and a missing key is named before anything is sent", {
  client <- scripted(list(paid), key = "")
  expect_error(alm_data("atlas.cows", client = client), "ALMANAC_KEY", class = "almanac_unauthorized")
  expect_length(client$sent, 0)
  refused <- scripted(list(answer(list(detail = list(list(
    loc = c("query", "countries"), msg = "Ambiguous.", type = "value_error",
    ctx = list(candidates = list(list(name = "Congo", iso3 = "COG"), list(name = "Nordics", group = "@nordic")))
  ))), 422, "x-request-id" = "req-1")))
  error <- expect_error(alm_data("atlas.cows", client = refused), class = "almanac_invalid_request")
  expect_s3_class(error, "almanac_error")
  expect_equal(
    conditionMessage(error),
    paste(
      "countries: Ambiguous. Candidates: Congo (COG), Nordics (@nordic)",
      "[422 invalid_parameters] (request req-1)"
    )
  )
  moved <- scripted(list(answer("", 301, location = "https://other.example")))
  expect_error(alm_data("atlas.cows", client = moved), "https://other.example: use that as base_url")
  other <- scripted(list(answer("<html>")))
  expect_error(alm_data("atlas.cows", client = other), "address", class = "almanac_unexpected_answer")
})

test_that("max_credits bounds a call, and all calls that one verb makes", {
  client <- scripted(list(paid), max_credits = 10)
  alm_data("atlas.cows", client = client)
  alm_data("atlas.cows", max_credits = 3, client = client)
  alm_revisions(c("atlas.cows", "atlas.goats"), client = client)
  expect_equal(sub(".*max_credits=", "", addresses(client)), c("10", "3", "10", "8"))
})

test_that("a server that is not there is a connection that failed", {
  proxies <- Sys.getenv("no_proxy", NA)
  on.exit(if (is.na(proxies)) Sys.unsetenv("no_proxy") else Sys.setenv(no_proxy = proxies))
  Sys.setenv(no_proxy = "*")
  unreachable <- almanac("key", "http://127.0.0.1:9", retries = 0)
  expect_error(alm_topics(unreachable), "cannot be reached", class = "almanac_connection_failed")
})

test_that("a link is asked for once, although its answer was lost", {
  client <- scripted(list(broken, answer(list(data = list(id = "one")))))
  expect_error(alm_make_feed("Cows", "atlas.cows", 5, client = client), class = "almanac_connection_failed")
  expect_length(client$sent, 1)
  expect_equal(client$sent[[1]]$body, '{"name":"Cows","query":"/v1/data?indicator=atlas.cows","format":"csv","monthly_cap":5}')
})
