local command = require("spec.support.command")
local free_port = require("spec.support.free_port")
local http = require("operations.net.http")
local json = require("operations.base.json")
local oauth = require("spec.support.oauth")
local process = require("operations.net.process")
local system = require("operations.system")

describe("a login from the terminal", function()
  local server, browser, home

  setup(function()
    server = oauth.start()
    home = os.tmpname()
  end)

  teardown(function()
    server:stop()
    os.execute(("rm -rf '%s'"):format(home))
  end)

  before_each(function()
    local config, resource = server:good()
    resource.scopes_supported = { "read" }
    server:setup(config)
    browser = server.browser()
    os.execute(("rm -rf '%s'"):format(home))
  end)

  local read = '[{"text":"read","type":"text"}]'

  local function call(sources, words)
    return ("lua/operations/cli/main.lua %s "):format(words or "call guarded.scope --compact")
      .. (sources or ("--namespace guarded --mcp '%s'"):format(server.mcp))
  end

  -- Calls the tool, or runs other `words`, at a terminal of its own; `answer(url)` is what the user types. Returns the
  -- last line, and all of them.
  local function at_terminal(way, answer, sources, words)
    local env = command.environment()
    local preload = env.LD_PRELOAD or "" -- for our program, not for `script`
    env.LD_PRELOAD, env.OPERATIONS_LOGIN, env.XDG_STATE_HOME, env.NO_COLOR = nil, way, home, "1"
    local run = assert(process.spawn({
      "script", "-qec", ("LD_PRELOAD=%s %s %s"):format(preload, command.interpreter(), call(sources, words)),
      "/dev/null", env = env,
    }))
    local last, all = nil, {}
    while true do
      local line = run:read_line()
      if not line then
        return last, table.concat(all, "\n")
      end
      all[#all + 1] = last
      last = line:gsub("\r", ""):gsub("^.*\27%[K", "")
      local url = last:match("^  (http%S+)$")
      local typed = url and answer(url) or ""
      if url and way == "paste" then
        run:write(typed .. "\n")
      end
    end
  end

  it("takes the address at which the browser ended, and keeps the token for the next call", function()
    assert.equal(read, at_terminal("paste", browser.open))
    assert.equal(read, at_terminal("paste", browser.open))
    assert.equal(1, #browser.opened)
    assert.equal(2, #system.list(home .. "/operations/oauth"))
  end)

  local function visit(url)
    assert.equal(200, assert(http.request({ url = browser.open(url) })).status)
  end

  it("waits for a browser on this machine", function()
    local port = free_port()
    assert.equal(read, at_terminal(port, visit))
    assert.equal("http://127.0.0.1:" .. port .. "/callback", server:last("/authorize").fields.redirect_uri)
  end)

  it("is one after the other where many servers want one", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(json.encode({ mcpServers = { guarded = { url = server.mcp }, other = { url = server.mcp .. "?b" } } }))
    file:close()
    local last, all = at_terminal(free_port(), visit, "--mcp-config '" .. path .. "'", "list")
    os.remove(path)
    assert.matches("guarded%.scope.*other%.scope", all .. "\n" .. last)
    assert.equal(2, #browser.opened)
  end)

  it("fails when nothing is pasted", function()
    local _, all = at_terminal("paste", function() end)
    assert.matches("no address was pasted", all)
  end)

  it("is asked for nowhere but at a terminal, and not where there is a token", function()
    local function run(more)
      return command.run(("XDG_STATE_HOME='%s' lua %s"):format(home, call() .. (more or "")))
    end
    assert.matches("the server wants a user to log in: call it from a terminal once", run().err)
    assert.matches("HTTP_401", run(" --bearer wrong").err)
    assert.equal(read, at_terminal("paste", browser.open))
    assert.equal(read .. "\n", run().out)
  end)

  it("can follow after its source was added where no login is possible", function()
    local function run(words)
      return command.run(("h='%s'; XDG_STATE_HOME=$h XDG_CONFIG_HOME=$h/config XDG_CACHE_HOME=$h/cache operations %s")
        :format(home, words))
    end
    local added = run(("add mine --namespace guarded --mcp '%s'"):format(server.mcp))
    assert.equal("operations: remembered mine: its server wants a user to log in; operations login mine does that\n",
      added.err)
    assert.equal(0, added.code)
    assert.matches("mine  mcp ", run("sources").out, 1, true)
    assert.equal(12, run("list mine").code)
    assert.equal(read, at_terminal("paste", browser.open)) -- the store has a token for the server from here on
    assert.matches("guarded.scope", run("list mine").out, 1, true)
  end)
end)
