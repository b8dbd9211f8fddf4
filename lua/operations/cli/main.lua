#!/usr/bin/env lua
--- The program `operations`; operations.cli is what it does.
require("operations.base.runtime") -- says which runtimes can load the rest
require("operations.system").catch_signals() -- first: loading the rest is most of what a short call takes
os.exit(require("operations.cli").main(arg), true)
