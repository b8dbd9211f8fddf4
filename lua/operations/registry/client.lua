--- A handle of one namespace, whose functions are its operations: `github.issues_create{ ... }` returns data, or nil
--- and an error. `operations.types` prints its types for editors.
local argument = require("operations.base.argument")
local core = require("operations.core")

local client = {}

---@class operations.Client
---@field [string] fun(input?: any): any, operations.Error?  an operation; JSON's null where its answer has no data

---@class operations.Events  the events of a subscription: an iterator of their data, which raises what ends it early
---@field close fun(self: operations.Events)
local Events = {}
Events.__index = Events

local function data_of(envelope)
  local data = envelope.data
  if data == nil then
    return core.null
  end
  return data
end

function Events:__call()
  local envelope = self._subscription()
  if envelope then
    return data_of(envelope)
  end
end

function Events:close()
  self._subscription:close()
end

Events.__close = Events.close

local function caller(registry, id, context)
  return function(input)
    if registry:type_of(id) == "subscription" then
      local subscription, err = registry:subscribe(id, input, context)
      return subscription and setmetatable({ _subscription = subscription }, Events), err
    end
    local envelope, err = registry:execute(id, input, context)
    if envelope == nil then
      return nil, err
    end
    return data_of(envelope)
  end
end

-- What clients are made of; they have no fields but operations.
local made_of = setmetatable({}, { __mode = "k" })

local function make(registry, namespace, context)
  local self = setmetatable({}, { __index = function(self, name)
    local fn = caller(registry, ("%s.%s"):format(namespace, name), context)
    rawset(self, name, fn) -- the next call is a look-up in a table
    return fn
  end })
  made_of[self] = { registry = registry, namespace = namespace }
  return self
end

--- Makes the handle of a namespace. Operations that are registered later can be called, too.
---@param registry operations.Registry
---@param namespace string
---@param context? operations.GivenContext  of every call; without one the caller is anonymous
---@return operations.Client
function client.new(registry, namespace, context)
  argument.object(registry, "execute", "registry", 1, "client")
  argument.expect(namespace, "string", 2, "client")
  argument.optional(context, "table", 3, "client")
  return make(registry, namespace, context)
end

--- The same handle with another context.
---@generic T
---@param of T  a client
---@param context? operations.GivenContext
---@return T
function client.with(of, context)
  local known = made_of[of]
  if not known then
    argument.expect(of, "client", 1, "with")
  end
  argument.optional(context, "table", 2, "with")
  return make(known.registry, known.namespace, context)
end

return client
