# Verbs of the catalogue. They are free, and most need no key.

alm_search <- function(words, limit = 10, client = almanac()) {
  query <- list(q = words_of(words, "words"), limit = whole_number(limit, "limit"))
  answer <- call_service(client, "/v1/search", query, identity)
  body <- json_of(answer)
  hits <- listed_records(body$data, c("id", "name", "unit", "provider", "concept", "match"))
  hits$twins <- lapply(body$data, function(hit) as.character(unlist(hit$twins)))
  hits$why <- lapply(body$data, function(hit) as.character(unlist(hit$why)))
  attr(hits, "match") <- body$meta$match
  attr(hits, "places") <- listed_records(body$meta$places, c("iso3", "name"))
  attr(hits, "groups") <- listed_records(body$meta$groups, c("id", "name"))
  attr(hits, "years") <- as.integer(unlist(body$meta$years))
  attr(hits, "nearest") <- as.character(unlist(body$meta$nearest))
  hits
}

# Some members of records as columns of text.
listed_records <- function(records, names) {
  text <- function(name) {
    vapply(records, function(one) if (is.null(one[[name]])) NA_character_ else as.character(one[[name]]), "")
  }
  as.data.frame(stats::setNames(lapply(names, text), names), stringsAsFactors = FALSE)
}

alm_indicators <- function(topic = NULL, provider = NULL, limit = NULL, client = almanac()) {
  query <- list(topic = topic, provider = provider, limit = whole_number(limit, "limit"))
  free_data(client, "/v1/indicators", dated(client, query), simplify = TRUE)
}

alm_indicator <- function(indicator, include = NULL, as_of = NULL, client = almanac()) {
  path <- paste0("/v1/indicators/", path_segment(indicator, "indicator"))
  query <- list(include = words_of(include, "include"))
  free_data(client, path, dated(client, query, as_of))
}

alm_countries <- function(client = almanac()) {
  free_data(client, "/v1/countries", dated(client, list()), simplify = TRUE)
}

alm_groups <- function(client = almanac()) {
  free_data(client, "/v1/groups", dated(client, list()), simplify = TRUE)
}

alm_topics <- function(client = almanac()) {
  free_data(client, "/v1/topics", dated(client, list()), simplify = TRUE)
}

alm_editions <- function(client = almanac()) free_data(client, "/v1/editions", simplify = TRUE)

alm_changes <- function(since = NULL, client = almanac()) {
  after <- as_of_text(since)
  found <- list()
  repeat {
    body <- call_service(client, "/v1/changes", list(since = after), json_of)
    found <- c(body$data, found)
    if (is.null(after) || !isTRUE(body$meta$more)) break
    after <- found[[1]]$edition
  }
  frame <- listed_records(found, c("edition", "published_at", "base"))
  for (name in c("added", "withdrawn")) {
    frame[[name]] <- lapply(found, function(one) as.character(unlist(one[[name]])))
  }
  for (name in c("renamed", "revised", "redefined")) frame[[name]] <- lapply(found, `[[`, name)
  frame
}

alm_balance <- function(client = almanac()) {
  if (is.null(client$key)) stop(no_key())
  free_data(client, "/v1/ping")$balance
}

alm_citation <- function(x, style = "text", client = almanac()) {
  style <- one_of(style, c("text", "bibtex"), "style")
  if (inherits(x, "alm_table")) {
    if (style == "text") return(attr(x, "citation"))
    ids <- attr(x, "series")$id
    as_of <- attr(x, "edition")
  } else {
    ids <- strsplit(words_of(x, "x"), ",", fixed = TRUE)[[1]]
    as_of <- NULL
    if (style == "text") {
      records <- lapply(ids, alm_indicator, client = client)
      edition <- if (is.null(client$lock)) call_service(client, "/v1/editions", list(), served_edition)
      return(references(series_frame(records), if (is.null(edition)) client$lock$edition else edition, NULL))
    }
  }
  query <- if (is.null(as_of)) dated(client, list()) else list(as_of = as_of)
  vapply(ids, function(id) {
    path <- paste0("/v1/indicators/", path_segment(id, "x"), "/citation.bib")
    call_service(client, path, query, text_of_body)
  }, "", USE.NAMES = FALSE)
}

served_edition <- function(answer) answer$headers[["x-snapshot"]]
