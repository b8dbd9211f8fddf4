local http_request = require("spec.support.http_request")
local operations = require("operations")

local send = http_request.send
local pdf = { type = "string", contentMediaType = "application/pdf" }

local function silent() end

local function serve(handler, definition)
  local registry = operations.registry({ log = silent })
  definition = definition or {}
  definition.namespace, definition.name, definition.handler = "file", "get", handler
  definition.type, definition.outputSchema = "query", definition.outputSchema or pdf
  assert(registry:register(definition))
  return assert(operations.to_http(registry, { log = silent }))
end

local function in_task(fn)
  return operations.run(fn)
end

describe("a body of bytes", function()
  it("is the result as it is, with the schema's media type", function()
    local server = serve(function() return "%PDF\0\255" end)
    local answer = send(server, "GET", "/file/get")
    assert.equal("%PDF\0\255", answer.text)
    assert.equal("application/pdf", answer.headers["content-type"])
  end)

  it("is the input as it is, by its media type", function()
    local registry = operations.registry()
    assert(registry:register({ namespace = "file", name = "put", inputSchema = pdf, handler = function(input)
      return #input
    end }))
    local server = assert(operations.to_http(registry))
    assert.equal("6", send(server, "POST", "/file/put", { ["content-type"] = "application/pdf" }, "%PDF\0\255").text)
    assert.equal(415, send(server, "POST", "/file/put", { ["content-type"] = "text/plain" }, "x").status)
  end)

  it("may go out in pieces, each when the one before was taken", function()
    local made = 0
    local server = serve(function(_, context)
      for i = 1, 3 do
        made = i
        context.sink(("%d"):format(i))
      end
    end)
    in_task(function()
      local response = server:handle({ method = "GET", target = "/file/get", headers = {} })
      assert.same({ 200, "application/pdf" }, { response.status, response.headers["content-type"] })
      assert.equal(1, server.running)
      assert.equal(1, made)
      assert.equal("1", response.body())
      assert.equal("2", response.body())
      assert.equal("3", response.body())
      assert.is_nil(response.body())
      assert.equal(0, server.running)
    end)
  end)

  it("fails as a problem before the first piece, and breaks off after it", function()
    local server = serve(function(_, context)
      if context.metadata.http.path == "/file/get" then
        context.sink("a")
      end
      error(operations.error("BUSY", "later"))
    end)
    in_task(function()
      local response = server:handle({ method = "GET", target = "/file/get", headers = {} })
      assert.equal("a", response.body())
      local piece, err = response.body()
      assert.is_nil(piece)
      assert.equal("BUSY", err.code)
    end)
    local other = serve(function() error(operations.error("BUSY", "later")) end)
    in_task(function()
      assert.equal(503, send(other, "GET", "/file/get").status)
    end)
  end)

  it("takes one piece after the other, and none behind the end", function()
    local sink, second
    local server = serve(function(_, context)
      sink = context.sink
      operations.spawn(function()
        second = { pcall(sink, "b") }
      end)
      sink("a")
    end)
    in_task(function()
      assert.equal("a", send(server, "GET", "/file/get").text)
      assert.matches("still on its way", second[2])
      local ok, raised = pcall(sink, "c")
      assert.same({ false, "ABORTED" }, { ok, raised.code })
    end)
  end)

  it("takes as long as its reader does, once it has begun", function()
    local server = serve(function(_, context)
      context.sink("a")
      context.sink("b")
    end)
    in_task(function()
      local response = server:handle({ method = "GET", target = "/file/get",
        headers = { ["request-timeout-ms"] = "50" } })
      operations.sleep(0.1)
      assert.equal("a", response.body())
      assert.equal("b", response.body())
      assert.same({}, { response.body() })
    end)
  end)

  it("ends with its reader", function()
    local cleaned
    local server = serve(function(_, context)
      local ok, raised = pcall(context.sink, "a")
      cleaned = not ok and raised.code
      error(raised, 0)
    end)
    operations.run(function()
      local left
      server:handle({ method = "GET", target = "/file/get", headers = {}, left = function(fn) left = fn end })
      assert.equal(1, server.running)
      left()
      operations.sleep(0)
    end)
    assert.equal("ABORTED", cleaned)
    assert.equal(0, server.running)
  end)

  it("is not begun for a reader that has left already", function()
    local begun
    local server = serve(function(_, context)
      begun = true
      context.sink("a")
    end)
    operations.run(function()
      local response = server:handle({ method = "GET", target = "/file/get", headers = {},
        left = function(fn) fn() end })
      assert.equal(499, response.status)
    end)
    assert.equal(0, server.running)
    assert.is_nil(begun)
  end)

  it("is not warned of as missing from the result", function()
    local warned
    local registry = operations.registry({ on_warning = function(warning) warned = warning end })
    assert(registry:register({ namespace = "file", name = "get", type = "query", outputSchema = pdf,
      handler = function(_, context) context.sink("a") end }))
    local server = assert(operations.to_http(registry, { log = silent }))
    in_task(function()
      assert.equal("a", send(server, "GET", "/file/get").text)
    end)
    assert.is_nil(warned)
  end)
end)
