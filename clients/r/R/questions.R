# Parameters of the verbs, as the service reads them. Wrong ones are refused before anything is sent.

long_columns <- c("indicator", "iso3", "year", "value", "ci_lo", "ci_hi", "rank", "projected")
group_columns <- c("indicator", "iso3", "group", long_columns[-(1:2)])

# One word, or several; NULL for none.
words_of <- function(value, name) {
  if (length(value) == 0) return(NULL)
  if (!is.character(value) || anyNA(value) || !all(nzchar(value))) {
    wrong_parameter(name, " must be a text or a vector of texts")
  }
  paste(value, collapse = ",")
}

# A comma separates places. One within a name of several (`Hong Kong SAR, China`) says nothing that a space does not.
places_of <- function(value, name) {
  words_of(if (length(value) > 1 && is.character(value)) gsub(",", " ", value, fixed = TRUE) else value, name)
}

whole_number <- function(value, name) {
  if (is.null(value)) return(NULL)
  is_whole <- is.numeric(value) && length(value) == 1 && is.finite(value) && value == trunc(value)
  if (!isTRUE(is_whole)) wrong_parameter(name, " must be a whole number, not ", deparse(value)[1])
  as.double(value)
}

# `from` and `to`, or `years`: c(2000, 2010) are two years, 2000:2010 and "2000-2010" eleven. An open range is "2000-" or
# "-2010".
years_query <- function(years) {
  if (is.null(years)) return(NULL)
  if (is.character(years)) {
    parts <- regmatches(years, regexec("^\\s*([0-9]{1,4})?\\s*(-)?\\s*([0-9]{1,4})?\\s*$", years))[[1]][-1]
    if (length(years) != 1 || length(parts) == 0 || !any(nzchar(parts[c(1, 3)]))) {
      wrong_parameter("years must be numbers or a range such as \"2000-2010\", not ", deparse(years)[1])
    }
    if (!nzchar(parts[2])) parts[3] <- parts[1]
    return(list(from = if (nzchar(parts[1])) parts[1], to = if (nzchar(parts[3])) parts[3]))
  }
  if (!is.numeric(years) || length(years) == 0 || anyNA(years) || any(years != trunc(years))) {
    wrong_parameter("years must be whole numbers or a range such as \"2000-2010\"")
  }
  sorted <- sort(unique(years))
  if (all(diff(sorted) == 1)) return(list(from = sorted[1], to = sorted[length(sorted)]))
  list(years = paste(format_whole(sorted), collapse = ","))
}

# A date, a moment, or the id of an edition.
as_of_text <- function(as_of) {
  if (is.null(as_of)) return(NULL)
  if (inherits(as_of, "alm_lock")) return(as_of$edition)
  if (inherits(as_of, "POSIXt")) return(format(as_of, "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"))
  as.character(as_of)
}

# What `alm_data` was asked for. alm_price() and alm_revisions() can be asked for the same.
data_question <- function(indicator, countries, years, latest, fields, layout, missing, transform, aggregate, group,
                          names = FALSE) {
  if (length(indicator) == 0) wrong_parameter("indicator must be an id or several")
  if (isTRUE(names) && (!is.null(fields) || identical(layout, "wide"))) {
    wrong_parameter("names cannot be given with fields, which may have `name`, nor with layout = \"wide\"")
  }
  question <- list(
    indicators = strsplit(words_of(indicator, "indicator"), ",", fixed = TRUE)[[1]],
    countries = places_of(countries, "countries"),
    years = years_query(years),
    latest = whole_number(latest, "latest"),
    fields = words_of(fields, "fields"),
    layout = one_of(layout, c("long", "wide"), "layout"),
    missing = one_of(missing, c("keep", "omit"), "missing"),
    transform = words_of(transform, "transform"),
    aggregate = if (!is.null(aggregate)) one_of(aggregate, c("declared", "median", "min", "max"), "aggregate"),
    group = places_of(group, "group")
  )
  if (isTRUE(names)) question$fields <- paste(append(columns_of(question), "name", match("year", columns_of(question)) - 1), collapse = ",")
  question
}

one_of <- function(value, known, name) {
  if (!is.character(value) || length(value) != 1 || !value %in% known) {
    wrong_parameter(name, " must be one of ", paste(known, collapse = ", "))
  }
  value
}

data_query <- function(question) {
  ids <- paste(question$indicators, collapse = ",")
  c(
    if (length(question$indicators) == 1) list(indicator = ids) else list(indicators = ids),
    list(countries = question$countries), question$years, question["latest"], question["fields"],
    if (question$layout == "wide") list(layout = "wide"),
    if (question$missing == "omit") list(missing = "omit"),
    question[c("transform", "aggregate", "group")]
  )
}

columns_of <- function(question) {
  if (question$layout == "wide") return(c("iso3", "year", unique(question$indicators)))
  if (!is.null(question$fields)) return(strsplit(question$fields, ",", fixed = TRUE)[[1]])
  if (is.null(question$aggregate) && is.null(question$group)) long_columns else group_columns
}
