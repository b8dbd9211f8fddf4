--- The tools that replace many: search, describe and call, beside the pinned ones.
local call = require("operations.tools.call")
local core = require("operations.core")
local guide = require("operations.offer.guide")
local json = require("operations.base.json")
local members = require("operations.base.members")
local parameters = require("operations.tools.parameters")

local searching = {}

--- Names that operations cannot have beside these tools.
searching.names = members.set(guide.names)

-- What the caller knows of: tools, by their names. `definition` is that without strict mode: the `arguments` of
-- call_operation follow the original schema.
local function sight_of(self)
  return { identity = self._options.identity, word = "name", name_of = function(id)
    return self:name_of(id)
  end, id_of = function(name)
    return self:id_of(name)
  end, definition = function(id)
    local tool = self:_tool(id)
    return { name = tool.name, description = tool.description, inputSchema = tool.original }
  end }
end

--- The definitions of the three tools.
---@param self operations.Tools
---@return table<string, operations.Tool>
---@return string[] order
function searching.tools(self)
  self._guide, self._sight = guide.new(self._registry, self._options.filter), sight_of(self)
  local made, order = {}, {}
  for i, tool in ipairs(guide.tools("name")) do
    order[i], made[tool.name] = tool.name, { name = tool.name, description = tool.description, guided = tool,
      parameters = parameters.of(tool.inputSchema, self._options.format, self._options.strict) }
  end
  return made, order
end

-- The arguments of one of these tools, or an error. `arguments` of call_operation may be absent, or a text.
local function given_to(tool, arguments)
  local given, issues = parameters.input(tool.parameters, arguments)
  if issues[1] then
    return nil, call.invalid("the arguments do not fit", issues)
  elseif tool.name == "call_operation" then
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
  issues = guide.flaws(tool.guided, given)
  if issues then
    return nil, call.invalid("the arguments do not fit", issues)
  end
  return given
end

local methods = { search_operations = "search", describe_operation = "describe" }

--- The target of a call of one of these tools.
---@param self operations.Tools
---@param tool operations.Tool
---@param arguments? table  nil: they are invalid
---@return table target  as from Tools:_target; or with `error`
function searching.target(self, tool, arguments)
  if not arguments then
    return { parameters = tool.parameters }
  end
  local given, err = given_to(tool, arguments)
  if not given then
    return { error = err }
  end
  local id = given.name and self:id_of(given.name)
  if given.name and not id then
    return { error = call.unknown(given.name, self._guide:near(given.name, self._sight)) }
  end
  local method = methods[tool.name]
  if method then
    return { own = function(input)
      local result, problem = self._guide[method](self._guide, input, self._sight)
      return result and json.encode(result, { keep_order = true }) or problem, not result
    end, parameters = { wrapped = false }, arguments = given }
  end
  return { id = id, spec = self:_tool(id).spec, parameters = { wrapped = false }, arguments = given.arguments }
end

return searching
