--- A bare client of an MCP server over stdio: lines of JSON, and nothing that would hide what the server does.
local command = require("spec.support.command")
local json = require("operations.base.json")
local process = require("operations.net.process")

local interpreter = command.interpreter() or "luajit"
process.allow(true)

---@class spec.McpPipe
local Pipe = {}
Pipe.__index = Pipe

local pipe = {
  --- `_meta` of a request of the modern era.
  modern = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
    ["io.modelcontextprotocol/clientCapabilities"] = { elicitation = {} } },
}

--- Starts the server.
---@param ... string  options, "max_body=1000"
function pipe.start(...)
  return pipe.run("stdio", ...)
end

--- The client of a server that runs.
---@param child operations.Process
function pipe.over(child)
  return setmetatable({ child = child, last = 0 }, Pipe)
end

--- Starts another program of this folder.
---@param program string
---@param ... string  its arguments
function pipe.run(program, ...)
  return pipe.spawn(interpreter, ("spec/support/mcp_server/%s.lua"):format(program), ...)
end

--- Starts the command line program.
---@param ... string  its arguments
function pipe.operations(...)
  return pipe.spawn(interpreter, "lua/operations/cli/main.lua", ...)
end

--- Starts any program.
---@param ... string  it and its arguments
function pipe.spawn(...)
  local options = { ... }
  options.env, options.env_allow, options.stderr_lines = command.environment(), { "PATH", "HOME" }, 1000
  return pipe.over(assert(process.spawn(options)))
end

--- Sends a text.
function Pipe:write(text)
  assert(self.child:write(text))
end

--- Sends a message.
function Pipe:send(value)
  value.jsonrpc = "2.0"
  self:write(assert(json.encode(value)) .. "\n")
end

--- The next message; nil at the end.
function Pipe:receive()
  local line, err = self.child:read_line()
  assert(line or not err, err)
  return line and assert(json.decode(line))
end

--- Sends a request; its answer, the messages that came before it left out.
function Pipe:request(method, params)
  self.last = self.last + 1
  local id = self.last
  self:send({ id = id, method = method, params = params })
  local answer = self:receive()
  while answer and (answer.id ~= id or answer.method) do
    answer = self:receive()
  end
  return answer
end

--- The handshake of the legacy era; the server's answer.
function Pipe:initialize(version, capabilities)
  local answer = self:request("initialize", { protocolVersion = version or "2025-11-25",
    capabilities = capabilities or { elicitation = {} }, clientInfo = { name = "spec", version = "1" } })
  self:send({ method = "notifications/initialized" })
  return answer
end

--- Calls a tool.
function Pipe:call(name, arguments, meta)
  return self:request("tools/call", { name = name, arguments = arguments, _meta = meta })
end

return pipe
