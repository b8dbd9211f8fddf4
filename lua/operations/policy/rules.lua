--- The rules of a policy: read, checked, and found by the id of an operation. Nothing is asked here.
local errors = require("operations.base.error")
local members = require("operations.base.members")
local schemas = require("operations.schema")
local suggestion = require("operations.base.suggestion")

local rules = {}

---@alias operations.PolicyAction "allow"|"ask"|"block"

--- A rule applies to a call when everything that it names fits. `*` in a pattern stands for any characters. A pattern
--- is compared with the id, and one without a dot also with the name: "github.*", "*.list", "delete_*".
---@class operations.PolicyRule
---@field action operations.PolicyAction  of the rules that apply, "block" wins over "ask", and "ask" over "allow"
---@field match? string|string[]  default "*"
---@field type? string|string[]  "query", "mutation", "subscription"
---@field destructive? boolean  is `_meta.destructive` of the operation true?
---@field identity? operations.JsonSchema  of the caller's identity; null is a caller without one
---@field when? operations.JsonSchema  of the input
---@field name? string  for messages and records; default "rule N"
---@field reason? string  told to those who are asked or refused
---@field remember? "once"|"arguments"|"always"  the most that an approval may cover; default "always"
---@field nested? boolean  with "ask": also asks about calls that handlers make by their env

local names = { type = { "string", "array" }, items = { type = "string", minLength = 1 }, minLength = 1, minItems = 1 }
local types = { enum = { "query", "mutation", "subscription" } }
local condition = { type = { "object", "boolean" } }

local shape = {
  type = "object",
  required = { "action" },
  properties = {
    action = { enum = { "allow", "ask", "block" } },
    match = names,
    type = { anyOf = { types, { type = "array", items = types, minItems = 1 } } },
    destructive = { type = "boolean" },
    identity = condition,
    when = condition,
    name = { type = "string", minLength = 1 },
    reason = { type = "string" },
    remember = { enum = { "once", "arguments", "always" } },
    nested = { type = "boolean" },
  },
  additionalProperties = false,
}

local shape_schema

local function shape_issues(rule, place, issues)
  shape_schema = shape_schema or assert(schemas.compile(shape))
  local ok, found = shape_schema:check(rule)
  for _, issue in ipairs(ok and {} or found) do
    local field = issue.path:match("^/([^/]*)$")
    if field and issue.keyword == "additionalProperties" then
      issue.message = "unknown field" .. suggestion.behind(field, members.names(shape.properties))
    end
    issue.path = place .. issue.path
    issues[#issues + 1] = issue
  end
end

--- A pattern: the text between its asterisks.
---@class operations.PolicyPattern
---@field text string
---@field start string
---@field finish string
---@field middle string[]
---@field least integer  bytes
---@field whole boolean  it has no asterisk
---@field of_name boolean  it is also compared with the name

local function pattern_of(text)
  local parts = {}
  for part in (text .. "*"):gmatch("([^*]*)%*") do
    parts[#parts + 1] = part
  end
  local whole = #parts == 1
  local start, finish = parts[1], whole and "" or parts[#parts]
  local middle, least = {}, #start + #finish
  for i = 2, #parts - 1 do
    middle[#middle + 1] = parts[i] ~= "" and parts[i] or nil
    least = least + #parts[i]
  end
  return { text = text, start = start, finish = finish, middle = middle, least = least, whole = whole,
    of_name = not text:find(".", 1, true) }
end

local function fits(pattern, text)
  if pattern.whole then
    return text == pattern.text
  elseif #text < pattern.least or text:sub(1, #pattern.start) ~= pattern.start
    or text:sub(#text - #pattern.finish + 1) ~= pattern.finish then
    return false
  end
  local from, last = #pattern.start + 1, #text - #pattern.finish
  for _, part in ipairs(pattern.middle) do
    local first, stop = text:find(part, from, true)
    if not first or stop > last then
      return false
    end
    from = stop + 1
  end
  return true
end

local function compile(rule, field, place, issues)
  if rule[field] == nil then
    return nil
  end
  local schema, err = schemas.compile(rule[field])
  local flaws = err and (type(err.details) == "table" and err.details or { { message = err.message } })
  for _, issue in ipairs(flaws or {}) do
    issues[#issues + 1] = { path = ("%s/%s%s"):format(place, field, issue.path or ""), keyword = issue.keyword,
      message = issue.message }
  end
  return schema
end

local function list_of(value)
  return type(value) == "table" and value or { value }
end

--- A rule as it is used.
---@class operations.PolicyRead
---@field index integer
---@field name string
---@field action operations.PolicyAction
---@field reason? string
---@field remember "once"|"arguments"|"always"
---@field nested boolean
---@field patterns operations.PolicyPattern[]
---@field types? table<string, true>
---@field destructive? boolean
---@field identity? operations.Schema
---@field when? operations.Schema

local function read_rule(rule, index, issues)
  local place = "/" .. index - 1
  shape_issues(rule, place, issues)
  if issues[1] then
    return nil
  end
  local patterns = {}
  for i, text in ipairs(list_of(rule.match or "*")) do
    patterns[i] = pattern_of(text)
  end
  return { index = index, name = rule.name or "rule " .. index, action = rule.action, reason = rule.reason,
    remember = rule.remember or "always", nested = rule.nested == true, patterns = patterns,
    types = rule.type and members.set(list_of(rule.type)) or nil, destructive = rule.destructive,
    identity = compile(rule, "identity", place, issues), when = compile(rule, "when", place, issues) }
end

local function refused(issues, where)
  local more = #issues > 1 and (" (and %d more)"):format(#issues - 1) or ""
  local path = issues[1].path == "" and "" or issues[1].path .. ": "
  return nil, errors.new("VALIDATION_ERROR", ("%s%s%s%s"):format(where, path, issues[1].message, more), issues)
end

local function is_list(value)
  return type(value) == "table" and (value[1] ~= nil or next(value) == nil)
end

-- The list that a file or program gave: it may stand in a member `rules`, beside which nothing else may be.
local function list_in(given)
  if type(given) == "table" and given.rules ~= nil and is_list(given.rules) then
    for _, name in ipairs(members.names(given)) do
      if name ~= "rules" then
        return nil, { path = "/" .. name, message = "unknown field" .. suggestion.behind(name, { "rules" }) }
      end
    end
    return given.rules
  elseif is_list(given) then
    return given
  end
  return nil, { path = "", message = "a list of rules expected, got " .. type(given) }
end

local function new_part()
  return { whole = {}, start = {}, finish = {}, any = {}, longest = 0 }
end

local function put(part, rule, pattern)
  local kind, key = "whole", pattern.text
  if not pattern.whole then
    kind, key = "start", pattern.start
    if key == "" then
      kind, key = "finish", pattern.finish
    end
    kind = key == "" and "any" or kind
    part.longest = math.max(part.longest, #key)
  end
  part[kind][key] = part[kind][key] or {}
  table.insert(part[kind][key], { rule = rule, pattern = pattern })
end

--- The index by patterns: a rule is found by the beginning of its pattern, or else by its end.
local function index_of(list)
  local index = { id = new_part(), name = new_part() }
  for _, rule in ipairs(list) do
    for _, pattern in ipairs(rule.patterns) do
      put(index.id, rule, pattern)
      if pattern.of_name then
        put(index.name, rule, pattern)
      end
    end
  end
  return index
end

--- Reads rules.
---@param given any  a list, or { rules = list }
---@param where? string  before the paths in messages: the file
---@param added? operations.PolicyRule  one more rule
---@return { list: operations.PolicyRead[], index: table }?
---@return operations.Error? err  VALIDATION_ERROR with every issue by path
function rules.read(given, where, added)
  where = where and where .. ": " or ""
  local list, flaw = list_in(given)
  if not list then
    return refused({ flaw }, where)
  end
  local read, issues, seen = {}, {}, {}
  for i, rule in ipairs(added and members.joined(list, { added }) or list) do
    local flaws = {}
    read[i] = read_rule(rule, i, flaws)
    issues = members.joined(issues, flaws)
    if read[i] and seen[read[i].name] then
      issues[#issues + 1] = { path = ("/%d/name"):format(i - 1), message = ("rule %d has the name %q, too"):format(
        seen[read[i].name], read[i].name) }
    end
    seen[read[i] and read[i].name or i] = i
  end
  if issues[1] then
    return refused(issues, where)
  end
  return { list = read, index = index_of(read) }
end

local function candidates(part, text, found)
  local function add(list)
    for _, entry in ipairs(list or {}) do
      if not found[entry.rule] and fits(entry.pattern, text) then
        found[entry.rule] = true
        found[#found + 1] = entry.rule
      end
    end
  end
  add(part.whole[text])
  for i = 1, math.min(#text, part.longest) do
    add(part.start[text:sub(1, i)])
    add(part.finish[text:sub(-i)])
  end
  add(part.any[""])
end

--- An operation, as rules see it.
---@class operations.PolicyFacts
---@field id string
---@field name string
---@field type string
---@field destructive boolean
---@field source? string  the id that a transformed operation had

--- The rules that an operation meets whatever is called, in their order.
---@param read { list: operations.PolicyRead[], index: table }
---@param facts operations.PolicyFacts
---@return operations.PolicyRead[]
function rules.of(read, facts)
  local found, list = {}, {}
  candidates(read.index.id, facts.id, found)
  candidates(read.index.name, facts.name, found)
  if facts.source then
    candidates(read.index.id, facts.source, found)
    candidates(read.index.name, facts.source:match("%.(.+)$") or facts.source, found)
  end
  for _, rule in ipairs(found) do
    if (not rule.types or rule.types[facts.type])
      and (rule.destructive == nil or rule.destructive == facts.destructive) then
      list[#list + 1] = rule
    end
  end
  table.sort(list, function(a, b)
    return a.index < b.index
  end)
  return list
end

--- Reads a file of rules: `.json`, `.yaml`, `.yml`, or `.lua`, which returns the list.
---@param path string
---@param added? operations.PolicyRule  one more rule
---@return { list: operations.PolicyRead[], index: table }?
---@return operations.Error? err  VALIDATION_ERROR
function rules.file(path, added)
  local value, message = require("operations.base.data_file").read(path)
  if value == nil then
    return nil, errors.new("VALIDATION_ERROR", message)
  end
  return rules.read(value, path, added)
end

return rules
