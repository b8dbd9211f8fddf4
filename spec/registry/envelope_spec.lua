local core = require("operations.core")
local operations = require("operations")
local json = require("operations.base.json")
local raises = require("spec.support.raises")

describe("a response envelope", function()
  it("of a local result carries the operation's id and the time in ms", function()
    local before = core.now()
    local envelope = core.local_envelope({ 1 }, "task.list")
    assert.same({ 1 }, envelope.data)
    assert.equal("local", envelope.meta.source)
    assert.equal("task.list", envelope.meta.operationId)
    assert.is_true(envelope.meta.timestamp >= before and envelope.meta.timestamp <= core.now())
  end)

  it("of an HTTP result keeps the meta it is given", function()
    local meta = { statusCode = 200, headers = { etag = "x" }, contentType = "text/plain", event = "tick", retry = 10 }
    local envelope = core.http_envelope("a", meta)
    assert.equal("http", envelope.meta.source)
    assert.equal(200, envelope.meta.statusCode)
    assert.equal("x", envelope.meta.headers.etag)
    assert.equal("tick", envelope.meta.event)
    assert.is_nil(meta.source)
  end)

  it("of an MCP result has isError and content, given or not", function()
    local envelope = core.mcp_envelope(core.null, {})
    assert.equal(core.null, envelope.data)
    assert.is_false(envelope.meta.isError)
    assert.equal("array", core.kind(envelope.meta.content))
    assert.is_true(core.mcp_envelope(1, { isError = true }).meta.isError)
  end)

  it("of an MCP result has content that is an array, empty or not", function()
    local content = {}
    local envelope = core.mcp_envelope(nil, { content = content })
    assert.equal('[]', json.encode(envelope.meta.content))
    assert.is_nil(getmetatable(content))
    local blocks = { { type = "text", text = "a" } }
    assert.equal(blocks, core.mcp_envelope(nil, { content = blocks }).meta.content)
    for _, other in ipairs({ { type = "text" }, setmetatable({}, core.object_mt), "text" }) do
      local ok, message = pcall(core.mcp_envelope, nil, { content = other })
      assert.is_false(ok)
      assert.matches("meta.content an array", message, 1, true)
      assert.is_false(core.is_response_envelope({ meta = { source = "mcp", isError = false, content = other } }))
    end
    assert.is_true(core.is_response_envelope({ meta = { source = "mcp", isError = false, content = {} } }))
  end)

  it("without data still is one", function()
    local envelope = core.local_envelope(nil, "a.b")
    assert.is_true(core.is_response_envelope(envelope))
    assert.is_nil(core.unwrap(envelope))
  end)

  it("keeps data that is false or null", function()
    assert.is_false(core.unwrap(core.local_envelope(false, "a.b")))
    assert.equal(core.null, core.unwrap(core.local_envelope(core.null, "a.b")))
  end)

  it("is detected by a known source and that source's own fields", function()
    assert.is_true(core.is_response_envelope({ meta = { source = "http", statusCode = 204 } }))
    for _, value in ipairs({
      { data = 1 },
      { data = 1, meta = {} },
      { data = 1, meta = "local" },
      { data = 1, meta = { source = "ftp" } },
      { data = 1, meta = { source = "local" } },
      { data = 1, meta = { source = "local", operationId = "a.b" } },
      { data = 1, meta = { source = "local", timestamp = 1 } },
      { data = 1, meta = { source = "local", operationId = 1, timestamp = 1 } },
      { data = 1, meta = { source = "local", operationId = "a.b", timestamp = "1" } },
      { data = 1, meta = { source = 1, statusCode = 200, operationId = "a.b", timestamp = 1 } },
      { data = 1, meta = { source = "http", statusCode = "200" } },
      { data = 1, meta = { source = "mcp", isError = false } },
      { data = 1, meta = { source = "mcp", content = {} } },
      { data = 1, meta = { source = "mcp", isError = 0, content = {} } },
      "local",
    }) do
      assert.is_false(core.is_response_envelope(value))
    end
  end)

  it("is not detected through metamethods", function()
    local forged = setmetatable({}, { __index = { meta = { source = "http", statusCode = 200 } } })
    assert.is_false(core.is_response_envelope(forged))
  end)

  it("is its data and a copy of its meta, with what that lacks", function()
    local meta = { statusCode = 200, source = "x" }
    for _, envelope in ipairs({ core.http_envelope("a", meta), (core.http_envelope("a", meta, "more")) }) do
      assert.same({ data = "a", meta = { source = "http", statusCode = 200, headers = {} } }, envelope)
    end
    assert.same({ data = "a", meta = { source = "mcp", isError = false, content = {}, a = 1 } },
      core.mcp_envelope("a", { a = 1 }, "more"))
    local envelope = core.local_envelope("a", "b.c", "more")
    envelope.meta.timestamp = 1
    assert.same({ data = "a", meta = { source = "local", operationId = "b.c", timestamp = 1 } }, envelope)
    assert.same({ statusCode = 200, source = "x" }, meta)
    assert.is_true(core.is_response_envelope(envelope, "more"))
    assert.equal("a", core.unwrap(envelope, "more"))
  end)

  it("refuses invalid arguments", function()
    raises({
      ["bad argument #2 to 'http_envelope' (table expected, got no value)"] = function() core.http_envelope(1) end,
      ["bad argument #2 to 'mcp_envelope' (table expected, got string)"] = function() core.mcp_envelope(1, "x") end,
      ["bad argument #1 to 'is_response_envelope' (value expected)"] = function() core.is_response_envelope() end,
      ["bad argument #1 to 'unwrap' (response envelope expected)"] = function() core.unwrap("x") end,
      ["bad argument #2 to 'mcp_envelope' (meta.isError must be a boolean and meta.content an array)"] =
        function() core.mcp_envelope(1, { isError = 1 }) end,
    })
  end)

  it("refuses what it cannot be made of, naming the argument", function()
    assert.has_error(function()
      core.local_envelope(1)
    end, "bad argument #2 to 'local_envelope' (string expected, got no value)")
    local ok, message = pcall(core.http_envelope, 1, { statusCode = "200" })
    assert.is_false(ok)
    assert.matches("meta.statusCode: number expected, got string", message, 1, true)
    assert.is_false(pcall(core.mcp_envelope, 1, { isError = 1 }))
    for _, value in ipairs({ { data = 1 }, { data = 1, meta = { source = "http" } }, "x", 1 }) do
      local done, problem = pcall(operations.unwrap, value)
      assert.is_false(done)
      assert.matches("bad argument #1 to 'unwrap' (response envelope expected)", problem, 1, true)
    end
  end)
end)
