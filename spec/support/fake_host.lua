--- The clock of operations.testing, for the library's own specs.
return require("operations.testing.clock")
