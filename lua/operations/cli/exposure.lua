--- The operations that a server of the command line offers: `--expose` also offers imported ones, which otherwise only
--- the program can call.
local members = require("operations.base.members")
local output = require("operations.cli.output")

local exposure = {}

---@type operations.cli.Option
exposure.option = { name = "--expose", value = "PATTERN", many = true,
  help = "serve imported operations too, by id: 'petstore.*'" }

---@type operations.cli.Option
exposure.upstream_errors = { name = "--upstream-errors", value = "RULE", values = { "client", "all", "none" },
  help = "API errors callers read: client, all, none" }

local upstream_errors = members.set({ "client", "all", "none" })

--- Checks `--upstream-errors`; the message for a wrong value.
---@param options table<string, any>  of parsed arguments
---@return string?
function exposure.flaw(options)
  local given = options["upstream-errors"]
  return given and not upstream_errors[given]
    and ("--upstream-errors: expected client, all or none, got %q"):format(given) or nil
end

-- The most names of namespaces and operations in a message.
local SHOWN_NAMESPACES, SHOWN_OPERATIONS = 3, 20

---@class operations.cli.Exposure
---@field _patterns { text: string, pattern: string, used: boolean }[]
---@field _texts string[]  as written
local Exposure = {}
Exposure.__index = Exposure

--- Reads the patterns: `*` stands for any characters.
---@param parsed operations.cli.Arguments
---@return operations.cli.Exposure
function exposure.new(parsed)
  local patterns = {}
  for i, text in ipairs(parsed.options.expose or {}) do
    local pattern = text:gsub("[^%w]", "%%%0"):gsub("%%%*", ".*")
    patterns[i] = { text = text, pattern = "^" .. pattern .. "$", used = false }
  end
  return setmetatable({ _patterns = patterns, _texts = parsed.options.expose or {} }, Exposure)
end

--- Does any pattern expose imported operations?
---@return boolean
function Exposure:any()
  return self._patterns[1] ~= nil
end

--- Is a definition's id among these, letter by letter? An operation that takes any query of a service
--- (`_meta.raw`) passes by every rule that names a field, so patterns alone do not offer it.
---@param texts string[]
---@param definition table
---@return boolean
function exposure.spells(texts, definition)
  return members.contains(texts, tostring(definition.namespace) .. "." .. tostring(definition.name))
end

-- Does a pattern name a definition?
local function is_named(self, definition)
  local id, found = tostring(definition.namespace) .. "." .. tostring(definition.name), false
  for _, entry in ipairs(self._patterns) do
    if id:find(entry.pattern) then
      entry.used, found = true, true
    end
  end
  return found
end

--- Exposes a definition that a pattern names, before it is registered.
---@param definition table
function Exposure:open(definition)
  local is_raw = type(definition._meta) == "table" and definition._meta.raw
  if is_named(self, definition) and (not is_raw or exposure.spells(self._texts, definition)) then
    definition._meta = members.merged(definition._meta, { exposed = true })
  end
end

--- The access to a tool of an MCP server; nil: no pattern names it.
---@param definition table
---@return operations.AccessControl?
function Exposure:access(definition)
  return is_named(self, definition) and { requiredScopes = {} } or nil
end

--- The first names, and the number of the others.
---@param names string[]
---@param max integer
---@return string
local function some(names, max)
  local shown = table.concat(names, ", ", 1, math.min(max, #names))
  return #names > max and ("%s and %d more"):format(shown, #names - max) or shown
end

-- Patterns for hidden operations, by namespace. None for those that a rule hides.
local function proposals(hidden)
  local list, seen = {}, {}
  for _, spec in ipairs(hidden) do
    if spec._meta and spec._meta.exposed == false and not seen[spec.namespace] then
      seen[spec.namespace] = true
      list[#list + 1] = ("--expose '%s.*'"):format(spec.namespace)
    end
  end
  return list[1] and "; " .. some(list, SHOWN_NAMESPACES) .. (#list == 1 and " serves more" or " serve more") or ""
end

-- The rights that an operation requires and an identity lacks.
local function lack(access, owned)
  local list = {}
  for _, scope in ipairs(access.requiredScopes or {}) do
    list[#list + 1] = not owned[scope] and scope or nil
  end
  local any = access.requiredScopesAny or {}
  local has_any = any[1] == nil
  for _, scope in ipairs(any) do
    has_any = has_any or owned[scope]
  end
  if not has_any then
    list[#list + 1] = #any == 1 and any[1] or "one of " .. table.concat(any, " ")
  end
  return list[1] and table.concat(list, " ") or "rights on a " .. tostring(access.resourceType)
end

local function tell_denied(denied, identity, advice)
  local owned, names = members.set(identity and identity.scopes or {}), {}
  for i, spec in ipairs(denied) do
    names[i] = ("%s.%s (%s)"):format(spec.namespace, spec.name, lack(spec.accessControl or {}, owned))
  end
  output.complain("%d of them need%s scopes that %s lacks%s: %s", #denied, #denied == 1 and "s" or "",
    identity and "the token" or "everybody", advice, some(names, SHOWN_OPERATIONS))
end

--- Prints the operations that are served, how to serve the others, and those that callers cannot call.
---@param registry operations.Registry
---@param who? { identity: operations.Identity?, advice: string }  the caller, if known; advice on how to give it more
---  rights
---@param is_partial? boolean  further operations may follow
function Exposure:tell(registry, who, is_partial)
  local all, hidden, denied = registry:specs({ schemas = false }), {}, {}
  for _, spec in ipairs(all) do
    local sight = registry:visible(spec, who and who.identity)
    local group = sight == "hidden" and hidden or sight == "denied" and denied
    if group then
      group[#group + 1] = spec
    end
  end
  if #hidden == 0 then
    output.notice("serving %d operation%s", #all, #all == 1 and "" or "s")
  else
    output.notice("serving %d of %d operations%s", #all - #hidden, #all, proposals(hidden))
  end
  for _, entry in ipairs(self._patterns) do
    if not entry.used and not is_partial then
      output.complain("--expose %s: no operation of a source is called so", entry.text)
    end
  end
  if who and #denied > 0 then
    tell_denied(denied, who.identity, who.advice)
  end
end

return exposure
