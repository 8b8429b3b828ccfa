verified <- function() alm_verify_receipt(fixture("receipt.json"), fixture("keys.json"))

test_that("a receipt is verified offline, whatever it is given as", {
  found <- verified()
  expect_equal(found$row, list(
    iso3 = "DEU", year = 2023, value = 958, ci_lo = 950.25, ci_hi = 965.75, status = "provisional",
    projected = FALSE
  ))
  expect_equal(found$descriptor$unit, "mm \"net\"")
  expect_equal(found$checkpoint$signed_by, "47341414")
  expect_equal(alm_verify_receipt(bytes_in("receipt.json"), text_in("keys.json")), found)
  expect_equal(alm_verify_receipt(text_in("receipt.json"), bytes_in("keys.json")), found)
  expect_equal(alm_verify_receipt(fixture("receipt.json"), NULL)$checkpoint$signed_by, character())
})

test_that("a receipt of which one character was edited is refused", {
  text <- jsonlite::minify(text_in("receipt.json"))
  # The notice is not proved, and no verifier looks at it.
  end <- regexpr("\"notice\":", text)
  expect_gt(end, 1000)
  keys <- bytes_in("keys.json")
  edited <- function(character) {
    if (grepl("[0-9]", character)) return(as.character((as.integer(character) + 1) %% 10))
    if (grepl("[zZ]", character)) return("a")
    if (grepl("[a-zA-Z]", character)) return(intToUtf8(utf8ToInt(character) + 1))
    if (character == "_") "-" else "_"
  }
  for (at in seq(1, end + 8, by = 7)) {
    forged <- paste0(substr(text, 1, at - 1), edited(substr(text, at, at)), substring(text, at + 1))
    outcome <- tryCatch(alm_verify_receipt(charToRaw(enc2utf8(forged)), keys), almanac_refused = function(error) "refused")
    if (!identical(outcome, "refused")) fail(paste("accepted:", substr(forged, at - 20, at + 20)))
  }
})

test_that("a refusal says which part was altered", {
  altered <- function(from, to) {
    text <- sub(from, to, text_in("receipt.json"), fixed = TRUE)
    conditionMessage(expect_error(alm_verify_receipt(text, fixture("keys.json")), class = "almanac_refused"))
  }
  expect_match(altered("958", "959"), "^The row or its path")
  expect_match(altered("mm \\\"net", "cm \\\"net"), "^The descriptor")
  expect_match(altered("20261121", "20261122"), "^The edition")
  expect_match(altered("RzQUFAlI", "RzQUFAlJ"), "signature")
})

test_that("all rows of an indicator are those of its tree", {
  expect_identical(alm_verify_rows(verified(), fixture("rows.json"))$rows, 5)
  rows <- text_in("rows.json")
  for (forged in c(sub("669.4", "669.5", rows), sub("\\[[^\n]*\n", "[", rows), sub("2022", "2023", rows))) {
    expect_error(alm_verify_rows(verified(), forged), class = "almanac_refused")
  }
})

test_that("a log extends an earlier checkpoint, or is refused", {
  keys <- keys_of(fixture("keys.json"))
  earlier <- read_checkpoint(text_in("checkpoint.txt"), keys)
  proof <- bytes_in("consistency.json")
  expect_silent(verify_one_log(earlier, verified()$checkpoint, proof))
  expect_silent(verify_one_log(verified()$checkpoint, earlier, proof))
  expect_error(verify_one_log(earlier, verified()$checkpoint), "is needed", class = "almanac_refused")
  forged <- charToRaw(sub("cb63", "cb64", rawToChar(proof)))
  expect_error(verify_one_log(earlier, verified()$checkpoint, forged), class = "almanac_refused")
})

test_that("numbers are printed as JavaScript does, and refused where their double is another", {
  forms <- c(
    "1e21" = "1e+21", "1.0" = "1", "-2.5e-7" = "-2.5e-7", "5e-324" = "5e-324", "1e-6" = "0.000001", "1e-7" = "1e-7",
    "5.684341886080802e-14" = "5.684341886080802e-14", "123456789012345680000" = "123456789012345680000",
    "-0" = "0", "0e99999999999999999" = "0", "9007199254740992" = "9007199254740992",
    "0.30000000000000004" = "0.30000000000000004", "1.7976931348623157e308" = "1.7976931348623157e+308"
  )
  expect_equal(vapply(exact_numbers(names(forms)), canonical, ""), unname(forms))
  for (inexact in c("0.10000000000000001", "9007199254740993", "1e400", "5.6843418860808015e-14", "4.9e-324")) {
    expect_error(exact_numbers(inexact), "not equal to its double", class = "almanac_refused")
  }
})

test_that("JSON of which a byte may mean two things is refused", {
  parse <- function(text) parse_exact(charToRaw(text))
  expect_equal(canonical(parse("{\"b\": [1.50, null, true], \"a\": \"\\u0041\\/\\u001F\\n\\ud83d\\ude00\"}")), paste0(
    "{\"a\":\"A/\\u001f\\n\U1F600\",\"b\":[1.5,null,true]}"
  ))
  deep <- function(levels) paste0(strrep("[", levels), strrep("]", levels))
  expect_s3_class(parse(deep(64)), "json_list")
  wrong <- c(
    "", "{", "[1,]", "[1 2]", "{\"a\":1,}", "{\"a\" 1}", "[01]", "[1.]", "[+1]", "[NaN]", "[\"\t\"]", "[\"\\x\"]", "[1] 2",
    "{\"a\":1,\"\\u0061\":2}", "[\"\\ud800\"]", "[\"\\ude00\\ud83d\"]", "\ufeff[]", deep(65), "{a:1}", "['a']", "tru"
  )
  for (text in wrong) expect_error(parse(text), class = "almanac_refused")
})

test_that("the receipt of a derived figure is recomputed, and refused where anything in it is another", {
  keys <- bytes_in("keys.json")
  for (name in c("derivation.json", "derivation-chain.json")) {
    text <- text_in(name)
    stated <- jsonlite::fromJSON(text)$figure
    found <- alm_verify_receipt(text, keys)
    expect_equal(found$figure$value, stated$value, tolerance = 1e-12)
    expect_equal(found$figure$counted, stated$counted)
    for (edit in list(
      c("\"value\": ?4.5", "\"value\":4.6"), c("\"year\": ?2023", "\"year\":2022"), c("\"amount\"", "\"price\""),
      c("\"scale\": ?9", "\"scale\":6"), c("\"value\": ?(7.5|1.688)", "\"value\":\\12"), c("\"rows\": ?5", "\"rows\":6")
    )) {
      forged <- sub(edit[1], edit[2], text)
      expect_false(identical(forged, text))
      expect_error(alm_verify_receipt(forged, keys), class = "almanac_refused")
    }
  }
})
