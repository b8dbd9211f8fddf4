#!/usr/bin/env lua
--- The program `operations`; operations.cli is what it does.
os.exit(require("operations.cli").main(arg), true)
