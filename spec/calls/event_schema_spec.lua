local call_event = require("operations.calls.event")
local event_schema = require("operations.calls.event_schema")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")

local types = { "call.aborted", "call.completed", "call.credit", "call.error", "call.requested", "call.responded" }

describe("the schemas of events", function()
  it("are of each event, and plain data", function()
    assert.same(types, members.names(event_schema.by_type))
    for name, schema in pairs(event_schema.by_type) do
      local copy = assert(json.decode((assert(json.encode(schema)))))
      assert.equal(name, copy.properties.type.const)
      assert.same({ "id", "payload", "type" }, members.names(copy.properties))
    end
  end)

  it("are what events are checked by", function()
    assert.equal(event_schema.by_type, call_event.schemas)
    assert.equal(event_schema.any, call_event.schema)
    local event = { type = "call.credit", payload = { requestId = "1", n = 0 } }
    local ok, issues = assert(operations.schema.compile(event_schema.by_type["call.credit"])):check(event)
    assert.is_false(ok)
    assert.same(issues, select(2, call_event.check(event)).details)
  end)

  it("have the fields that doc/protocol.md specifies, and no others", function()
    local file = assert(io.open("doc/protocol.md"))
    local document = file:read("*a"):match("\n## 3%..-\n## 4%.")
    file:close()
    for name, schema in pairs(event_schema.by_type) do
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

  it("take every envelope of this library as a response, and other data as none", function()
    local any = assert(operations.schema.compile(event_schema.any))
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
