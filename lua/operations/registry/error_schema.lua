--- The errors that an operation declares (`errorSchemas`): finds the declaration of an error, and checks its details.
local core = require("operations.core")

local error_schema = {}

-- Compiled patterns by declaration; false without a pattern, or with an invalid one.
local patterns = setmetatable({}, { __mode = "k" })
local schemas = setmetatable({}, { __mode = "k" })

local function compile(known, declared, schema)
  if known[declared] == nil then
    known[declared] = schema ~= nil and core.schema_compile(schema) or false
  end
  return known[declared]
end

local function matches(declared, code)
  local pattern = declared.pattern and compile(patterns, declared, { pattern = declared.pattern })
  return pattern and pattern:check(code)
end

--- The declaration of a code: the one that names it, else the first whose `pattern` it matches.
---@param list? operations.ErrorSchema[]
---@param code string
---@return operations.ErrorSchema?
function error_schema.find(list, code)
  local family
  for _, declared in ipairs(list or {}) do
    if declared.code == code then
      return declared
    elseif not family and matches(declared, code) then
      family = declared
    end
  end
  return family
end

--- The issues of an error's details by the error's declaration.
---@param declared operations.ErrorSchema
---@param details any
---@return operations.Issue[]?
function error_schema.issues(declared, details)
  local schema = details ~= nil and compile(schemas, declared, declared.schema)
  if schema then
    local _, issues = schema:check(details)
    return issues
  end
end

return error_schema
