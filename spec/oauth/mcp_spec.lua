local listener = require("operations.server.listener")
local oauth = require("spec.support.oauth")
local operations = require("operations")
local streams = require("operations.net.stream")

describe("an MCP server that wants a token", function()
  local server, browser

  setup(function()
    server = oauth.start()
  end)

  teardown(function()
    server:stop()
  end)

  before_each(function()
    local config, resource = server:good()
    resource.scopes_supported = { "read" }
    server:setup(config)
    browser = server.browser()
  end)

  local function new()
    return operations.oauth.authorizer({ open = browser.open, redirect_uri = "http://127.0.0.1:1/back" })
  end

  local function connect(auth)
    return operations.from_mcp.connect("guarded", { url = server.mcp, stream = false, auth = auth or new() })
  end

  it("gets one, and one for more scopes when a tool needs them", function()
    local client = assert(connect())
    assert.equal("read", assert(client:call("scope")).data[1].text)
    assert.equal("read write", assert(client:call("scope", { need = "write" })).data[1].text)
    assert.equal(2, #browser.opened)
    client:close()
  end)

  it("is asked with the token in every request", function()
    local client = assert(connect())
    client:call("scope")
    client:close()
    local without = 0
    for _, request in ipairs(server:requests("/mcp")) do
      without = without + (request.headers.authorization and 0 or 1)
    end
    assert.equal(1, without)
  end)

  it("is logged in to once by many connections that begin at the same time", function()
    local auth = new()
    local function call()
      local client = assert(connect(auth))
      local text = client:call("scope").data[1].text
      client:close()
      return text
    end
    assert.same({ "read", "read", "read", "read" }, operations.all({ call, call, call, call }))
    assert.equal(1, #browser.opened)
  end)

  it("is logged in to as the configuration says, each connection by itself", function()
    local config = {
      url = server.mcp, stream = false, auth = { open = browser.open, redirect_uri = "http://127.0.0.1:1/back" },
    }
    for i = 1, 2 do
      local client = assert(operations.from_mcp.connect("guarded", config))
      assert.equal("read", client:call("scope").data[1].text)
      client:close()
      assert.equal(i, #browser.opened)
    end
  end)

  it("says what is wrong with the configuration, where it was written", function()
    local ok, raised = pcall(function()
      operations.from_mcp.connect("guarded", { url = server.mcp, auth = { scopes = "a" } })
    end)
    assert.is_false(ok)
    assert.matches("mcp_spec.lua:%d+: from_mcp: config.auth: bad option 'scopes' to 'authorizer' "
      .. "%(unknown; did you mean scope%?%)", raised)
  end)

  it("waits for the user longer than for a request #slow", function()
    local client = assert(operations.from_mcp.connect("guarded", {
      url = server.mcp, stream = false, connect_timeout = 1000, timeout = 1000, max_timeout = 1000,
      probe_timeout = 1000,
      auth = operations.oauth.authorizer({
        redirect_uri = "http://127.0.0.1:1/back",
        open = function(address)
          -- waits longer than a request may, in real time: a server of its own answers
          operations.sleep(1.2)
          return browser.open(address)
        end,
      }),
    }))
    assert(client:call("scope"))
    client:close()
  end)

  it("counts everything but the user's time to the time of the handshake", function()
    local client, err = operations.run(function()
      local held = {} -- a stream that nobody holds is closed
      local silent = assert(streams.listen("127.0.0.1", 0, function(stream)
        held[#held + 1] = stream
        stream:each_chunk(function() end) -- the metadata never comes
      end))
      local opened
      local listening = assert(listener.listen({ port = 0 }, function()
        return { status = 401, body = "", headers = { ["www-authenticate"] =
          ('Bearer resource_metadata="http://127.0.0.1:%d/metadata"'):format(silent.port) } }
      end))
      local client, err = operations.from_mcp.connect("guarded", {
        url = ("http://127.0.0.1:%d/mcp"):format(listening.port), connect_timeout = 300, log = function() end,
        auth = operations.oauth.authorizer({ redirect_uri = "http://127.0.0.1:1/back", open = function()
          opened = true
        end }),
      })
      listening:close()
      silent:close()
      held[1]:close()
      assert.is_nil(opened)
      return client, err
    end)
    assert.is_nil(client)
    assert.same({ "TIMEOUT", "server/discover: no answer in time" }, { err.code, err.message })
  end)

  it("passes messages of the user's own object", function()
    local credentials, seen = { Authorization = "Custom secret" }, nil
    local _, err = connect({
      headers = function(_, address)
        assert.equal(server.mcp, address)
        return credentials
      end,
      challenged = function(_, response, sent)
        seen = { response.status, response.url, sent }
        return false
      end,
    })
    assert.equal("HTTP_401", err.code)
    assert.same({ 401, server.mcp, credentials }, seen)
    assert.equal("Custom secret", server:last("/mcp").headers.authorization)
  end)

  it("is an HTTP error without an authorizer, in the server's words", function()
    server:setup({ answers = {
      ["/mcp"] = { status = 401, body = '{"error":"invalid_token","error_description":"who are you?"}' },
    } })
    local client, err = operations.from_mcp.connect("guarded", { url = server.mcp, stream = false })
    assert.is_nil(client)
    assert.equal("HTTP_401", err.code)
    assert.matches("who are you?", err.message, 1, true)
  end)

  it("cannot be used where no login is possible", function()
    local client, err = connect(operations.oauth.authorizer({}))
    assert.is_nil(client)
    assert.equal("login_required", err.details.error)
  end)
end)
