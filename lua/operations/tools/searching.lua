--- The tools that replace many: search, describe and call, beside the pinned ones.
local call = require("operations.tools.call")
local core = require("operations.core")
local json = require("operations.base.json")
local members = require("operations.base.members")
local parameters = require("operations.tools.parameters")
local schemas = require("operations.schema")
local search = require("operations.offer.search")

local searching = {}

local function object(properties, required)
  return { type = "object", properties = properties, required = setmetatable(required, core.array_mt),
    additionalProperties = false }
end

local name_of_tool = { type = "string", description = "The name of a tool, as search_operations gives it" }

local specs = {
  search_operations = {
    description = "Finds further tools by words. Gives their names and descriptions, best first.",
    inputSchema = object({ query = { type = "string", description = "Words" },
      limit = { type = "integer", minimum = 1, maximum = 50, default = 5 } }, { "query" }),
  },
  describe_operation = {
    description = "Gives the JSON Schema of a tool's arguments.",
    inputSchema = object({ name = name_of_tool }, { "name" }),
  },
  call_operation = {
    description = "Calls a tool that search_operations found.",
    inputSchema = object({ name = name_of_tool, arguments = { type = "object",
      description = "The arguments, as describe_operation says" } }, { "name", "arguments" }),
  },
}

--- Names that operations cannot have beside these tools.
searching.names = { search_operations = true, describe_operation = true, call_operation = true }

local order = { "search_operations", "describe_operation", "call_operation" }

local functions, compiled = {}, {}

local function text_of(value)
  return assert(json.encode(value, { keep_order = true }))
end

function functions.search_operations(self, input)
  local hits = self._search:find(input.query, { identity = self._options.identity, limit = input.limit or 5,
    accept = function(spec)
      return self:name_of(spec.namespace .. "." .. spec.name) ~= nil
    end })
  local list = setmetatable({}, core.array_mt)
  for i, hit in ipairs(hits) do
    list[i] = { name = self:name_of(hit.id), description = hit.spec.description or hit.spec.title }
  end
  return text_of(list)
end

function functions.describe_operation(self, input)
  local tool = self:_tool(self:id_of(input.name))
  -- Without strict mode: the `arguments` of call_operation follow the original schema.
  return text_of({ name = input.name, description = tool.description, parameters = tool.original })
end

--- The definitions of the three tools.
---@param self operations.Tools
---@return table<string, operations.Tool>
---@return string[] order
function searching.tools(self)
  local made = {}
  for name, spec in pairs(specs) do
    made[name] = { name = name, description = spec.description,
      parameters = parameters.of(spec.inputSchema, self._options.format, self._options.strict) }
  end
  return made, order
end

-- The arguments of one of these tools, or an error. `arguments` of call_operation may be absent, or a text.
local function given_to(name, tool, arguments)
  local given, issues = parameters.input(tool.parameters, arguments)
  if issues[1] then
    return nil, call.invalid("the arguments do not fit", issues)
  elseif name == "call_operation" then
    local value = given.arguments == nil and setmetatable({}, core.object_mt) or given.arguments
    local err
    if type(value) == "string" then
      value, err = call.arguments(value)
    end
    given = members.merged(given, { arguments = value })
    if err then
      return nil, err
    end
  end
  compiled[name] = compiled[name] or assert(schemas.compile(specs[name].inputSchema))
  local ok, flaws = compiled[name]:check(given)
  if not ok then
    return nil, call.invalid("the arguments do not fit", flaws)
  end
  return given
end

--- The target of a call of one of these tools.
---@param self operations.Tools
---@param name string
---@param tool operations.Tool
---@param arguments? table  nil: they are invalid
---@return table target  as from Tools:_target; or with `error`
function searching.target(self, name, tool, arguments)
  if not arguments then
    return { parameters = tool.parameters }
  end
  local given, err = given_to(name, tool, arguments)
  if not given then
    return { error = err }
  end
  local id = given.name and self:id_of(given.name)
  if given.name and not id then
    return { error = call.unknown(given.name) }
  elseif functions[name] then
    return { own = function(input)
      return functions[name](self, input)
    end, parameters = { wrapped = false }, arguments = given }
  end
  return { id = id, spec = self:_tool(id).spec, parameters = { wrapped = false }, arguments = given.arguments }
end

--- Makes the search behind them.
---@param registry operations.Registry
---@param filter any
---@return operations.Search
function searching.index(registry, filter)
  return search.new(registry, { filter = filter })
end

return searching
