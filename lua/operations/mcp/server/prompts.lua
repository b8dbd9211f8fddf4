--- Prompts: texts for a model that people select by name and fill in (`server:prompt`), and those of MCP servers behind
--- this one. Also completions of arguments.
local bytes = require("operations.mcp.server.bytes")
local content = require("operations.mcp.server.content")
local core = require("operations.core")
local interaction = require("operations.mcp.server.interaction")
local json = require("operations.base.json")
local listing = require("operations.mcp.server.listing")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local resources = require("operations.mcp.server.resources")

local prompts = { methods = {} }

local Content = content.Content
local INVALID_PARAMS = message.codes.INVALID_PARAMS

---@class operations.McpPromptArgument
---@field name string
---@field title? string
---@field description? string
---@field required? boolean
---@field enum? string[]  the allowed values, offered as completions
---@field const? string  the only allowed value
---@field complete? string[]|fun(value: string, others: table): string[]  its completions

---@class operations.McpPrompt
---@field name string
---@field title? string
---@field description? string
---@field icons? table[]
---@field _meta? table
---@field arguments? (string|operations.McpPromptArgument)[]  a string is the name of a required one
---@field accessControl? operations.AccessControl  callers without access do not see it
---@field get fun(input: table<string, string>, context: operations.Context): any, any  gets the arguments. Returns a
---  text, for one message of the user; a list of `{ role, content }`, where content may be a text or a block; or `{
---  description, messages }`

local argument_kinds = { name = "string", title = "string", description = "string", required = "boolean",
  enum = "table", const = "string", complete = "table or function" }

local function argument_of(given, i)
  local kept = type(given) == "string" and { name = given, required = true } or given
  local where = ("bad option 'arguments' to 'prompt' ([%d]"):format(i)
  if type(kept) ~= "table" or type(kept.name) ~= "string" then
    error(where .. ": a name, or a table with one, expected)", 4)
  end
  for key, value in pairs(kept) do
    local kind = argument_kinds[key]
    if not kind or not (" " .. kind .. " "):find(" " .. type(value) .. " ", 1, true) then
      error(("%s.%s: %s)"):format(where, tostring(key), kind and kind .. " expected, got " .. type(value)
        or "unknown"), 4)
    end
  end
  return members.copy(kept)
end

-- Arguments of prompts are strings.
local function schema_of(list)
  local properties, required = {}, {}
  for _, each in ipairs(list) do
    properties[each.name] = { type = "string", enum = each.enum, const = each.const }
    required[#required + 1] = each.required and each.name or nil
  end
  return { type = "object", properties = marks.object(properties), required = required[1] and required or nil,
    additionalProperties = { type = "string" } }
end

--- Offers a prompt.
---@param self operations.mcp.Content
---@param given operations.McpPrompt
function prompts.add(self, given)
  local kept = content.checked(given, "prompt", { arguments = "table", get = "function" }, "get")
  if type(kept.name) ~= "string" or kept.name == "" then
    error("bad option 'name' to 'prompt' (a name expected)", 3)
  elseif self._prompts[kept.name] then
    error(("bad option 'name' to 'prompt' (a prompt %q exists already)"):format(kept.name), 3)
  end
  local list = {}
  for i, each in ipairs(kept.arguments or {}) do
    list[i] = argument_of(each, i)
  end
  kept.arguments = list
  kept.id = content.add(self, "prompt", kept, { handler = kept.get, inputSchema = schema_of(list) })
  self._prompts[#self._prompts + 1], self._prompts[kept.name] = kept, kept
end

local function told(kept)
  local list = {}
  for i, each in ipairs(kept.arguments) do
    list[i] = { name = each.name, title = each.title, description = each.description, required = each.required }
  end
  return members.merged(content.told(kept), { arguments = list[1] and list or nil })
end

function Content:prompts(call)
  local found = {}
  for _, kept in ipairs(self._prompts) do
    found[#found + 1] = self:shows(call, kept.id) and told(kept) or nil
  end
  return found
end

local function block_of(value, name)
  if type(value) == "string" then
    return bytes.text_block(value, "prompt:" .. name)
  elseif type(value) == "table" and type(value.type) == "string" then
    return value
  end
  return { type = "text", text = assert(json.encode(value)) }
end

local function message_of(value, name)
  if type(value) == "table" and value.content ~= nil then
    return members.merged(value, { role = value.role or "user", content = block_of(value.content, name) })
  end
  return { role = "user", content = block_of(value, name) }
end

-- The result of `prompts/get` for the value of a prompt's function.
local function result_of(value, kept)
  local whole = type(value) == "table" and core.kind(value.messages) == "array"
  local list = whole and value.messages or core.kind(value) == "array" and value or { value }
  local messages = marks.array()
  for i, each in ipairs(list) do
    messages[i] = message_of(each, kept.name)
  end
  return { description = whole and value.description or kept.description, messages = messages,
    _meta = whole and value._meta or nil }
end

function Content:get(call, name, given)
  local kept = self._prompts[name]
  if not kept then
    return nil
  end
  return interaction.run(call, function(context)
    local value, failure = self:run(call, context, kept.id, given)
    if value == nil then
      return nil, failure
    end
    return result_of(value, kept)
  end)
end

function Content:complete(call, params)
  if params.ref.type == "ref/resource" then
    return resources.complete(self, call, params)
  end
  local kept = self._prompts[params.ref.name]
  if not kept or not self:shows(call, kept.id) then
    return nil
  end
  for _, each in ipairs(kept.arguments) do
    if each.name == params.argument.name then
      return content.completion(each.complete or each.enum or each.const and { each.const }, params)
    end
  end
  return content.no_completion()
end

-- Does the program offer any?
function Content:has(kind)
  if kind == "prompts" then
    return self._prompts[1] ~= nil
  end
  return self._resources[1] ~= nil or self._templates[1] ~= nil
end

prompts.methods["prompts/list"] = { cached = true, run = function(call)
  return listing.page(call, "prompts", "name", "prompts")
end }

prompts.methods["prompts/get"] = { named_by = "name", asks = true, run = function(call)
  local name, given = call.params.name, message.object(call.params.arguments)
  if type(name) ~= "string" then
    return nil, { code = INVALID_PARAMS, message = "prompts/get: name: string expected" }
  elseif given ~= nil and core.kind(given) ~= "object" then
    return nil, { code = INVALID_PARAMS, message = "prompts/get: arguments: object expected" }
  end
  local result, failure = listing.first(call, "get", name, given or marks.object())
  if result or failure then
    return result, failure
  end
  return nil, { code = INVALID_PARAMS, message = ("unknown prompt: %s"):format(name) }
end }

local function is_reference(ref)
  return core.kind(ref) == "object" and (ref.type == "ref/prompt" and type(ref.name) == "string"
    or ref.type == "ref/resource" and type(ref.uri) == "string")
end

prompts.methods["completion/complete"] = { run = function(call)
  local params = call.params
  local asked = params.argument
  if not is_reference(params.ref) then
    return nil, { code = INVALID_PARAMS, message = "completion/complete: ref: a ref/prompt with a name or a "
      .. "ref/resource with a uri expected" }
  elseif core.kind(asked) ~= "object" or type(asked.name) ~= "string" or type(asked.value) ~= "string" then
    return nil, { code = INVALID_PARAMS, message = "completion/complete: argument: { name, value } expected" }
  end
  local result, failure = listing.first(call, "complete", params)
  if result or failure then
    return result, failure
  end
  return nil, { code = INVALID_PARAMS, message = ("completion/complete: there is no %s"):format(
    tostring(params.ref.name or params.ref.uri)) }
end }

--- Declared if there are prompts.
function prompts.capabilities(server)
  local all = listing.has(server, "prompts") and { prompts = { listChanged = true } } or {}
  if all.prompts or listing.has(server, "resources") then
    all.completions = marks.object()
  end
  return all
end

return prompts
