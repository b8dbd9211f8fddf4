--- Answers models that search and describe operations which are not listed as tools, in one form for every sink; and
--- defines the three tools that replace many.
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local prose = require("operations.people.prose")
local schemas = require("operations.schema")
local search = require("operations.offer.search")
local signature = require("operations.types.signature")
local suggestion = require("operations.base.suggestion")
local type_tree = require("operations.types.tree")
local utf8 = require("operations.base.utf8")

local guide = {}

local MOST_HITS = 100
local SUMMARY = 200 -- bytes of a description beside others
local MAX_NAME = 200 -- bytes of a name that there is not
local MOST_LINES = 20 -- of a list in an error

--- What one caller may know of, and by which names.
---@class operations.offer.Sight
---@field identity? operations.Identity
---@field word "name"|"id"  what operations are called by
---@field name_of fun(id: string): string?  nil: it is not offered
---@field id_of fun(name: string): string?  nil: nothing that the caller may call has this name
---@field definition? fun(id: string): table  with its inputSchema; nil: descriptions have types as text

---@class operations.offer.Guide
local Guide = {}
Guide.__index = Guide

--- Makes the guide of a registry.
---@param registry operations.Registry
---@param filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean
---@return operations.offer.Guide
function guide.new(registry, filter)
  return setmetatable({ registry = registry, _search = search.new(registry, { filter = filter }), _lines = {} }, Guide)
end

-- The line of an operation, made once for each state of the registry.
local function line_of(self, id, sight)
  local revision = self.registry:revision()
  if self._revision ~= revision then
    self._revision, self._lines = revision, {}
  end
  local name = sight.name_of(id)
  local key = sight.word .. name
  if self._lines[key] == nil then
    local spec = self.registry:get_spec(id)
    local verb = spec and spec.type == "subscription" and "stream" or "call"
    self._lines[key] = spec and signature.line(type_tree.of({ spec }).operations[1],
      sight.word == "id" and ("%s(%q, "):format(verb, name) or name .. "(", limits.signature) or false
  end
  return self._lines[key] or nil
end

local function summary_of(text)
  local line = text and prose.summary(text) or ""
  if #line > SUMMARY then
    line = line:sub(1, SUMMARY):gsub("[\192-\255][\128-\191]*$", "") .. "..."
  end
  return line ~= "" and line or nil
end

-- All operations that the caller knows of.
local function known(self, sight)
  return (self._search:find("", { identity = sight.identity, limit = math.huge, accept = function(spec)
    return sight.name_of(spec.namespace .. "." .. spec.name) ~= nil
  end }))
end

-- What may help after a search without results.
local function hint_of(self, input, sight)
  local namespaces, names = {}, {}
  for i, hit in ipairs(known(self, sight)) do
    names[i], namespaces[hit.spec.namespace] = sight.name_of(hit.id), true
  end
  namespaces = members.names(namespaces)
  if input.namespace and not members.contains(namespaces, input.namespace) then
    return ("there is no namespace %q%s"):format(input.namespace, suggestion.behind(input.namespace, namespaces))
  end
  local nearest = suggestion.nearest(input.query, names)
  if nearest then
    return ("did you mean %s?"):format(nearest)
  end
  local shown = table.concat(namespaces, ", ", 1, math.min(20, #namespaces))
  return "namespaces: " .. shown .. (namespaces[21] and ", ..." or "")
end

local function whole(value, least, most, default)
  return core.kind(value) == "integer" and math.min(math.max(value, least), most) or default
end

--- Searches by words: names, summaries, and the types of the first results, as far as there is room for them.
---@param input { query: string, namespace?: string, limit?: integer, offset?: integer }
---@param sight operations.offer.Sight
---@return table? result  `operations`, `total`; `hint` where nothing fits
---@return string? problem
function Guide:search(input, sight)
  if type(input.query) ~= "string" then
    return nil, "query: string expected"
  end
  local namespace = type(input.namespace) == "string" and input.namespace ~= "" and input.namespace or nil
  local hits, total = self._search:find(input.query, { identity = sight.identity, namespace = namespace,
    limit = whole(input.limit, 1, MOST_HITS, limits.search_hits), offset = whole(input.offset, 0, 2 ^ 31, 0),
    accept = function(spec)
      return sight.name_of(spec.namespace .. "." .. spec.name) ~= nil
    end })
  local list, left = marked.array(), limits.search_signatures
  for i, hit in ipairs(hits) do
    local line = left > 0 and line_of(self, hit.id, sight) or nil
    left = left - #(line or "")
    list[i] = { [sight.word] = sight.name_of(hit.id), title = hit.spec.title, signature = left >= 0 and line or nil,
      description = summary_of(hit.spec.description) }
  end
  return { operations = list, total = total, hint = total == 0
    and hint_of(self, { query = input.query, namespace = namespace }, sight) or nil }
end

--- What a caller gave as a name, for people: never where it is in the memory of this process.
---@param name any
---@return string
function guide.shown(name)
  return type(name) == "string" and utf8.cut(name, MAX_NAME) or name == nil and "nil" or core.kind(name)
end

--- The beginning of a list, one line for each.
---@param list table[]
---@param told fun(item: any): string?  nil: it has no line
---@return string
function guide.lines(list, told)
  local lines = {}
  for i = 1, math.min(#list, MOST_LINES) do
    local line = told(list[i])
    lines[#lines + 1] = line and "- " .. line
  end
  lines[#lines + 1] = #list > MOST_LINES and ("and %d more"):format(#list - MOST_LINES) or nil
  return table.concat(lines, "\n")
end

--- The name that may be meant, in parentheses; "" when none is similar.
---@param name any
---@param sight operations.offer.Sight
---@return string
function Guide:near(name, sight)
  local names = {}
  for i, hit in ipairs(type(name) == "string" and known(self, sight) or {}) do
    names[i] = sight.name_of(hit.id)
  end
  return type(name) == "string" and suggestion.behind(name, names) or ""
end

--- Describes an operation: its line with types, and its input and result as far as there is room.
---@param input { name?: string, id?: string, type?: string }  `type`: the name of a type that a description left out
---@param sight operations.offer.Sight
---@return table? result
---@return string? problem
function Guide:describe(input, sight)
  local name = input[sight.word]
  local id = type(name) == "string" and sight.id_of(name)
  local spec = id and self.registry:get_spec(id)
  if not spec then
    return nil, ("unknown operation %q%s: search_operations finds operations"):format(guide.shown(name),
      self:near(name, sight))
  end
  local wanted = type(input.type) == "string" and input.type or nil
  local result = sight.definition and not wanted and sight.definition(id) or { title = spec.title,
    description = spec.description ~= "" and spec.description or nil }
  result[sight.word], result.signature, result.outputSchema = sight.name_of(id), line_of(self, id, sight), nil
  local encoded = result.inputSchema ~= nil and json.encode(result.inputSchema)
  if encoded and #encoded <= limits.description then
    return result
  end
  local text, left = signature.page(type_tree.of({ spec }), limits.description, wanted)
  if not text then
    return nil, ("%s has no type %q"):format(name, wanted)
  elseif wanted then
    result = { [sight.word] = result[sight.word] }
  end
  result.inputSchema, result.types, result.more = nil, text, left[1] and marked.array(left) or nil
  return result
end

-- The tools.

local text = { type = "string" }
local read_only = { readOnlyHint = true, openWorldHint = false }

local function object(properties, required)
  return { type = "object", properties = properties, required = marked.array(required), additionalProperties = false }
end

local found = { type = "object", required = { "operations", "total" }, properties = {
  total = { type = "integer" }, hint = text, operations = { type = "array", items = { type = "object",
    properties = { name = text, id = text, title = text, description = text, signature = text } } } } }

local calling = { name = "call_operation", title = "Call an operation",
  description = "Calls an operation that search_operations found.",
  inputSchema = object({ name = { type = "string", description = "Name of the operation" },
    arguments = { type = "object", description = "Its input, as describe_operation tells it" } }, { "name" }) }

--- The names of the tools.
guide.names = { "search_operations", "describe_operation", "call_operation" }

--- The three tools: search, describe, and the one that calls.
---@param word "name"|"id"  what operations are called by
---@param last? table  instead of call_operation: name, title, description, inputSchema, annotations
---@return table[]
function guide.tools(word, last)
  return {
    { name = guide.names[1], title = "Search operations", annotations = read_only,
      description = "Finds operations by words. Search before you conclude that something cannot be done. Results have "
        .. "their types where there is room; an empty query with a namespace lists it.",
      inputSchema = object({ query = { type = "string", description = "What the operation is about, in a few words" },
        namespace = { type = "string", description = "Only in this namespace" },
        limit = { type = "integer", minimum = 1, maximum = MOST_HITS, description = "How many at most",
          default = limits.search_hits },
        offset = { type = "integer", minimum = 0, description = "How many of the best to leave out" } }, { "query" }),
      outputSchema = found },
    { name = guide.names[2], title = "Describe an operation", annotations = read_only,
      description = "Tells what an operation does, its input and its result.",
      inputSchema = object({ [word] = { type = "string", description = "As search_operations gives it" },
        type = { type = "string", description = "Only this type, which a description named in `more`" } }, { word }) },
    last or calling,
  }
end

local compiled = setmetatable({}, { __mode = "k" })

--- The issues of the input of one of the tools.
---@param tool table  of `guide.tools`
---@param input table
---@return table[]? issues
function guide.flaws(tool, input)
  compiled[tool] = compiled[tool] or assert(schemas.compile(tool.inputSchema))
  local ok, issues = compiled[tool]:check(input)
  return not ok and issues or nil
end

return guide
