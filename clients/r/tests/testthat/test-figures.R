query_of <- function(...) {
  client <- scripted(list(figures(list())))
  alm_data("atlas.cows", ..., client = client)
  sub("^[^?]*[?]", "", addresses(client))
}

test_that("years are these years, ranges are ranges", {
  expect_equal(query_of(years = 2000), "indicator=atlas.cows&from=2000&to=2000")
  expect_equal(query_of(years = 2000:2010), "indicator=atlas.cows&from=2000&to=2010")
  expect_equal(query_of(years = "2000-2010"), "indicator=atlas.cows&from=2000&to=2010")
  expect_equal(query_of(years = "2000-"), "indicator=atlas.cows&from=2000")
  expect_equal(query_of(years = "-2010"), "indicator=atlas.cows&to=2010")
  expect_equal(query_of(years = c(2010, 2000, 2001)), "indicator=atlas.cows&years=2000%2C2001%2C2010")
  for (wrong in list("soon", "2000-2010-2020", 2000.5, NA, c("2000", "2010"), "-")) {
    expect_error(query_of(years = wrong), class = "almanac_wrong_parameter")
  }
})

test_that("parameters are sent as the service reads them, or refused here", {
  expect_match(query_of(countries = c("Viet Nam", "Hong Kong SAR, China")), "countries=Viet%20Nam%2CHong%20Kong%20SAR%20%20China")
  expect_match(query_of(missing = "omit", layout = "long"), "missing=omit$")
  expect_match(query_of(transform = c("per_head", "growth:5")), "transform=per_head%2Cgrowth%3A5")
  expect_match(query_of(as_of = as.Date("2026-11-20")), "as_of=2026-11-20")
  expect_match(query_of(names = TRUE), "fields=indicator%2Ciso3%2Cname%2Cyear%2Cvalue")
  for (wrong in list(list(layout = "tall"), list(names = TRUE, fields = "value"), list(missing = "drop"), list(latest = 1.5), list(countries = NA))) {
    expect_error(do.call(query_of, wrong), class = "almanac_wrong_parameter")
  }
})

test_that("figures carry what belongs to them, also in parts", {
  rows <- list(cow("DEU", 2000L, 2), cow("DEU", 2001L, NULL), cow("FRA", 2000L, 1.5))
  client <- scripted(list(figures(rows, headers = list("x-unmatched-countries" = "UK, ZZZ"))))
  table <- alm_data("atlas.cows", countries = c("DEU", "FRA", "UK", "zzz"), client = client)
  expect_equal(
    lapply(table, class),
    list(
      indicator = "character", iso3 = "character", year = "integer", value = "numeric", ci_lo = "numeric",
      ci_hi = "numeric", rank = "integer", projected = "logical"
    )
  )
  expect_equal(table$value, c(2, NA, 1.5))
  for (one in list(table, table[table$year == 2000, ], table[c("iso3", "value")])) {
    expect_equal(attr(one, "units"), c(atlas.cows = "heads"))
    expect_equal(attr(one, "licence"), "CC BY 4.0")
    expect_equal(attr(one, "attribution"), "Atlas")
    expect_equal(attr(one, "edition"), "20261127T020500Z-00000001")
    expect_equal(
      alm_citation(one),
      "Atlas (CC BY 4.0): Cows, atlas.cows. Almanac, snapshot 20261127T020500Z-00000001 of 2026-11-27."
    )
  }
  expect_equal(attr(table, "unmatched"), c("UK", "ZZZ"))
  expect_equal(attr(table, "price"), 2L)
  expect_output(print(table), "3 rows, snapshot .*, 2 credits.*Atlas \\(CC BY 4.0\\).*no country has the code UK, ZZZ")
  attr(table, "price") <- 1L
  expect_output(print(table), ", 1 credit\n", fixed = TRUE)
  expect_null(attr(alm_data("atlas.cows", client = scripted(list(figures(rows, headers = list(
    "idempotent-replayed" = "true"
  ))))), "price"))
})

test_that("an answer without rows has its columns", {
  table <- alm_data("atlas.cows", client = scripted(list(figures(list()))))
  expect_equal(names(table), long_columns)
  expect_equal(nrow(table), 0)
})

test_that("figures are the doubles nearest to their texts, to the bit", {
  # The text of a figure, and the double as hexadecimal digits, which R reads exactly.
  hard <- c(
    "0.1" = 0x1.999999999999ap-4, "1e23" = 0x1.52d02c7e14af6p+76, "8.5e22" = 0x1.1ffdbf6b2b2ebp+76,
    "9007199254740993" = 0x1p+53, "123456789012345678901234567890" = 0x1.8ee90ff6c373ep+96,
    "5.684341886080802e-14" = 0x1p-44, "2.2250738585072011e-308" = 0x0.fffffffffffffp-1022,
    "1.7976931348623157e308" = 0x1.fffffffffffffp+1023, "0.30000000000000004" = 0x1.3333333333334p-2,
    # These R's own parser reads as a neighbour.
    "4.401981189031359e-16" = 0x1.fb838d7b0131bp-52, "2.096381142078230e-6" = 0x1.195f1b8925207p-19,
    "515156.669486150" = 0x1.f7152ad8dc6fdp+18, "358090.935428236" = 0x1.5db2bbde0e645p+18
  )
  rows <- paste0("{\"value\":", names(hard), "}", collapse = ",")
  client <- scripted(list(answer(paste0("{\"data\":[", rows, "],\"meta\":{\"indicator\":\"atlas.cows\"}}"))))
  table <- alm_data("atlas.cows", fields = "value", client = client)
  bits <- function(values) sprintf("%a", values)
  expect_equal(bits(table$value), bits(unname(hard)))
})

test_that("countries are compared side by side", {
  row <- function(indicator, iso3, year, value) {
    list(indicator = indicator, iso3 = iso3, name = iso3, year = year, value = value)
  }
  rows <- list(row("a.x", "DEU", 2020L, 1), row("a.x", "FRA", 2021L, 2), row("a.y", "FRA", 2019L, 3))
  client <- scripted(list(figures(rows)))
  found <- alm_compare(c("a.x", "a.y"), c("DEU", "FRA"), client = client)
  expect_equal(as.list(as.data.frame(found))[c("iso3", "a.x", "a.x.year", "a.y", "a.y.year")], list(
    iso3 = c("DEU", "FRA"), a.x = c(1, 2), a.x.year = 2020:2021, a.y = c(NA, 3), a.y.year = c(NA, 2019L)
  ))
  expect_match(addresses(client), "latest=1")
})
