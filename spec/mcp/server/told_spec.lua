local http_request = require("spec.support.http_request")
local operations = require("operations")

local PREFIX = "io.modelcontextprotocol/"

-- Calls what fails; returns what the caller reads and what is logged.
local function failing(failure, options)
  local lines = {}
  local registry = operations.registry({ log = function() end })
  assert(registry:register({ namespace = "a", name = "b", handler = function()
    return nil, failure
  end, errorSchemas = { { code = "DECLARED" } } }))
  local server = operations.to_mcp(registry, { expose_errors = options and options.expose_errors,
    log = function(level, message)
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
  local tool = ask("tools/call", "a_b", { name = "a_b" }).result.content[1].text
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
