--- What is registered: operations by id, in the order of their registration.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local operation = require("operations.registry.operation")
local registry_options = require("operations.registry.options")
local specs = require("operations.registry.spec")

---@class operations.Catalog
local catalog = {}
catalog.__index = catalog

--- Gives a new object the fields of a catalog.
---@param self table
---@param given? operations.RegistryOptions
function catalog.init(self, given)
  self._operations = {} -- by id
  self._order = {} -- ids as registered
  self._options = registry_options.new(given)
end

local function duplicate(id)
  return errors.new("VALIDATION_ERROR", ("%s is registered already; pass { replace = true } to replace it"):format(id),
    { { path = "/name", keyword = "unique", message = "is registered already" } })
end

--- Checks a definition against the schema of specs and against what is there.
local function checked(self, definition, options)
  local result, err = specs.check(definition)
  if not result then
    return nil, err
  end
  local id = result.spec.namespace .. "." .. result.spec.name
  if self._operations[id] and not (options and options.replace) then
    return nil, duplicate(id)
  end
  return result, id
end

local function put(self, id, made)
  if not self._operations[id] then
    self._order[#self._order + 1] = id
  end
  self._operations[id] = made
end

--- Registers one operation. Its spec is copied; what was registered under the id before goes, handler and all.
---@param definition operations.Definition
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err  VALIDATION_ERROR: details lists every issue by path
function catalog:register(definition, options)
  argument.expect(definition, "table", 1, "register")
  argument.optional(options, "table", 2, "register")
  local result, id = checked(self, definition, options)
  if not result then
    return nil, id
  end
  put(self, id, operation.new(result, self._options))
  return id
end

--- Registers a list of operations, or none of them when one is refused.
---@param definitions operations.Definition[]
---@param options? { replace?: boolean }
---@return string[]? ids
---@return operations.Error? err  the paths of its issues start with the index in the list
function catalog:register_all(definitions, options)
  argument.expect(definitions, "table", 1, "register_all")
  argument.optional(options, "table", 2, "register_all")
  local results, ids, seen, issues = {}, {}, {}, {}
  for i, definition in ipairs(definitions) do
    local result, id = checked(self, definition, options)
    if result and seen[id] then
      result, id = nil, duplicate(id)
    end
    if result then
      results[i], ids[i], seen[id] = result, id, true
    else
      for _, issue in ipairs(id.details) do
        issue.path = "/" .. i - 1 .. issue.path
        issues[#issues + 1] = issue
      end
    end
  end
  if #issues > 0 then
    return nil, errors.new("VALIDATION_ERROR", ("%s: %s"):format(issues[1].path, issues[1].message), issues)
  end
  for i, result in ipairs(results) do
    results[i] = operation.new(result, self._options) -- middleware may raise: nothing has changed then
  end
  for i, id in ipairs(ids) do
    put(self, id, results[i])
  end
  return ids
end

--- Registers a spec whose handler comes later (`register_handler`) or lives elsewhere (`route`).
---@param spec operations.Spec
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err
function catalog:register_spec(spec, options)
  argument.expect(spec, "table", 1, "register_spec")
  argument.optional(options, "table", 2, "register_spec")
  if spec.handler ~= nil then
    error("bad argument #1 to 'register_spec' (a spec has no handler; use register)", 2)
  end
  return self:register(spec, options)
end

--- The error of an id that leads nowhere.
---@param id string
---@param message string  a format, of the id
---@return operations.Error
function catalog.not_found(id, message)
  return errors.new("OPERATION_NOT_FOUND", message:format(id), { operationId = id })
end

--- Gives a registered spec its handler, in place of the one it had.
---@param id string
---@param handler fun(input: any, context: operations.Context): any, any
---@return boolean? ok
---@return operations.Error? err
function catalog:register_handler(id, handler)
  argument.expect(id, "string", 1, "register_handler")
  argument.expect(handler, "function", 2, "register_handler")
  local found = self._operations[id]
  if not found then
    return nil, catalog.not_found(id, "no operation '%s'")
  end
  found:set_handler(handler)
  return true
end

--- Takes an operation out. Calls that run already end as they would.
---@param id string
---@return boolean removed
function catalog:unregister(id)
  argument.expect(id, "string", 1, "unregister")
  if not self._operations[id] then
    return false
  end
  self._operations[id] = nil
  for i, other in ipairs(self._order) do
    if other == id then
      table.remove(self._order, i)
      break
    end
  end
  return true
end

local function copy(spec, handler)
  local fields = { handler = handler }
  for key, value in pairs(spec) do
    fields[key] = value
  end
  local access = fields.accessControl -- what is judged by is nobody else's
  fields.accessControl = access and specs.copy(access) or { requiredScopes = setmetatable({}, core.array_mt) }
  return fields
end

--- A copy of what is registered, its schemas made.
local function whole(found, handler)
  if not found then
    return nil
  end
  local ok, err = found:make()
  if not ok then
    return nil, err
  end
  return copy(found.spec, handler)
end

--- The definition (spec and handler) registered under an id; a copy.
---@param id string
---@return operations.Definition?
---@return operations.Error? err  when its schemas, made on first need, turn out to be none
function catalog:get(id)
  argument.expect(id, "string", 1, "get")
  local found = self._operations[id]
  return whole(found, found and found.handler)
end

---@param id string
---@return operations.Spec?
---@return operations.Error? err  as `get`
function catalog:get_spec(id)
  argument.expect(id, "string", 1, "get_spec")
  return whole(self._operations[id])
end

--- What kind of operation an id is, and whether it may be offered to others (`_meta.exposed` is not false).
---@param id string
---@return "query"|"mutation"|"subscription"|nil type
---@return boolean exposed
---@return boolean? looks  its handler at the context
function catalog:type_of(id)
  local found = self._operations[id]
  if not found then
    argument.expect(id, "string", 1, "type_of")
    return nil, true
  end
  local spec = found.spec
  local meta = spec._meta
  return spec.type, not (meta and meta.exposed == false), found.takes_context
end

---@param id string
---@return function?
function catalog:get_handler(id)
  argument.expect(id, "string", 1, "get_handler")
  local found = self._operations[id]
  return found and found.handler
end

---@param namespace string
---@param name string
---@return operations.Definition?
function catalog:get_by_name(namespace, name)
  argument.expect(namespace, "string", 1, "get_by_name")
  argument.expect(name, "string", 2, "get_by_name")
  return self:get(namespace .. "." .. name)
end

local function has_tag(spec, tag)
  for _, other in ipairs(spec.tags or {}) do
    if other == tag then
      return true
    end
  end
  return false
end

local function matches(spec, filter)
  return (filter.namespace == nil or spec.namespace == filter.namespace)
    and (filter.type == nil or spec.type == filter.type)
    and (filter.tag == nil or has_tag(spec, filter.tag))
end

---@class operations.Filter
---@field namespace? string
---@field type? string
---@field tag? string
---@field schemas? boolean  false: without inputSchema, outputSchema and errorSchemas; those that are made on first need
---  are not made, so that a long list stays cheap

local function bare(found, handler)
  local fields = copy(found.spec, handler)
  fields.inputSchema, fields.outputSchema, fields.errorSchemas = nil, nil, nil
  return fields
end

local filter_kinds = { namespace = "string", type = "string", tag = "string", schemas = "boolean" }

local function select_operations(self, filter, with_handlers)
  filter = filter or {}
  argument.options(filter, filter_kinds, with_handlers and "list" or "specs", 4)
  local take, list, flaws = filter.schemas == false and bare or whole, {}, {}
  for _, id in ipairs(self._order) do
    local found = self._operations[id]
    if matches(found.spec, filter) then
      list[#list + 1], flaws[#flaws + 1] = take(found, with_handlers and found.handler or nil)
    end
  end
  return list, flaws
end

--- The definitions, in the order of their registration. One whose schemas turn out to be none is left out.
---@param filter? operations.Filter
---@return operations.Definition[]
---@return operations.Error[] flaws  of those that were left out, details { operationId, issues }
function catalog:list(filter)
  argument.optional(filter, "table", 1, "list")
  return select_operations(self, filter, true)
end

--- As `list`, without handlers: what can be told to others.
---@param filter? operations.Filter
---@return operations.Spec[]
---@return operations.Error[] flaws
function catalog:specs(filter)
  argument.optional(filter, "table", 1, "specs")
  return select_operations(self, filter, false)
end

return catalog
