local members = require("operations.base.members")
local operations = require("operations")
local process = require("operations.net.process")
local result = require("operations.mcp.protocol.result")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

local core, json, schemas = require("operations.core"), operations.json, require("operations.calls.schemas")

local function compiled(name)
  return assert(operations.schema.compile(schemas[name]))
end

-- Through JSON, as a peer gets it.
local function sent(value)
  return assert(json.decode((assert(json.encode(value)))))
end

local function fits(envelope)
  local ok, issues = compiled("envelope"):check(sent(envelope))
  assert.is_true(ok, issues and issues[1].path .. ": " .. issues[1].message)
  assert.is_true((compiled(envelope.meta.source .. "_meta"):check(sent(envelope.meta))))
  assert.is_true(core.is_response_envelope(sent(envelope)))
  return envelope
end

describe("the schemas of envelopes", function()
  local running = server.around(setup, teardown)

  it("are plain data, each by an id of its own, and stand alone as JSON", function()
    local names = { "content_block", "envelope", "http_meta", "local_meta", "mcp_meta" }
    for _, name in ipairs(names) do
      assert.equal("urn:operations:" .. name, schemas[name]["$id"])
      assert.is_truthy(operations.schema.compile(sent(schemas[name])))
    end
    assert.same({ "http_meta", "local_meta", "mcp_meta" }, members.names(schemas.envelope["$defs"]))
  end)

  it("take what the makers of envelopes make", function()
    fits(operations.local_envelope(nil, "a.b"))
    fits(operations.local_envelope(operations.null, "a.b"))
    fits(operations.http_envelope({ 1 }, { statusCode = 204 }))
    fits(operations.http_envelope("x", { statusCode = 200, headers = { etag = "x", setCookie = { "a=1", "b=2" } } }))
    fits(operations.mcp_envelope(nil, {}))
    fits(operations.mcp_envelope(1, { isError = true, content = { { type = "text", text = "no" },
      { type = "later", anything = 1 } }, structuredContent = false, _meta = { x = 1 } }))
  end)

  it("take what operations answer: local, of HTTP APIs, their streams, MCP servers and remote registries", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "a", name = "b", handler = function(input) return input end }))
    fits(registry:execute("a.b", { x = operations.null }))
    local function answering(media)
      return { ["200"] = { content = { [media] = {} } } }
    end
    local api = support.one({ responses = answering("application/json") }, { path = "/echo" })
    api.openapi, api.info = "3.1.0", { title = "http" }
    local config = { base_url = running.url }
    assert(registry:register_all(assert(operations.from_openapi.document(api, config))))
    assert.equal("http", fits(registry:execute("http.op")).meta.source)
    local events = support.one({ responses = answering("text/event-stream"),
      parameters = { { name = "count", ["in"] = "query" } } }, { path = "/sse" })
    events.openapi, events.info = "3.1.0", { title = "stream" }
    assert(registry:register_all(assert(operations.from_openapi.document(events, config))))
    local n = 0
    for envelope in assert(registry:subscribe("stream.op", { count = 3 })) do
      n = n + 1
      assert.is_string(fits(envelope).meta.event)
    end
    assert.equal(3, n)
    local one, other = operations.transports.pair()
    operations.call_handler(registry, operations.call_map(other))
    local map = operations.call_map(one)
    for _, id in ipairs({ "a.b", "http.op" }) do
      fits(map:call(id))
    end
    map:close()
  end)

  it("take the answers of an MCP server, failures too", function()
    process.allow(true)
    local client = require("spec.support.mcp").connect("legacy")
    for _, definition in ipairs(client.operations) do
      if definition.name == "heard" then
        fits(definition.handler({}, nil))
      end
    end
    client:close()
  end)

  it("take what is made of an MCP server's malformed blocks", function()
    local blocks = { { type = "text", text = 5 }, { type = "image", data = "x", mimeType = 7 }, { type = "audio" },
      { type = "resource", resource = "x" }, { type = "resource_link", uri = "x", name = {} }, { type = 5 }, {} }
    local null = operations.null
    local envelope = fits(assert(result.of_tool({ content = operations.array(blocks), _meta = null },
      { tool = "t" }, {})))
    for i, block in ipairs(envelope.meta.content) do
      assert.equal("text", block.type)
      assert.is_string(block.text)
      assert.is_table(block._meta.raw, i)
    end
    assert.equal(7, #envelope.meta.content)
    local image = operations.array({ { type = "image", data = "x", mimeType = null } })
    envelope = fits(assert(result.of_tool({ content = image }, { tool = "t" }, {})))
    assert.same({ type = "image", data = "x" }, envelope.meta.content[1])
    fits(result.of_object({ x = 1, _meta = null }))
    fits(result.of_object({ x = 1, _meta = 5 }))
  end)

  it("take nothing that is no envelope", function()
    local envelope = compiled("envelope")
    for _, value in ipairs({ {}, { data = 1 }, { meta = {} }, { meta = { source = "ftp" } },
      { meta = { source = "local" } }, { meta = { source = "local", operationId = "a.b" } },
      { meta = { source = "local", operationId = 1, timestamp = 1 } }, { meta = { source = "http" } },
      { meta = { source = "http", statusCode = "200" } }, { meta = { source = "mcp", isError = false } },
      { meta = { source = "mcp", isError = 0, content = {} } },
      { meta = { source = "mcp", isError = false, content = operations.object() } }, 1, "local" }) do
      assert.is_false((envelope:check(value)))
      assert.is_false(core.is_response_envelope(value))
    end
    local block = compiled("content_block")
    for _, value in ipairs({ {}, { type = 1 }, { type = "text" }, { type = "image" },
      { type = "resource", resource = 1 } }) do
      assert.is_false((block:check(value)))
    end
  end)
end)
