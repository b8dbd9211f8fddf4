--- A Redis of our own on a free port.
local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local limits = require("operations.base.limits")
local operations = require("operations")
local streams = require("operations.net.stream")

local redis = {}

-- Somebody listens on a port.
local function listens(port)
  local stream = streams.connect("127.0.0.1", port)
  if stream then
    stream:close()
  end
  return stream ~= nil
end

---@param port? integer  default: a free one
---@param directory? string  where it keeps every write; default: it keeps nothing
---@param settings? string  further words of its command line
---@return { port: integer, url: string, stop: fun(signal?: string) }
function redis.start(port, directory, settings)
  port = port or free_port()
  -- A group of its own, that ends by itself should nobody stop it.
  local pipe = io.popen(("unset LD_PRELOAD; setsid timeout -s KILL 900 redis-server --port %d --bind 127.0.0.1 "
    .. "--save '' %s %s >/dev/null 2>&1 & echo $!"):format(port, directory
    and ("--appendonly yes --appendfsync always --dir '%s'"):format(directory) or "--appendonly no", settings or ""))
  local pid = pipe:read("*l")
  pipe:close()
  operations.run(eventually, function()
    return listens(port)
  end)
  return {
    port = port,
    url = "redis://127.0.0.1:" .. port,
    stop = function(signal)
      os.execute(("kill -%s -%s 2>/dev/null"):format(signal or "KILL", pid))
      -- Not until the process is gone: its parent may learn of that late.
      operations.run(eventually, function()
        return not listens(port)
      end)
    end,
  }
end

--- One for the specs of a file: it is there from before the first of them until after the last.
---@param setup function  busted's
---@param teardown function  busted's
---@return { port: integer, url: string }  known once it is there
function redis.around(setup, teardown)
  local known, server, discovery = {}, nil, limits.discovery
  setup(function()
    limits.discovery = 2000 -- processes of a loaded machine take their time to answer
    server = redis.start()
    known.port, known.url = server.port, server.url
  end)
  teardown(function()
    limits.discovery = discovery
    server.stop()
  end)
  return known
end

return redis
