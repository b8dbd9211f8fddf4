local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local http_request = require("spec.support.http_request")
local operations = require("operations")

local PREFIX = "io.modelcontextprotocol/"

describe("resources and prompts of a server behind an MCP server", function()
  local client, server

  local function connect(name, era, ...)
    return assert(operations.from_mcp.connect(name, { command = command.interpreter() or "luajit",
      args = { "spec/support/mcp_server/content.lua", ... }, env = command.environment(),
      env_allow = { "PATH", "HOME" }, log = function() end, era = era }))
  end

  local function start(era)
    client = connect("far off", era)
    server = operations.to_mcp(operations.registry({ log = function() end }), { clients = { client },
      log = function() end })
    server:resource({ uri = "near://one", read = function() return "one" end })
    server:prompt({ name = "near", get = function() return "near" end })
  end

  before_each(function()
    start("modern")
  end)

  after_each(function()
    server:close()
    client:close()
  end)

  local function request(method, params, asked)
    params = params or {}
    params._meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = operations.object() }
    return http_request.send(asked or server, "POST", "/mcp", { accept = "application/json, text/event-stream",
      ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = method, ["mcp-name"] = params.name or params.uri },
      { jsonrpc = "2.0", id = 1, method = method, params = params }).json
  end

  local function names(list)
    local found = {}
    for i, item in ipairs(list) do
      found[i] = item.name
    end
    return found
  end

  it("of an HTTP API with upstreams are shown to callers of their operations", function()
    local registry, scopes = operations.registry({ log = function() end }), {}
    client._config.accessControl = function(definition)
      return definition.name:find("^resources") and { requiredScopes = { "read" } } or nil
    end
    client:refresh()
    assert(client:register(registry))
    local api = assert(operations.to_http(registry, { mcp = true, upstreams = { client }, log = function() end,
      authorize = function()
        return { id = "ada", scopes = scopes }
      end }))
    assert.same({}, request("resources/list", nil, api).result.resources)
    assert.equal(-32602, request("resources/read", { uri = "note://hello" }, api).error.code)
    scopes = { "read" }
    assert.equal("far_off_hello", request("resources/list", nil, api).result.resources[1].name)
    assert.equal("hello", request("resources/read", { uri = "note://hello" }, api).result.contents[1].text)
    assert.same({}, request("prompts/list", nil, api).result.prompts) -- not exposed
    local prompt = { name = "far_off_greet", arguments = { name = "Ada" } }
    assert.equal(-32602, request("prompts/get", prompt, api).error.code)
    api:close()
  end)

  it("are listed under names with the client's in front; URIs stay", function()
    local list = request("resources/list").result.resources
    assert.same({ "near://one", "far_off_hello", "far_off_note://bytes" }, { list[1].name, list[2].name, list[3].name })
    assert.equal("note://hello", list[2].uri)
    local templates = request("resources/templates/list").result.resourceTemplates
    assert.same({ "far_off_notes", "note://by/{author}/{+path}" }, { templates[1].name, templates[1].uriTemplate })
    assert.same({ "near", "far_off_greet", "far_off_talk", "far_off_nothing" },
      names(request("prompts/list").result.prompts))
  end)

  it("are read, unknown ones are missing, failures are passed on unchanged", function()
    local read = request("resources/read", { uri = "note://hello" }).result
    assert.same({ { uri = "note://hello", mimeType = "text/plain", text = "hello" } }, read.contents)
    assert.same({ "complete", 0, server.info },
      { read.resultType, read.ttlMs, read._meta[PREFIX .. "serverInfo"] }) -- this server's own
    assert.equal("one", request("resources/read", { uri = "near://one" }).result.contents[1].text)
    local missing = request("resources/read", { uri = "note://none" }).error
    assert.same({ -32602, "Resource not found" }, { missing.code, missing.message })
    assert.equal(-32603, request("resources/read", { uri = "note://broken" }).error.code)
  end)

  it("are read from whichever server has them", function()
    for _, era in ipairs({ "modern", "legacy" }) do
      local clients = { connect("one", era), connect("two", era, "note=more") }
      local both = operations.to_mcp(operations.registry(), { clients = clients })
      local answer = request("resources/read", { uri = "note://more" }, both)
      assert.equal("more", answer.result.contents[1].text)
      both:close()
      clients[1]:close()
      clients[2]:close()
    end
  end)

  it("are given to a client of the legacy era without what only the modern one has", function()
    local headers = { accept = "application/json, text/event-stream", ["mcp-protocol-version"] = "2025-11-25" }
    local function ask(method, params)
      local answer = http_request.send(server, "POST", "/mcp", headers,
        { jsonrpc = "2.0", id = 1, method = method, params = params })
      headers["mcp-session-id"] = answer.headers["mcp-session-id"] or headers["mcp-session-id"]
      return answer.json.result
    end
    ask("initialize", { protocolVersion = "2025-11-25", capabilities = operations.object(),
      clientInfo = { name = "spec", version = "1" } })
    assert.same({ contents = { { uri = "note://hello", mimeType = "text/plain", text = "hello" } } },
      ask("resources/read", { uri = "note://hello" }))
    assert.is_nil(ask("prompts/get", { name = "far_off_greet", arguments = { name = "Ada" } }).resultType)
  end)

  it("are prompts under their own names only", function()
    local got = request("prompts/get", { name = "far_off_greet", arguments = { name = "Ada", tone = "warm" } }).result
    assert.equal("Say hello to Ada, warm", got.messages[1].content.text)
    assert.equal("near", request("prompts/get", { name = "near" }).result.messages[1].content.text)
    for _, name in ipairs({ "greet", "far_off_near", "far_off_" }) do
      assert.equal(-32602, request("prompts/get", { name = name }).error.code, name)
    end
    local failed = request("prompts/get", { name = "far_off_nothing" }).error
    assert.same({ -32603, "BUSY: come back later" }, { failed.code, failed.message })
    local refused = request("prompts/get", { name = "far_off_greet", arguments = { tone = "hot" } }).error
    assert.same({ -32602, 2 }, { refused.code, #refused.data })
  end)

  it("are completed there, a prompt by its own name", function()
    local function complete(ref, name, value, others)
      return request("completion/complete", { ref = ref, argument = { name = name, value = value },
        context = others and { arguments = others } })
    end
    assert.same({ "warm" }, complete({ type = "ref/prompt", name = "far_off_greet" }, "tone", "w").result
      .completion.values)
    local uri = { type = "ref/resource", uri = "note://by/{author}/{+path}" }
    assert.same({ "ada", "Adam" }, complete(uri, "author", "a").result.completion.values)
    assert.equal("adax1", complete(uri, "path", "x", { author = "ada" }).result.completion.values[1])
    for _, ref in ipairs({ { type = "ref/prompt", name = "greet" }, { type = "ref/prompt", name = "far_off_none" },
      { type = "ref/resource", uri = "note://none" } }) do
      assert.equal(-32602, complete(ref, "tone", "w").error.code)
    end
  end)

  it("tell this server's clients when they change", function()
    server:close()
    client:close()
    start("legacy")
    local told = {}
    function server.changes.changed(_, kind)
      told[kind] = true
    end
    function server.changes.updated(_, uri)
      told[#told + 1] = uri
    end
    assert(client:subscribe("note://hello", function() end))
    assert(client:call("make_update", { uri = "note://hello" }))
    assert(client:call("make_prompt", { name = "new" }))
    eventually(function()
      return told.prompts and told[1]
    end)
    assert.equal("note://hello", told[1])
    assert.is_nil(told.resources)
  end)

  it("are watched there from the first subscriber to the last", function()
    local told = {}
    function client.subscribe(_, uri)
      told[#told + 1] = "+" .. uri
    end
    function client.unsubscribe(_, uri)
      told[#told + 1] = "-" .. uri
    end
    local function post(session, method, params)
      return http_request.send(server, "POST", "/mcp", { accept = "application/json, text/event-stream",
        ["mcp-session-id"] = session }, { jsonrpc = "2.0", id = 1, method = method, params = params })
    end
    local sessions = {}
    for i = 1, 2 do
      sessions[i] = post(nil, "initialize", { protocolVersion = "2025-11-25", capabilities = operations.object() })
        .headers["mcp-session-id"]
      assert.same({}, post(sessions[i], "resources/subscribe", { uri = "note://hello" }).json.result)
    end
    assert.same({ "+note://hello" }, told)
    assert.same({}, post(sessions[1], "resources/unsubscribe", { uri = "note://hello" }).json.result)
    assert.same({ "+note://hello" }, told)
    http_request.send(server, "DELETE", "/mcp", { ["mcp-session-id"] = sessions[2] })
    assert.same({ "+note://hello", "-note://hello" }, told)
  end)

  it("are absent while the client is not connected", function()
    client:close()
    assert.same({ "near" }, names(request("prompts/list").result.prompts))
    assert.same({ "near://one" }, names(request("resources/list").result.resources))
  end)
end)
