local json = require("operations.base.json")
local operations = require("operations")

local PATH = "/.well-known/oauth-protected-resource"

describe("an MCP server that needs tokens", function()
  local oauth = { resource = "https://tools.example/mcp", authorization_servers = { "https://login.example" },
    scopes_supported = { "tasks:read" }, resource_name = "Tools" }

  local function server_with(given)
    local registry = operations.registry()
    assert(registry:register({ namespace = "tasks", name = "drop",
      accessControl = { requiredScopes = { "tasks:write" } },
      handler = function() return {} end }))
    return operations.to_mcp(registry, { oauth = given, authorize = function(request)
      local token = (request.headers.authorization or ""):match("^Bearer (.+)$")
      return token == "good" and { id = "ada", scopes = {} } or nil, token and token ~= "good" and "unknown" or nil
    end })
  end

  local function get(server, path, method)
    return server:handle({ method = method or "GET", target = path, headers = { host = "localhost" }, body = "" })
  end

  local function call(server, token)
    return server:handle({ method = "POST", target = "/mcp", headers = { host = "localhost",
      ["content-type"] = "application/json", accept = "application/json, text/event-stream",
      ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "tasks_drop",
      authorization = token and "Bearer " .. token or nil },
      body = json.encode({ jsonrpc = "2.0", id = 1, method = "tools/call", params = { name = "tasks_drop",
        arguments = operations.object(), _meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
          ["io.modelcontextprotocol/clientCapabilities"] = operations.object() } } }) })
  end

  it("names the issuers to every client", function()
    local server = server_with(oauth)
    for _, path in ipairs({ PATH, PATH .. "/mcp", PATH .. "/mcp?x=1" }) do
      local response = get(server, path)
      assert.equal(200, response.status)
      assert.equal("application/json", response.headers["content-type"])
      assert.same({ resource = "https://tools.example/mcp", authorization_servers = { "https://login.example" },
        scopes_supported = { "tasks:read" }, resource_name = "Tools", bearer_methods_supported = { "header" } },
        json.decode(response.body))
    end
    assert.equal(405, get(server, PATH, "POST").status)
    local preflight = get(server, PATH, "OPTIONS")
    assert.same({ 204, "*", "GET, HEAD" }, { preflight.status, preflight.headers["access-control-allow-origin"],
      preflight.headers["access-control-allow-methods"] })
    assert.not_equal(200, get(server, PATH .. "/other").status)
    assert.not_equal(200, get(server_with(nil), PATH).status)
  end)

  it("names that document where it refuses", function()
    local server = server_with(oauth)
    local where = ' resource_metadata="https://tools.example' .. PATH .. '/mcp"'
    local response = call(server)
    assert.equal(401, response.status)
    assert.equal("Bearer" .. where, response.headers["www-authenticate"])
    response = call(server, "bad")
    assert.equal(401, response.status)
    assert.equal('Bearer error="invalid_token", error_description="unknown",' .. where,
      response.headers["www-authenticate"])
    response = call(server, "good")
    assert.equal(403, response.status)
    assert.equal('Bearer error="insufficient_scope", scope="tasks:write",' .. where,
      response.headers["www-authenticate"])
    assert.equal("Bearer", call(server_with(nil)).headers["www-authenticate"])
  end)

  it("refuses options that say nothing", function()
    for _, given in ipairs({ {}, { resource = "mcp" }, { resource = "https://a.example/mcp" },
      { resource = "https://a.example/mcp", authorization_servers = {} } }) do
      assert.error_matches(function()
        server_with(given)
      end, "bad option 'oauth' to 'to_mcp'")
    end
  end)
end)
