# Runs the examples of README.md as they stand, printing what a session would.
lines <- readLines(commandArgs(trailingOnly = TRUE)[1], encoding = "UTF-8")
starts <- which(lines == "```r")
ends <- vapply(starts, function(at) at + which(lines[-seq_len(at)] == "```")[1], 0)
code <- unlist(Map(function(from, to) lines[(from + 1):(to - 1)], starts, ends))
source(exprs = parse(text = code), echo = FALSE, print.eval = TRUE)
