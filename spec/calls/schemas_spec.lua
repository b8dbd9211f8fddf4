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
  assert(registry:register({ namespace = "a", name = "tells", handler = function(_, context)
    context.progress(1, 2, "half")
  end }))
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
    assert.same({ "call.aborted", "call.completed", "call.credit", "call.error", "call.progress", "call.requested",
      "call.responded" }, members.names(schemas.call_events))
  end)

  it("takes every event that our own ends send", function()
    local any, seen = assert(operations.schema.compile(schemas.call_event)), {}
    local envelope = assert(operations.schema.compile(schemas.envelope))
    local list = events_of(function(map)
      assert(map:call("a.tells", {}, { on_progress = function() end }))
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
    assert.same({ "call.aborted", "call.completed", "call.credit", "call.error", "call.progress", "call.requested",
      "call.responded" }, members.names(seen))
  end)

  it("has a schema of each event, as plain data", function()
    for name, schema in pairs(schemas.call_events) do
      local copy = assert(json.decode((assert(json.encode(schema)))))
      assert.equal(name, copy.properties.type.const)
      assert.same({ "id", "payload", "type" }, members.names(copy.properties))
    end
  end)

  it("has the schemas by which arriving events are checked", function()
    local event = { type = "call.credit", payload = { requestId = "1", n = 0 } }
    local ok, issues = assert(operations.schema.compile(schemas.call_events["call.credit"])):check(event)
    assert.is_false(ok)
    assert.same(issues, select(2, call_event.check(event)).details)
  end)

  it("has the fields that doc/protocol.md specifies, and no others", function()
    local file = assert(io.open("doc/protocol.md"))
    local document = file:read("*a"):match("\n## 3%..-\n## 4%.")
    file:close()
    for name, schema in pairs(schemas.call_events) do
      local _, last = document:find("\n**`" .. name .. "`**", 1, true)
      local section, specified = document:sub(last + 1, document:find("\n**`", last, true)), {}
      for field in section:gmatch("\n| `(%w+)` |") do -- of a table
        specified[field] = true
      end
      if not next(specified) then -- of a sentence
        for field in section:match("^[^.]*"):gmatch("`(%w+)`") do
          specified[field] = true
        end
      end
      assert.same(members.names(schema.properties.payload.properties), members.names(specified), name)
    end
  end)

  it("accepts every envelope of this library as a response, and refuses other data", function()
    local any = assert(operations.schema.compile(schemas.call_event))
    for _, envelope in ipairs({ operations.local_envelope(1, "a.b"), operations.local_envelope(nil, "a.b"),
      operations.http_envelope({}, { statusCode = 200, headers = {} }),
      operations.mcp_envelope("x", { content = {} }) }) do
      local event = { type = "call.responded", id = "1", payload = { requestId = "1", output = envelope } }
      assert.same({ true }, { any:check(event) })
      assert.equal("call.responded", (call_event.check(event)))
    end
    for _, output in ipairs({ {}, { data = 1 }, { meta = {} }, { meta = { source = "ftp" } },
      { meta = { source = "local", operationId = "a.b" } }, { meta = { source = "http" } },
      { meta = { source = "mcp", isError = false, content = operations.object({}) } } }) do
      local event = { type = "call.responded", payload = { requestId = "1", output = output } }
      assert.is_false((any:check(event)))
      assert.is_nil((call_event.check(event)))
    end
  end)
end)
