--- Runs the server under the official conformance suite: `lua run_server.lua NODE SUITE [2025-11-25|2026-07-28]`, all
--- that a revision requires of a server. Fails when a scenario fails. With HOST in the environment (nvim, nginx) the
--- server runs inside of that program; nginx has the configuration of examples/nginx.
local command = require("spec.support.command")
local operations = require("operations")
local others = require("spec.mcp.conformance.others")

local node, suite, only = arg[1], arg[2], arg[3]
local host = os.getenv("HOST") or ""

-- Starts the server, which offers what two others have; its URL, and what stops it.
local function start(found)
  if host == "nginx" then
    return require("spec.mcp.conformance.nginx").start(tonumber(os.getenv("WORKERS")) or 4,
      { CONFORMANCE_OPENAPI = found.openapi, CONFORMANCE_MCP = found.mcp })
  end
  local script, environment = "spec/mcp/conformance/serve.lua", command.environment()
  environment.CONFORMANCE_OPENAPI, environment.CONFORMANCE_MCP = found.openapi, found.mcp
  local arguments = { command.interpreter(), script }
  if host == "nvim" then
    arguments = { "nvim", "-u", "NONE", "-i", "NONE", "-n", "--headless", "-c", "luafile " .. script }
    environment.LUA_CPATH = command.directory() .. "/build/luajit/?.so;;"
  end
  arguments.env, arguments.whole_group = environment, true
  local server = assert(operations.process.spawn(arguments))
  local port = assert(server:read_line(), server:stderr()):match("port (%d+)")
  return ("http://127.0.0.1:%s/mcp"):format(port), function()
    server:stop()
  end
end

-- What the suite says of a revision's requirement set, and did all of it pass?
local function run(url, revision)
  local results = os.tmpname()
  os.remove(results)
  local child = assert(operations.process.spawn({ node, suite, "server", "--url", url, "--requirements", revision, "-o",
    results, max_line = 1024 * 1024, env_allow = { "PATH", "HOME" } }))
  local lines = {}
  for line in function() return child:read_line() end do
    lines[#lines + 1] = line
  end
  local code = child:wait().code
  os.execute("rm -rf " .. results)
  return code == 0, table.concat(lines, "\n") .. "\n"
end

-- The scenarios of a summary: how many of those that count passed. Others (extensions, later additions) are listed
-- after "Not scored".
local function count(text)
  local scored, unscored = text:match("=== SUMMARY ===(.-)Not scored(.*)$")
  local optional, passed, all = {}, 0, 0
  for name in (unscored or ""):gmatch("[✓✗]+ (%S+) %(") do
    optional[name] = true
  end
  for mark, name in (scored or ""):gmatch("\n(%S+) (%S+): %d+ passed") do
    if not optional[name] then
      passed, all = passed + (mark == "✓" and 1 or 0), all + 1
    end
  end
  return passed, all
end

local failed = false
operations.run(function()
  local found = others.start()
  local url, stop = start(found)
  for _, revision in ipairs({ "2025-11-25", "2026-07-28" }) do
    if not only or only == revision then
      local ok, text = run(url, revision)
      print((text:match("=== SUMMARY ===.*") or text))
      print(("%s: %d of %d required scenarios of servers passed"):format(revision, count(text)))
      failed = failed or not ok
    end
  end
  local answered = others.check(url)
  print(("%d of 2 other servers answered through the server"):format(answered))
  failed = failed or answered < 2
  stop()
  found.stop()
end)
os.exit(not failed)
