--- The identity for commands that list and call operations: `--scopes` and `--identity`.
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")

local identity = {}

---@type operations.cli.Option[]
identity.options = {
  { name = "--scopes", value = "A,B", help = "the caller has these scopes" },
  { name = "--identity", value = "JSON", help = "the caller: {\"id\", \"scopes\", \"resources\"}" },
}

--- The identity in the options.
---@param options table<string, any>  of parsed arguments
---@return operations.Identity? identity  nil: none given
---@return string? message  error message
function identity.read(options)
  local given
  if options.identity then
    local err
    given, err = json.decode(options.identity)
    if type(given) ~= "table" or core.kind(given) ~= "object" then
      return nil, "--identity: " .. (err and err.message or "expected a JSON object")
    end
  end
  if options.scopes then
    given = given or { id = "command line" }
    given.scopes = operations.array()
    for scope in options.scopes:gmatch("[^,%s]+") do
      table.insert(given.scopes, scope)
    end
  end
  return given
end

return identity
