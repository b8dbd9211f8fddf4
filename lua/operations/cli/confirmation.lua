--- Asks for confirmation of operations that delete, at a terminal only.
local output = require("operations.cli.output")
local system = require("operations.system")

local confirmation = {}

local STDIN, STDERR = 0, 2

---@type operations.cli.Option
confirmation.option = { name = "--yes", short = "-y", help = "do not ask before a deletion" }

-- Does the operation delete, by its method or its server's hints?
local function is_destructive(spec)
  local meta = type(spec._meta) == "table" and spec._meta or {}
  return spec.type ~= "query" and (meta.method == "DELETE" or meta.destructive == true)
end

--- Asks whether to call an operation.
---@param spec operations.Spec
---@param options table<string, any>  of parsed arguments
---@return boolean
function confirmation.given(spec, options)
  if options.yes or not is_destructive(spec) or not (system.is_terminal(STDIN) and system.is_terminal(STDERR)) then
    return true
  end
  local meta = spec._meta
  output.settle()
  output.prompt(("%s.%s deletes%s: continue? [y/N] "):format(spec.namespace, spec.name,
    meta.path and (" (%s %s)"):format(meta.method, meta.path) or ""))
  local answer = (io.stdin:read("*l") or ""):lower()
  return answer == "y" or answer == "yes"
end

return confirmation
