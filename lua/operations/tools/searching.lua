--- The tools that replace many: search, describe and call, beside the pinned ones.
local call = require("operations.tools.call")
local core = require("operations.core")
local guide = require("operations.offer.guide")
local json = require("operations.base.json")
local members = require("operations.base.members")
local parameters = require("operations.tools.parameters")

local searching = {}

--- Reads the option `code`.
---@param given true|operations.CodeOptions
---@return operations.CodeOptions
function searching.code(given)
  return (require("operations.offer.code").options(given, 4))
end

local of_code = members.set({ "search_operations", "describe_operation", "run_lua" })

--- Names that operations cannot have beside these tools.
---@param options operations.ToolsOptions
---@return table<string, true>?
function searching.names(options)
  return options.code and of_code or options.search and members.set(guide.names) or nil
end

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
  local options, made, order = self._options, {}, {}
  self._guide = guide.new(self._registry, options.filter)
  self._sight = options.code and require("operations.tools.program").sight(self) or sight_of(self)
  for i, tool in ipairs(options.code and require("operations.tools.program").tools() or guide.tools("name")) do
    order[i], made[tool.name] = tool.name, { name = tool.name, description = tool.description, guided = tool,
      parameters = parameters.of(tool.inputSchema, options.format, options.strict) }
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
  local name, method = given[self._sight.word], methods[tool.name]
  local id = name and self._sight.id_of(name)
  if name and not id then
    return { error = call.unknown(name, self._guide:near(name, self._sight)) }
  elseif tool.name == "run_lua" then
    return { own = function(input, context)
      return require("operations.tools.program").run(self, input, context)
    end, parameters = { wrapped = false }, arguments = given }
  elseif method then
    return { own = function(input)
      local result, problem = self._guide[method](self._guide, input, self._sight)
      return result and json.encode(result, { keep_order = true }) or problem, not result
    end, parameters = { wrapped = false }, arguments = given }
  end
  return { id = id, spec = self:_tool(id).spec, parameters = { wrapped = false }, arguments = given.arguments }
end

return searching
