local http_request = require("spec.support.http_request")
local operations = require("operations")
local told = require("operations.mcp.server.told")

local PREFIX = "io.modelcontextprotocol/"

-- Calls what fails; returns what the caller reads and what is logged.
local function failing(failure, options)
  local lines = {}
  local registry = operations.registry({ log = function() end })
  assert(registry:register({ namespace = "a", name = "b", handler = function()
    return nil, failure
  end, errorSchemas = { { code = "DECLARED" } } }))
  local server = operations.to_mcp(registry, { expose_errors = options and options.expose_errors,
    upstream_errors = options and options.upstream_errors, log = function(level, message)
      lines[#lines + 1] = level .. ": " .. message
    end })
  server:resource({ uri = "x:a", read = function()
    return nil, failure
  end })
  local function ask(method, name, params)
    params._meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = operations.object() }
    return http_request.send(server, "POST", "/mcp", { accept = "application/json, text/event-stream",
      ["content-type"] = "application/json", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = method,
      ["mcp-name"] = name }, { jsonrpc = "2.0", id = 1, method = method, params = params }).json
  end
  local answer = ask("tools/call", "a_b", { name = "a_b" })
  local tool = answer.error and answer.error.message or answer.result.content[1].text
  local resource = ask("resources/read", "x:a", { uri = "x:a" }).error.message
  return { tool, resource }, lines
end

describe("a failure whose message the caller does not learn", function()
  it("is logged with the name of what failed", function()
    local read, lines = failing(operations.error("NO_TEXT", "a secret"))
    assert.same({ "the operation failed", "the operation failed" }, read)
    assert.same({ "error: a.b: NO_TEXT: a secret", "error: x:a: NO_TEXT: a secret" }, lines)
  end)
end)

describe("the cause of a lost or silent server behind", function()
  local function read(details, http, rule)
    local call = { http = http, server = { options = { upstream_errors = rule, log = function() end } } }
    local err = operations.error("EXECUTION_ERROR", "srv: the server ended: no token", details)
    return told.read(call, err, "a.b").message
  end

  it("reaches the client that has started this program, over stdio", function()
    for _, details in ipairs({ { kind = "closed", command = "srv" }, { kind = "connect", state = "retrying" },
      { kind = "timeout", method = "tools/call" } }) do
      assert.equal("srv: the server ended: no token", read(details))
      assert.is_nil(read(details, {}):find("token", 1, true))
      assert.is_nil(read(details, nil, "none"):find("token", 1, true))
    end
    assert.is_nil(read({ kind = "timeout", url = "http://inside/" }):find("token", 1, true)) -- of an API
  end)
end)

describe("the JSON-RPC error of a server behind", function()
  local function refused(code)
    return operations.error("MCP_" .. code, "tools/call: Unknown city", { rpcCode = code, data = { 1 } })
  end

  it("is passed on as it was, for tools and for resources", function()
    local read, lines = failing(refused(-32602))
    assert.same({ "Unknown city", "Unknown city" }, read)
    assert.same({}, lines)
  end)

  it("is logged instead with upstream_errors = 'none'", function()
    local read, lines = failing(refused(-32602), { upstream_errors = "none" })
    assert.same({ "MCP_-32602: a server behind this one failed", "MCP_-32602: a server behind this one failed" }, read)
    assert.same({ "error: a.b: MCP_-32602: tools/call: Unknown city",
      "error: x:a: MCP_-32602: tools/call: Unknown city" }, lines)
  end)

  it("is a failed result where it concerns the connection to that server", function()
    assert.equal("MCP_-32022: tools/call: Unknown city", failing(refused(-32022))[1])
  end)
end)

describe("a failure of an exchange with a server behind", function()
  it("is told without its host, and logged with it", function()
    local read, lines = failing(operations.error("TIMEOUT", "GET http://inside/: late", { kind = "timeout" }))
    local text = "TIMEOUT: a server behind this one took too long"
    assert.same({ text, text }, read)
    assert.equal("error: a.b: TIMEOUT: GET http://inside/: late", lines[1])
  end)
end)

describe("a failure whose message the caller learns", function()
  it("is not logged", function()
    local read, lines = failing(operations.error("TIMEOUT", "late"))
    assert.same({ "TIMEOUT: late", "TIMEOUT: late" }, read)
    assert.same({}, lines)
  end)

  it("is one that the operation declares", function()
    local read, lines = failing(operations.error("DECLARED", "so"))
    assert.equal("DECLARED: so", read[1])
    assert.same({ "error: x:a: DECLARED: so" }, lines)
  end)

  it("is any with expose_errors", function()
    local read, lines = failing(operations.error("NO_TEXT", "a secret"), { expose_errors = true })
    assert.same({ "NO_TEXT: a secret", "NO_TEXT: a secret" }, read)
    assert.same({}, lines)
  end)
end)

describe("the failure of a call to a server that is not connected", function()
  local text = "words is not connected (retrying in 4 s): the server ended with exit code 3: no token"
  local lost = operations.error("EXECUTION_ERROR", text, { kind = "closed", state = "retrying" })

  it("says over HTTP that it is not connected, and nothing of where it is", function()
    local read, lines = failing(lost)
    local general = "EXECUTION_ERROR: a server behind this one is not connected (retrying)"
    assert.same({ general, general }, read)
    assert.matches("no token", lines[1], 1, true)
  end)

  it("is whole over stdio, whose caller has started this program, unless that is turned off", function()
    local logged = {}
    local function over_stdio(rule)
      local options = { upstream_errors = rule, log = function(_, line)
        logged[#logged + 1] = line
      end }
      return (told.read({ server = { options = options } }, lost, "words.a")).message
    end
    assert.equal(text, over_stdio())
    assert.equal("a server behind this one is not connected (retrying)", over_stdio("none"))
    assert.equal(1, #logged)
  end)
end)
