--- The identity of the command line: `--scopes` and `--identity`, of commands that look at operations and call them.
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")

local identity = {}

---@type operations.cli.Option[]
identity.options = {
  { name = "--scopes", value = "A,B", help = "act with these scopes" },
  { name = "--identity", value = "JSON", help = "act as {\"id\", \"scopes\", \"resources\"}" },
}

--- The identity that the options give.
---@param options table<string, any>  of parsed arguments
---@return operations.Identity? identity  nil: they give none
---@return string? message  what is wrong with them
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
