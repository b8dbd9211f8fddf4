--- `operations serve` as a process of its own: the real program, on a real socket.
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")

local serve = {}

---@class spec.Served
---@field url string
---@field token? string  that it made
---@field ca_file? string  the authority of its certificate, set by the spec
---@field lines string[]  what it says on stderr
---@field child operations.Process
local Served = {}
Served.__index = Served

local running = {}

--- Starts `operations serve` at a free port and waits until it serves.
---@param words string[]  its arguments
---@param env? table<string, string>
---@return spec.Served
function serve.start(words, env)
  local self = setmetatable({ lines = {} }, Served)
  local line = { command.interpreter(), "lua/operations/cli/main.lua", "serve", "--port", "0" }
  for _, word in ipairs(words) do
    line[#line + 1] = word
  end
  line.env = command.environment()
  for name, value in pairs(env or {}) do
    line.env[name] = value
  end
  line.on_stderr = function(text)
    self.lines[#self.lines + 1] = text
  end
  self.child = assert(operations.process.spawn(line))
  running[#running + 1] = self
  self.url = assert(self.child:read_line(), table.concat(self.lines, "\n"))
  assert(self.url:find("^https?://[%w.]+:%d+"), self.url)
  local said = table.concat(words, " ")
  if not said:find("--no-auth", 1, true) and not said:find("--token", 1, true)
    and not said:find("--issuer", 1, true) then
    self.token = self.child:read_line():match("^Authorization: Bearer (%x+)$")
    assert(#self.token == 32)
  end
  return self
end

function Served:request(method, path, options)
  options = options or {}
  local headers = { Authorization = self.token and "Bearer " .. self.token or nil }
  for name, value in pairs(options.headers or {}) do
    headers[name] = value
  end
  if options.json ~= nil then
    headers["Content-Type"] = "application/json"
  end
  return operations.http.request({ method = method, url = self.url .. path, headers = headers, ca_file = self.ca_file,
    body = options.json ~= nil and json.encode(options.json) or nil })
end

function Served:get(path, options)
  return assert(self:request("GET", path, options))
end

--- What it has said, as soon as it has said this.
function Served:said(pattern, plain)
  eventually(function()
    return table.concat(self.lines, "\n"):find(pattern, 1, plain)
  end)
  return table.concat(self.lines, "\n")
end

function Served:signal(name)
  assert(os.execute(("kill -%s %d"):format(name, self.child.pid)))
end

--- The entries of its access log, once there are so many.
function Served:log(count)
  local entries
  eventually(function()
    entries = {}
    for _, line in ipairs(self.lines) do
      entries[#entries + 1] = line:find("^{") and json.decode(line) or nil
    end
    return #entries >= count
  end)
  return entries
end

--- Ends all that were started.
function serve.stop()
  for _, served in ipairs(running) do
    os.execute(("kill -KILL %d 2>/dev/null"):format(served.child.pid))
    served.child:wait()
  end
  running = {}
end

return serve
