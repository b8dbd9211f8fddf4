local middleware = require("operations").middleware
local raises = require("spec.support.raises")

-- A call of `make` in a line of this file.
local function call(make, first, second)
  return function()
    local made = make(first, second)
    return made
  end
end

describe("middleware with invalid arguments", function()
  it("names the argument or option, and the line of the program", function()
    raises({
      ["bad argument #1 to 'breaker' (table expected, got number)"] = call(middleware.breaker, 1),
      ["bad option 'size' to 'breaker' (unknown)"] = call(middleware.breaker, { size = 1 }),
      ["bad option 'failures' to 'breaker' (integer from 1 on expected, got 0)"] =
        call(middleware.breaker, { failures = 0 }),
      ["bad option 'failures' to 'breaker' (no more than 'of' expected)"] =
        call(middleware.breaker, { failures = 3, of = 2 }),
      ["bad option 'by' to 'breaker' (\"identity\", \"address\", \"operation\" or \"namespace\" expected, got \"x\")"] =
        call(middleware.breaker, { by = "x" }),
      ["bad argument #1 to 'cache' (table expected, got number)"] = call(middleware.cache, 1),
      ["bad option 'size' to 'cache' (unknown)"] = call(middleware.cache, { size = 1 }),
      ["bad option 'ttl' to 'cache' (0 or more expected, got -1)"] = call(middleware.cache, { ttl = -1 }),
      ["bad argument #1 to 'concurrency' (table expected, got number)"] = call(middleware.concurrency, 1),
      ["bad option 'max' to 'concurrency' (unknown)"] = call(middleware.concurrency, { max = 1 }),
      ["bad option 'limit' to 'concurrency' (integer from 1 on expected, got 0)"] =
        call(middleware.concurrency, { limit = 0 }),
      ["bad option 'by' to 'concurrency' (\"identity\", \"address\", \"operation\" or \"namespace\" expected, "
        .. "got \"x\")"] = call(middleware.concurrency, { by = { "operation", "x" } }),
      ["bad argument #1 to 'confirm' (function expected, got nil)"] = call(middleware.confirm),
      ["bad argument #2 to 'confirm' (table expected, got number)"] = call(middleware.confirm, print, 1),
      ["bad option 'all' to 'confirm' (unknown)"] = call(middleware.confirm, print, { all = true }),
      ["bad option 'memory' to 'confirm' (table expected, got number)"] =
        call(middleware.confirm, print, { memory = 1 }),
      ["bad argument #2 to 'confirm' (memory of approvals expected, got table)"] =
        call(middleware.confirm, print, { memory = {} }),
      ["bad argument #1 to 'log' (function expected, got string)"] = call(middleware.log, "file"),
      ["bad argument #1 to 'metrics' (table expected, got number)"] = call(middleware.metrics, 1),
      ["bad option 'size' to 'metrics' (unknown)"] = call(middleware.metrics, { size = 1 }),
      ["bad option 'buckets' to 'metrics' (rising numbers above 0 expected)"] =
        call(middleware.metrics, { buckets = { 2, 1 } }),
      ["bad argument #1 to 'only' (table expected, got number)"] = call(middleware.only, 1, {}),
      ["bad argument #2 to 'only' (table expected, got nil)"] = call(middleware.only, {}),
      ["bad option 'tags' to 'only' (unknown; did you mean tag?)"] = call(middleware.only, { tags = "x" }, {}),
      ["bad argument #2 to 'only' (middleware expected at [2], got number)"] =
        call(middleware.only, {}, { middleware.cache(), 2 }),
      ["bad argument #1 to 'rate_limit' (table expected, got nil)"] = call(middleware.rate_limit),
      ["bad option 'size' to 'rate_limit' (unknown)"] = call(middleware.rate_limit, { rate = 1, size = 1 }),
      ["bad option 'rate' to 'rate_limit' (calls above 0 expected, got 0)"] = call(middleware.rate_limit, { rate = 0 }),
      ["bad option 'store' to 'rate_limit' (a shared dictionary of nginx or middleware.redis(url) expected)"] =
        call(middleware.rate_limit, { rate = 1, store = {} }),
      ["bad option 'by' to 'rate_limit' (\"identity\", \"address\", \"operation\" or \"namespace\" expected, "
        .. "got \"x\")"] = call(middleware.rate_limit, { rate = 1, by = "x" }),
      ["bad argument #1 to 'retry' (table expected, got number)"] = call(middleware.retry, 3),
      ["bad option 'tries' to 'retry' (unknown)"] = call(middleware.retry, { tries = 1 }),
      ["bad option 'attempts' to 'retry' (1 to 100 expected, got 0)"] = call(middleware.retry, { attempts = 0 }),
      ["bad option 'x' to 'retry' (unknown)"] = call(middleware.retry, { budget = { x = 1 } }),
      ["bad argument #1 to 'timeout' (ms from 1 on expected, got 0.5)"] = call(middleware.timeout, 0.5),
      ["bad argument #1 to 'trace' (function expected, got nil)"] = call(middleware.trace),
      ["bad argument #2 to 'trace' (table expected, got number)"] = call(middleware.trace, print, 1),
      ["bad option 'share' to 'trace' (unknown)"] = call(middleware.trace, print, { share = 1 }),
      ["bad option 'sample' to 'trace' (0 to 1 expected, got 2)"] = call(middleware.trace, print, { sample = 2 }),
    }, "middleware/misuse_spec.lua:")
  end)
end)
