local operations = require("operations")
local raises = require("spec.support.raises")

-- A call of a function in a line of this file.
local function call(fn, ...)
  local first, second, third, fourth = ...
  return function()
    local result = fn(first, second, third, fourth)
    return result
  end
end

describe("calls with invalid arguments", function()
  local registry, map, PLACE = operations.registry(), operations.call_map(), "calls/misuse_spec.lua:"

  it("name the argument or option of a map, and the line of the program", function()
    raises({
      ["bad argument #1 to 'call_map' (transport expected, got number)"] = call(operations.call_map, 1),
      ["bad argument #2 to 'call_map' (table expected, got number)"] = call(operations.call_map, nil, 1),
      ["bad option 'log' to 'call_map' (function expected, got string)"] =
        call(operations.call_map, nil, { log = "x" }),
      ["bad option 'x' to 'call_map' (unknown)"] = call(operations.call_map, nil, { x = 1 }),
      ["calling 'call' on bad self (call map expected, got table)"] = call(map.call, {}, "a.b"),
      ["calling 'subscribe' on bad self (call map expected, got table)"] = call(map.subscribe, {}, "a.b"),
      ["calling 'abort' on bad self (call map expected, got table)"] = call(map.abort, {}, "r"),
      ["bad argument #1 to 'call' (string expected, got nil)"] = call(map.call, map),
      ["bad argument #1 to 'subscribe' (string expected, got nil)"] = call(map.subscribe, map),
      ["bad argument #3 to 'call' (table expected, got number)"] = call(map.call, map, "a.b", {}, 1),
      ["bad argument #3 to 'subscribe' (table expected, got number)"] = call(map.subscribe, map, "a.b", {}, 1),
      ["bad option 'x' to 'subscribe' (unknown)"] = call(map.subscribe, map, "a.b", {}, { x = 1 }),
      ["bad option 'window' to 'subscribe' (a whole number from 1 on expected, got 0)"] =
        call(map.subscribe, map, "a.b", {}, { window = 0 }),
      ["bad argument #2 to 'abort' (string expected, got number)"] = call(map.abort, map, "r", 1),
      ["bad argument #2 to 'respond' (response envelope expected, got table)"] = call(map.respond, map, "r", {}),
      ["bad argument #2 to 'emit_error' (string expected, got nil)"] = call(map.emit_error, map, "r"),
      ["bad argument #3 to 'emit_error' (string expected, got nil)"] = call(map.emit_error, map, "r", "CODE"),
      ["calling 'submit' on bad self (call map expected, got table)"] = call(map.submit, {}, "a.b"),
      ["bad call map to 'outcome' (one over Redis in mode \"reliable\" expected)"] = call(map.outcome, map, "r"),
      ["bad argument #1 to 'serve' (function expected, got nil)"] = call(map.serve, map),
    }, PLACE)
  end)

  it("name the argument or option of a handler and of an import, and the line of the program", function()
    local handler, import = operations.call_handler, operations.import
    raises({
      ["bad argument #1 to 'call_handler' (registry expected, got table)"] = call(handler, {}, map),
      ["bad argument #2 to 'call_handler' (call map expected, got table)"] = call(handler, registry, {}),
      ["bad argument #3 to 'call_handler' (table expected, got number)"] = call(handler, registry, map, 1),
      ["bad option 'max_requests' to 'call_handler' (number expected, got string)"] =
        call(handler, registry, map, { max_requests = "1" }),
      ["bad argument #1 to 'import' (registry expected, got table)"] = call(import, {}, map),
      ["bad argument #2 to 'import' (call map expected, got table)"] = call(import, registry, {}),
      ["bad argument #3 to 'import' (table expected, got string)"] = call(import, registry, map, "a"),
      ["bad argument #4 to 'import' (table expected, got string)"] = call(import, registry, map, nil, "a"),
      ["bad option 'identity' to 'import' (table expected, got string)"] =
        call(import, registry, map, nil, { identity = "ada" }),
      ["bad argument #1 to 'from_peer' (call map expected, got table)"] = call(operations.from_peer, {}),
      ["bad argument #2 to 'from_peer' (table expected, got string)"] = call(operations.from_peer, map, "a"),
      ["bad option 'include' to 'from_peer' (table or function expected, got string)"] =
        call(operations.from_peer, map, { include = "a" }),
    }, PLACE)
  end)

  it("name the argument or option of a WebSocket and of a hub, and the line of the program", function()
    local transports = operations.transports
    local websocket, hub = transports.websocket, transports.websocket_hub
    raises({
      ["bad argument #1 to 'websocket' (string expected, got nil)"] = call(websocket),
      ["bad argument #2 to 'websocket' (table expected, got number)"] = call(websocket, "ws://127.0.0.1:1", 1),
      ["bad argument #1 to 'websocket' (URL of ws or wss expected, got http://a.test)"] =
        call(websocket, "http://u:p@a.test"),
      ["bad argument #1 to 'websocket' (URL of ws or wss expected, got ws://a.test:65536)"] =
        call(websocket, "ws://a.test:65536"),
      ["bad option 'x' to 'websocket' (unknown)"] = call(websocket, "ws://127.0.0.1:1", { x = 1 }),
      ["bad option 'token' to 'websocket' (no blanks or control characters expected)"] =
        call(websocket, "ws://127.0.0.1:1", { token = "a b" }),
      ["bad option 'x' to 'reconnect' (unknown)"] = call(websocket, "ws://127.0.0.1:1", { reconnect = { x = 1 } }),
      ["bad option 'delay' to 'reconnect' (a number from 0 expected, got -1)"] =
        call(websocket, "ws://127.0.0.1:1", { reconnect = { delay = -1 } }),
      ["bad argument #1 to 'websocket_hub' (table expected, got nil)"] = call(hub),
      ["bad option 'x' to 'websocket_hub' (unknown)"] = call(hub, { x = 1 }),
      ["bad option 'origins' to 'websocket_hub' (an origin such as \"https://app.example\" expected, got \"a.test\")"] =
        call(hub, { origins = { "https://b.test", "a.test" } }),
    }, PLACE)
  end)

  it("name the argument or option of Redis, and the line of the program", function()
    local redis = operations.transports.redis
    raises({
      ["bad argument #1 to 'redis' (string expected, got nil)"] = call(redis),
      ["bad argument #2 to 'redis' (table expected, got number)"] = call(redis, "redis://127.0.0.1:1", 1),
      ["bad option 'x' to 'redis' (unknown)"] = call(redis, "redis://127.0.0.1:1", { x = 1 }),
      ["bad option 'mode' to 'redis' (\"fast\" or \"reliable\" expected, got \"slow\")"] =
        call(redis, "redis://127.0.0.1:1", { mode = "slow" }),
      ["bad option 'secret' to 'redis' (16 bytes or more expected)"] =
        call(redis, "redis://127.0.0.1:1", { secret = ("x"):rep(15) }),
      ["bad argument #1 to 'redis' (URL of redis or rediss expected, got http://a.test)"] =
        call(redis, "http://u:p@a.test"),
    }, PLACE)
  end)
end)
