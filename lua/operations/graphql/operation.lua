--- Gives the operations of a service what all of them have: a plan that is made on first use, a handler, schemas.
local errors = require("operations.base.error")
local exchange = require("operations.graphql.exchange")
local importing = require("operations.registry.importing")
local lexer = require("operations.graphql.lexer")
local paging = require("operations.graphql.pages")
local parser = require("operations.graphql.parser")
local spec = require("operations.registry.spec")
local subscription = require("operations.graphql.subscription")

local operation = {}

--- What the operations of a service share.
---@class operations.graphql.Service
---@field schema operations.graphql.Schema
---@field options operations.graphql.Config
---@field problems { pointer: string, message: string }[]  the report
---@field report fun(pointer: string, message: string)  adds to it
---@field name fun(kind: string, wanted: string, place: string): string  a name that no other operation has
---@field texts operations.Lru  queries, by what they were made of
---@field endpoint fun(): operations.graphql.Endpoint  made on first use

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

--- The error of an input that does not fit.
---@param path string  of the member
---@param problem operations.graphql.Problem
---@param text string  in which the problem is
---@return operations.Error
function operation.misfit(path, problem, text)
  local message = problem.message
  if problem.at then
    message = ("%s (at %s)"):format(message, lexer.place(text, problem.at))
  end
  return errors.new("VALIDATION_ERROR", path .. ": " .. message, {
    { path = path, keyword = "graphql", schemaPath = "/properties" .. path, message = message },
  })
end

-- Calls `make` once, on first use. An error is reported, and raised at every call.
local function on_need(service, place, make)
  local plan, message
  return function()
    if make then
      local problem
      plan, problem = parser.try(make)
      make, message = nil, problem and ("%s: %s"):format(place, problem.message)
      if problem then
        service.report(place, problem.message)
      end
    end
    return plan or error(errors.new("EXECUTION_ERROR", message, { kind = "document" }), 0)
  end
end

local function new_handler(service, kind, parts)
  local function request_of(input)
    return parts().request(type(input) == "table" and input or {})
  end
  local function send(input, context)
    local plan = parts()
    if plan.page and type(context) == "table" and context.emit then
      return paging.run(service.endpoint(), plan, input, context)
    end
    local request, err = request_of(input)
    if not request then
      return nil, err
    end
    return exchange.send(service.endpoint(), request, context)
  end
  local function subscribe(input, context)
    local request, err = request_of(input)
    if not request then
      return nil, err
    end
    return subscription.run(service.endpoint(), request, context)
  end
  return kind == "subscription" and subscribe or send
end

--- Sets what all operations of a service have: schemas and handler, made on first use.
---@param service operations.graphql.Service
---@param definition operations.Definition
---@param own { place: string, inputs: operations.graphql.Input[], make: fun(): operations.graphql.Plan }  of this
---  operation: where it is, for the report; its arguments or variables
---@return operations.Definition
function operation.finish(service, definition, own)
  local options, id = service.options, definition.namespace .. "." .. definition.name
  local parts = on_need(service, own.place, function() -- must not refer to the handler, which is a weak key
    local plan = own.make()
    plan.id = id
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
  definition.handler = errors.relay(new_handler(service, definition.type, parts), nil, function()
    return options.endpoint
  end)
  plans[definition.handler] = parts
  local access = importing.finish(definition, options)
  if options.accessControl then
    definition.accessControl = access
  end
  return definition
end

--- What `_meta` of an operation says.
---@param service operations.graphql.Service
---@param kind "query"|"mutation"|"subscription"
---@param own table  of this operation
---@return table
function operation.meta(service, kind, own)
  own.source, own.idempotent = "graphql", kind == "query"
  if kind ~= "mutation" then
    own.destructive = false
  end
  own.exposed = service.options.accessControl ~= nil
  return own
end

return operation
