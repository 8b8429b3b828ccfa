# Every verb against the plain answer of the service.
url <- Sys.getenv("ALMANAC_URL")
fertility <- "world-bank.SP.DYN.TFRT.IN"
population <- "world-bank.SP.POP.TOTL"
remittances <- "world-bank.BX.TRF.PWKR.CD.DT"

ask <- function(path) {
  handle <- curl::handle_setheaders(curl::new_handle(), Authorization = paste("Bearer", Sys.getenv("ALMANAC_KEY")))
  jsonlite::parse_json(rawToChar(curl::curl_fetch_memory(paste0(url, path), handle)$content))
}
member <- function(records, name) {
  unlist(lapply(records, function(one) if (is.null(one[[name]])) NA else one[[name]]))
}

test_that("the catalogue", {
  listed <- ask("/v1/indicators")$data
  expect_equal(alm_indicators()$id, member(listed, "id"))
  some <- alm_indicators(topic = "health", provider = "world-bank", limit = 2)
  expect_equal(some$coverage.latest_year, c(
    listed = member(lapply(ask("/v1/indicators?topic=health&provider=world-bank&limit=2")$data, `[[`, "coverage"), "latest_year")
  ), ignore_attr = TRUE)
  expect_equal(alm_indicator(fertility, client = almanac(key = "")), ask(paste0("/v1/indicators/", fertility))$data)
  expect_named(alm_indicator(fertility, include = c("sources", "twins"))[c("sources", "twins")])
  expect_equal(alm_countries()$iso3, member(ask("/v1/countries")$data, "iso3"))
  expect_equal(alm_groups()$id, member(ask("/v1/groups")$data, "id"))
  expect_equal(nrow(alm_topics()), 13)
  expect_equal(alm_editions()$id, member(ask("/v1/editions")$data, "id"))
  expect_equal(alm_changes()$edition, member(ask("/v1/changes")$data, "edition"))
  expect_equal(nrow(alm_changes(since = alm_editions()$id[1])), 0)
})

test_that("a search gives hits and what was read in the words", {
  found <- alm_search("births per woman in Peru and the EU 2020", limit = 3)
  expect_equal(found$id[1], fertility)
  expect_equal(attr(found, "match"), "good")
  expect_equal(attr(found, "places")$iso3, "PER")
  expect_equal(attr(found, "groups")$id, "eu")
  expect_equal(attr(found, "years"), 2020L)
  nothing <- alm_search("expuctencys", client = almanac(key = ""))
  expect_equal(list(nrow(nothing), attr(nothing, "match"), attr(nothing, "nearest")), list(0L, "none", "expectancy"))
})

test_that("figures, by any usual name of a place", {
  answer <- ask(paste0("/v1/data?indicator=", fertility, "&countries=per,152&from=2020&to=2024"))
  table <- alm_data(fertility, countries = c("per", "152"), years = 2020:2024)
  for (name in c("iso3", "year", "value", "rank", "projected")) {
    expect_identical(as.list(table[[name]]), lapply(answer$data, function(row) {
      if (is.null(row[[name]])) table[[name]][NA_integer_] else as(row[[name]], class(table[[name]]))
    }))
  }
  expect_equal(attr(table, "price"), nrow(table))
  expect_equal(attr(table, "attribution"), answer$meta$attribution)
  named <- alm_data(fertility, countries = c("Viet Nam", "Hong Kong SAR, China", "Nordics", "UK"), years = 2020)
  coded <- alm_data(fertility, countries = c("VNM", "HKG", "@nordic"), years = 2020)
  expect_identical(named$value, coded$value)
  expect_equal(attr(named, "unmatched"), "UK")
  before <- alm_balance()
  expect_error(alm_data(fertility, countries = c("Congo", "Perru")), "Candidates: DR Congo \\(COD\\).*Peru \\(PER\\)")
  expect_equal(alm_balance(), before)
})

test_that("a price is what is charged, also for years with gaps", {
  for (asked in list(
    list(fertility, "@eu", latest = 2), list(c(fertility, population), "PER", layout = "wide"),
    list(fertility, c("PER", "CHL"), c(1990, 1991, 2005, 2020)), list(fertility, "XXX")
  )) {
    before <- alm_balance()
    told <- do.call(alm_price, asked)
    expect_equal(alm_balance(), before)
    table <- do.call(alm_data, asked)
    expect_equal(c(before - alm_balance(), attr(table, "price")), rep(told$price, 2))
    expect_equal(nrow(table), told$rows)
  }
  years <- alm_data(fertility, c("PER", "CHL"), c(1990, 1991, 2005))
  expect_equal(years$year, rep(c(1990L, 1991L, 2005L), 2))
  expect_equal(years$iso3, rep(c("CHL", "PER"), each = 3))
})

test_that("derived figures and groups", {
  table <- alm_data(remittances, "PER", 2015:2020, transform = c("per_head", "growth:2"), fields = c("year", "value", "reason"))
  expect_equal(attr(table, "series")$id, c(remittances, population))
  world <- alm_data(population, "@world", aggregate = "declared", latest = 1)
  expect_equal(c(world$iso3, world$group), c(NA, "@world"))
  receipt <- alm_receipt(population, "@world", world$year, aggregate = "declared")
  expect_identical(alm_verify_receipt(receipt, alm_keys())$figure$value, world$value)
  own <- alm_data(population, group = c("PER", "CHL", "BOL"), years = 2020, fields = c("group", "members", "value"))
  expect_equal(own$group, "BOL,CHL,PER")
})

test_that("rankings, profiles and comparisons", {
  ranking <- alm_rank(fertility, 2022)
  answer <- ask(paste0("/v1/rankings/", fertility, "?year=2022"))
  expect_equal(ranking$name, member(answer$data, "name"))
  expect_equal(ranking$value, member(answer$data, "value"))
  expect_equal(attr(ranking, "price"), 1)
  profile <- alm_country("Peru", topic = "energy")
  expect_equal(attr(profile, "country")$name, "Peru")
  expect_equal(profile$value, as.double(member(ask("/v1/countries/per?topic=energy")$data$topics$energy, "value")))
  compared <- alm_compare(c(population, fertility), c("PER", "CHL"), 2020)
  expect_equal(compared[[fertility]], alm_data(fertility, c("CHL", "PER"), 2020)$value)
  newest <- alm_compare(fertility, c("PER", "CHL"))
  expect_equal(newest[[paste0(fertility, ".year")]], alm_data(fertility, c("CHL", "PER"), latest = 1)$year)
})

test_that("claims, citations, revisions and files", {
  verdicts <- alm_verify(data.frame(population, c("PER", "CHL"), 2023, c("33.8e6", "5")))
  expect_equal(verdicts$verdict, c("rounded", "mismatch"))
  expect_match(alm_citation(fertility), "^World Bank.*Fertility rate")
  expect_match(alm_citation(alm_data(fertility, "PER", 2020), style = "bibtex"), "^@")
  expect_equal(nrow(alm_revisions(c(fertility, population), "PER", since = alm_lock(NULL))), 0)
  file <- tempfile(fileext = ".parquet")
  alm_file(fertility, file)
  before <- alm_balance()
  alm_file(fertility, file)
  expect_equal(alm_balance(), before)
  expect_identical(rawToChar(readBin(file, "raw", 4)), "PAR1")
  expect_error(alm_file("world-bank.SP.POP.TOTAL", file), "world-bank.SP.POP.TOTL", class = "almanac_not_found")
})

test_that("a lock pins an edition, and an edited one is refused before anything is paid", {
  file <- tempfile(fileext = ".lock")
  lock <- alm_lock(file)
  locked <- almanac(lock = file)
  expect_identical(alm_data(fertility, "PER", client = locked)$value, alm_data(fertility, "PER")$value)
  expect_identical(alm_rank(fertility, client = locked)$value, alm_rank(fertility)$value)
  expect_identical(alm_check_lock(locked), lock)
  before <- alm_balance()
  for (name in c("edition", "root", "published_at", "checkpoint")) {
    edited <- lock
    edited[[name]] <- sub("[1-9]", "0", edited[[name]])
    expect_error(alm_data(fertility, "PER", client = almanac(lock = edited)), class = "almanac_lock_error")
  }
  expect_equal(alm_balance(), before)
})

test_that("receipts and keys", {
  receipt <- alm_receipt(fertility, "PER", 2023)
  verified <- alm_verify_receipt(receipt, alm_keys())
  expect_identical(verified$row$value, alm_data(fertility, "PER", 2023)$value)
  expect_equal(verified$root, alm_editions()$root[1])
  expect_error(alm_receipt(fertility, "PER", 1066), class = "almanac_not_found")
  expect_error(alm_data(fertility, client = almanac(key = "alm_live_wrong")), "ALMANAC_KEY", class = "almanac_unauthorized")
})

test_that("feed links are made, listed and revoked", {
  made <- alm_make_feed("Births", fertility, 50,
    countries = c("Peru", "Chile"), years = c(2000, 2010), names = TRUE, format = "json", expires = as.Date("2099-12-31")
  )
  expect_equal(made[c("name", "format", "price", "monthly_cap")], list(
    name = "Births", format = "json", price = 4L, monthly_cap = 50L
  ))
  table <- alm_data(fertility, countries = c("Peru", "Chile"), years = c(2000, 2010), names = TRUE)
  before <- alm_balance()
  link <- sub("^https?://[^/]+", url, made$url)
  served <- jsonlite::fromJSON(link)$data
  expect_equal(served$value, table$value)
  expect_equal(before - alm_balance(), 4)
  expect_equal(with(alm_feeds(), id[state == "active"]), made$id)
  expect_equal(alm_revoke_feed(made$id)$state, "revoked")
  expect_equal(curl::curl_fetch_memory(link)$status_code, 404)
  expect_error(alm_make_feed("Births", fertility, 1), "more than the cap", class = "almanac_invalid_request")
  expect_error(alm_revoke_feed("none"), class = "almanac_not_found")
})
