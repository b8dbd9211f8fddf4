--- Calls every operation of a document with an input made from its schema, several at a time.
local instance = require("spec.support.instance")
local members = require("operations.base.members")
local operations = require("operations")
local schema = require("operations.schema")

local calls = {}

local AT_A_TIME = 8

--- Runs `fn(item)` for each item, a few at a time.
---@param list table
---@param fn fun(item: any)
function calls.each(list, fn)
  local position, workers = 0, {}
  for i = 1, AT_A_TIME do
    workers[i] = function()
      while position < #list do
        position = position + 1
        fn(list[position])
      end
    end
  end
  assert(operations.all(workers))
end

--- An input that a schema accepts; nil and why where none was found.
---@param input_schema table|boolean
---@param options { optional: boolean, items?: integer }  with what nothing requires; how many items lists have
---@return table? input
---@return string? reason
function calls.input(input_schema, options)
  local input = instance.of(input_schema, options)
  local choice = (input_schema.properties or {}).contentType
  if choice and not choice.enum and choice.description:find("^The media type of the body") then
    input.contentType = nil -- any text would do, and choose another encoding
  end
  local ok, issues = assert(schema.compile(input_schema, { formats = true })):check(input)
  if not ok then
    return nil, ("no valid input was found: %s: %s"):format(issues[1].path, issues[1].message)
  end
  return input
end

local function id_of(definition)
  return definition.namespace .. "." .. definition.name
end

local function registry_of(definitions)
  local registry = operations.registry({ normalize = "off", on_warning = function() end })
  assert(registry:register_all(definitions))
  return registry
end

local function outcome(registry, definition, input)
  local id = id_of(definition)
  if definition.type ~= "subscription" then
    local envelope, err = registry:execute(id, input)
    if err and err.details and err.details.kind == "reset" then
      return registry:execute(id, input) -- Prism closes idle connections, at times just when one is used
    end
    return envelope, err
  end
  local subscription, err = registry:subscribe(id, input)
  if not subscription then
    return nil, err
  end
  local envelope
  envelope, err = subscription:next()
  subscription:close()
  return envelope, err
end

--- Calls every operation through a registry.
---@param definitions operations.Definition[]
---@param options { optional: boolean, items?: integer }
---@param refusal fun(envelope?: operations.Envelope, err?: operations.Error, input: table, definition: table): string?
---  what the server found wrong
---@return table<string, string> refused  reasons by name
function calls.every(definitions, options, refusal)
  local registry, refused = registry_of(definitions), {}
  calls.each(definitions, function(definition)
    local input, reason = calls.input(registry:get_spec(id_of(definition)).inputSchema, options)
    if input then
      local envelope, err = outcome(registry, definition, input)
      reason = refusal(envelope, err, input, definition)
    end
    refused[definition.name] = reason
  end)
  return refused
end

-- What a schema of this type refuses, also where a server reads it from text.
local wrong = { integer = "1.5x", number = "x", boolean = "maybe" }

local function with(map, key, value)
  local copy = members.copy(map)
  copy[key] = value
  return copy
end

--- A copy with one value of the wrong type: a parameter or a property of the body. Nil when there is none to spoil.
local function spoil(input, properties)
  for _, key in ipairs(members.names(input)) do
    local property = type(properties[key]) == "table" and properties[key] or {}
    if wrong[property.type] then
      return with(input, key, wrong[property.type])
    elseif key == "body" and property.properties then
      local body = spoil(input.body, property.properties)
      return body and with(input, "body", body)
    end
  end
end

--- The control: the same calls with one wrong value each, past our own validation. A server that lets them in
--- validates nothing.
---@param definitions operations.Definition[]
---@param refusal fun(envelope?: operations.Envelope, err?: operations.Error): string?
---@return string[] let_in  names
---@return integer sent
function calls.spoiled(definitions, refusal)
  local registry, let_in, sent = registry_of(definitions), {}, 0
  calls.each(definitions, function(definition)
    local input_schema = registry:get_spec(id_of(definition)).inputSchema
    local input = calls.input(input_schema, { optional = true })
    local bad = definition.type ~= "subscription" and input and spoil(input, input_schema.properties or {})
    local reason = bad and refusal(definition.handler(bad, {}))
    sent = sent + (bad and 1 or 0)
    if bad and not reason then
      let_in[#let_in + 1] = definition.name
    end
  end)
  return let_in, sent
end

return calls
