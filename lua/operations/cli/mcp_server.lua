--- `operations mcp`: serves operations as tools of an MCP server on stdin and stdout, for assistants that start it.
local arguments = require("operations.cli.arguments")
local bridge = require("operations.cli.bridge")
local exposures = require("operations.cli.exposure")
local mcp_servers = require("operations.sources.mcp_servers")
local operations = require("operations")
local output = require("operations.cli.output")
local rules = require("operations.cli.rules")
local sources = require("operations.cli.sources")
local system = require("operations.system")

local mcp_server = {}

local STDIN = 0

local searches = { auto = "auto", always = true, never = false }

mcp_server.mcp = {
  usage = "operations mcp [SOURCE...] [OPTIONS]",
  summary = "Serves the operations of its sources as tools of an MCP server on stdin and\n"
    .. "stdout, until stdin ends. Errors go to stderr. MCP clients start it like this:\n"
    .. "  operations mcp --openapi github.json --include 'issues.*'\n"
    .. "With --mcp or --mcp-config it offers other MCP servers as one.\n"
    .. "With --nvim it connects to the editor after require(\"operations.nvim\").serve().",
  options = {
    { name = "--include", value = "PATTERN", many = true, help = "only these ids or operationIds: 'issues.*'" },
    { name = "--search", value = "auto|always|never", values = { "auto", "always", "never" },
      help = "search tools instead of listing them (above 64)" },
    { name = "--code", help = "let models write programs (search, run_lua)" },
    { name = "--resources", help = "offer queries as resources, too" },
    { name = "--nvim", value = "ADDRESS", optional = true,
      help = "address of the editor ($NVIM, or the only one)" },
    { name = "--name", value = "NAME", help = "name of the server (operations)" },
    { name = "--wait", value = "SECONDS", help = "how long the first list waits for MCP servers (10)" },
    { name = "--log", value = "FILE", help = "append what happens to each MCP server" },
    arguments.identity_options[1], arguments.identity_options[2], exposures.upstream_errors,
    rules.policy, rules.read_only, rules.audit, rules.transform,
  },
}

-- Does a pattern (`*` matches any characters) match a definition? By its id, its name, or its name in the document or
-- server; "/" equals ".".
local function filter_of(patterns)
  local compiled = {}
  for i, text in ipairs(patterns or {}) do
    compiled[i] = "^" .. text:gsub("[^%w]", "%%%0"):gsub("%%%*", ".*") .. "$"
  end
  return patterns and function(definition)
    local meta = definition._meta or {}
    local name = tostring(definition.name)
    local own = tostring(meta.operationId or meta.tool or name):gsub("/", ".")
    for _, pattern in ipairs(compiled) do
      if name:find(pattern) or own:find(pattern) or (tostring(definition.namespace) .. "." .. name):find(pattern) then
        return true
      end
    end
    return false
  end
end
mcp_server.filter_of = filter_of

-- The user who starts the server is the caller: named sources are offered; files of this machine are not sent.
---@class operations.cli.OwnExposure : operations.cli.Exposure
---@field included string[]  patterns of `--include`
local Exposure = {}
Exposure.__index = Exposure

function Exposure.any()
  return true
end

function Exposure:open(definition)
  definition._meta = definition._meta or {}
  if definition._meta.source and (not definition._meta.raw or exposures.spells(self.included, definition)) then
    definition._meta.exposed = true
  end
end

-- Bridges to an editor, instead of using sources.
local function run_bridge(parsed)
  if #parsed.order > 1 or parsed.rest[1] then
    return output.usage("mcp: --nvim goes without other options")
  end
  for _, address in ipairs({ parsed.options.nvim, os.getenv("NVIM") or "" }) do
    if address ~= "" then
      return bridge.run(address)
    end
  end
  return bridge.run()
end

-- Opens the file of `--log` for appending; the function it returns writes a line for a change of a server's state.
local function state_log(path)
  local file, message = io.open(path, "ab")
  if not file then
    return nil, message
  end
  file:setvbuf("line")
  output.at_end({ close = function()
    file:close()
  end })
  return function(name, state, reason)
    local text = state .. (reason and ": " .. tostring(reason) or "")
    file:write(("%s %s: %s\n"):format(os.date("!%Y-%m-%dT%H:%M:%SZ"), name, (text:gsub("%c", " "))))
  end
end

---@param parsed operations.cli.Arguments
---@return integer code
function mcp_server.mcp.run(parsed)
  local given = parsed.options
  if given.nvim then
    return run_bridge(parsed)
  end
  local who, message = arguments.identity(given)
  local search = searches[given.search or "auto"]
  message = message or exposures.flaw(given)
  if message then
    return output.usage("mcp: %s", message)
  elseif search == nil then
    return output.usage("mcp: --search: expected auto, always or never, got %q", given.search)
  end
  local wait = given.wait and tonumber(given.wait)
  if given.wait and not (wait and wait >= 0 and wait < math.huge) then
    return output.usage("mcp: --wait: seconds expected, got %q", given.wait)
  end
  local log, clients, problems = sources.logger(given.verbose), {}, {}
  local on_event
  if given.log then
    on_event, message = state_log(given.log)
    if not on_event then
      return output.usage("mcp: --log: %s", message)
    end
  end
  local include = filter_of(given.include)
  local exposure = setmetatable({ included = given.include or {} }, Exposure)
  local registry, code = sources.registry(parsed, { exposure = exposure, include = include, identity = who,
    names = parsed.rest, starts = sources.start, problems = problems, behind = function(source, registry)
      return mcp_servers.behind(source, registry, { face = sources.face, log = log, verbose = given.verbose,
        include = include, on_event = on_event, on_source = function(client)
          clients[#clients + 1] = client
        end })
    end })
  if not registry then
    return code
  end
  local server = operations.to_mcp(registry, { name = given.name, identity = who, search = search, log = log,
    code = given.code,
    resources = given.resources, upstream_errors = given["upstream-errors"], clients = clients[1] and clients or nil,
    wait = wait and wait * 1000 })
  if system.is_terminal(STDIN) then
    output.notice("waiting for JSON-RPC on stdin: MCP clients start this command; Ctrl-D ends it")
  end
  local ok, err = server:stdio()
  if not ok then
    return output.fail(err)
  end
  return problems[1] and output.codes.SOURCE or output.codes.OK
end

return mcp_server
