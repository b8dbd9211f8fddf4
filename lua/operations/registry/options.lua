--- What a registry can be told when it is made.
local argument = require("operations.base.argument")
local log = require("operations.base.log")

local registry_options = {}

---@class operations.RegistryOptions
---@field normalize? "cast"|"force"|"off"  what happens to handlers' results, default "cast"
---@field on_warning? fun(warning: { operationId: string, issues: table[], changes: table[]? })  default: to the log
---@field on_change? fun(operationId: string, changes: table[])  told of every change that casting made
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr
---@field middleware? (fun(handler: function, spec: operations.Spec): function)[]  wrapped around every handler

local function first_line(warning)
  local issue = warning.issues[1] or warning.changes[1]
  return ("%s: result does not fit its schema: %s: %s"):format(
    warning.operationId, issue.path, issue.message or "replaced")
end

local option_kinds = {
  normalize = "string", on_warning = "function", on_change = "function", log = "function", middleware = "table",
}

local function check(given)
  if type(given) ~= "table" then
    error(("bad argument #1 to 'registry' (table expected, got %s)"):format(type(given)), 5)
  end
  argument.options(given, option_kinds, "registry", 6)
  local normalize = given.normalize or "cast"
  if normalize ~= "cast" and normalize ~= "force" and normalize ~= "off" then
    error("bad option 'normalize' to 'registry' (\"cast\", \"force\" or \"off\" expected)", 5)
  end
end

--- Checks what was given and fills in the defaults.
---@param given? operations.RegistryOptions
---@return operations.RegistryOptions
function registry_options.new(given)
  given = given == nil and {} or given
  check(given)
  local write = given.log or log.to_stderr
  return {
    normalize = given.normalize or "cast",
    log = write,
    on_warning = given.on_warning or function(warning)
      write("warn", first_line(warning), warning)
    end,
    on_change = given.on_change,
    middleware = given.middleware or {},
  }
end

return registry_options
