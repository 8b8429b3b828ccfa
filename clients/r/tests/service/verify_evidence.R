# Verifies receipts: a file with a JSON list of {receipt, keys, rows?, since?, consistency?}, each a file in base64. Prints
# a line for each: `accepted`, or `refused: ` and why.
library(almanacdata)

package <- asNamespace("almanacdata")

verify <- function(files) {
  verified <- alm_verify_receipt(files$receipt, files$keys)
  if (!is.null(files$rows)) alm_verify_rows(verified, files$rows)
  if (is.null(files$since)) return()
  note <- rawToChar(files$since)
  Encoding(note) <- "UTF-8"
  kept <- package$read_checkpoint(note, package$keys_of(files$keys))
  package$verify_one_log(kept, verified$checkpoint, files$consistency)
}

for (evidence in jsonlite::read_json(commandArgs(trailingOnly = TRUE)[1])) {
  outcome <- tryCatch(
    {
      verify(lapply(evidence, openssl::base64_decode))
      "accepted"
    },
    almanac_refused = function(error) paste("refused:", gsub("[^ -~]", "?", conditionMessage(error)))
  )
  cat(outcome, "\n", sep = "")
}
