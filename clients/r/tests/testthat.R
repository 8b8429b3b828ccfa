library(testthat)
library(almanacdata)

test_check("almanacdata")
