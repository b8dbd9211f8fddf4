--- Clients that others wrote, and ours, use our server. `make test-mcp-server` runs this.
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")
local pipe = require("spec.support.mcp_server.pipe")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the clients")
local node = modules .. "/node/bin/node"

local PROGRAM = command.interpreter() .. " spec/support/mcp_server/content.lua"
local TOOLS = { "data_all", "data_page", "other_query", "make_tool", "make_prompt", "make_update" }

local function run(words)
  return command.run(("LUA_PATH='%s' LUA_CPATH='%s' %s %s"):format(package.path, package.cpath, node, words))
end

-- Does something with the server over HTTP.
local function over_http(fn)
  local server = pipe.run("content", "port=0")
  local ok, raised = pcall(function()
    fn(assert(server.child:read_line()))
  end)
  server.child:abort()
  assert(ok, raised)
end

local function check(seen, version)
  assert.equal(version, seen.version or version) -- the older package does not say it
  assert.same({ number = 2 }, seen.sum)
  assert.is_true(seen.refused)
  assert.equal(-32602, seen.unknown)
  assert.equal("hello", seen.hello)
  assert.equal("accept Ada", seen.asked)
  assert.equal("Say hello to Ada, as you like", seen.prompt)
  assert.same({ "warm" }, seen.completed)
  assert.equal("note://hello", seen.updated)
  assert.same(TOOLS, seen.tools)
end

-- What a client from npm saw of the server.
local function seen_by(kind, transport, place)
  local result = run(("spec/mcp/suite/clients.mjs %s %s %s %s"):format(modules, kind, transport, place))
  return assert(json.decode(result.out), result.err)
end

local clients = {
  { kind = "v1", name = "the TypeScript client 1.32", version = "2025-11-25" },
  { kind = "v2", name = "the TypeScript client 2.4, of the legacy era,", version = "2025-11-25" },
  { kind = "v2-modern", name = "the TypeScript client 2.4, of the modern era,", version = "2026-07-28" },
}

for _, client in ipairs(clients) do
  describe(client.name, function()
    it("uses our server over stdio", function()
      local seen = seen_by(client.kind, "stdio", PROGRAM)
      check(seen, client.version)
      assert.equal(5, #seen.resources)
    end)

    it("uses our server over HTTP", function()
      over_http(function(url)
        local seen = seen_by(client.kind, "http", url)
        check(seen, client.version)
        assert.equal(4, #seen.resources) -- nobody in particular may read one less
      end)
    end)
  end)
end

-- The Inspector's command line; its exit code, and what it printed.
local function inspect(era, place, words)
  local environment = place:find("^http") and "--transport http" or
    ("-e 'LUA_PATH=%s' -e 'LUA_CPATH=%s'"):format(package.path, package.cpath)
  local result = run(("%s/.bin/mcp-inspector --cli %s %s --protocol-era %s %s"):format(modules, place, environment, era,
    words))
  return result.code, json.decode(result.out), result.err
end

local function check_inspector(era, place)
  local code, listed, complaint = inspect(era, place, "--method tools/list --strict")
  assert.equal(0, code, complaint)
  local names = {}
  for i, tool in ipairs(listed.tools) do
    names[i] = tool.name
  end
  assert.same(TOOLS, names)
  local called
  code, called, complaint = inspect(era, place, "--method tools/call --tool-name data_page --tool-arg number=1")
  assert.equal(0, code, complaint)
  assert.same({ number = 2 }, (called.result or called).structuredContent)
  assert.equal(5, (inspect(era, place, "--method tools/call --tool-name nowhere"))) -- its code for: there is none
  code, called, complaint = inspect(era, place, "--method resources/read --uri note://hello")
  assert.equal(0, code, complaint)
  assert.equal("hello", called.contents[1].text)
end

for _, era in ipairs({ "legacy", "modern" }) do
  describe("the Inspector, of the " .. era .. " era,", function()
    it("finds no fault with our tools, and calls them, over stdio", function()
      check_inspector(era, PROGRAM)
    end)

    it("finds no fault with our tools, and calls them, over HTTP", function()
      over_http(function(url)
        check_inspector(era, url)
      end)
    end)
  end)
end

-- What our own client sees, in the words of clients.mjs.
local function seen_by_ours(config)
  config.log = function() end
  config.elicitation = function()
    return { action = "accept", content = { name = "Ada" } }
  end
  local client = assert(operations.from_mcp.connect("ours", config))
  local seen, updated = { version = client.version, tools = {} }, nil
  for i, tool in ipairs(client:tools()) do
    seen.tools[i] = tool.name
  end
  seen.sum = client:call("data_page", { number = 1 }).data
  seen.refused = client:call("data_page", { number = "one" }).meta.isError
  seen.unknown = select(2, client:call("nowhere")).details.rpcCode
  seen.hello = client:request("resources/read", { uri = "note://hello" }).contents[1].text
  seen.asked = client:request("resources/read", { uri = "note://by/asked/x" }).contents[1].text
  seen.prompt = client:request("prompts/get", { name = "greet", arguments = { name = "Ada" } }).messages[1].content.text
  seen.completed = client:complete("greet", "tone", "w")
  assert(client:subscribe("note://hello", function(uri)
    updated = uri
  end))
  eventually(function() -- in the modern era nobody knows when the server has begun to watch
    assert(client:call("make_update", { uri = "note://hello" }))
    return updated
  end)
  seen.updated = updated
  client:close()
  return seen
end

for era, version in pairs({ legacy = "2025-11-25", modern = "2026-07-28" }) do
  describe("our client, of the " .. era .. " era,", function()
    it("uses our server over stdio", function()
      check(seen_by_ours({ command = command.interpreter(), args = { "spec/support/mcp_server/content.lua" },
        era = era, env = command.environment() }), version)
    end)

    it("uses our server over HTTP", function()
      over_http(function(url)
        check(seen_by_ours({ url = url, era = era }), version)
      end)
    end)
  end)
end
