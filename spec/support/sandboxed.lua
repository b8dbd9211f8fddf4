--- Runs programs in the sandbox, with small limits, so that those which take too much end soon.
local operations = require("operations")

local sandboxed = {}

-- In nginx programs start only after `allow`.
sandboxed.refused = rawget(_G, "ngx") and select(2, operations.sandbox.run("return 1", {}))
operations.process.allow(true)

sandboxed.is_jit = rawget(_G, "jit") ~= nil

local small = { max_memory = 24 * 1024 * 1024, max_processor = 200 }

--- Runs a program with small limits; `options` may raise them.
---@param code string
---@param functions? table<string, function>
---@param options? operations.SandboxOptions
---@param context? table
---@return operations.SandboxResult
function sandboxed.run(code, functions, options, context)
  local given = {}
  for _, from in ipairs({ small, options or {} }) do
    for name, value in pairs(from) do
      given[name] = value
    end
  end
  return assert(operations.sandbox.run(code, functions or {}, given, context))
end

--- The value that a program returns; raises its error.
---@param code string
---@param functions? table<string, function>
---@return any
function sandboxed.value(code, functions)
  local result = sandboxed.run(code, functions)
  if not result.ok then
    error(tostring(result.error), 2)
  end
  return result.value
end

--- How a program fails: the kind of its error, or "ok".
---@param code string
---@param functions? table<string, function>
---@param options? operations.SandboxOptions
---@return string
---@return operations.SandboxResult
function sandboxed.kind(code, functions, options)
  local result = sandboxed.run(code, functions, options)
  return result.ok and "ok" or result.error.details.kind, result
end

return sandboxed
