#!/usr/bin/env lua
--- The program `operations`; its code is in operations.cli.
local runtime = require("operations.base.runtime") -- checks the runtime
local system = runtime.load("operations.system")
system.open_standard_descriptors() -- before anything opens a file
system.catch_signals() -- early: loading the rest takes most of a short call's time
os.exit(require("operations.cli").main(arg), true)
