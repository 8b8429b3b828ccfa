# Feed links: a question for tools that cannot send a key, such as sheets.

alm_make_feed <- function(name, indicator, monthly_cap, countries = NULL, years = NULL, latest = NULL, fields = NULL,
                          layout = "long", missing = "keep", transform = NULL, aggregate = NULL, group = NULL,
                          names = FALSE, as_of = NULL, format = "csv", expires = NULL, client = almanac()) {
  question <- data_question(
    indicator, countries, years, latest, fields, layout, missing, transform, aggregate, group, names
  )
  terms <- list(
    name = words_of(name, "name"),
    query = paste0("/v1/data", query_text(dated(client, data_query(question), as_of))),
    format = one_of(format, c("csv", "xlsx", "json"), "format"),
    monthly_cap = whole_number(monthly_cap, "monthly_cap"),
    expires_at = as_of_text(expires)
  )
  body <- jsonlite::toJSON(terms[lengths(terms) > 0], auto_unbox = TRUE, digits = NA)
  call_feeds(client, "/v1/feeds", method = "POST", body = enc2utf8(as.character(body)))
}

alm_feeds <- function(client = almanac()) call_feeds(client, "/v1/feeds", simplify = TRUE)

alm_revoke_feed <- function(feed_id, client = almanac()) {
  call_feeds(client, paste0("/v1/feeds/", path_segment(feed_id, "feed_id")), method = "DELETE")
}

call_feeds <- function(client, path, simplify = FALSE, ...) {
  if (is.null(client$key)) stop(no_key())
  call_service(client, path, list(), function(answer) json_of(answer, simplify)$data, ...)
}
