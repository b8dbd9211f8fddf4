--- A Redis of our own on a free port, that keeps nothing.
local eventually = require("spec.support.eventually")
local operations = require("operations")
local streams = require("operations.stream")

local redis = {}

local function free_port()
  return operations.run(function()
    local listener = assert(streams.listen("127.0.0.1", 0, function() end))
    local port = listener.port
    listener:close()
    return port
  end)
end

---@param port? integer  default: a free one
---@return { port: integer, url: string, stop: fun(signal?: string) }
function redis.start(port)
  port = port or free_port()
  -- A group of its own, that ends by itself should nobody stop it.
  local pipe = io.popen(("unset LD_PRELOAD; setsid timeout -s KILL 900 redis-server --port %d --bind 127.0.0.1 "
    .. "--save '' --appendonly no >/dev/null 2>&1 & echo $!"):format(port))
  local pid = pipe:read("*l")
  pipe:close()
  operations.run(function()
    eventually(function()
      return streams.connect("127.0.0.1", port)
    end):close()
  end)
  return {
    port = port,
    url = "redis://127.0.0.1:" .. port,
    stop = function(signal)
      os.execute(("kill -%s -%s 2>/dev/null"):format(signal or "KILL", pid))
      os.execute(("while kill -0 -%s 2>/dev/null; do sleep 0.01; done"):format(pid))
    end,
  }
end

return redis
