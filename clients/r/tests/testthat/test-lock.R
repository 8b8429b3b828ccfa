lock_of <- function(edition = "20261121T020500Z-11111111", root = strrep("a", 64)) {
  keys <- lapply(parse_keys(bytes_in("keys.json")), function(key) {
    list(key = key$text, from = key$first, to = key$last)
  })
  structure(class = "alm_lock", list(
    edition = edition, published_at = "2026-11-21T02:05:00+00:00", root = root, keys = keys,
    checkpoint = text_in("checkpoint.txt")
  ))
}

listed <- function(root = strrep("a", 64)) {
  found <- answer(list(data = list(list(
    id = "20261121T020500Z-11111111", published_at = "2026-11-21T02:05:00+00:00", root = root
  ))))
  found$headers <- list("x-snapshot" = "20261121T020500Z-11111111")
  found
}
text_answer <- function(name) list(status = 200, headers = list(), body = bytes_in(name))

test_that("a lock is written and read as the same bytes", {
  file <- tempfile(fileext = ".lock")
  on.exit(unlink(file))
  written <- alm_lock(file, client = scripted(list(listed(), text_answer("checkpoint.txt"), text_answer("keys.json"))))
  expect_identical(alm_read_lock(file), written)
  expect_identical(written, lock_of())
  bytes <- readBin(file, "raw", 1e5)
  expect_identical(rawToChar(bytes), rawToChar(charToRaw(format(lock_of()))))
  expect_equal(keys_of(file), keys_of(fixture("keys.json")))
})

test_that("files that are no lock are told so", {
  expect_error(alm_read_lock("none.lock"), "There is no none.lock", class = "almanac_lock_error")
  file <- tempfile(fileext = ".lock")
  on.exit(unlink(file))
  for (text in c("", "{}", "[]", "{\"format\": \"almanac-lock/2\"}", sub("lock/1", "lock/2", format(lock_of())))) {
    writeLines(text, file)
    expect_error(alm_read_lock(file), class = "almanac_lock_error")
  }
})

test_that("figures come from the pinned edition, which is checked once", {
  pinned <- figures(list(cow("FRA", 2000L, 1)), edition = "20261121T020500Z-11111111")
  checks <- list(listed(), text_answer("checkpoint.txt"), text_answer("keys.json"))
  client <- scripted(c(checks, list(pinned)), lock = lock_of())
  for (time in 1:2) alm_data("atlas.cows", client = client)
  expect_equal(sum(grepl("as_of=20261121T020500Z-11111111", addresses(client))), 2)
  expect_length(addresses(client), 5)
  expect_error(alm_data("atlas.cows", as_of = "2026-01-01", client = client), "the lock pins")
  elsewhere <- scripted(c(checks, list(figures(list(cow("FRA", 2000L, 1))))), lock = lock_of())
  expect_error(alm_data("atlas.cows", client = elsewhere), "which the lock pins", class = "almanac_lock_error")
})

test_that("another history is refused before anything is paid", {
  keys <- text_answer("keys.json")
  head <- text_answer("checkpoint.txt")
  refused <- function(message, lock, ...) {
    client <- scripted(list(...), lock = lock)
    expect_error(alm_data("atlas.cows", client = client), message, class = "almanac_lock_error")
    expect_false(any(grepl("/v1/data", addresses(client))))
  }
  refused("has the root", lock_of(), listed(strrep("b", 64)), head, keys)
  refused("has no edition", lock_of("20261121T020500Z-22222222"), listed(), head, keys)
  forged <- lock_of()
  forged$checkpoint <- sub("\n2\n", "\n1\n", forged$checkpoint)
  refused("does not hold", forged, listed(), head, keys)
  other <- keys
  other$body <- charToRaw(sub("\"from\": 1,", "\"from\": 2,", rawToChar(keys$body)))
  refused("no longer publishes the key", lock_of(), listed(), head, other)
})
