--- operations: the one call interface for everything a Lua program can invoke.
local core = require("operations.core")
local errors = require("operations.error")
local marks = require("operations.marks")
local registry = require("operations.registry")
local schema = require("operations.schema")
local version = require("operations.version")

local operations = {
  _VERSION = "operations " .. version,

  null = core.null,
  array_mt = core.array_mt,
  object_mt = core.object_mt,
  array = marks.array,
  object = marks.object,

  registry = registry.new,
  error = errors.new,
  is_error = errors.is_error,

  local_envelope = core.local_envelope,
  http_envelope = core.http_envelope,
  mcp_envelope = core.mcp_envelope,
  is_response_envelope = core.is_response_envelope,
  unwrap = core.unwrap,

  schema = schema,
}

-- Parts that a program may do without are loaded when first named.
local parts = {
  from_mcp = "operations.from_mcp",
  from_openapi = "operations.from_openapi",
  http = "operations.http",
  json = "operations.json",
  oauth = "operations.oauth",
  process = "operations.process",
  scanner = "operations.scanner",
  transports = "operations.transports",
  type = "operations.type",
}

-- Functions of such parts: the module, and the name in there.
local functions = {
  all = { "operations.task", "all" },
  call_handler = { "operations.call_handler", "new" },
  call_map = { "operations.call_map", "new" },
  import = { "operations.call_services", "import" },
  map = { "operations.task_map", "map" },
  run = { "operations.task", "run" },
  sleep = { "operations.task", "sleep" },
  spawn = { "operations.task", "spawn" },
  sse_parser = { "operations.sse", "parser" },
  use_host = { "operations.task", "use_host" },
}

return setmetatable(operations, {
  __index = function(self, name)
    local place = functions[name]
    local part = parts[name] and require(parts[name]) or place and require(place[1])[place[2]]
    rawset(self, name, part)
    return part
  end,
})
