# `almanac.lock`: which edition a script was written against, and how to recognise it. The clients in Python and
# TypeScript read the same file.

lock_format <- "almanac-lock/1"
lock_members <- "format edition published_at root keys checkpoint"

alm_lock <- function(file = "almanac.lock", edition = NULL, client = almanac()) {
  answer <- call_service(client, "/v1/editions", list(), identity)
  editions <- json_of(answer)$data
  wanted <- if (is.null(edition)) served_edition(answer) else edition
  found <- Find(function(one) identical(one$id, wanted), editions)
  if (is.null(found)) lock_error("The service has no edition ", wanted, ".")
  checkpoint <- checkpoint_of(client)
  keys <- holding("The log of the service does not hold", {
    keys <- parse_keys(alm_keys(client = client))
    read_checkpoint(checkpoint, keys)
    keys
  })
  lock <- structure(class = "alm_lock", list(
    edition = found$id, published_at = found$published_at, root = found$root,
    keys = lapply(keys, function(key) list(key = key$text, from = key$first, to = key$last)),
    checkpoint = checkpoint
  ))
  if (is.null(file)) return(lock)
  draft <- paste0(file, ".", Sys.getpid())
  writeBin(charToRaw(format(lock)), draft)
  if (!file.rename(draft, file)) lock_error(file, " cannot be written.")
  invisible(lock)
}

alm_read_lock <- function(file = "almanac.lock") {
  if (!file.exists(file)) lock_error("There is no ", file, ": alm_lock() writes it.")
  parse_lock(readBin(file, "raw", file.size(file)), file)
}

parse_lock <- function(bytes, what) {
  holding(paste(what, "is not an almanac.lock"), {
    members <- members_of(parse_exact(bytes), "The lock", lock_members)
    demand(identical(unclass(members$format), lock_format), "its format is not ", lock_format, ".")
    keys <- lapply(list_of(members$keys, "The keys"), function(entry) {
      key <- members_of(entry, "A key of the lock", "key from to")
      to <- if (!is.null(key$to)) count_of(key$to, "The last size of a key", 1)
      list(key = text_of(key$key, "A key"), from = count_of(key$from, "The first size of a key", 1), to = to)
    })
    texts <- c("edition", "published_at", "root", "checkpoint")
    found <- lapply(stats::setNames(texts, texts), function(name) text_of(members[[name]], name))
    structure(class = "alm_lock", c(found[1:3], list(keys = keys), found[4]))
  })
}

# The value of an expression, or a lock error where something is refused.
holding <- function(what, value) {
  tryCatch(value, almanac_refused = function(error) lock_error(what, ": ", conditionMessage(error)))
}

pinned_keys <- function(lock) {
  holding("The lock holds a wrong key", lapply(lock$keys, function(one) parse_key(one$key, one$from, one$to)))
}

# The text of the file.
format.alm_lock <- function(x, ...) {
  quoted <- function(text) paste0("\"", canonical_quotes(text), "\"")
  keys <- vapply(x$keys, function(one) {
    to <- if (is.null(one$to)) "null" else format_whole(one$to)
    paste0(
      "    {\n      \"key\": ", quoted(one$key), ",\n      \"from\": ", format_whole(one$from),
      ",\n      \"to\": ", to, "\n    }"
    )
  }, "")
  enc2utf8(paste0(
    "{\n  \"format\": ", quoted(lock_format), ",\n  \"edition\": ", quoted(x$edition),
    ",\n  \"published_at\": ", quoted(x$published_at), ",\n  \"root\": ", quoted(x$root),
    ",\n  \"keys\": [\n", paste(keys, collapse = ",\n"), "\n  ],\n  \"checkpoint\": ", quoted(x$checkpoint), "\n}\n"
  ))
}

canonical_quotes <- function(text) {
  text <- gsub("\\", "\\\\", text, fixed = TRUE)
  gsub("\n", "\\n", gsub("\"", "\\\"", text, fixed = TRUE), fixed = TRUE)
}

print.alm_lock <- function(x, ...) {
  cat("<almanac.lock> edition ", x$edition, ", published ", x$published_at, "\n", sep = "")
  invisible(x)
}

alm_check_lock <- function(client) {
  lock <- client$lock
  if (is.null(lock)) lock_error("This client has no lock.")
  check_edition(lock, free_data(client, "/v1/editions"))
  checkpoint <- checkpoint_of(client)
  keys <- pinned_keys(lock)
  holding("The log of the service does not hold", {
    published <- parse_keys(alm_keys(client = client))
    known <- vapply(published, function(key) paste(key$text, key$first), "")
    for (key in keys) {
      if (!paste(key$text, key$first) %in% known) {
        lock_error("The service no longer publishes the key ", key$id, ", which the lock pins.")
      }
    }
    pinned <- read_checkpoint(lock$checkpoint, keys)
    present <- read_checkpoint(checkpoint, published)
  })
  if (present$size < pinned$size) {
    lock_error("The log of the service is shorter than the one that the lock pins.")
  }
  proof <- if (pinned$size < present$size) {
    sizes <- list(from = format_whole(pinned$size), to = format_whole(present$size))
    call_service(client, "/v1/log/consistency", sizes, function(answer) answer$body)
  }
  holding("The log of the service does not extend the pinned one", verify_one_log(pinned, present, proof))
  client$is_lock_checked <- TRUE
  invisible(lock)
}

check_edition <- function(lock, editions) {
  found <- Find(function(one) identical(one$id, lock$edition), editions)
  if (is.null(found)) lock_error("The service has no edition ", lock$edition, ", which the lock pins.")
  for (name in c("root", "published_at")) {
    if (!identical(found[[name]], lock[[name]])) {
      lock_error(
        "Edition ", lock$edition, " has the ", name, " ", found[[name]], ", but the lock pins ", lock[[name]],
        ": this is another service, or its history was changed."
      )
    }
  }
}

checkpoint_of <- function(client) call_service(client, "/v1/log/checkpoint", list(), text_of_body)
