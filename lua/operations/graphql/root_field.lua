--- A root field of a service: its schemas, and the text of the query that a call sends.
local connection = require("operations.graphql.connection")
local core = require("operations.core")
local default = require("operations.graphql.default")
local inputs = require("operations.graphql.inputs")
local lexer = require("operations.graphql.lexer")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local operation = require("operations.graphql.operation")
local outputs = require("operations.graphql.outputs")
local parser = require("operations.graphql.parser")
local printer = require("operations.graphql.printer")
local schemas = require("operations.graphql.schema")
local selection = require("operations.graphql.selection")

local root_field = {}

-- "select", or "_select" where an argument has the name.
local function select_key(of)
  local names, key = {}, "select"
  for _, argument in ipairs(of.arguments) do
    names[argument.name] = true
  end
  while names[key] do
    key = "_" .. key
  end
  return key
end

local function itself(name)
  return name
end

local function no_variables(literal)
  lexer.fail("a selection has no variables; write the value itself", literal.at)
end

local Field = {}
Field.__index = Field

-- The default selection: a new tree each time.
function Field:default(of)
  return default.selections(self.schema, of, self.kind == "mutation" and of == self.of, self.options.max_leaves)
end

-- The resolved selections of a text, or of none; raises what is wrong.
function Field:selections(text, pages)
  local selections = text and assert(parser.selections(text)) or self:default(self.of)
  if pages and self.page then
    connection.add_page_info(self.schema, self.of, selections)
  end
  selection.resolve({
    schema = self.schema, variable = no_variables, complete = function(of)
      return self:default(of)
    end,
  }, self.of, selections)
  return selections
end

-- The text of the query for these arguments and this selection.
function Field:print(given, text, pages)
  local variables, arguments = {}, {}
  for i, argument in ipairs(given) do
    variables[i] = { name = argument.name, type = argument.type }
    arguments[i] = { name = argument.name, value = { kind = "variable", value = argument.name } }
  end
  local root = { name = self.field.name, arguments = arguments }
  root.selections = self.has_fields and self:selections(text, pages) or nil
  return printer.operation({ kind = self.kind, name = self.field.name, variables = variables, selections = { root } })
end

-- `print`, kept by what it depends on.
function Field:query(given, text, pages)
  local names = {}
  for i, argument in ipairs(given) do
    names[i] = argument.name
  end
  local key = ("%s %s %s %s %s"):format(self.kind, self.field.name, pages and "pages" or "", table.concat(names, ","),
    text or "\0")
  local known = self.texts:get(key)
  if known then
    return known
  end
  local made, problem = parser.try(self.print, self, given, text, pages)
  if made then
    self.texts:put(key, made, #key + #made)
  end
  return made, problem
end

function Field:request(input, pages)
  local given, variables = {}, marked.object()
  for _, argument in ipairs(self.field.arguments) do
    local value = input[argument.name]
    if value ~= nil then
      given[#given + 1], variables[argument.name] = argument, value
    end
  end
  local text = self.has_fields and input[self.select] or nil
  local path = "/" .. self.select
  if text ~= nil and type(text) ~= "string" then
    return nil, operation.misfit(path, { message = "expected a string, got " .. type(text) }, "")
  elseif text and #text > limits.graphql_select then
    return nil, operation.misfit(path, { message = ("longer than %d bytes"):format(limits.graphql_select) }, "")
  elseif text and core.repair_utf8(text) ~= text then
    return nil, operation.misfit(path, { message = "not UTF-8" }, "")
  end
  local query, problem = self:query(given, text, pages)
  if not query then
    return nil, operation.misfit(path, problem, text or "")
  end
  return {
    query = query, type = self.kind, field = self.field.name,
    variables = given[1] and marked.value(variables, self.input_schema, self.input_schema) or nil,
    files = inputs.files(self.schema, given, variables, self.options.uploads),
  }
end

function Field:input()
  local made = inputs.schema(self.schema, self.field.arguments, self.options)
  if self.has_fields then
    made.properties[self.select] = {
      type = "string", maxLength = limits.graphql_select,
      description = ("Fields of %s to return, in GraphQL: id owner { login }. Without it: its leaves.")
        :format(self.of.name),
      examples = marked.array({ printer.selections(self:default(self.of)) }),
    }
  end
  return made
end

function Field:output()
  local items = { { selections = self.has_fields and self:selections() or nil } }
  return outputs.field(self.schema, self.field.type, items, self.options)
end

local SHOWN = 12 -- fields of each type below the first

local function field_text(field)
  local parts = {}
  for i, argument in ipairs(field.arguments) do
    parts[i] = argument.name .. ": " .. printer.type(argument.type)
  end
  return field.name .. (parts[1] and "(" .. table.concat(parts, ", ") .. ")" or "") .. ": " .. printer.type(field.type)
end

-- The fields of a type, a line each.
local function type_lines(schema, of, levels, indent, lines)
  local count = #(of.fields or {})
  for i, field in ipairs(of.fields or {}) do
    if #indent > 2 and i > SHOWN then
      lines[#lines + 1] = ("%s... and %d more"):format(indent, count - SHOWN)
      return
    end
    lines[#lines + 1] = indent .. field_text(field) .. (field.deprecated and " (deprecated)" or "")
    if levels > 1 then
      type_lines(schema, schema:named(field.type), levels - 1, indent .. "  ", lines)
    end
  end
  for _, name in ipairs(of.kind ~= "OBJECT" and schemas.has_fields(of) and schema:possible(of) or {}) do
    lines[#lines + 1] = indent .. "... on " .. name
  end
end

function Field:type_text(levels)
  local lines = { printer.type(self.field.type) }
  type_lines(self.schema, self.of, levels, "  ", lines)
  return table.concat(lines, "\n")
end

--- The plan of a root field; raises what is wrong with its types.
---@param service operations.graphql.Service
---@param kind string
---@param field operations.graphql.Field
---@return operations.graphql.Plan
function root_field.plan(service, kind, field)
  local of = service.schema:named(field.type)
  local self = setmetatable({
    schema = service.schema, options = service.options, kind = kind, field = field, of = of,
    has_fields = schemas.has_fields(of), select = select_key(field), texts = service.texts,
  }, Field)
  if kind == "query" and self.has_fields and not field.type.list and connection.is(self.schema, of) then
    self.page = connection.keys(field.arguments, itself)
  end
  self.input_schema = self:input()
  return {
    type = kind, field = field.name, input_schema = self.input_schema, output_schema = self:output(),
    page = self.page and members.merged(self.page, { path = {} }) or nil,
    request = function(input, pages)
      return self:request(input, pages)
    end,
    type_text = function(levels)
      return self:type_text(levels)
    end,
    selection = function()
      return self.has_fields and printer.selections(self:default(of)) or ""
    end,
  }
end

local function description_of(field, place)
  local text = field.description or place
  return field.deprecated and text .. "\n\nDeprecated: " .. field.deprecated or text
end

--- The definition of a root field.
---@param service operations.graphql.Service
---@param kind "query"|"mutation"|"subscription"
---@param place string  its coordinate: "Query.repository"
---@param field operations.graphql.Field
---@return operations.Definition
function root_field.definition(service, kind, place, field)
  local definition = {
    namespace = service.options.namespace, name = service.name(kind, field.name, place), type = kind,
    description = description_of(field, place),
    _meta = operation.meta(service, kind, { field = field.name, deprecated = field.deprecated and true or nil }),
  }
  return operation.finish(service, definition, { place = place, inputs = field.arguments, make = function()
    return root_field.plan(service, kind, field)
  end })
end

return root_field
