--- Calls per second through an operation of an OpenAPI document, input checked and answer cast, beside the same
--- requests bare and two clients of npm (openapi_calls_peer.mjs), against nginx on loopback.
package.path = "./?.lua;" .. package.path
local http = require("operations.net.http")
local json = require("operations.base.json")
local measure = require("spec.bench.measure")
local operations = require("operations")
local test_server = require("spec.support.server")

local SECONDS = 0.5 -- of one measurement
local REPETITIONS = 5

local document = {
  openapi = "3.0.3", info = { title = "small", version = "1" },
  paths = { ["/small"] = { get = { operationId = "small",
    parameters = {
      { name = "done", ["in"] = "query", schema = { type = "boolean" } },
      { name = "limit", ["in"] = "query", schema = { type = "integer", minimum = 1 } },
    },
    responses = { ["200"] = { description = "", content = { ["application/json"] = { schema = {
      type = "object", required = { "id", "title", "done" },
      properties = { id = { type = "integer" }, title = { type = "string" }, done = { type = "boolean" } },
    } } } } },
  } } },
}

local function peer(name, path, url)
  return function(concurrency)
    local command = "node spec/bench/openapi_calls_peer.mjs %s %s %s %d %g"
    local pipe = assert(io.popen(command:format(name, path, url, concurrency, SECONDS)))
    local calls, cpu = pipe:read("*n", "*n")
    pipe:close()
    return calls, cpu
  end
end

local function ours(url)
  local registry = operations.registry()
  assert(registry:register_all(assert(operations.from_openapi.document(document, { base_url = url }))))
  return function(concurrency)
    return measure.rate(concurrency, SECONDS, function()
      assert(registry:execute("small.small", { done = true, limit = 20 }).data.id == 1)
    end)
  end
end

local function bare(url)
  return function(concurrency)
    return measure.rate(concurrency, SECONDS, function()
      assert(#http.request({ url = url .. "/small?done=true&limit=20" }).body == 46)
    end)
  end
end

local server, path = test_server.start(), os.tmpname()
local file = assert(io.open(path, "w"))
file:write(json.encode(document))
file:close()
local names = { "operations", "operations.http, bare", "swagger-client", "openapi-client-axios" }
local runs = {
  ours(server.url), bare(server.url), peer(names[3], path, server.url), peer(names[4], path, server.url),
}
for _, concurrency in ipairs({ 1, 64 }) do
  local found = measure.best(REPETITIONS, runs, concurrency)
  for i, result in ipairs(found) do
    print(("%2d at a time  %-22s %6.0f calls/s %6.1f us CPU   ours %5.2f times that, in CPU %5.2f"):format(concurrency,
      names[i], result.rate, result.cpu, found[1].rate / result.rate, result.cpu / found[1].cpu))
  end
end
os.remove(path)
server:stop()
