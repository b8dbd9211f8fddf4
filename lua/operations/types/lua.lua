--- Prints types as annotations of lua-language-server: a `---@meta` file.
local json = require("operations.base.json")
local prose = require("operations.people.prose")
local words = require("operations.types.words")

local printer = {}

local plain = { null = "operations.Null", any = "any", never = "nil", boolean = "boolean", string = "string",
  number = "number", integer = "integer" }

-- A part of a name: letters, digits and underscores.
local function word(part)
  return (part:gsub("[^%w_]+", "_"))
end

local function name_of(named)
  local parts = {}
  for i, part in ipairs(named.parts) do
    parts[i] = word(part)
  end
  return table.concat(parts, ".")
end

local own = words.of({ plain = plain, map = "table<string, %s>", bar = "|", ref = name_of, literal = function(value)
  local is_fraction = type(value) == "number" and value % 1 ~= 0
  return is_fraction and "number" or assert(json.encode(value))
end })

local function of_type(of)
  return words.written(of, own)
end

-- What an editor shows beside a field.
local function note(text, is_deprecated)
  local said = prose.summary(text or "")
  if is_deprecated then
    said = said == "" and "deprecated" or "deprecated: " .. said
  end
  local mark = said:find("^[%w\128-\255]") and "" or "# " -- a symbol would be read as a part of the type
  return said ~= "" and "  " .. mark .. said or ""
end

local Page = {}
Page.__index = Page

function Page:add(format, ...)
  self.lines[#self.lines + 1] = format:format(...)
end

-- Comment lines before a class, which are shown when the pointer rests on it.
function Page:describe(text)
  for line in (text and prose.wrap(prose.unmarked(text), 110) or ""):gmatch("([^\n]*)\n") do
    self:add("---%s", line ~= "" and " " .. line:gsub("^%s*@", "\\@") or "") -- no annotation of a document's
  end
end

local visibilities = { package = true, private = true, protected = true, public = true } -- read as such before a name

local function field_name(name)
  local is_word = name:find("^[%a_][%w_]*$") and not visibilities[name]
  return is_word and name or ("[%s]"):format(assert(json.encode(name)))
end

function Page:named(named)
  local name = name_of(named)
  self:add("")
  self:describe(named.description)
  if named.type then
    return self:add("---@alias %s %s", name, of_type(named.type))
  end
  self:add("---@class %s%s", name, named.is_error and ": operations.Error" or "")
  for _, field in ipairs(named.fields) do
    local key, of = field_name(field.name), of_type(field.type)
    local is_word = key:sub(1, 1) ~= "["
    if not field.required and not is_word then -- the grammar has a question mark behind words only
      of = of .. "?"
    end
    self:add("---@field %s%s %s%s", key, not field.required and is_word and "?" or "", of,
      note(field.description, field.deprecated))
  end
  if named.extra then
    self:add("---@field [string] %s", of_type(named.extra))
  end
end

local function input_of(operation)
  return ("input%s: %s"):format(operation.optional_input and "?" or "", of_type(operation.input))
end

local function groups_of(operations)
  local groups = {}
  for _, operation in ipairs(operations) do
    if not groups[operation.namespace] then
      groups[operation.namespace] = {}
      groups[#groups + 1] = operation.namespace
    end
    table.insert(groups[operation.namespace], operation)
  end
  return groups
end

-- The names of results keep a parenthesis from being read as that of all results.
local function results(first, operation)
  local declared = operation.error.kind ~= "never" and of_type(operation.error) .. "|" or ""
  return ("%s?, err: %soperations.Error?"):format(first, declared)
end

-- A class whose fields are the operations of a namespace; `result` says what one returns.
function Page:handle(class, operations, result)
  self:add("\n---@class %s", class)
  for _, operation in ipairs(operations) do
    self:add("---@field %s fun(%s): %s%s", field_name(operation.name), input_of(operation),
      results(result(operation), operation), note(operation.title or operation.description, operation.deprecated))
  end
end

local function class_of(operation, part)
  return ("%s.%s.%s"):format(word(operation.namespace), word(operation.name), part)
end

local function data_of(operation)
  return operation.kind == "subscription" and "events: " .. class_of(operation, "events")
    or "data: " .. of_type(operation.output)
end

local function envelope_of(operation)
  return ("envelope: { data: %s, meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta }"):format(
    of_type(operation.output))
end

local function env_of(operation)
  return operation.kind == "subscription" and "subscription: " .. class_of(operation, "subscription")
    or envelope_of(operation)
end

-- What subscriptions return: iterators that can be closed, of data and of envelopes.
function Page:iterators(operations)
  for _, operation in ipairs(operations) do
    if operation.kind == "subscription" then
      self:add("\n---@class %s: operations.Events\n---@overload fun(): data: %s?", class_of(operation, "events"),
        of_type(operation.output))
      self:add("\n---@class %s: operations.Subscription\n---@overload fun(): %s?",
        class_of(operation, "subscription"), envelope_of(operation))
    end
  end
end

-- Overloads by literal ids and namespaces: of the registry's methods, and of operations.client.
function Page:overloads(groups)
  self:add("\n---@class operations.Env")
  for _, namespace in ipairs(groups) do
    self:add("---@field %s %s.env", field_name(namespace), word(namespace))
  end
  for _, method in ipairs({ "execute", "subscribe" }) do
    self:add("")
    for _, namespace in ipairs(groups) do
      for _, operation in ipairs(groups[namespace]) do
        if (operation.kind == "subscription") == (method == "subscribe") then
          self:add("---@overload fun(self: operations.Registry, id: %s, %s, context?: operations.GivenContext): %s",
            assert(json.encode(operation.id)), input_of(operation), results(env_of(operation), operation))
        end
      end
    end
    self:add("function Registry:%s(id, input, context) end", method)
  end
  self:add("")
  for _, namespace in ipairs(groups) do
    self:add("---@overload fun(registry: operations.Registry, namespace: %s, context?: operations.GivenContext): "
      .. "%s.client", assert(json.encode(namespace)), word(namespace))
  end
  self:add("function operations.client(registry, namespace, context) end")
end

--- Prints a tree.
---@param types operations.types.Tree
---@return string
function printer.text(types)
  local self = setmetatable({ lines = {} }, Page)
  self:add("---@meta\n-- Made by `operations export --types lua`. An editor reads it; programs do not load it.\n")
  for _, named in ipairs(types.named) do
    self:named(named)
  end
  local groups = groups_of(types.operations)
  for _, namespace in ipairs(groups) do
    self:iterators(groups[namespace])
    self:handle(word(namespace) .. ".client", groups[namespace], data_of)
    self:handle(word(namespace) .. ".env", groups[namespace], env_of)
  end
  self:add("\n---@class operations.Registry\nlocal Registry = {}\n\n---@class operations\nlocal operations = {}")
  self:overloads(groups)
  return table.concat(self.lines, "\n") .. "\n"
end

return printer
