local calls = require("spec.support.calls")
local command = require("spec.support.command")
local inside = require("spec.support.inside")
local test_server = require("spec.support.server")

local missing = inside.missing("nginx") or inside.missing("nvim")
local clients = "spec/transports/inside/websocket.lua"

-- Ways to run a spec file against a server: each returns its TAP, and what went wrong.
local ways = {}

function ways.plain(before)
  local result = command.run(("export %s; lua /usr/bin/busted -o TAP --pattern=. %s"):format(before, clients))
  return result.out, result.err, result.code
end

local function inside_of(program)
  return function(before)
    local result = inside[program]("spec/support/run_busted.lua",
      ("BUSTED_ARGS='-o TAP --pattern=. %s' %s"):format(clients, before))
    return result.out, result.log, result.code
  end
end

ways.Neovim, ways.OpenResty = inside_of("nvim"), inside_of("nginx")

local function uses(way, environment)
  local out, problems, code = ways[way](environment)
  local tap = inside.tap(out)
  assert.equal("", tap.failures, problems)
  assert.equal(0, code, problems)
  assert.equal(tap.planned, tap.passed)
  assert.is_true(tap.passed >= 8)
end

describe("a registry served over WebSocket by plain Lua", function()
  if missing then
    pending(missing)
    return
  end
  local server

  setup(function()
    server = calls.serve()
  end)

  teardown(function()
    server.stop()
  end)

  for _, way in ipairs({ "Neovim", "OpenResty" }) do
    it("is used from " .. way, function()
      uses(way, "SPEC_CALLS_URL=" .. server.url)
    end)
  end
end)

describe("a registry served over WebSocket by OpenResty", function()
  if missing then
    pending(missing)
    return
  end
  local app, url

  setup(function()
    app = test_server.start({ app = true })
    url = app.url:gsub("^http", "ws") .. "/calls"
  end)

  teardown(function()
    app:stop()
  end)

  for _, way in ipairs({ "plain", "Neovim", "OpenResty" }) do
    it("is used from " .. way, function()
      uses(way, "SPEC_CALLS_URL=" .. url)
    end)
  end
end)
