--- A policy: which calls run, which a person is asked about first, and which never run. A registry asks it about every
--- call, after access control and validation and before middleware.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local hexadecimal = require("operations.base.hexadecimal")
local json = require("operations.base.json")
local members = require("operations.base.members")
local printable = require("operations.base.printable")
local rules = require("operations.policy.rules")
local suggestion = require("operations.base.suggestion")

local policy = {}

---@class operations.PolicyOptions
---@field ask? operations.Confirm  asks a person; default: the user of the client that calls (MCP elicitation)
---@field face? string  the name of `ask` in records, default "function"
---@field approvals? operations.Approvals  approvals beyond one call; default: a memory of this policy
---@field read_only? boolean  also blocks mutations

local option_kinds = { ask = "function", face = "string", approvals = "table", read_only = "boolean" }

local read_only = { type = "mutation", action = "block", name = "read only" }

---@class operations.Policy
---@field _rules { list: operations.PolicyRead[], index: table }
---@field _ask? operations.Confirm
---@field _approvals operations.Approvals
local Policy = {}
Policy.__index = Policy

--- The rules that an operation can meet: none, or those that may stop a call.
---@class operations.PolicyDecision
---@field blocks operations.PolicyRead[]
---@field asks operations.PolicyRead[]

--- Makes a policy. The most restrictive rule that applies to a call wins, whatever its place; a call that no rule
--- applies to runs.
---@param source operations.PolicyRule[]|{ rules: operations.PolicyRule[] }|string  or a file .json, .yaml or .lua
---@param options? operations.PolicyOptions
---@return operations.Policy?
---@return operations.Error? err  VALIDATION_ERROR: details lists every issue by path
function policy.new(source, options)
  if type(source) ~= "string" then
    argument.expect(source, "table", 1, "policy")
  end
  argument.optional(options, "table", 2, "policy")
  options = options or {}
  argument.options(options, option_kinds, "policy")
  if options.approvals then
    argument.object(options.approvals, "allows", "memory of approvals", 2, "policy")
  end
  local read, err
  if type(source) == "string" then
    read, err = rules.file(source, options.read_only and read_only)
  else
    read, err = rules.read(source, nil, options.read_only and read_only)
  end
  if not read then
    return nil, err
  end
  return setmetatable({ _rules = read, _ask = options.ask,
    _approvals = options.approvals or require("operations.people.approvals").new(),
    _face = options.ask and (options.face or "function") or "client" }, Policy)
end

--- The policy that the option of a registry names.
---@param given any  a policy or rules
---@return operations.Policy?
---@return operations.Error? err
function policy.of(given)
  if getmetatable(given) == Policy then
    return given
  end
  return policy.new(given)
end

--- What a call of an operation can meet; nil: every call of it runs.
---@param facts operations.PolicyFacts
---@return operations.PolicyDecision?
function Policy:decision(facts)
  local blocks, asks = {}, {}
  for _, rule in ipairs(rules.of(self._rules, facts)) do
    local list = rule.action == "block" and blocks or rule.action == "ask" and asks
    if list then
      list[#list + 1] = rule
    end
  end
  return (blocks[1] or asks[1]) and { blocks = blocks, asks = asks } or nil
end

local function is_caller(rule, identity)
  return not rule.identity or rule.identity:check(identity == nil and core.null or identity)
end

local function applies(rule, identity, input)
  return is_caller(rule, identity) and (not rule.when or (rule.when:check(input)))
end

local narrow = { once = 1, arguments = 2, always = 3 }

--- The rule that stops a call, and the most that an approval of it may cover.
---@param decision operations.PolicyDecision
---@param identity? operations.Identity
---@param input any
---@param nested boolean  made by a handler, by its env
---@return operations.PolicyRead?
---@return "once"|"arguments"|"always"|nil remember
function policy.rule(decision, identity, input, nested)
  for _, rule in ipairs(decision.blocks) do
    if applies(rule, identity, input) then
      return rule
    end
  end
  local first, remember
  for _, rule in ipairs(decision.asks) do
    if (rule.nested or not nested) and applies(rule, identity, input) then
      first = first or rule
      remember = (not remember or narrow[rule.remember] < narrow[remember]) and rule.remember or remember
    end
  end
  return first, remember
end

--- The rule that blocks every call of the operation by this identity; nil: there is none.
---@param decision operations.PolicyDecision
---@param identity? operations.Identity
---@return operations.PolicyRead?
function policy.hides(decision, identity)
  for _, rule in ipairs(decision.blocks) do
    if not rule.when and is_caller(rule, identity) then
      return rule
    end
  end
end

--- Does the decision need the whole input, because of a condition or a person who is shown it?
---@param decision operations.PolicyDecision
---@return boolean
function policy.reads_input(decision)
  for _, rule in ipairs(decision.blocks) do
    if rule.when then
      return true
    end
  end
  return decision.asks[1] ~= nil
end

local function because(rule)
  return rule.reason and rule.reason ~= "" and ": " .. rule.reason or ""
end

local function refusal(code, message, id, rule)
  local err = errors.new(code, message, { operationId = id, rule = rule.name, reason = rule.reason })
  err.retryable, err.mayHaveRun = false, false
  return err
end

--- The error of a call that a rule blocks.
---@param id string
---@param rule operations.PolicyRead
---@return operations.Error  ACCESS_DENIED
function policy.blocked(id, rule)
  return refusal("ACCESS_DENIED", ("the policy blocks %s (%s)%s"):format(id, rule.name, because(rule)), id, rule)
end

local function unasked(id, rule)
  return refusal("APPROVAL_REQUIRED", ("%s needs an approval (%s), and no person can be asked%s"):format(id, rule.name,
    because(rule)), id, rule)
end

-- One question has one key in all rounds of a call, and calls with different inputs have different ones.
local function key_of(call)
  local text = json.encode(call.input, { sort_keys = true }) or ""
  return "approval_" .. hexadecimal.of(core.sha256(call.operationId .. "\n" .. text):sub(1, 12))
end

local function narrowed(confirm, remember)
  return function(call)
    local approved, scope = confirm(call)
    if approved == true and narrow[scope] and narrow[scope] > narrow[remember] then
      scope = remember
    end
    return approved, scope
  end
end

--- Asks a person about a call, which waits.
---@param rule operations.PolicyRead
---@param remember "once"|"arguments"|"always"
---@param call operations.ApprovalCall
---@param context operations.Context
---@return boolean? approved
---@return string|operations.Error|nil by  who approved: "memory", "client", or the option `face`; or the error:
---  APPROVAL_REQUIRED: no person can be asked; ACCESS_DENIED: declined; ABORTED, TIMEOUT
function Policy:ask(rule, remember, call, context)
  if self._approvals:allows(call) then
    return true, "memory"
  end
  local confirm = self._ask or context:can_be_asked()
    and require("operations.people.asking").by_caller(context, key_of(call))
  if not confirm then
    return nil, unasked(call.operationId, rule)
  end
  call.rule, call.reason, call.remember = rule.name, rule.reason, remember
  local ok, err = require("operations.people.approvals").ask(call, narrowed(confirm, remember), self._approvals)
  if not ok and err.code == "CAPABILITY_MISSING" then
    return nil, unasked(call.operationId, rule)
  elseif not ok and err.code == "ACCESS_DENIED" then
    err.details = { operationId = call.operationId, rule = rule.name, reason = rule.reason, declined = true }
  end
  return ok, err or self._face
end

--- The rules that fit no operation: they may be misspelt.
---@param each fun(): operations.PolicyFacts?  the operations
---@return operations.PolicyRead[]
function Policy:unmatched(each)
  local left, count = {}, #self._rules.list
  for _, rule in ipairs(self._rules.list) do
    left[rule] = true
  end
  for facts in each do
    if count == 0 then
      break
    end
    for _, rule in ipairs(rules.of(self._rules, facts)) do
      count = left[rule] and count - 1 or count
      left[rule] = nil
    end
  end
  local list = {}
  for _, rule in ipairs(self._rules.list) do
    list[#list + 1] = left[rule] and rule or nil
  end
  return list
end

-- The ids that a pattern may have meant; for one with asterisks, the same pattern in the namespace that was meant.
local function meant(pattern, specs, namespaces)
  if pattern.whole then
    return suggestion.of(pattern.text, specs)
  end
  local namespace, name = pattern.text:match("^([^*]+)%.([^.]*)$")
  local near = namespace and suggestion.nearest(namespace, namespaces)
  return { near and near ~= namespace and near .. "." .. name or nil }
end

--- A rule that fits no operation, in words, with what it may have meant.
---@param rule operations.PolicyRead
---@param specs operations.Spec[]
---@return string
function policy.unmatched(rule, specs)
  local ids, texts, namespaces = {}, {}, {}
  for _, spec in ipairs(specs) do
    namespaces[spec.namespace] = true
  end
  namespaces = members.names(namespaces)
  for i, pattern in ipairs(rule.patterns) do
    ids = members.joined(ids, meant(pattern, specs, namespaces))
    texts[i] = '"' .. printable.line(pattern.text) .. '"'
  end
  return ("policy: %s fits no operation: %s%s"):format(rule.name, table.concat(texts, ", "),
    ids[1] and (" (did you mean %s?)"):format(table.concat(ids, ", ", 1, math.min(3, #ids))) or "")
end

--- What rules see of an operation that another process has: a mutation that may destroy something.
---@param id string
---@return operations.PolicyFacts
function policy.unknown(id)
  return { id = id, name = id:match("([^.]*)$"), type = "mutation", destructive = true }
end

--- Says what happens to a call, and why.
---@class operations.PolicyExplanation
---@field action operations.PolicyAction
---@field rule? string  the name of the rule that decides
---@field reason? string
---@field depends? boolean  other inputs or callers meet a stricter rule

--- What happens to calls of an operation.
---@param facts operations.PolicyFacts
---@param identity? operations.Identity
---@param input? any  nil: any input; rules with `when` make it depend
---@return operations.PolicyExplanation
function Policy:explain(facts, identity, input)
  local found, depends = nil, false
  for _, rule in ipairs(rules.of(self._rules, facts)) do
    local counts = is_caller(rule, identity)
    if counts and rule.when and input == nil then
      counts, depends = false, depends or rule.action ~= "allow"
    elseif counts and rule.when then
      counts = rule.when:check(input)
    elseif not counts then
      depends = depends or rule.action ~= "allow"
    end
    local order = { allow = 1, ask = 2, block = 3 }
    if counts and (not found or order[rule.action] > order[found.action]) then
      found = rule
    end
  end
  return { action = found and found.action or "allow", rule = found and found.name, reason = found and found.reason,
    depends = depends or nil }
end

return policy
