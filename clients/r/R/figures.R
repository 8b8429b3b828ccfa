# Verbs that give figures. They cost credits; a refusal costs nothing.

alm_data <- function(indicator, countries = NULL, years = NULL, latest = NULL, fields = NULL, layout = "long",
                     missing = "keep", transform = NULL, aggregate = NULL, group = NULL, names = FALSE, as_of = NULL,
                     max_credits = NULL, client = almanac()) {
  question <- data_question(
    indicator, countries, years, latest, fields, layout, missing, transform, aggregate, group, names
  )
  priced(client, "/v1/data", dated(client, data_query(question), as_of), read_figures(question), max_credits)
}

# A repeated call does not say what it was charged: a credit per row, at least 1.
left_after <- function(left, table) {
  if (is.null(left)) return(NULL)
  price <- attr(table, "price")
  max(0, left - if (is.null(price)) max(1, nrow(table)) else price)
}

# Tables of one form as one, with the sum of their prices and all of their series.
rows_together <- function(tables) {
  plain <- lapply(tables, function(table) {
    class(table) <- "data.frame"
    table
  })
  known <- attributes(tables[[length(tables)]])
  prices <- lapply(tables, attr, "price")
  known$price <- if (!any(lengths(prices) == 0)) sum(unlist(prices))
  series <- do.call(rbind, lapply(tables, attr, "series"))
  known$series <- series[!duplicated(series$id), , drop = FALSE]
  known$units <- stats::setNames(known$series$unit, known$series$id)
  known$licence <- joined(known$series$licence)
  known$attribution <- joined(known$series$attribution)
  known$citation <- references(known$series, known$edition, known$generated_at)
  known$unmatched <- unique(unlist(lapply(tables, attr, "unmatched")))
  has_rows <- vapply(plain, nrow, 0L) > 0
  frame <- do.call(rbind, if (any(has_rows)) plain[has_rows] else plain[1])
  with_provenance(frame, known)
}

alm_price <- function(indicator, countries = NULL, years = NULL, latest = NULL, fields = NULL, layout = "long",
                      missing = "keep", transform = NULL, aggregate = NULL, group = NULL, as_of = NULL,
                      client = almanac()) {
  question <- data_question(
    indicator, countries, years, latest, fields, layout, missing, transform, aggregate, group
  )
  if (is.null(client$key)) stop(no_key())
  query <- dated(client, data_query(question), as_of)
  free_data(client, "/v1/data", c(query, list(dry_run = "true")))
}

alm_compare <- function(indicators, countries, year = NULL, as_of = NULL, max_credits = NULL, client = almanac()) {
  latest <- if (is.null(whole_number(year, "year"))) 1
  fields <- c("indicator", "iso3", "name", "year", "value")
  long <- alm_data(indicators, countries,
    years = year, latest = latest, fields = fields, as_of = as_of, max_credits = max_credits,
    client = client
  )
  places <- unique(as.data.frame(long)[c("iso3", "name")])
  ids <- attr(long, "question")$indicators
  for (id in ids) {
    own <- long[long$indicator == id, ]
    at <- match(places$iso3, own$iso3)
    places[[id]] <- own$value[at]
    if (is.null(year)) places[[paste0(id, ".year")]] <- own$year[at]
  }
  rownames(places) <- NULL
  with_provenance(places, attributes(long))
}

alm_rank <- function(indicator, year = NULL, transform = NULL, as_of = NULL, max_credits = NULL,
                     client = almanac()) {
  path <- paste0("/v1/rankings/", path_segment(indicator, "indicator"))
  query <- list(year = whole_number(year, "year"), transform = words_of(transform, "transform"))
  priced(client, path, dated(client, query, as_of), read_table, max_credits)
}

alm_country <- function(country, topic = NULL, as_of = NULL, max_credits = NULL, client = almanac()) {
  path <- paste0("/v1/countries/", path_segment(country, "country"))
  read <- function(answer) {
    body <- json_of(answer)
    topics <- body$data$topics
    rows <- unlist(lapply(names(topics), function(topic) {
      lapply(topics[[topic]], function(row) c(list(topic = topic), row))
    }), recursive = FALSE)
    types <- list(topic = "", indicator = "", name = "", unit = "")
    columns <- lapply(names(types), function(name) {
      vapply(rows, function(row) if (is.null(row[[name]])) NA_character_ else row[[name]], "")
    })
    figures <- columns_from(rows, c("year", "value", "rank", "rank_delta_1y"))
    featured <- vapply(rows, function(row) isTRUE(row$featured), NA)
    columns <- c(stats::setNames(columns, names(types)), figures, list(featured = featured))
    table <- new_table(columns, series_frame(list()), answer$headers, body$meta)
    attr(table, "country") <- body$data[setdiff(names(body$data), "topics")]
    table
  }
  query <- dated(client, list(topic = topic), as_of)
  priced(client, path, query, read, max_credits)
}

alm_file <- function(indicator, to, as_of = NULL, max_credits = NULL, client = almanac()) {
  path <- paste0("/v1/files/", path_segment(indicator, "indicator"), ".parquet")
  write_file(client, path, to, as_of, max_credits)
}

alm_bundle <- function(provider, to, as_of = NULL, max_credits = NULL, client = almanac()) {
  path <- paste0("/v1/bundles/", path_segment(provider, "provider"), ".parquet")
  write_file(client, path, to, as_of, max_credits)
}

# Writes a published file, which then is complete or not there at all.
write_file <- function(client, path, to, as_of, max_credits) {
  priced(client, path, dated(client, list(), as_of), max_credits = max_credits, read = function(answer) {
    tag <- gsub("\"", "", answer$headers[["etag"]])
    found <- paste(openssl::sha256(answer$body), collapse = "")
    if (!identical(tag, found)) connection_failed("The file arrived with the hash ", found, ", not ", tag, ".")
    draft <- paste0(to, ".", Sys.getpid())
    writeBin(answer$body, draft)
    if (!file.rename(draft, to)) stop("cannot write ", to)
    invisible(to)
  })
}

alm_revisions <- function(indicator, countries = NULL, years = NULL, since = NULL, max_credits = NULL,
                          client = almanac()) {
  if (inherits(indicator, "alm_table")) {
    question <- attr(indicator, "question")
    if (is.null(question)) wrong_parameter("alm_revisions takes a table that alm_data answered, or ids")
  } else {
    question <- data_question(
      indicator, countries, years, NULL, NULL, "long", "keep", NULL, NULL, NULL
    )
  }
  places <- paste(c(question$countries, question$group), collapse = ",")
  extent <- list(countries = if (nzchar(places)) places, since = as_of_text(since))
  left <- limit_of(client, max_credits)
  tables <- list()
  for (id in question$indicators) {
    query <- c(list(indicator = id), extent, question$years)
    table <- priced(client, "/v1/revisions", query, read_table, left)
    left <- left_after(left, table)
    named <- c(list(indicator = rep(id, nrow(table))), as.list(as.data.frame(table)))
    tables <- c(tables, list(with_provenance(as.data.frame(named), attributes(table))))
  }
  rows_together(tables)
}

claims_max <- 50

alm_verify <- function(claims, max_credits = NULL, client = almanac()) {
  texts <- if (is.data.frame(claims)) do.call(paste, c(lapply(unname(claims), as.character), sep = ",")) else claims
  if (!is.character(texts) || length(texts) == 0) {
    wrong_parameter("claims must be texts `indicator,iso3,year,value`, or a data frame of these four columns")
  }
  left <- limit_of(client, max_credits)
  if (!is.null(left) && length(texts) > left) {
    wrong_parameter(length(texts), " claims cost ", length(texts), " credits, more than max_credits = ", left)
  }
  parts <- split(texts, (seq_along(texts) - 1) %/% claims_max)
  records <- unlist(unname(lapply(parts, function(part) {
    query <- stats::setNames(as.list(part), rep("claim", length(part)))
    priced(client, "/v1/verify", query, json_of, left)$data
  })), recursive = FALSE)
  texts_of <- c("claim", "indicator", "iso3", "verdict", "unknown", "unit", "edition")
  verdicts <- listed_records(records, texts_of)
  for (name in c("year", "number", "value", "deviation_percent")) verdicts[[name]] <- column_of(records, name)
  for (name in c("unread", "earlier", "redefined", "reasons")) verdicts[[name]] <- lapply(records, `[[`, name)
  order <- c("claim", "verdict", "value", "unit", "indicator", "iso3", "year", "number", "deviation_percent")
  verdicts[c(order, setdiff(names(verdicts), order))]
}
