# What a call answers: a data frame with everything that belongs to its figures as attributes.

column_types <- c(
  indicator = "text", indicator_name = "text", unit = "text", iso3 = "text", iso2 = "text", name = "text",
  region = "text", income_group = "text", group = "text", status = "text", reason = "text", method = "text",
  kind = "text", old_status = "text", new_status = "text", old_edition = "text", new_edition = "text",
  old_unit = "text", new_unit = "text", m49 = "integer", year = "integer", rank = "integer",
  rank_delta_1y = "integer", rank_lo = "integer", rank_hi = "integer", members = "integer", counted = "integer",
  projected = "boolean", old_projected = "boolean", new_projected = "boolean"
)

# Everything that travels with the rows.
provenance_names <- c(
  "units", "licence", "attribution", "citation", "edition", "generated_at", "price", "balance", "unmatched",
  "request_id", "series", "meta", "question"
)

# A column of rows as a typed vector; everything unknown is a figure. A missing cell is NA.
column_of <- function(rows, name) {
  cells <- lapply(rows, `[[`, name)
  cells[lengths(cells) == 0] <- NA
  type <- column_types[name]
  convert <- if (is.na(type)) as.double else switch(type, text = as.character, integer = as.integer, as.logical)
  convert(unlist(cells, use.names = FALSE))
}

# Rows as a list of columns, named `columns`, or as the first row names them.
columns_from <- function(rows, columns = NULL) {
  names <- if (length(rows) > 0 && is.null(columns)) names(rows[[1]]) else columns
  found <- lapply(names, function(name) column_of(rows, name))
  stats::setNames(found, names)
}

new_table <- function(columns, series, headers, meta, question = NULL) {
  frame <- as.data.frame(columns, optional = TRUE, stringsAsFactors = FALSE)
  if (length(columns) > 0) names(frame) <- names(columns)
  is_repeat <- identical(headers[["idempotent-replayed"]], "true")
  edition <- headers[["x-snapshot"]]
  known <- list(
    units = stats::setNames(series$unit, series$id),
    licence = joined(series$licence),
    attribution = joined(series$attribution),
    citation = references(series, edition, meta$generated_at),
    edition = edition,
    generated_at = meta$generated_at,
    price = if (!is_repeat) count_in(headers, "x-credits-charged"),
    balance = count_in(headers, "x-credits-remaining"),
    unmatched = unlist(strsplit(as.character(headers[["x-unmatched-countries"]]), ", ", fixed = TRUE)),
    request_id = headers[["x-request-id"]],
    series = series, meta = meta, question = question
  )
  with_provenance(frame, known)
}

count_in <- function(headers, name) {
  if (!is.null(headers[[name]])) as.integer(headers[[name]])
}

with_provenance <- function(frame, known) {
  for (name in provenance_names) attr(frame, name) <- known[[name]]
  class(frame) <- c("alm_table", "data.frame")
  frame
}

joined <- function(texts) paste(unique(texts[!is.na(texts)]), collapse = "; ")

# A reference for each indicator.
references <- function(series, edition, generated_at) {
  if (nrow(series) == 0) return(character())
  day <- if (is.null(generated_at)) "" else paste0(" of ", substr(generated_at, 1, 10))
  licence <- ifelse(is.na(series$licence), "", paste0(" (", series$licence, ")"))
  name <- ifelse(is.na(series$name), "", paste0(series$name, ", "))
  paste0(series$attribution, licence, ": ", name, series$id, ". Almanac, snapshot ", edition, day, ".")
}

# The indicators of an answer, listed where there are several, else spread over `meta`; then what they are derived from.
series_of <- function(meta) {
  own <- if (!is.null(meta$indicators)) meta$indicators
  if (is.null(own) && !is.null(meta$indicator)) own <- list(c(meta, list(id = meta$indicator)))
  inputs <- unlist(lapply(own, function(one) one$derivation$inputs), recursive = FALSE)
  series_frame(c(own, inputs, meta$weights))
}

series_frame <- function(records) {
  facts <- c("id", "name", "unit", "licence", "licence_url", "attribution")
  text <- function(name) vapply(records, function(one) if (is.null(one[[name]])) NA_character_ else one[[name]], "")
  frame <- as.data.frame(stats::setNames(lapply(facts, text), facts), stringsAsFactors = FALSE)
  frame[!duplicated(frame$id), , drop = FALSE]
}

# Reads rows of an answer as a table.
read_table <- function(answer) {
  body <- json_of(answer)
  if (!is.list(body$data) || is.null(body$meta)) unexpected_answer("The answer is not a list of rows.")
  new_table(columns_from(body$data), series_of(body$meta), answer$headers, body$meta)
}

# Reads figures, with the columns that they have in every other format.
read_figures <- function(question) {
  function(answer) {
    body <- json_of(answer)
    if (!is.list(body$data) || is.null(body$meta)) unexpected_answer("The answer is not a list of rows.")
    names <- columns_of(question)
    columns <- columns_from(body$data, names)
    is_unnamed <- "indicator" %in% names && is.null(question$fields) && length(question$indicators) == 1
    if (is_unnamed) columns$indicator <- rep(as.character(body$meta$indicator), length(body$data))
    new_table(columns, series_of(body$meta), answer$headers, body$meta, question)
  }
}

`[.alm_table` <- function(x, ...) {
  found <- NextMethod()
  if (is.data.frame(found)) with_provenance(found, attributes(x)) else found
}

print.alm_table <- function(x, n = 10, ...) {
  shown <- as.data.frame(x)[seq_len(min(n, nrow(x))), , drop = FALSE]
  class(shown) <- "data.frame"
  print(shown, row.names = FALSE, ...)
  if (nrow(x) > n) cat("... ", format(nrow(x) - n, big.mark = ","), " more rows\n", sep = "")
  price <- attr(x, "price")
  cost <- if (is.null(price)) "" else paste0(", ", format(price, big.mark = ","), if (price == 1) " credit" else " credits")
  cat(format(nrow(x), big.mark = ","), " rows, snapshot ", attr(x, "edition"), cost, "\n", sep = "")
  if (nzchar(paste(attr(x, "attribution")))) {
    cat(attr(x, "attribution"), " (", attr(x, "licence"), ")\n", sep = "")
  }
  if (length(attr(x, "unmatched")) > 0) {
    cat("no country has the code ", paste(attr(x, "unmatched"), collapse = ", "), "\n", sep = "")
  }
  invisible(x)
}
