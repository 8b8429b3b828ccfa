# The signed head of the log (C2SP tlog-checkpoint) and the keys that sign it.

name_pattern <- "[!-*,-~]+"
key_pattern <- paste0("^(", name_pattern, ")\\+([0-9a-f]{8})\\+([A-Za-z0-9+/]{44})\\z")
note_pattern <- paste0(
  "^(", name_pattern, "\\n[1-9][0-9]{0,14}\\n[^\\n]+\\n)\\n((?:\u2014 ", name_pattern, " [^ \\n]+\\n)+)\\z"
)

# Reads `<name>+<id>+<base64>`, and the sizes of the log for which the key counts, both inclusive.
parse_key <- function(text, first = 1, last = NULL) {
  message <- paste0("\"", text, "\" is not a key of a log.")
  found <- regmatches(text, regexec(key_pattern, text, perl = TRUE))[[1]]
  demand(length(found) == 4, message)
  octets <- decode_base64(found[4], message)
  expected <- hex_of(sha256(c(charToRaw(paste0(found[2], "\n")), octets))[1:4])
  demand(length(octets) == 33 && octets[1] == as.raw(1) && found[3] == expected, message)
  list(text = text, name = found[2], id = found[3], public_key = octets[-1], first = first, last = last)
}

# Reads the list at `/.well-known/almanac-keys.json`.
parse_keys <- function(bytes) {
  entries <- members_of(parse_exact(bytes), "The list of keys", "origin keys", and_others = TRUE)$keys
  if (!inherits(entries, "json_list") || length(entries) == 0) refuse("The list of keys holds no keys.")
  lapply(unclass(entries), function(entry) {
    members <- members_of(entry, "A key", "key from to", and_others = TRUE)
    last <- if (!is.null(members$to)) count_of(members$to, "The last size of a key", 1)
    first <- count_of(members$from, "The first size of a key", 1)
    parse_key(text_of(members$key, "A key"), first, last)
  })
}

counts_for <- function(key, origin, size) {
  key$name == origin && key$first <= size && (is.null(key$last) || size <= key$last)
}

# Reads a checkpoint and verifies every signature by a key that counts. `keys`: NULL verifies the form only.
read_checkpoint <- function(note, keys) {
  malformed <- "The checkpoint is not in the form of a checkpoint."
  demand(validUTF8(note), malformed)
  found <- regmatches(note, regexec(note_pattern, note, perl = TRUE))[[1]]
  demand(length(found) == 3, malformed)
  lines <- strsplit(found[2], "\n", fixed = TRUE)[[1]]
  origin <- lines[1]
  size <- as.numeric(lines[2])
  root <- decode_base64(lines[3], "The root of the checkpoint is not in base64.")
  demand(length(root) == 32, malformed)
  trusted <- Filter(function(key) counts_for(key, origin, size), keys)
  signed_by <- character()
  for (line in strsplit(found[3], "\n", fixed = TRUE)[[1]]) {
    parts <- strsplit(line, " ", fixed = TRUE)[[1]]
    octets <- decode_base64(parts[3], "A signature of the checkpoint is not in base64.")
    demand(length(octets) > 4, "A signature of the checkpoint is too short.")
    key <- Find(function(one) one$name == parts[2] && one$id == hex_of(octets[1:4]), trusted)
    if (is.null(key)) next
    is_right <- is_signature(key$public_key, charToRaw(found[2]), octets[-(1:4)])
    demand(is_right, "The checkpoint was altered: the signature by the key ", key$id, " is wrong.")
    signed_by <- c(signed_by, key$id)
  }
  is_signed <- is.null(keys) || length(signed_by) > 0
  demand(is_signed, "No known key has signed the checkpoint for ", lines[2], " editions of ", origin, ".")
  list(origin = origin, size = size, root = root, signed_by = signed_by)
}

is_signature <- function(public_key, message, signature) {
  if (length(signature) != 64) return(FALSE)
  tryCatch(
    isTRUE(openssl::ed25519_verify(message, signature, openssl::read_ed25519_pubkey(public_key))),
    error = function(error) FALSE
  )
}

# Decodes base64 in the one form that encodes these bytes.
decode_base64 <- function(text, message) {
  octets <- tryCatch(openssl::base64_decode(text), error = function(error) refuse(message))
  demand(is.raw(octets) && identical(openssl::base64_encode(octets), text), message)
  octets
}

# Refuses unless the later of two checkpoints extends the earlier one. `proof`: bytes of the answer, not needed for one
# and the same size.
verify_one_log <- function(one, other, proof = NULL) {
  demand(one$origin == other$origin, "The checkpoints are of two logs: ", one$origin, " and ", other$origin, ".")
  is_first <- one$size <= other$size
  earlier <- if (is_first) one else other
  later <- if (is_first) other else one
  path <- list()
  if (earlier$size != later$size) {
    sizes <- paste("from", format_whole(earlier$size), "to", format_whole(later$size))
    if (is.null(proof)) refuse("A proof of consistency ", sizes, " is needed.")
    members <- members_of(data_of(parse_exact(proof)), "The proof of consistency", "from to path")
    is_asked <- count_of(members$from, "from", 1) == earlier$size && count_of(members$to, "to", 1) == later$size
    demand(is_asked, "The proof of consistency is not ", sizes, ".")
    path <- hashes_of(members$path, "The proof of consistency")
  }
  verify_consistency(earlier, later, path)
}
