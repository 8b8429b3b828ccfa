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
  names <- "format row descriptor rows edition checkpoint proofs notice"
  members <- members_of(data_of(parse_exact(bytes_of(receipt))), "The receipt", names)
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
  if (!identical(row_root, descriptor_root)) refuse(altered_part(leads(descriptor_root), leads(row_root)))
  demand(leads(row_root), "The receipt does not lead to the root of its checkpoint: the edition, its proofs or the ",
    "number of rows were altered.")
  list(
    row = plain(row), descriptor = plain(descriptor), edition = plain(members$edition),
    root = hex_of(edition_root(row_root)), checkpoint = checkpoint, rows = rows, rows_root = hex_of(row_root),
    descriptor_leaf = descriptor
  )
}

# Of row and descriptor, the one that leads to the checkpoint is as it was published.
altered_part <- function(is_descriptor_right, is_row_right) {
  if (is_descriptor_right) return("The row, or the path of its proof, was altered: it is not in the tree of the indicator.")
  if (is_row_right) return("The descriptor, or the path of its proof, was altered: it is not in the tree of the rows.")
  "Row and descriptor do not belong to one tree."
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
