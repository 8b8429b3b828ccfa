# Receipts of derived figures: verified, and recomputed from the rows in them, looking at no row that is not needed.

derivation_format <- "almanac-derivation/1"
derivation_members <- "format recipe figure series indicators rules manifest edition checkpoint proof notices"
share_coverage <- 0.95
root_tolerance <- 1e-12

is_derivation <- function(document) {
  found <- data_of(document)
  inherits(found, "json_object") && identical(unclass(unclass(found)$format), derivation_format)
}

# A row that the figure takes and that was left out refuses the receipt, as one changed digit does.
verify_derivation <- function(document, keys) {
  members <- members_of(data_of(document), "The derivation", derivation_members)
  edition <- members_of(members$edition, "The edition", edition_members)
  manifest <- charToRaw(enc2utf8(text_of(members$manifest, "The manifest")))
  demand(identical(hex_of(sha256(manifest)), plain(edition$manifest)), "The manifest is not that of the edition.")
  rules <- proven_rules(members$rules, manifest)
  series <- lapply(list_of(members$series, "The series"), proven_series)
  indicators <- count_of(edition$indicators, "The number of indicators", 1)
  what <- "The proof of the indicators"
  path <- hashes_of(members$indicators, what)
  root <- hex_of(root_of_several(lapply(series, `[[`, "leaf"), indicators, path, what))
  checkpoint <- read_checkpoint(text_of(members$checkpoint, "The checkpoint"), keys)
  what <- "The proof of the edition"
  proof <- members_of(members$proof, what, "index path")
  leaf <- structure(c(edition, list(root = root)), class = "json_object")
  index <- count_of(proof$index, paste0(what, ": the index"), 0)
  log_root <- root_of(leaf, index, checkpoint$size, hashes_of(proof$path, what), what)
  demand(identical(log_root, checkpoint$root), "The receipt does not lead to the root of its checkpoint.")
  held <- held_of(rules, series)
  recipe <- recipe_of(members$recipe)
  found <- recompute(recipe, held)
  compare_figure(recipe, found, members_of(members$figure, "The figure", "value status projected counted coverage"))
  list(
    recipe = recipe, figure = found, descriptors = lapply(series, function(one) plain(one$descriptor)),
    edition = plain(members$edition), root = root, checkpoint = checkpoint
  )
}

# --- what is proven ---------------------------------------------------------------------------------------------------

# The leaves that are given of a tree: `index` and `leaf`.
given_of <- function(value, name) {
  lapply(list_of(value, paste0("The leaves (", name, ")")), function(entry) {
    members <- members_of(entry, paste("A", name), paste("index", name))
    list(index = count_of(members$index, paste("The index of a", name), 0), leaf = members[[name]])
  })
}

hashed <- function(given) lapply(given, function(one) list(index = one$index, hash = leaf_hash(one$leaf)))

proven_rules <- function(value, manifest) {
  rules <- members_of(value, "The rules", "given path")
  stated <- members_of(parse_exact(manifest), "The manifest", "rules", and_others = TRUE)$rules
  head <- members_of(stated, "The rules of the manifest", "leaves root")
  given <- given_of(rules$given, "rule")
  what <- "The proof of the rules"
  size <- count_of(head$leaves, paste0(what, ": the size"), 1)
  found <- root_of_several(hashed(given), size, hashes_of(rules$path, what), what)
  demand(identical(hex_of(found), plain(head$root)), "The rules are not those of the manifest.")
  lapply(given, function(one) plain(structure(members_of(one$leaf, "A rule", "", and_others = TRUE), class = "json_object")))
}

proven_series <- function(value) {
  series <- members_of(value, "A series", "descriptor rows given path index")
  descriptor <- members_of(series$descriptor, "The descriptor", descriptor_members)
  indicator <- text_of(descriptor$indicator, "An indicator")
  count <- count_of(series$rows, "The number of rows", 1)
  given <- given_of(series$given, "row")
  what <- paste("The proof of", indicator)
  demand(all(vapply(given, function(one) one$index > 0, NA)), what, ": the descriptor is not the first leaf.")
  leaves <- hashed(c(list(list(index = 0, leaf = series$descriptor)), given))
  root <- hex_of(root_of_several(leaves, count + 1, hashes_of(series$path, what), what))
  rows <- lapply(given, function(one) row_of(one$leaf))
  codes <- vapply(rows, `[[`, "", "iso3")
  years <- vapply(rows, `[[`, 0, "year")
  is_ordered <- identical(order(codes, years, method = "radix"), seq_along(rows))
  demand(is_ordered && !anyDuplicated(paste(codes, years)), "The rows are not in order.")
  leaf <- structure(list(indicator = descriptor$indicator, rows = count, root = root), class = "json_object")
  list(
    indicator = indicator, descriptor = series$descriptor, count = count, rows = rows, codes = codes,
    years = years, indexes = vapply(given, `[[`, 0, "index"),
    leaf = list(index = count_of(series$index, paste0(what, ": the index"), 0), hash = leaf_hash(leaf))
  )
}

row_of <- function(value) {
  row <- members_of(value, "The row", row_members)
  if (!is.null(row$value)) demand(is.numeric(row$value), "A value is not a number.")
  list(
    iso3 = text_of(row$iso3, "A country"), year = year_of(row$year),
    value = if (is.null(row$value)) NA_real_ else as.double(row$value),
    status = if (is.null(row$status)) NA_character_ else text_of(row$status, "A status"),
    projected = isTRUE(row$projected)
  )
}

year_of <- function(value) {
  demand(is.numeric(value) && value == trunc(value), "A year is not a year.")
  as.double(value)
}

recipe_of <- function(value) {
  recipe <- members_of(value, "The recipe", "indicator place year transform aggregate")
  is_known <- is.null(recipe$aggregate) || identical(unclass(recipe$aggregate), "declared")
  demand(is_known, "The figures of members become one otherwise.")
  list(
    indicator = text_of(recipe$indicator, "The indicator"), place = text_of(recipe$place, "The place"),
    year = year_of(recipe$year), is_declared = !is.null(recipe$aggregate),
    transform = vapply(list_of(recipe$transform, "The transforms"), text_of, "", "A transform")
  )
}

# What a receipt holds of an edition. Each part refuses where it does not know.
held_of <- function(rules, series) {
  find <- function(member, value, message) {
    found <- Find(function(rule) member %in% names(rule) && (is.null(value) || identical(rule[[member]], value)), rules)
    if (is.null(found)) refuse(message)
    found
  }
  list(
    rule = function(id) find("indicator", id, paste0("What ", id, " measures is left out.")),
    members = function(group) {
      unlist(find("group", group, paste0("The members of @", group, " are left out."))$members)
    },
    territories = function() find("territories", NULL, "The territories are left out.")$territories,
    rows = function(id) {
      found <- Find(function(one) one$indicator == id, series)
      if (is.null(found)) refuse("The rows of ", id, " are left out.")
      found
    }
  )
}

row_at <- function(rows, index) {
  at <- match(index, rows$indexes)
  if (is.na(at)) refuse("Row ", index, " of a series is needed, and left out.")
  rows$rows[[at]]
}

# The last known row that is not after a country and year; 0 without any.
row_before <- function(rows, iso3, year) {
  ordered <- sort(unique(c(rows$codes, iso3)), method = "radix")
  is_before <- match(rows$codes, ordered) < match(iso3, ordered) | (rows$codes == iso3 & rows$years <= year)
  if (any(is_before)) max(rows$indexes[is_before]) else 0
}

rows_between <- function(rows, iso3, first, last) {
  found <- list()
  at <- row_before(rows, iso3, first)
  start <- if (at > 0) row_at(rows, at)
  if (is.null(start) || start$iso3 != iso3 || start$year != first) at <- at + 1
  while (at <= rows$count) {
    row <- row_at(rows, at)
    if (row$iso3 != iso3 || row$year > last) break
    found <- c(found, list(row))
    if (row$year == last) break
    at <- at + 1
  }
  found
}

# The row of the last own figure: that of the year, else the newest before it, else the first after it.
last_own_row <- function(rows, iso3, year) {
  own <- function(index) {
    row <- if (index > 0 && index <= rows$count) row_at(rows, index)
    if (!is.null(row) && row$iso3 == iso3) row
  }
  start <- at <- row_before(rows, iso3, year)
  earlier <- own(at)
  while (!is.null(earlier) && is.na(earlier$value)) {
    at <- at - 1
    earlier <- own(at)
  }
  if (!is.null(earlier) && earlier$year == year) return(earlier)
  at <- start + 1
  later <- own(at) # looked at in any case: it shows that the year has no row
  if (!is.null(earlier)) return(earlier)
  while (!is.null(later) && is.na(later$value)) {
    at <- at + 1
    later <- own(at)
  }
  later
}

# --- the figure, once more --------------------------------------------------------------------------------------------

recompute <- function(recipe, held) {
  rule <- held$rule(recipe$indicator)
  is_group <- startsWith(recipe$place, "@")
  demand(is_group == recipe$is_declared, "aggregate is of groups alone.")
  transforms <- judged(recipe, rule, is_group, held)
  if (!is_group) {
    found <- figure_at(country_figures(rule, recipe, transforms, held), recipe$year)
    return(c(found[c("value", "status", "projected")], list(counted = NULL, coverage = NULL)))
  }
  by <- if (length(transforms) > 0) divisor_of(transforms[[1]], rule)
  group <- group_history(rule, substring(recipe$place, 2), years_taken(transforms, recipe$year), held, by = by)
  history <- group$history
  for (one in transforms) {
    if (!is.null(by) && one$name %in% divisions) {
      divisors <- lapply(group$figures, function(of) figure(of$divisor))
      scales <- c(rule$scale, held$rule(by)$scale)
      history <- transformed(history, one, history_of(history$years, divisors), scales)
    } else {
      history <- transformed(history, one)
    }
  }
  of_year <- group$figures[[as.character(recipe$year)]]
  found <- figure_at(history, recipe$year)[c("value", "status", "projected")]
  if (is.null(of_year)) return(c(found, list(counted = 0, coverage = 0)))
  c(found, of_year[c("counted", "coverage")])
}

# The transforms, where each makes sense for the result of those before it.
judged <- function(recipe, rule, is_group, held) {
  demand(length(recipe$transform) <= 2, "At most two transforms are applied, one after the other.")
  transforms <- lapply(recipe$transform, parse_transform)
  names <- vapply(transforms, `[[`, "", "name")
  is_divided_first <- rule$aggregate == "sum" && length(names) > 0 && names[1] %in% c("per_head", "per")
  of_groups <- if (is_divided_first) names[-1] else names
  is_fit <- rule$aggregate != "none" && all(of_groups %in% c("change", "growth", "index", "mean"))
  demand(!is_group || is_fit, "Figures of groups are not derived so.")
  measured <- rule[c("measure", "aggregate", "population")]
  for (one in transforms) {
    measured <- result_measure(one, measured, if (one$name == "per") held$rule(one$of))
    if (is.null(measured)) refuse(paste(recipe$transform, collapse = ","), " is not defined for ", recipe$indicator, ".")
  }
  transforms
}

# The series that a transform divides by, if it does.
divisor_of <- function(one, rule) switch(one$name, per = one$of, per_head = rule$population)

# The years of a series that a chain of transforms takes for one year, ascending.
years_taken <- function(transforms, year) {
  years <- year
  for (one in rev(transforms)) {
    years <- unlist(lapply(years, function(year) {
      switch(one$name,
        change = , growth = c(year - one$number, year),
        index = c(one$number, year),
        mean = seq(year - one$number + 1, year),
        year
      )
    }))
  }
  sort(unique(years))
}

country_figures <- function(rule, recipe, transforms, held) {
  iso3 <- recipe$place
  taken <- years_taken(transforms, recipe$year)
  history <- country_history(rule, iso3, taken, held)
  for (at in seq_along(transforms)) {
    one <- transforms[[at]]
    divisor <- divisor_of(one, rule)
    if (one$name == "share") {
      demand(iso3 %in% held$members(one$of), iso3, " is no member.")
      whole <- group_history(rule, one$of, taken, held, least = share_coverage)$history
      history <- transformed(history, one, Reduce(transformed, transforms[seq_len(at - 1)], whole))
    } else if (!is.null(divisor)) {
      by <- held$rule(divisor)
      figures <- country_history(by, iso3, years_taken(transforms[at:length(transforms)], recipe$year), held)
      history <- transformed(history, one, figures, c(rule$scale, by$scale))
    } else {
      history <- transformed(history, one)
    }
  }
  history
}

# All years from the first to the last: the series may break in any of them.
country_history <- function(rule, iso3, years, held) {
  rows <- rows_between(held$rows(rule$indicator), iso3, years[1], years[length(years)])
  figures <- lapply(rows, function(row) figure(row$value, status = row$status, projected = row$projected))
  own <- vapply(rows, `[[`, 0, "year")
  found <- unlist(lapply(rule$breaks, function(one) {
    if (!is.null(one$iso3) && one$iso3 != iso3) return(NULL)
    # A slip is left again in the year after it.
    if (one$kind == "decimal_slip") c(one$year, one$year + 1) else one$year
  }))
  told <- vapply(figures, function(of) "break" %in% strsplit(paste(of$status), ", ", fixed = TRUE)[[1]], NA)
  history_of(own, figures, c(found, own[told]))
}

# The figures of a group in some years, as those of a place. `least`: below that coverage there is none; `by`: a series
# that they are divided by.
group_history <- function(rule, group, years, held, least = 0, by = NULL) {
  method <- if (rule$aggregate == "mean") "mean" else "sum"
  territories <- held$territories()
  weighed <- c(rule$indicator, if (method == "mean") rule$divisor, by)
  containments <- unlist(lapply(weighed, function(of) containments_of(territories, of)), recursive = FALSE)
  figures <- list()
  counted <- list()
  for (year in years) {
    members <- group_members(rule, method, held$members(group), year, held, by)
    found <- group_figure(method, members, year, containments)
    if (is.null(found)) next
    label <- as.character(year)
    figures[[label]] <- found
    own <- Filter(function(one) !is.null(one$figures) && one$figures$year == year, members)
    if (!is.null(by)) own <- Filter(function(one) counts_in(method, one, year), own)
    counted[[label]] <- paste(vapply(own, `[[`, "", "iso3"), collapse = " ")
  }
  places <- lapply(figures, function(of) {
    if (is.na(of$value)) return(figure(reason = of$reason, projected = of$projected))
    if (of$coverage < least) return(figure(reason = "coverage", projected = of$projected))
    figure(of$value, projected = of$projected)
  })
  history <- history_of(as.numeric(names(figures)), places, counted = if (least == 0) counted)
  list(history = history, figures = figures)
}

# Of a sum, the population only counts where a member never had a figure.
group_members <- function(rule, method, codes, year, held, by) {
  rows <- held$rows(rule$indicator)
  members <- lapply(codes, function(iso3) {
    own <- last_own_row(rows, iso3, year)
    has_own <- !is.null(by) && !is.null(own) && own$year == year
    list(
      iso3 = iso3, figures = own, is_divided = !is.null(by),
      by = if (has_own) c(rows_between(held$rows(by), iso3, year, year), list(NULL))[[1]]
    )
  })
  is_weighed <- method == "mean" || any(vapply(members, function(one) is.null(one$figures), NA))
  if (!is_weighed || is.null(rule$divisor)) return(members)
  divisors <- held$rows(rule$divisor)
  lapply(members, function(one) c(one, list(divisors = last_own_row(divisors, one$iso3, year))))
}

compare_figure <- function(recipe, found, stated) {
  demand(!is.na(found$value) && is.numeric(stated$value), "There is no such figure.")
  takes_root <- any(startsWith(recipe$transform, "growth:") & recipe$transform != "growth:1")
  tolerance <- if (takes_root) root_tolerance * abs(found$value) else 0
  is_same <- abs(as.double(stated$value) - found$value) <= tolerance
  demand(is_same, "The figure was altered: it is ", format(found$value, digits = 17), ", not ", canonical(stated$value), ".")
  for (name in c("status", "projected", "counted", "coverage")) {
    own <- found[[name]]
    if (length(own) > 0 && is.na(own)) own <- NULL
    other <- plain(stated[[name]])
    demand(identical(own, other), "The figure has another ", name, ".")
  }
}
