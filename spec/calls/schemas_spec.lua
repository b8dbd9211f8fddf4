local call_event = require("operations.calls.event")
local members = require("operations.base.members")
local operations = require("operations")

local json, schemas = operations.json, operations.schemas

-- Events as they cross a wire between a registry and who calls it.
local function events_of(calls)
  local seen = {}
  local one, other = require("spec.support.wire").pair()
  for _, side in ipairs({ one, other }) do
    local send = side.send
    function side:send(name, payload, peer)
      seen[#seen + 1] = json.decode((assert(json.encode(call_event.new(name, payload)))))
      return send(self, name, payload, peer)
    end
  end
  local registry = operations.registry()
  assert(registry:register({ namespace = "a", name = "echo", handler = function(input) return input end }))
  assert(registry:register({ namespace = "a", name = "fails", handler = function()
    return nil, operations.error("BUSY", "no time", { wait = 5 })
  end }))
  assert(registry:register({ namespace = "a", name = "count", type = "subscription", handler = function()
    for i = 1, 100 do
      coroutine.yield(i)
    end
  end }))
  operations.call_handler(registry, operations.call_map(other, { log = function() end }))
  local map = operations.call_map(one, { log = function() end })
  calls(map)
  map:close()
  return seen
end

describe("operations.schemas", function()
  it("has the events of the call protocol beside the envelope", function()
    assert.same({ "call_event", "call_events", "content_block", "envelope", "http_meta", "identity", "local_meta",
      "mcp_meta" }, members.names(schemas))
    assert.same({ "call.aborted", "call.completed", "call.credit", "call.error", "call.requested", "call.responded" },
      members.names(schemas.call_events))
    assert.equal(call_event.schemas, schemas.call_events)
  end)

  it("takes every event that our own ends send", function()
    local any, seen = assert(operations.schema.compile(schemas.call_event)), {}
    local envelope = assert(operations.schema.compile(schemas.envelope))
    local list = events_of(function(map)
      assert(map:call("a.echo", { x = 1 }, { identity = { id = "ada", scopes = {} }, timeout = 5000 }))
      assert.equal("BUSY", select(2, map:call("a.fails")).code)
      local n = 0
      for _ in assert(map:subscribe("a.count", nil, { window = 8 })) do
        n = n + 1
      end
      assert.equal(100, n)
      local stream = assert(map:subscribe("a.count"))
      stream:next()
      stream:close()
    end)
    for _, event in ipairs(list) do
      local ok, issues = any:check(event)
      assert.is_true(ok, event.type .. (issues and " " .. issues[1].path .. ": " .. issues[1].message or ""))
      assert.is_true((assert(operations.schema.compile(schemas.call_events[event.type])):check(event)))
      seen[event.type] = true
      if event.type == "call.responded" then
        assert.is_true((envelope:check(event.payload.output)))
      end
    end
    assert.same({ "call.aborted", "call.completed", "call.credit", "call.error", "call.requested", "call.responded" },
      members.names(seen))
  end)
end)
