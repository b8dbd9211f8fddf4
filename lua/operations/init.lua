--- operations: the one call interface for everything a Lua program can invoke.
local core = require("operations.core")
local errors = require("operations.error")
local marks = require("operations.marks")
local registry = require("operations.registry")
local schema = require("operations.schema")
local sse = require("operations.sse")
local task = require("operations.task")
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
  sse_parser = sse.parser,

  run = task.run,
  spawn = task.spawn,
  sleep = task.sleep,
  all = task.all,
  use_host = task.use_host,
}

-- Parts that a program may do without are loaded when first named.
local parts = {
  from_openapi = "operations.from_openapi",
  http = "operations.http",
  json = "operations.json",
  process = "operations.process",
  scanner = "operations.scanner",
  type = "operations.type",
}

return setmetatable(operations, {
  __index = function(self, name)
    local part = parts[name] and require(parts[name])
    rawset(self, name, part)
    return part
  end,
})
