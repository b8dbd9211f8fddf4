--- One root field of a service: its definition, and the text of the query that a call sends.
local core = require("operations.core")
local default = require("operations.graphql.default")
local errors = require("operations.base.error")
local exchange = require("operations.graphql.exchange")
local importing = require("operations.registry.importing")
local inputs = require("operations.graphql.inputs")
local lexer = require("operations.graphql.lexer")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local outputs = require("operations.graphql.outputs")
local paging = require("operations.graphql.pages")
local parser = require("operations.graphql.parser")
local printer = require("operations.graphql.printer")
local schemas = require("operations.graphql.schema")
local selection = require("operations.graphql.selection")
local spec = require("operations.registry.spec")
local subscription = require("operations.graphql.subscription")

local operation = {}

--- What a call of one operation needs; made on first use.
---@class operations.graphql.Plan
---@field id string
---@field type "query"|"mutation"|"subscription"
---@field field? string  the root field; nil: the operation of a document
---@field name? string  of the operation of a document
---@field input_schema table
---@field output_schema any
---@field page? { path: string[], after: string?, first: string?, before: string?, last: string? }  the connection in
---  the answer, and the keys of the input that move it
---@field request fun(input: table, pages?: boolean): operations.graphql.Request?, operations.Error?  with `pages` the
---  answer says which pages are before and after it
---@field selection? fun(): string  the default selection of a root field
---@field type_text? fun(levels: integer): string  the type of a root field, so many levels deep

--- One request, before it is sent.
---@class operations.graphql.Request
---@field query string
---@field variables? table
---@field operationName? string
---@field type "query"|"mutation"|"subscription"
---@field field? string  whose value is the data
---@field files? { path: string, value: any }[]

local plans = setmetatable({}, { __mode = "k" })

--- The plan of a definition's handler; nil for handlers that were not made here.
---@param handler function
---@return operations.graphql.Plan?
function operation.plan_of(handler)
  local parts = plans[handler]
  return parts and parts() or nil
end

--- Selects what tells of the pages before and after a connection.
---@param schema operations.graphql.Schema
---@param of operations.graphql.Type  the connection
---@param selections operations.graphql.Selection[]  of the connection; changed
function operation.add_page_info(schema, of, selections)
  local info, inner = schema:named(schemas.field(of, "pageInfo").type), {}
  for _, name in ipairs({ "hasNextPage", "endCursor", "hasPreviousPage", "startCursor" }) do
    inner[#inner + 1] = schemas.field(info, name) and { name = name } or nil
  end
  selections[#selections + 1] = { name = "pageInfo", selections = inner }
end

--- The keys by which arguments move a connection; nil when there are none.
---@param arguments operations.graphql.Input[]
---@param key? fun(name: string): string?  of the input, for an argument; default: its name
---@return table?
function operation.page_keys(arguments, key)
  local keys = {}
  for _, argument in ipairs(arguments) do
    if argument.name == "after" or argument.name == "before" or argument.name == "first" or argument.name == "last" then
      keys[argument.name] = not key and argument.name or key and key(argument.name) or nil
    end
  end
  return (keys.after or keys.before) and keys or nil
end

-- "select", or "_select" where an argument has the name.
local function select_key(field)
  local names, key = {}, "select"
  for _, argument in ipairs(field.arguments) do
    names[argument.name] = true
  end
  while names[key] do
    key = "_" .. key
  end
  return key
end

local function no_variables(literal)
  lexer.fail("a selection has no variables; write the value itself", literal.at)
end

--- The error of an input that does not fit.
---@param path string
---@param problem operations.graphql.Problem
---@param text string
---@return operations.Error
local function misfit(path, problem, text)
  local message = problem.message
  if problem.at then
    message = ("%s (at %s)"):format(message, lexer.place(text, problem.at))
  end
  return errors.new("VALIDATION_ERROR", path .. ": " .. message, {
    { path = path, keyword = "graphql", schemaPath = "/properties" .. path, message = message },
  })
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
    operation.add_page_info(self.schema, self.of, selections)
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
    return nil, misfit(path, { message = "expected a string, got " .. type(text) }, "")
  elseif text and #text > limits.graphql_select then
    return nil, misfit(path, { message = ("longer than %d bytes"):format(limits.graphql_select) }, "")
  elseif text and core.repair_utf8(text) ~= text then
    return nil, misfit(path, { message = "not UTF-8" }, "")
  end
  local query, problem = self:query(given, text, pages)
  if not query then
    return nil, misfit(path, problem, text or "")
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

--- The plan of a root field; raises what is wrong with its types.
---@param shared table  see init.lua
---@param kind string
---@param field operations.graphql.Field
---@return operations.graphql.Plan
function operation.plan(shared, kind, field)
  local of = shared.schema:named(field.type)
  local self = setmetatable({
    schema = shared.schema, options = shared.options, kind = kind, field = field, of = of,
    has_fields = schemas.has_fields(of), select = select_key(field), texts = shared.texts,
  }, Field)
  if kind == "query" and self.has_fields and not field.type.list and default.is_connection(self.schema, of) then
    self.page = operation.page_keys(field.arguments)
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

-- Calls `make` once, on first use. An error is reported, and raised at every call.
local function on_need(shared, place, make)
  local plan, message
  return function()
    if make then
      local problem
      plan, problem = parser.try(make)
      make, message = nil, problem and ("%s: %s"):format(place, problem.message)
      if problem then
        shared.report(place, problem.message)
      end
    end
    return plan or error(errors.new("EXECUTION_ERROR", message, { kind = "document" }), 0)
  end
end

local function new_handler(shared, kind, parts)
  local function request_of(input)
    return parts().request(type(input) == "table" and input or {})
  end
  local function send(input, context)
    local plan = parts()
    if plan.page and type(context) == "table" and context.emit then
      return paging.run(shared.endpoint(), plan, input, context)
    end
    local request, err = request_of(input)
    if not request then
      return nil, err
    end
    return exchange.send(shared.endpoint(), request, context)
  end
  local function subscribe(input, context)
    local request, err = request_of(input)
    if not request then
      return nil, err
    end
    return subscription.run(shared.endpoint(), request, context)
  end
  return kind == "subscription" and subscribe or send
end

--- Sets what all operations of a service have: schemas and handler, made on first use.
---@param shared table  see init.lua
---@param definition operations.Definition
---@param own { place: string, inputs: operations.graphql.Input[], make: fun(): operations.graphql.Plan }  of this
---  operation: where it is, for the report; its arguments or variables
---@return operations.Definition
function operation.finish(shared, definition, own)
  local options, kind = shared.options, definition.type
  local parts = on_need(shared, own.place, function()
    local plan = own.make()
    plan.id = definition.namespace .. "." .. definition.name
    return plan
  end)
  function definition.inputSchema()
    return parts().input_schema
  end
  spec.tell_parameters(definition.inputSchema, function()
    local names = {}
    for i, input in ipairs(own.inputs) do
      names[i] = input.name
    end
    return names
  end)
  function definition.outputSchema()
    return parts().output_schema
  end
  definition.handler = errors.relay(new_handler(shared, kind, parts), nil, function()
    return options.endpoint
  end)
  plans[definition.handler] = parts
  local access = importing.finish(definition, options)
  if options.accessControl then
    definition.accessControl = access
  end
  return definition
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

local function description_of(field, place)
  local text = field.description or place
  return field.deprecated and text .. "\n\nDeprecated: " .. field.deprecated or text
end

--- What `_meta` of an operation says.
---@param shared table  see init.lua
---@param kind "query"|"mutation"|"subscription"
---@param own table  of this operation
---@return table
function operation.meta(shared, kind, own)
  own.source, own.idempotent = "graphql", kind == "query"
  if kind ~= "mutation" then
    own.destructive = false
  end
  own.exposed = shared.options.accessControl ~= nil
  return own
end

--- The definition of a root field.
---@param shared table  see init.lua
---@param kind "query"|"mutation"|"subscription"
---@param place string  its coordinate: "Query.repository"
---@param field operations.graphql.Field
---@return operations.Definition
function operation.build(shared, kind, place, field)
  local definition = {
    namespace = shared.options.namespace, name = shared.name(kind, field.name, place), type = kind,
    description = description_of(field, place),
    _meta = operation.meta(shared, kind, { field = field.name, deprecated = field.deprecated and true or nil }),
  }
  return operation.finish(shared, definition, { place = place, inputs = field.arguments, make = function()
    return operation.plan(shared, kind, field)
  end })
end

-- The operation of a document that is sent, by its name or the only one.
local function find_operation(list, name)
  for _, node in ipairs(list) do
    if node.name == name or name == nil and not list[2] then
      return node
    end
  end
  lexer.fail(name and ("there is no operation %q"):format(name) or "operationName must say which operation runs")
end

local function raw_request(input)
  local parsed, problem = parser.document(input.query)
  local node
  if parsed then
    node, problem = parser.try(find_operation, parsed.operations, input.operationName)
  end
  if node and node.kind == "subscription" then
    problem = { message = "subscriptions are operations of their own; this one sends queries and mutations" }
  end
  if problem then
    return nil, misfit("/query", problem, input.query)
  end
  return { query = input.query, variables = input.variables, operationName = input.operationName, type = node.kind }
end

--- The definition of the operation that takes any query or mutation.
---@param shared table  see init.lua
---@return operations.Definition
function operation.raw(shared)
  local definition = {
    namespace = shared.options.namespace, name = shared.name("raw", "graphql", "graphql"), type = "mutation",
    description = "Sends a query or a mutation as it is.", _meta = operation.meta(shared, "mutation", {}),
  }
  definition._meta.exposed = definition._meta.exposed and shared.options.raw == true
  return operation.finish(shared, definition, { place = "graphql", inputs = {}, make = function()
    return { type = "mutation", output_schema = true, request = raw_request, input_schema = {
      type = "object", required = { "query" }, additionalProperties = false, properties = {
        query = { type = "string", description = "A GraphQL document." }, variables = { type = "object" },
        operationName = { type = "string", description = "Which operation of the document runs." },
      },
    } }
  end })
end

return operation
