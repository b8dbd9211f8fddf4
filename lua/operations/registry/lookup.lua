--- Looks up and lists registered operations, as copies. Those of a mounted registry are looked up there.
local argument = require("operations.base.argument")
local mounts = require("operations.registry.mounts")
local specs = require("operations.registry.spec")

---@class operations.Lookup
local lookup = {}
lookup.__index = lookup

--- The operations of a registry; raises for other values: `registry.get({})`.
---@param self any
---@param name string  of the public function
---@return table
function lookup.operations_of(self, name)
  local operations = type(self) == "table" and self._operations
  if not operations then
    error(("calling '%s' on bad self (registry expected, got %s)"):format(name, type(self)), 3)
  end
  return operations
end

local operations_of = lookup.operations_of

--- A copy of a registered operation with its schemas compiled.
local function whole(operation)
  local ok, err = specs.make(operation)
  if not ok then
    return nil, err
  end
  return operation:spec()
end

--- The definition (spec and handler) registered under an id; a copy.
---@param id string
---@return operations.Definition?
---@return operations.Error? err  when its schemas, made on first use, are invalid
function lookup:get(id)
  local operation = operations_of(self, "get"):find(id)
  argument.expect(id, "string", 1, "get")
  if not operation then
    return mounts.get(self, "get", id)
  end
  local definition, err = whole(operation)
  if definition then
    definition.handler = operation:handler()
  end
  return definition, err
end

--- A copy of the spec of an operation, without its handler.
---@param id string
---@return operations.Spec?
---@return operations.Error? err  as `get`
function lookup:get_spec(id)
  local operation = operations_of(self, "get_spec"):find(id)
  argument.expect(id, "string", 1, "get_spec")
  if operation then
    return whole(operation)
  end
  return mounts.get(self, "get_spec", id)
end

--- The type of an operation, and whether it may be offered to others (`_meta.exposed` is not false).
---@param id string
---@return "query"|"mutation"|"subscription"|nil type
---@return boolean exposed
---@return boolean? looks  does its handler take the context?
function lookup:type_of(id)
  local operations = operations_of(self, "type_of")
  argument.expect(id, "string", 1, "type_of")
  if self._mounts and not operations:find(id) then
    local other, there = mounts.find(self, id)
    if other then
      return other:type_of(there)
    end
  end
  return operations:type_of(id)
end

--- A number that grows with every registration and removal, here and in mounted registries: data derived from specs is
--- then out of date.
---@return number
function lookup:revision()
  if not self._revision then
    operations_of(self, "revision")
  end
  return self._revision
end

--- The names of an operation's parameters (the properties of its inputSchema) in any order, for a search. Does not make
--- schemas: of a schema made on first use, only the names that its source already knows.
---@param id string
---@return string[]? names  nil when the operation is unknown
function lookup:parameters(id)
  local operation = operations_of(self, "parameters"):find(id)
  argument.expect(id, "string", 1, "parameters")
  if operation then
    return specs.parameters(operation:field("inputSchema"))
  end
  local other, there = mounts.find(self, id)
  return other and other:parameters(there)
end

--- The handler of an operation, with its middleware; nil when the id is unknown.
---@param id string
---@return function?
function lookup:get_handler(id)
  local operation = operations_of(self, "get_handler"):find(id)
  argument.expect(id, "string", 1, "get_handler")
  if operation then
    return operation:handler()
  end
  local other, there = mounts.find(self, id)
  return other and other:get_handler(there)
end

--- The definition of an operation by the two parts of its id; nil when it is unknown.
---@param namespace string
---@param name string
---@return operations.Definition?
function lookup:get_by_name(namespace, name)
  operations_of(self, "get_by_name")
  argument.expect(namespace, "string", 1, "get_by_name")
  argument.expect(name, "string", 2, "get_by_name")
  return self:get(namespace .. "." .. name)
end

---@class operations.Filter
---@field namespace? string
---@field type? string
---@field tag? string
---@field schemas? boolean  false: leaves out inputSchema, outputSchema and errorSchemas, and does not make those that
---  are made on first use, so that long lists are cheap

local filter_kinds = { namespace = "string", type = "string", tag = "string", schemas = "boolean" }

local function select_operations(self, filter, name)
  local operations = operations_of(self, name)
  if filter ~= nil then
    argument.options(filter, filter_kinds, name)
  end
  local bare, list, flaws = filter ~= nil and filter.schemas == false, {}, {}
  for _, operation in ipairs(operations:select(filter)) do
    local spec, flaw
    if bare then
      spec = operation:spec(false)
    else
      spec, flaw = whole(operation)
    end
    if spec and name == "list" then
      spec.handler = operation:handler()
    end
    list[#list + 1], flaws[#flaws + 1] = spec, flaw
  end
  mounts.add_to(self, name, filter, list, flaws)
  return list, flaws
end

--- The definitions, in the order of registration, without those whose schemas are invalid.
---@param filter? operations.Filter
---@return operations.Definition[]
---@return operations.Error[] flaws  of the invalid ones, details { operationId, issues }
function lookup:list(filter)
  argument.optional(filter, "table", 1, "list")
  return select_operations(self, filter, "list")
end

--- As `list`, without handlers: data that can be sent to others.
---@param filter? operations.Filter
---@return operations.Spec[]
---@return operations.Error[] flaws
function lookup:specs(filter)
  argument.optional(filter, "table", 1, "specs")
  return select_operations(self, filter, "specs")
end

--- Tells if an identity may see an operation. "hidden": it is not exposed (`_meta.exposed` is false) or excluded by the
--- filter, and others must not learn of it. "denied": this identity may not call it. The input is unknown: where access
--- to one resource of a type is required, access to any of them counts.
---@param spec operations.Spec|string  or the id of a registered operation
---@param identity? operations.Identity  nil: none
---@param filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean
---@return "yes"|"denied"|"hidden"
function lookup:visible(spec, identity, filter)
  local operations = operations_of(self, "visible")
  if type(spec) ~= "string" then
    argument.expect(spec, "table", 1, "visible")
  end
  argument.optional(identity, "table", 2, "visible")
  local found = spec
  if type(filter) == "function" then
    found = type(spec) == "table" and spec or self:get_spec(spec)
    if not found or not filter(found, identity) then
      return "hidden"
    end
    filter = nil
  end
  argument.optional(filter, "table", 3, "visible")
  argument.options(filter or {}, filter_kinds, "visible")
  local other, there = nil, nil
  if type(spec) == "string" and self._mounts and not operations:find(spec) then
    other, there = mounts.find(self, spec)
    found = self:get_spec(spec)
  end
  local seen = operations:visible(found, identity, filter)
  return other and seen == "yes" and other:visible(there, identity) or seen
end

return lookup
