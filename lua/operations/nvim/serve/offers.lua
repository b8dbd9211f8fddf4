--- The operations that plugins offer to clients of the editor; plugins may add them before the editor serves.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local registries = require("operations.registry")

local offers = {}

local list = {} -- the given definitions, in order
local listener -- { add = function(definition), remove = function(id) } while the editor serves

local function id_of(definition)
  return definition.namespace .. "." .. definition.name
end

--- Sets the listener for added and removed operations; it is called at once for existing ones.
---@param told? { add: fun(definition: operations.Definition), remove: fun(id: string) }  nil: no listener
function offers.follow(told)
  listener = told
  for _, definition in ipairs(told and list or {}) do
    told.add(definition)
  end
end

local function withdraw(definition)
  if members.remove(list, definition) and listener then
    listener.remove(id_of(definition))
  end
end

local function withdraw_id(id)
  for _, definition in ipairs(list) do
    if id_of(definition) == id then
      return withdraw(definition)
    end
  end
end

-- The first invalid definition: not an operation, or an id that is a duplicate or the editor's own; or nil.
local function flaw_of(definitions, reserved)
  local trial = registries.new()
  for _, definition in ipairs(definitions) do
    if core.kind(definition) == "object" and reserved[definition.namespace] then
      return errors.new("VALIDATION_ERROR", ("the namespace %s is the editor's own"):format(definition.namespace))
    end
    local id, err = trial:register(definition)
    if not id then
      return err
    end
  end
end

--- Offers operations.
---@param given operations.Definition|operations.Definition[]
---@param reserved table<string, true>  namespaces
---@return fun()? withdraw
---@return operations.Error? err  VALIDATION_ERROR; nothing was offered
function offers.add(given, reserved)
  argument.expect(given, "table", 1, "offer")
  local definitions = given.name ~= nil and { given } or given
  local flaw = flaw_of(definitions, reserved)
  if flaw then
    return nil, flaw
  end
  for _, definition in ipairs(definitions) do
    withdraw_id(id_of(definition))
    list[#list + 1] = definition
    if listener then
      listener.add(definition)
    end
  end
  return function()
    for _, definition in ipairs(definitions) do
      withdraw(definition)
    end
  end
end

return offers
