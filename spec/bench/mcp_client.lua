--- Our side of mcp.lua, a process of its own as its peer is. Usage: mcp_client.lua SECONDS stdio COMMAND ARGUMENT...
--- | http URL. Prints what mcp_peer.mjs prints.
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")
local usage = require("spec.support.usage")

local seconds, kind, place = tonumber(arg[1]), arg[2], arg[3]

local function words(from)
  local list = {}
  for i = from, #arg do
    list[#list + 1] = arg[i]
  end
  return list
end

local function config()
  if kind == "http" then
    return { url = place, era = "legacy", stream = false }
  end
  return { command = place, args = words(4), era = "legacy",
    env = { LUA_PATH = os.getenv("LUA_PATH"), LUA_CPATH = os.getenv("LUA_CPATH") } }
end

local function run(client, width, duration)
  local count, from, spent = 0, core.now(), os.clock()
  local stop, lanes = from + duration * 1000, {}
  for lane = 1, width do
    lanes[lane] = function()
      while core.now() < stop do
        count = count + 1
        local message = ("message %d %d"):format(lane, count)
        assert(assert(client:call("echo", { message = message })).data[1].text == message)
      end
    end
  end
  assert(operations.all(lanes))
  return { rate = count / (core.now() - from) * 1000, cpu = (os.clock() - spent) / count * 1e6 }
end

local function rate(client, width)
  run(client, width, seconds / 4)
  return run(client, width, seconds)
end

operations.run(function()
  local begun, spent = core.now(), os.clock()
  local client = assert(operations.from_mcp.connect("bench", config()))
  local start, share = core.now() - begun, (os.clock() - spent) * 1000
  local one, many = rate(client, 1), rate(client, 32)
  print(json.encode({ one = one, many = many, resident = usage.resident() / 1024, start = start, share = share }))
  client:close()
end)
