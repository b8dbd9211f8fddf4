--- A large document (GitHub's, 13 MB) ready for its first call: time beside a bare decode of its text, and what an
--- operation costs that nobody calls, beside two clients of npm (openapi_peer.mjs) in the same run.
package.path = "./spec/bench/?.lua;" .. package.path
local json = require("operations.base.json")
local measure = require("measure")
local operations = require("operations")
local usage = require("spec.support.usage")

local path = assert(os.getenv("OPENAPI_DOCUMENT"), "OPENAPI_DOCUMENT is to name the document")
local REPETITIONS = 7

local function read()
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function decode()
  return assert(json.decode(read()))
end

local answer = { status = 200, headers = { ["content-type"] = "application/json" }, body = "{}" }

--- From the file to the answer of a call.
local function first_call()
  local list = assert(operations.from_openapi.file(path, { namespace = "api", http = {
    request = function() return answer end,
  } }))
  local registry = operations.registry({ on_warning = function() end })
  assert(registry:register_all(list))
  assert(registry:execute("api.meta_root"))
  return registry, #list
end

local function milliseconds(fn)
  local times = {}
  for i = 1, REPETITIONS do
    usage.collect()
    local start = os.clock()
    fn()
    times[i] = (os.clock() - start) * 1000
  end
  return measure.median(times)
end

local function made(registry)
  local start = os.clock()
  local specs, flaws = registry:specs()
  assert(#flaws == 0)
  return (os.clock() - start) * 1000, #specs
end

local function peer(name)
  local pipe = assert(io.popen(("node --expose-gc spec/bench/openapi_peer.mjs %s '%s'"):format(name, path)))
  local text = pipe:read("*a")
  pipe:close()
  return assert(json.decode(text))
end

local function row(name, decoded, ready, operation, whole)
  print(("%-22s %6.0f ms decode %6.0f ms to the first call  ratio %5.2f   %6.1f KB an idle operation, %4.0f MB in all")
    :format(name, decoded, ready, ready / decoded, operation, whole))
end

local decoded, ready = milliseconds(decode), milliseconds(first_call)
local empty = usage.heap()
local kept = decode()
local bare = usage.heap() - empty
assert(kept.paths)
kept = nil -- luacheck: ignore 311
empty = usage.heap()
local registry, count = first_call()
local whole = usage.heap() - empty
row("operations", decoded, ready, (whole - bare) / count, whole / 1024)
for _, name in ipairs({ "swagger-client", "openapi-client-axios" }) do
  local its = peer(name)
  row(name, its.decode, its.ready, its.operation, its.whole)
end
print(("ratio to reach: at most 2;  all %d schemas made and compiled: %.0f ms"):format(count, (made(registry))))
