--- How long an editor is held while the plugin works: the longest gap of a 5 ms timer of Neovim's own loop, beside the
--- time of `vim.json.decode` on 6 MB, which holds it all at once; and what stays in memory. Run by main.lua in here.
rawset(_G, "arg", { [0] = "nvim" }) -- as the other specs inside of Neovim have it
local operations = require("operations")
local nvim = require("operations.nvim")
local editor = require("spec.support.editor")

local vim = rawget(_G, "vim")
io.stdout:setvbuf("no")
local url, SIZE, CALLS, EVENTS, MCP_CALLS, RELOADS = os.getenv("TASKS_URL"), 6000000, 64, 100000, 10000, 100

local function milliseconds(since)
  return (vim.loop.hrtime() - since) / 1e6
end

-- The longest gap while `work` is done, and how long that took.
local function gap_of(work)
  collectgarbage()
  collectgarbage()
  local longest, timer, last = 0, vim.loop.new_timer(), vim.loop.hrtime()
  timer:start(5, 5, function()
    longest = math.max(longest, milliseconds(last))
    last = vim.loop.hrtime()
  end)
  local began = vim.loop.hrtime()
  local done = work()
  assert(vim.wait(300000, done, 1), "does not come to an end")
  local took = milliseconds(began)
  vim.wait(20)
  timer:close()
  return longest, took
end

local function in_task(work)
  return function()
    local working = operations.spawn(function()
      work()
      return true
    end)
    local finished, err
    operations.spawn(function()
      finished, err = working:wait()
    end)
    return function()
      assert(not err, tostring(err))
      return finished
    end
  end
end

local decode

local function say(name, gap, took)
  io.stdout:write(("%-34s longest gap %6.1f ms, %8.0f ms in all; vim.json.decode of 6 MB %.0f ms: %.2f\n"):format(
    name, gap, took, decode, gap / decode))
end

local function memory()
  collectgarbage()
  collectgarbage()
  local status = io.open("/proc/self/status")
  local resident = tonumber(status:read("*a"):match("VmRSS:%s*(%d+)"))
  status:close()
  return collectgarbage("count"), resident
end

local record = { type = "object", properties = { id = { type = "integer" }, title = { type = "string" } } }
local function get(parameters, content)
  return { get = { operationId = "get", parameters = parameters, responses = { ["200"] = { description = "",
    content = content } } } }
end
local function document(path, parameter, content)
  return { openapi = "3.1.0", info = { title = "Load", version = "1" }, servers = { { url = url } },
    paths = { [path] = get({ { name = parameter, ["in"] = "query" } }, content) } }
end

local options = {
  servers = { mcpServers = { spec = editor.server() } },
  apis = {
    slow = { document = document("/slow", "head", nil) },
    records = { document = document("/records", "size", { ["application/json"] = { schema = {
      type = "array", items = record } } }) },
    events = { document = document("/sse", "count", { ["text/event-stream"] = {} }) },
  },
}

local function setup()
  nvim.setup(options)
  local registry = nvim.registry()
  assert(vim.wait(20000, function()
    return registry:get("spec.echo") and registry:get("slow.get") and registry:get("events.get")
      and registry:get("records.get")
  end, 5), table.concat(require("operations.nvim.log").lines(), "\n"))
  return registry
end

local registry = setup()
local text = assert(operations.http.request({ url = url .. "/records?size=" .. SIZE })).body
local times = {}
for i = 1, 7 do
  local began = vim.loop.hrtime()
  vim.json.decode(text)
  times[i] = milliseconds(began)
end
table.sort(times)
decode = times[4]

say(CALLS .. " calls at once", gap_of(in_task(function()
  assert(operations.map((" "):rep(CALLS):gmatch("."), function()
    return registry:execute("slow.get", { head = 0.3 })
  end, { limit = CALLS }))
end)))

local function window(command, pattern)
  return function()
    vim.cmd("Operations " .. command)
    return function()
      return editor.title():find(pattern)
    end
  end
end

say(":Operations call, 6 MB", gap_of(in_task(function()
  assert(#assert(registry:execute("records.get", { size = SIZE })).data > 1000)
end)))
say(":Operations call, 6 MB, shown", gap_of(window("call records.get size=" .. SIZE, "^records%.get$")))
editor.clear()
say((":Operations watch, %d events"):format(EVENTS), gap_of(window("watch events.get count=" .. EVENTS,
  "ended after " .. EVENTS .. " events")))
editor.clear()

local function call_many(count)
  for i = 1, count do
    local envelope = assert(registry:execute("spec.add", { a = i, b = 1 }))
    assert(envelope.data.sum == i + 1)
  end
end

gap_of(in_task(function() call_many(500) end))
local warm_lua, warm = memory()
say(MCP_CALLS .. " calls of an MCP server", gap_of(in_task(function() call_many(MCP_CALLS) end)))
local after_lua, after = memory()
io.stdout:write(("after %d calls: Lua %+.0f KiB, resident %+.0f KiB\n"):format(MCP_CALLS, after_lua - warm_lua,
  after - warm))
assert(after_lua - warm_lua < 2048, "the calls leave something behind")

-- What a manager of plugins does to load a plugin again.
local function reload(deactivates)
  if deactivates then
    nvim.deactivate()
  end
  for name in pairs(package.loaded) do
    if name:find("^operations") then
      package.loaded[name] = nil
    end
  end
  operations, nvim = require("operations"), require("operations.nvim")
  registry = setup()
end

local function counts()
  return #vim.fn.readdir("/proc/self/fd"), #vim.fn.systemlist("pgrep -P " .. vim.loop.getpid())
end

for i = 1, 10 do
  reload(i % 2 == 0)
end
vim.wait(1000, function() return false end, 50)
local before_lua, before = memory()
local files, children = counts()
for i = 1, RELOADS do
  reload(i % 2 == 0)
end
vim.wait(3000, function() return false end, 50)
after_lua, after = memory()
local files_after, children_after = counts()
io.stdout:write(("after %d reloads: Lua %+.0f KiB, resident %+.0f KiB, descriptors %+d, processes %+d\n"):format(
  RELOADS, after_lua - before_lua, after - before, files_after - files, children_after - children))
assert(files_after - files <= 4 and children_after - children <= 0, "reloads leave something behind")
assert(after_lua - before_lua < 2048, "reloads leave something behind")
vim.cmd("qa!")
