--- Calls per second of a GraphQL service's field, input checked and query printed from its selection, beside
--- graphql-request of npm, which sends a given text (graphql_peer.mjs), against nginx on loopback. Then the CPU time
--- from GitHub's SDL to the first query, beside graphql-js.
package.path = "./?.lua;" .. package.path
local measure = require("spec.bench.measure")
local operation = require("operations.graphql.operation")
local operations = require("operations")
local test_server = require("spec.support.server")

local SECONDS = 0.5 -- of one measurement
local REPETITIONS = 5

local SDL = [[
  type Query { task(id: ID!): Task }
  type Task { id: ID! title: String owner: User }
  type User { login: String }
]]
local packages = assert(os.getenv("GRAPHQL_PACKAGES"), "GRAPHQL_PACKAGES: make bench sets it")
local github = packages .. "/@octokit/graphql-schema/schema.graphql"

local function peer(...)
  local words = { "node spec/bench/graphql_peer.mjs", ... }
  local pipe = assert(io.popen(table.concat(words, " ")))
  local first, second = pipe:read("*n", "*n")
  pipe:close()
  return first, second
end

local function ours(url)
  local registry = operations.registry()
  assert(registry:register_all(assert(operations.from_graphql.document(SDL, { endpoint = url }))))
  return function(concurrency)
    return measure.rate(concurrency, SECONDS, function()
      assert(registry:execute("graphql.task", { id = 1, select = "id title owner { login }" }).data.id == "1")
    end)
  end
end

local server = test_server.start()
local url = server.url .. "/graphql/bench"
local names = { "operations", "graphql-request" }
local runs = { ours(url), function(concurrency)
  return peer("calls", url, concurrency, SECONDS)
end }
for _, concurrency in ipairs({ 1, 64 }) do
  local found = measure.best(REPETITIONS, runs, concurrency)
  for i, result in ipairs(found) do
    print(("%2d at a time  %-15s %6.0f calls/s %6.1f us CPU   ours %5.2f times that, in CPU %5.2f"):format(concurrency,
      names[i], result.rate, result.cpu, found[1].rate / result.rate, result.cpu / found[1].cpu))
  end
end
server:stop()

-- The query of github.repository, from the text of the schema.
local function first_query()
  local definitions = assert(operations.from_graphql.file(github))
  for _, definition in ipairs(definitions) do
    if definition.name == "repository" then
      return assert(operation.plan_of(definition.handler).request({ owner = "a", name = "b" })).query
    end
  end
end

local times = {}
for i = 1, REPETITIONS do
  collectgarbage()
  local start = os.clock()
  first_query()
  times[i] = (os.clock() - start) * 1000
end
local mine, theirs = measure.median(times), (peer("schema", github))
print(("GitHub's SDL to the first query: %.0f ms of CPU; graphql-js (parse, build, validate): %.0f   %.1f times that")
  :format(mine, theirs, theirs / mine))
