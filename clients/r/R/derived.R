# Derived figures: the arithmetic of the service. IEEE doubles, only +, -, * and / in the order in which the formulas
# stand: the same bits; mean growth over several years, which takes a root, within 1e-12.

# From the strongest to the weakest; a figure without a status is stronger than all, what is in no list weaker.
statuses <- c(
  "reported", "revised", "break", "definition differs", "included elsewhere", "includes another category", "adjusted",
  "special event", "provisional", "unvalidated", "estimated", "imputed", "modelled", "reanalysed",
  "external reanalysis", "partial", "less than", "derogation", "experimental", "low reliability", "not significant",
  "excluded", "suppressed", "not collected", "not applicable", "missing", "projection", "forecast", "predicted"
)

transform_pattern <- paste0(
  "^(?:(change|growth)(?::([1-9][0-9]?|100))?|(mean):([1-9][0-9]?|100)|(index):([0-9]{4})|(per_head)",
  "|(per):([^\\s:]{1,255})|(share):@?([a-z0-9-]{1,64}))\\z"
)
divisions <- c("per_head", "per", "share")
growing <- c("count", "amount", "ratio", "price", "index")
decided <- c(growing, "rate", "duration", "score", "growth")

# --- transforms, and for what each is defined -------------------------------------------------------------------------

parse_transform <- function(text) {
  parts <- regmatches(text, regexec(transform_pattern, text, perl = TRUE))[[1]][-1]
  if (length(parts) == 0) refuse("\"", text, "\" is no transform.")
  given <- parts[nzchar(parts)]
  name <- given[1]
  argument <- if (length(given) > 1) given[2] else if (name %in% c("change", "growth")) "1"
  is_number <- name %in% c("change", "growth", "mean", "index")
  list(name = name, number = if (is_number) as.numeric(argument), of = if (!is_number) argument)
}

# What the result measures, a list of `measure`, `aggregate` and `population`; NULL where the transform is not defined.
result_measure <- function(one, of, by) {
  ratio <- function(measure) list(measure = measure, aggregate = "none", population = NULL)
  switch(one$name,
    change = if (of$measure %in% decided) list(measure = of$measure, aggregate = "none", population = of$population),
    mean = if (of$measure %in% decided) of,
    growth = ,
    index = if (of$measure %in% growing) ratio(one$name),
    per_head = if (!is.null(of$population)) ratio("ratio"),
    share = if (of$aggregate == "sum") ratio("rate"),
    per = if (all(c(of$measure, by$measure) %in% c("count", "amount"))) ratio("ratio")
  )
}

# --- figures by year --------------------------------------------------------------------------------------------------

figure <- function(value = NA_real_, reason = NA_character_, status = NA_character_, projected = FALSE) {
  list(value = value, reason = reason, status = status, projected = projected)
}

# `figures`: by year as text. `breaks`: years from which on the level is another. `counted`: who counts in a group, by year.
history_of <- function(years, figures, breaks = numeric(), counted = NULL) {
  list(years = years, figures = stats::setNames(figures, as.character(years)), breaks = breaks, counted = counted)
}

figure_at <- function(history, year) {
  found <- history$figures[[as.character(year)]]
  if (is.null(found)) figure() else found
}

breaks_between <- function(history, one, other) {
  any(min(one, other) < history$breaks & history$breaks <= max(one, other))
}

# The same years. `by`: what is divided by. `scales`: powers of ten of the figures and of a population.
transformed <- function(history, one, by = history_of(numeric(), list()), scales = c(0, 0)) {
  make <- function(year) {
    if (one$name %in% divisions) return(quotient(figure_at(history, year), figure_at(by, year), one$name, scales))
    if (one$name == "mean") mean_of(history, one, year) else compared(history, one, year)
  }
  history$figures[] <- lapply(history$years, make)
  if (one$name %in% divisions) history$breaks <- c(history$breaks, by$breaks)
  history
}

compared <- function(history, one, year) {
  base_year <- if (one$name == "index") one$number else year - one$number
  now <- figure_at(history, year)
  base <- figure_at(history, base_year)
  inputs <- if (base_year < year) list(base, now) else list(now, base)
  if (is.na(now$value)) return(without(now$reason, "gap", inputs))
  if (is.na(base$value)) return(without(base$reason, "no_base", inputs))
  if (breaks_between(history, base_year, year)) return(without("break", inputs = inputs))
  counts_at <- function(at) history$counted[[as.character(at)]]
  if (!identical(counts_at(year), counts_at(base_year))) return(without("coverage", inputs = inputs))
  if (one$name == "change") return(made(now$value - base$value, inputs))
  if (base$value == 0) return(without("zero", inputs = inputs))
  is_negative <- base$value < 0 || (one$name == "growth" && now$value <= 0)
  if (is_negative) return(without("not_positive", inputs = inputs))
  if (one$name == "index") return(made(100 * (now$value / base$value), inputs))
  if (one$number == 1) return(made(100 * ((now$value - base$value) / base$value), inputs))
  made(100 * ((now$value / base$value)^(1 / one$number) - 1), inputs)
}

mean_of <- function(history, one, last) {
  first <- last - one$number + 1
  inputs <- lapply(first:last, function(year) figure_at(history, year))
  values <- vapply(inputs, `[[`, 0, "value")
  missing <- which(is.na(values))
  if (length(missing) > 0) return(without(inputs[[missing[1]]]$reason, "gap", inputs))
  if (breaks_between(history, first, last)) return(without("break", inputs = inputs))
  made(added(values) / one$number, inputs)
}

# One by one: `sum` takes a wider sum, and gives other bits.
added <- function(values) Reduce(`+`, values, 0)

quotient <- function(figure, by, name, scales) {
  inputs <- list(figure, by)
  if (is.na(figure$value)) return(without(figure$reason, "gap", inputs))
  if (is.na(by$value)) return(without(by$reason, "no_base", inputs))
  if (by$value == 0) return(without("zero", inputs = inputs))
  if (by$value < 0) return(without("not_positive", inputs = inputs))
  if (name == "share") return(made(100 * (figure$value / by$value), inputs))
  difference <- if (name == "per_head") scales[1] - scales[2] else 0
  power <- doubles_of(paste0("1e", abs(difference)))
  value <- figure$value / by$value
  made(if (difference < 0) value / power else value * power, inputs)
}

made <- function(value, inputs) {
  if (is.finite(value)) marked(figure(value), inputs) else without("overflow", inputs = inputs)
}

without <- function(reason, otherwise = NA_character_, inputs) {
  marked(figure(reason = if (is.na(reason)) otherwise else reason), inputs)
}

# The status of the weakest, of equally weak ones the first, and whether one is projected.
marked <- function(figure, inputs) {
  weakness <- vapply(inputs, function(input) {
    if (is.na(input$status)) return(0)
    max(match(strsplit(input$status, ", ", fixed = TRUE)[[1]], statuses, nomatch = length(statuses) + 1))
  }, 0)
  figure$status <- inputs[[which.max(weakness)]]$status
  figure$projected <- any(vapply(inputs, `[[`, NA, "projected"))
  figure
}

# --- figures of groups ------------------------------------------------------------------------------------------------

# What holds for one series: its own rows decide, else those of its provider, else those of all.
containments_of <- function(territories, indicator) {
  provider <- sub("[.].*", "", indicator)
  ranked <- unlist(lapply(c(indicator, provider, "*"), function(of) {
    Filter(function(row) identical(row$provider, of), territories)
  }), recursive = FALSE)
  deciding <- list()
  for (row in rev(ranked)) deciding[[paste(row$parent, row$child)]] <- row$provider
  Filter(function(row) identical(deciding[[paste(row$parent, row$child)]], row$provider), ranked)
}

own_value <- function(row, year) if (is.null(row) || row$year != year) NA_real_ else row$value
last_value <- function(row) if (is.null(row) || is.na(row$value)) 0 else row$value
is_projected <- function(row, year) !is.null(row) && row$year == year && row$projected

# Whether a member has all that a figure of the year takes.
counts_in <- function(method, member, year) {
  if (is.na(own_value(member$figures, year))) return(FALSE)
  if (member$is_divided && is.na(own_value(member$by, year))) return(FALSE)
  method == "sum" || isTRUE(own_value(member$divisors, year) > 0)
}

# The figure of one year by `sum` or `mean`; NULL where no member has one.
group_figure <- function(method, members, year, containments) {
  counting <- Filter(function(one) counts_in(method, one, year), members)
  codes <- vapply(counting, `[[`, "", "iso3")
  holds <- Filter(function(one) {
    is_in <- (is.null(one$from) || one$from <= year) && (is.null(one$to) || year <= one$to)
    is_in && one$parent %in% codes
  }, containments)
  within <- unlist(lapply(holds, function(one) if (isTRUE(one$contained)) one$child))
  once <- Filter(function(one) !one$iso3 %in% within, members)
  counted <- Filter(function(one) counts_in(method, one, year), once)
  if (length(counted) == 0) return(NULL)
  found <- (if (method == "sum") sum_figure else mean_figure)(once, counted, year)
  coverage <- if (is.finite(found$share)) floor(found$share * 1e6 + 0.5) / 1e6 else 0
  is_undecided <- any(vapply(holds, function(one) is.null(one$contained) && one$child %in% codes, NA))
  is_covered <- coverage * 3 >= 2 && is.finite(found$value)
  reason <- if (is_undecided) "territory" else if (!is_covered) "coverage" else NA_character_
  divisor <- if (any(vapply(once, `[[`, NA, "is_divided"))) {
    added(vapply(counted, function(one) own_value(one$by, year), 0))
  }
  list(
    value = if (is.na(reason)) found$value else NA_real_, reason = reason, counted = as.double(length(counted)),
    coverage = coverage, projected = found$projected, divisor = divisor
  )
}

# Covers the share of the last own figures that is there, times that of the people whose country ever has one.
sum_figure <- function(members, counted, year) {
  known <- Filter(function(one) !is.null(one$figures), members)
  people <- function(some) added(vapply(some, function(one) max(last_value(one$divisors), 0), 0))
  values <- vapply(counted, function(one) own_value(one$figures, year), 0)
  expected <- added(abs(vapply(known, function(one) last_value(one$figures), 0)))
  share <- if (expected > 0) added(abs(values)) / expected else length(counted) / length(known)
  everybody <- people(members)
  projected <- vapply(counted, function(one) is_projected(one$figures, year) || is_projected(one$by, year), NA)
  list(
    value = added(values), share = if (everybody > 0) share * (people(known) / everybody) else share,
    projected = any(projected)
  )
}

# Covers the share of the last own weights that is there.
mean_figure <- function(members, counted, year) {
  expected <- added(vapply(members, function(one) max(last_value(one$divisors), 0), 0))
  values <- vapply(counted, function(one) own_value(one$figures, year), 0)
  weights <- vapply(counted, function(one) own_value(one$divisors, year), 0)
  projected <- vapply(counted, function(one) is_projected(one$figures, year) || is_projected(one$divisors, year), NA)
  list(
    value = added(weights * values) / added(weights),
    share = if (expected > 0) added(weights) / expected else 0, projected = any(projected)
  )
}
