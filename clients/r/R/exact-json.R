# JSON of which every byte means one thing: strict parsing, and the canonical form of RFC 8785.
#
# A parsed text is its canonical form (`json_text`), since R's strings cannot hold every character that JSON's can. A
# number is its double, with its canonical form as an attribute.

levels_max <- 64
largest_integer <- 2^53 - 1

token_pattern <- paste0(
  "[ \\t\\n\\r]++|[\\[\\]{}:,]|true|false|null",
  "|-?+(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+",
  "|\"(?:[^\"\\\\\\x00-\\x1f]++|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4})*+\"|."
)

# The bytes of a receipt, a list of keys or a proof: given as bytes, as JSON text, or as the name of a file.
bytes_of <- function(source, what = "receipt") {
  if (is.raw(source)) return(source)
  if (!is.character(source) || length(source) != 1 || is.na(source)) {
    wrong_parameter(what, " must be bytes, a JSON text or the name of a file")
  }
  if (grepl("^\\s*[[{]", source)) return(charToRaw(enc2utf8(source)))
  if (!file.exists(source)) wrong_parameter("There is no file ", source, ".")
  readBin(source, "raw", file.size(source))
}

# Parses UTF-8. Refuses repeated names, numbers that are not equal to their double, and lone surrogates.
parse_exact <- function(bytes) {
  tokens <- tokens_of(bytes)
  starts <- substr(tokens, 1, 1)
  values <- vector("list", length(tokens))
  is_text <- starts == "\""
  values[is_text] <- as.list(canonical_texts(tokens[is_text]))
  is_number <- grepl("^-?[0-9]", tokens)
  values[is_number] <- exact_numbers(tokens[is_number])
  at <- 0

  take <- function() {
    at <<- at + 1
    if (at > length(tokens)) refuse("This is not JSON.")
    tokens[at]
  }
  parse_value <- function(level) {
    token <- take()
    if (is_text[at]) return(structure(values[[at]], class = "json_text"))
    if (is_number[at]) return(values[[at]])
    switch(token,
      "{" = parse_container(level, "}"),
      "[" = parse_container(level, "]"),
      "true" = TRUE,
      "false" = FALSE,
      "null" = NULL,
      refuse("This is not JSON.")
    )
  }
  parse_container <- function(level, end) {
    demand(level <= levels_max, "Lists and objects lie in each other more than ", levels_max, " deep.")
    is_object <- end == "}"
    names <- character()
    members <- list()
    if (at < length(tokens) && tokens[at + 1] == end) {
      take()
    } else {
      repeat {
        if (is_object) {
          take()
          demand(is_text[at], "This is not JSON.")
          names <- c(names, values[[at]])
          demand(take() == ":", "This is not JSON.")
        }
        members <- c(members, list(parse_value(level + 1)))
        token <- take()
        if (token == end) break
        demand(token == ",", "This is not JSON.")
      }
    }
    if (!is_object) return(structure(members, class = "json_list"))
    demand(!anyDuplicated(names), "A name occurs twice in one object.")
    structure(members, names = names, class = "json_object")
  }

  value <- parse_value(1)
  demand(at == length(tokens), "This is not JSON.")
  value
}

# In pieces: taking a part of a long string reads it from its start.
tokens_of <- function(bytes) {
  text <- tryCatch(rawToChar(bytes), error = function(error) refuse("This is not JSON."))
  demand(validUTF8(text), "This is not UTF-8.")
  found <- gregexpr(token_pattern, text, perl = TRUE, useBytes = TRUE)[[1]]
  if (found[1] < 0) refuse("This is not JSON.")
  starts <- as.integer(found)
  ends <- starts + attr(found, "match.length") - 1L
  demand(ends[length(ends)] == length(bytes), "This is not JSON.")
  firsts <- bytes[starts]
  is_space <- firsts %in% charToRaw(" \t\n\r")
  is_strange <- !firsts %in% charToRaw(" \t\n\r{}[]:,\"tfn-0123456789") | (firsts == as.raw(0x22) & starts == ends)
  demand(!any(is_strange), "This is not JSON.")
  starts <- starts[!is_space]
  ends <- ends[!is_space]
  pieces <- split(seq_along(starts), (seq_along(starts) - 1L) %/% 1000L)
  tokens <- unlist(lapply(pieces, function(piece) {
    first <- starts[piece[1]]
    part <- rawToChar(bytes[first:ends[piece[length(piece)]]])
    Encoding(part) <- "bytes"
    substring(part, starts[piece] - first + 1L, ends[piece] - first + 1L)
  }), use.names = FALSE)
  if (is.null(tokens)) refuse("This is not JSON.")
  Encoding(tokens) <- "UTF-8"
  tokens
}

# --- texts ------------------------------------------------------------------------------------------------------------

escape_pattern <- "\\\\u[0-9a-fA-F]{4}|\\\\.|[^\\\\]+"
short_escapes <- c("8" = "\\b", "9" = "\\t", "10" = "\\n", "12" = "\\f", "13" = "\\r", "34" = "\\\"", "92" = "\\\\")

# What stands between the quotes, with the escapes of the canonical form alone.
canonical_texts <- function(tokens) {
  inner <- substring(tokens, 2, nchar(tokens) - 1)
  has_escape <- grepl("\\", inner, fixed = TRUE)
  inner[has_escape] <- vapply(inner[has_escape], canonical_text, "", USE.NAMES = FALSE)
  inner
}

canonical_text <- function(text) {
  pieces <- regmatches(text, gregexpr(escape_pattern, text))[[1]]
  pieces[pieces == "\\/"] <- "/"
  is_code <- grepl("^\\\\u", pieces)
  codes <- rep(NA_integer_, length(pieces))
  codes[is_code] <- strtoi(substring(pieces[is_code], 3), 16L)
  is_high <- !is.na(codes) & codes >= 0xd800 & codes <= 0xdbff
  is_low <- !is.na(codes) & codes >= 0xdc00 & codes <= 0xdfff
  demand(identical(which(is_high) + 1L, which(is_low)), "A text is not valid Unicode.")
  codes[is_high] <- 0x10000L + (codes[is_high] - 0xd800L) * 0x400L + codes[is_low] - 0xdc00L
  pieces[is_low] <- ""
  is_whole <- is_code & !is_low
  pieces[is_whole] <- vapply(codes[is_whole], character_of, "")
  paste(pieces, collapse = "")
}

character_of <- function(code) {
  short <- short_escapes[as.character(code)]
  if (!is.na(short)) return(unname(short))
  if (code < 0x20) sprintf("\\u%04x", code) else intToUtf8(code)
}

# A text as R has it.
plain_text <- function(text) {
  text <- unclass(text)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  demand(!grepl("\\u0000", text, fixed = TRUE), "A text holds a character that R cannot.")
  jsonlite::parse_json(paste0("[\"", text, "\"]"))[[1]]
}

# --- numbers ----------------------------------------------------------------------------------------------------------

# Doubles, each with its canonical form. Refuses a number that is not equal to its double.
exact_numbers <- function(tokens) {
  if (length(tokens) == 0) return(list())
  distinct <- unique(tokens)
  parts <- decimal_of(distinct)
  values <- rep(0, length(distinct))
  is_zero <- parts$digits == ""
  # What no double reaches is not equal to one.
  is_near <- is_zero | abs(parts$point) <= 400
  if (!all(is_near)) inexact(distinct[!is_near])
  values[!is_zero] <- doubles_of(paste0(parts$digits, "e", parts$point - nchar(parts$digits))[!is_zero])
  is_exact <- is_zero | (nchar(parts$digits) <= 15 & values >= 2.3e-308 & is.finite(values))
  for (at in which(!is_exact)) {
    shortest <- if (is.finite(values[at]) && values[at] > 0) shortest_decimal(values[at])
    if (!identical(shortest, list(digits = parts$digits[at], point = parts$point[at]))) inexact(distinct[at])
  }
  canonical <- rep("0", length(distinct))
  canonical[!is_zero] <- paste0(parts$sign, layout_of(parts$digits, parts$point))[!is_zero]
  signed <- ifelse(parts$sign == "-" & !is_zero, -values, values)
  numbers <- lapply(seq_along(distinct), function(at) structure(signed[at], canonical = canonical[at]))
  numbers[match(tokens, distinct)]
}

inexact <- function(tokens) refuse("The number ", substr(tokens[1], 1, 40), " is not equal to its double.")

# A number as 0.DIGITS * 10 ^ point, digits without zeros at either end; "" for zero.
decimal_of <- function(texts) {
  found <- regmatches(texts, regexec("^(-?)([0-9]+)(?:\\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$", texts))
  part <- function(at) vapply(found, `[`, "", at)
  exponent <- part(5)
  exponent <- as.numeric(ifelse(nzchar(exponent), exponent, "0"))
  digits <- paste0(part(3), part(4))
  whole <- nchar(part(3))
  leading <- nchar(digits) - nchar(sub("^0+", "", digits))
  significant <- gsub("^0+|0+$", "", digits)
  # Of zero, the exponent says nothing, however large it is.
  point <- ifelse(significant == "", 0, exponent + whole - leading)
  list(sign = part(2), digits = significant, point = point)
}

# Decimals as the nearest doubles. R's own parser does not promise that, that of jsonlite does.
doubles_of <- function(decimals) {
  as.double(jsonlite::fromJSON(paste0("[", paste(decimals, collapse = ","), "]")))
}

# The fewest digits that read back as the same double; of equally few, those closest to it.
shortest_decimal <- function(value) {
  for (precision in 1:17) {
    nearest <- sprintf("%.*e", precision - 1L, value)
    # Below a power of two doubles are denser than above it: the digits above may be the ones that read back.
    above <- sub("^([0-9.]*)([0-8])(9*)(e.*)$", "\\1|\\2|\\3|\\4", nearest)
    parts <- strsplit(above, "|", fixed = TRUE)[[1]]
    if (length(parts) == 4) {
      above <- paste0(parts[1], as.integer(parts[2]) + 1L, gsub("9", "0", parts[3]), parts[4])
    }
    for (decimal in unique(c(nearest, above))) {
      if (grepl("|", decimal, fixed = TRUE) || doubles_of(decimal) != value) next
      return(decimal_of(decimal)[c("digits", "point")])
    }
  }
}

# As JavaScript prints it.
layout_of <- function(digits, point) {
  count <- nchar(digits)
  zeros <- function(number) strrep("0", pmax(number, 0))
  within <- paste0(substr(digits, 1, point), ".", substring(digits, point + 1))
  mantissa <- ifelse(count > 1, paste0(substr(digits, 1, 1), ".", substring(digits, 2)), digits)
  ifelse(point > 0 & point <= 21,
    ifelse(count <= point, paste0(digits, zeros(point - count)), within),
    ifelse(point > -6 & point <= 0,
      paste0("0.", zeros(-point), digits),
      paste0(mantissa, "e", ifelse(point > 0, "+", "-"), format_whole(abs(point - 1)))
    )
  )
}

format_whole <- function(number) sprintf("%.0f", number)

# --- the canonical form -----------------------------------------------------------------------------------------------

canonical <- function(value) {
  if (is.null(value)) return("null")
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) {
    form <- attr(value, "canonical")
    return(if (is.null(form)) sprintf("%.0f", value) else form)
  }
  if (is.character(value)) return(paste0("\"", unclass(value), "\""))
  members <- vapply(unclass(value), canonical, "")
  if (!inherits(value, "json_object")) return(paste0("[", paste(members, collapse = ","), "]"))
  at <- order_of_names(names(value))
  paste0("{", paste0("\"", names(value)[at], "\":", members[at], collapse = ","), "}")
}

# By UTF-16 code units.
order_of_names <- function(names) {
  if (all(grepl("^[a-zA-Z0-9_]*$", names))) return(order(names, method = "radix"))
  units <- iconv(vapply(names, plain_text, ""), "UTF-8", "UTF-16BE", toRaw = TRUE)
  order(vapply(units, paste, "", collapse = ""), method = "radix")
}

# --- what is expected -------------------------------------------------------------------------------------------------

# An object with exactly the members named, or with those and others.
members_of <- function(value, what, names, and_others = FALSE) {
  if (!inherits(value, "json_object")) refuse(what, " is not an object.")
  asked <- strsplit(names, " ", fixed = TRUE)[[1]]
  is_right <- all(asked %in% names(value)) && (and_others || length(value) == length(asked))
  demand(is_right, what, " has other members than ", gsub(" ", ", ", names), ".")
  unclass(value)
}

# The member `data` of an answer; anything else as it is.
data_of <- function(value) {
  if (inherits(value, "json_object") && "data" %in% names(value)) unclass(value)$data else value
}

count_of <- function(value, what, least) {
  is_count <- is.numeric(value) && value == trunc(value) && value >= least && value <= largest_integer
  demand(is_count, what, " is not a count.")
  as.double(value)
}

text_of <- function(value, what) {
  if (!inherits(value, "json_text")) refuse(what, " is not a text.")
  plain_text(value)
}

list_of <- function(value, what) {
  if (!inherits(value, "json_list")) refuse(what, " are not a list.")
  unclass(value)
}

hashes_of <- function(value, what) {
  found <- unclass(value)
  is_list <- inherits(value, "json_list")
  demand(is_list, what, " is not a list of hashes.")
  is_hash <- vapply(found, function(one) inherits(one, "json_text") && grepl("^[0-9a-f]{64}$", one), NA)
  demand(all(is_hash), what, " holds something else than hashes.")
  lapply(found, bytes_of_hex)
}

bytes_of_hex <- function(text) {
  text <- unclass(text)
  at <- seq(1, nchar(text), 2)
  as.raw(strtoi(substring(text, at, at + 1), 16L))
}

hex_of <- function(bytes) paste(as.character(bytes), collapse = "")

# A value as R has it: figures as doubles, objects and lists as lists.
plain <- function(value) {
  if (inherits(value, "json_text")) return(plain_text(value))
  if (is.numeric(value)) return(as.double(value))
  if (is.list(value)) return(lapply(unclass(value), plain))
  value
}
