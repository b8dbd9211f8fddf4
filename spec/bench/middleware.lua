--- A call through five idle middlewares beside one without any, and one under a policy of 10,000 rules: nanoseconds of
--- CPU, what each adds.
package.path = "./spec/bench/?.lua;" .. package.path
local measure = require("measure")
local operations = require("operations")

local middleware = operations.middleware

-- They do all they do for a call that succeeds; `breaker` and the like are never at their limits.
local makers = {
  { "timeout", function() return middleware.timeout(60000) end },
  { "retry", function() return middleware.retry() end },
  { "breaker", function() return middleware.breaker() end },
  { "concurrency", function() return middleware.concurrency() end },
  { "rate_limit", function() return middleware.rate_limit({ rate = 1e9, per = 1000 }) end },
  { "metrics", function() return middleware.metrics() end },
  { "trace", function() return middleware.trace(function() end) end },
  { "log", function() return middleware.log(function() end) end },
}

local identity = { id = "ada", scopes = {} }

local function nanoseconds(list, definition, policy)
  local registry = operations.registry({ middleware = list, policy = policy, log = function() end })
  local T = operations.type
  local given = { namespace = "bench", name = "add", type = "query", outputSchema = T.integer(),
    inputSchema = T.object({ a = T.integer(), b = T.integer() }),
    handler = function(input, _) return input.a + input.b end }
  for name, value in pairs(definition or {}) do
    given[name] = value
  end
  assert(registry:register(given))
  local context, input = { identity = identity }, { a = 1, b = 2 }
  assert(registry:execute("bench.add", input, context).data == 3)
  return measure.call(function(n)
    for _ = 1, n do
      registry:execute("bench.add", input, context)
    end
  end)
end

local none = nanoseconds({})
print(("%-32s %8.0f ns"):format("a call without middleware", none))
local five = {}
for i, maker in ipairs(makers) do
  five[i] = i <= 5 and maker[2]() or nil
end
local all = nanoseconds(five)
print(("%-32s %8.0f ns  %5.2f of it"):format("through five idle ones", all, all / none))
for _, maker in ipairs(makers) do
  local one = nanoseconds({ maker[2]() })
  print(("%-32s %8.0f ns  %+.0f"):format("  " .. maker[1] .. " alone", one, one - none))
end
local hit = nanoseconds({ middleware.cache({ ttl = 3600000 }) })
print(("%-32s %8.0f ns  %+.0f"):format("  cache alone, a hit", hit, hit - none))

local rules = {}
for i = 1, 10000 do
  rules[i] = { match = ("ns%d.*_%d"):format(i % 100, i), action = "block" }
end
local under = nanoseconds({}, nil, rules)
print(("%-32s %8.0f ns  %+.0f"):format("under a policy of 10,000 rules", under, under - none))
rules[1] = { match = "bench.*", action = "block", when = { required = { "force" } } }
local checked = nanoseconds({}, nil, rules)
print(("%-32s %8.0f ns  %+.0f"):format("  and a `when` that is checked", checked, checked - none))
