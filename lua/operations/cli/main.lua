#!/usr/bin/env lua
--- The program `operations`; its code is in operations.cli.
local runtime = require("operations.base.runtime") -- checks the runtime
runtime.load("operations.system").catch_signals() -- first: loading the rest takes most of a short call's time
os.exit(require("operations.cli").main(arg), true)
