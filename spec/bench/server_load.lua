--- Servers as programs of their own, and what they use while wrk drives them.
local command = require("spec.support.command")
local operations = require("operations")

local server_load = {}

local TICKS = 100 -- a second of CPU, as /proc counts

local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return text
end

--- Seconds of CPU and KiB in memory of a process and its children.
function server_load.usage(pid)
  local user, system = read(("/proc/%d/stat"):format(pid)):match("%) %S" .. (" %S+"):rep(10) .. " (%d+) (%d+)")
  local cpu = ((tonumber(user) or 0) + (tonumber(system) or 0)) / TICKS
  local memory = tonumber(read(("/proc/%d/status"):format(pid)):match("VmRSS:%s*(%d+)")) or 0
  for child in read(("/proc/%d/task/%d/children"):format(pid, pid)):gmatch("%d+") do
    local more, memory_of_child = server_load.usage(tonumber(child))
    cpu, memory = cpu + more, math.max(memory, memory_of_child)
  end
  return cpu, memory
end

--- Starts a program that prints its port.
---@param words string[]
---@param env? table<string, string>
function server_load.start(words, env)
  words.env = command.environment()
  for name, value in pairs(env or {}) do
    words.env[name] = value
  end
  local program = assert(operations.process.spawn(words))
  local port = program:read_line() or error(table.concat(words, " ") .. " failed: " .. program:stderr())
  local scheme = env and env.TLS_CERT and "https" or "http"
  return { pid = program.pid, url = ("%s://127.0.0.1:%s"):format(scheme, port), stop = function()
    program:stop()
  end }
end

--- Starts our server.
---@param runtime "lua5.4"|"luajit"
---@param env? table<string, string>
function server_load.ours(runtime, env)
  local root = command.directory()
  return server_load.start({ "sh", "-c",
    ('exec env LUA_CPATH="%s/build/%s/?.so;;" %s spec/bench/serve_program.lua'):format(root, runtime, runtime) }, env)
end

--- Drives a server with 64 connections.
---@param server { pid: integer, url: string, path: string? }
---@param seconds number
---@param options? string  of wrk
---@return number requests  a second
---@return number cpu  microseconds of the server for each
function server_load.wrk(server, seconds, options)
  local before = server_load.usage(server.pid)
  local pipe = assert(io.popen(("wrk -t1 -c64 -d%ds %s '%s%s?id=7'"):format(seconds, options or "", server.url,
    server.path or "/task/get")))
  local output = pipe:read("*a")
  pipe:close()
  local requests = tonumber(output:match("(%d+) requests in"))
  assert(requests and requests > 0 and not output:find("Non-2xx", 1, true), output)
  return requests / seconds, (server_load.usage(server.pid) - before) / requests * 1e6
end

return server_load
