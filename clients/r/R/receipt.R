# Receipts: each leaf leads by its path to the root that the next leaf holds, the last to the checkpoint.

receipt_format <- "almanac-receipt/1"
row_members <- "iso3 year value ci_lo ci_hi status projected"
descriptor_members <- "indicator unit provider sources"
edition_members <- "edition published_at indicators manifest"

alm_receipt <- function(indicator, country, year, transform = NULL, aggregate = NULL, file = NULL, as_of = NULL,
                        max_credits = NULL, client = almanac()) {
  query <- list(
    indicator = words_of(indicator, "indicator"), country = words_of(country, "country"),
    year = whole_number(year, "year"), transform = words_of(transform, "transform"), aggregate = aggregate
  )
  receipt <- priced(client, "/v1/receipts", dated(client, query, as_of), function(answer) answer$body, max_credits)
  if (is.null(file)) return(receipt)
  writeBin(receipt, file)
  invisible(receipt)
}

alm_keys <- function(file = NULL, client = almanac()) {
  document <- call_service(client, "/.well-known/almanac-keys.json", list(), function(answer) answer$body)
  if (is.null(file)) return(document)
  writeBin(document, file)
  invisible(document)
}

# Keys from whatever holds them: a lock, an almanac.lock, or a list of keys.
keys_of <- function(keys) {
  if (is.null(keys)) return(NULL)
  if (inherits(keys, "alm_lock")) return(pinned_keys(keys))
  bytes <- bytes_of(keys, "keys")
  document <- parse_exact(bytes)
  is_lock <- inherits(document, "json_object") && "checkpoint" %in% names(document)
  if (is_lock) pinned_keys(parse_lock(bytes, "The lock")) else parse_keys(bytes)
}

alm_verify_receipt <- function(receipt, keys) {
  known <- keys_of(keys)
  document <- parse_exact(bytes_of(receipt))
  if (is_derivation(document)) return(verify_derivation(document, known))
  names <- "format row descriptor rows edition checkpoint proofs notice"
  members <- members_of(data_of(document), "The receipt", names)
  is_known <- identical(unclass(members$format), receipt_format)
  demand(is_known, "The format of the receipt is not ", receipt_format, ".")
  row <- members$row
  members_of(row, "The row", row_members)
  descriptor <- members$descriptor
  indicator <- members_of(descriptor, "The descriptor", descriptor_members)$indicator
  rows <- count_of(members$rows, "The number of rows", 1)
  edition <- members_of(members$edition, "The edition", edition_members)
  indicators <- count_of(edition$indicators, "The number of indicators", 1)
  proofs <- members_of(members$proofs, "The proofs", "row descriptor indicator edition")
  climb <- function(name, leaf, size) {
    what <- paste("The proof of the", name)
    proof <- members_of(proofs[[name]], what, "index path")
    index <- count_of(proof$index, paste0(what, ": the index"), 0)
    demand(name != "descriptor" || index == 0, "The descriptor is not the first leaf.")
    root_of(leaf, index, size, hashes_of(proof$path, what), what)
  }
  edition_root <- function(indicator_root) {
    leaf <- list(indicator = indicator, rows = rows, root = hex_of(indicator_root))
    climb("indicator", structure(leaf, class = "json_object"), indicators)
  }
  checkpoint <- read_checkpoint(text_of(members$checkpoint, "The checkpoint"), known)
  leads <- function(indicator_root) {
    leaf <- structure(c(edition, list(root = hex_of(edition_root(indicator_root)))), class = "json_object")
    identical(climb("edition", leaf, checkpoint$size), checkpoint$root)
  }
  # The indicator's tree: the descriptor is leaf 0, and the only one; the rows follow.
  row_root <- climb("row", row, rows + 1)
  descriptor_root <- climb("descriptor", descriptor, rows + 1)
  is_one <- identical(row_root, descriptor_root)
  for (part in list(list("row", descriptor_root), list("descriptor", row_root))) {
    is_altered <- !is_one && leads(part[[2]])
    demand(!is_altered, "The ", part[[1]], " or its path was altered: all else leads to the checkpoint.")
  }
  demand(is_one, "Row and descriptor do not belong to one tree, and neither leads to the checkpoint.")
  demand(leads(row_root),
    "The edition, the number of rows or a path was altered: they do not lead to the checkpoint."
  )
  list(
    row = plain(row), descriptor = plain(descriptor), edition = plain(members$edition),
    root = hex_of(edition_root(row_root)), checkpoint = checkpoint, rows = rows, rows_root = hex_of(row_root),
    descriptor_leaf = descriptor
  )
}

alm_verify_rows <- function(verified, rows) {
  found <- list_of(data_of(parse_exact(bytes_of(rows, "rows"))), "The rows")
  wanted <- strsplit(row_members, " ", fixed = TRUE)[[1]]
  cells <- lapply(found, function(entry) {
    members <- members_of(entry, "A row", row_members, and_others = TRUE)
    structure(members[wanted], class = "json_object")
  })
  iso3 <- vapply(cells, function(cell) text_of(unclass(cell)$iso3, "A country"), "")
  year <- vapply(cells, function(cell) {
    demand(is.numeric(unclass(cell)$year), "A year is not a number.")
    as.double(unclass(cell)$year)
  }, 0)
  twice <- anyDuplicated(paste(iso3, year))
  demand(twice == 0, "Two rows are of ", iso3[twice], ", ", year[twice], ".")
  demand(length(cells) == verified$rows, "The tree has ", verified$rows, " rows, not ", length(cells), ".")
  ordered <- cells[order(iso3, year, method = "radix")]
  root <- root_over(lapply(c(list(verified$descriptor_leaf), ordered), leaf_hash))
  demand(hex_of(root) == verified$rows_root, "The rows are not those of the tree.")
  invisible(verified)
}
