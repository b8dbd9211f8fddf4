--- Integers between this runtime and the other one: a process each.
local inside = require("spec.support.inside")
local json = require("operations.base.json")
local operations = require("operations")
local process = require("operations.net.process")
local redis = require("spec.support.redis")

local EDGES = { "-9223372036854775808", "-9007199254740993", "-9007199254740992", "9007199254740992",
  "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615" }

local this = package.cpath:match("build/([%w.]+)[^/]*/%?%.so") or "lua5.4"
local other = this == "luajit" and "lua5.4" or "luajit"
local cpath = package.cpath:gsub("build/[^/]+/%?%.so", "build/" .. other .. "/?.so")

local function missing()
  local built = io.open("build/" .. other .. "/operations/core.so")
  if built then
    built:close()
  end
  return not inside.has(other) and other .. " is not installed" or not built and "not built for " .. other
    or os.getenv("LD_PRELOAD") and "a sanitizer is for this runtime only" or nil
end

local function serve(...)
  local words = { other, "spec/support/exact_server.lua", ... }
  words.env = { LUA_PATH = package.path, LUA_CPATH = cpath }
  local server = assert(process.spawn(words))
  return server, assert(server:read_line())
end

local function exchange(transport)
  local map = operations.call_map(assert(transport), { log = function() end })
  for _, text in ipairs(EDGES) do
    local envelope = assert(map:call("exact.id", { id = assert(json.decode(text)) }))
    assert.equal(text, json.encode(envelope.data))
  end
  local _, err = map:call("exact.id", { id = "9007199254740993" })
  assert.equal("VALIDATION_ERROR", err.code)
  map:close()
end

describe("integers of 64 bits between " .. this .. " and " .. other, function()
  local why = missing()
  if why then
    pending("come back as they were: " .. why)
    return
  end
  local store = redis.around(setup, teardown)

  it("come back as they were over WebSocket", function()
    operations.run(function()
      local server, url = serve("websocket")
      exchange(operations.transports.websocket(url))
      server:stop({ close = 0 })
    end)
  end)

  for _, mode in ipairs({ "fast", "reliable" }) do
    it("come back as they were over Redis, " .. mode, function()
      operations.run(function()
        local server = serve("redis", store.url, mode)
        exchange(operations.transports.redis(store.url, { mode = mode }))
        server:stop({ close = 0 })
      end)
    end)
  end
end)

it("integers of 64 bits come back as they were in process", function()
  operations.run(function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "exact", name = "id", inputSchema = { type = "object" },
      outputSchema = { type = "integer" }, handler = function(input)
        return input.id
      end }))
    local map = operations.call_map()
    operations.call_handler(registry, map)
    for _, text in ipairs(EDGES) do
      assert.equal(text, json.encode(assert(map:call("exact.id", { id = json.decode(text) })).data))
    end
  end)
end)
