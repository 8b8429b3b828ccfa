# Prints as JSON what changed since a lock, with every digit of each double: figures without the lock and with it,
# revisions, and which indicators changed.
library(almanacdata)

lock <- commandArgs(trailingOnly = TRUE)[1]
asked <- c("atlas.cows", "atlas.goats")
now <- alm_data(asked, countries = c("FRA", "DEU"))
then <- alm_data(asked, countries = c("FRA", "DEU"), client = almanac(lock = lock))
revisions <- alm_revisions(now, since = alm_read_lock(lock))
changes <- alm_changes(since = alm_read_lock(lock))
rows <- function(table) {
  table <- as.data.frame(table)
  for (name in names(table)[vapply(table, is.double, NA)]) {
    table[[name]] <- ifelse(is.na(table[[name]]), "#null", sprintf("#%.17g", table[[name]]))
  }
  lapply(seq_len(nrow(table)), function(at) as.list(table[at, , drop = FALSE]))
}
found <- list(
  now = rows(now), then = rows(then), revisions = rows(revisions), price = attr(revisions, "price"),
  added = lapply(changes$added, as.list)
)
# jsonlite prints 15 digits.
cat(gsub("\"#([^\"]*)\"", "\\1", jsonlite::toJSON(found, auto_unbox = TRUE, na = "null")))
