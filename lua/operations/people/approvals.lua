--- The user's approval before a call runs, and the memory of approvals.
---
--- A program gives `confirm(call)`, which returns `true` and the scope (`"once"`, `"arguments"`: always with these
--- arguments, `"always"`), or `false` and a reason. Approvals beyond one call are kept in a memory, as plain data that
--- a program can store. Of arguments it has only the SHA-256, since they may contain secrets.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local hexadecimal = require("operations.base.hexadecimal")
local identity_key = require("operations.base.identity_key")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local system = require("operations.system")

local approvals = {}

--- The call to approve.
---@class operations.ApprovalCall
---@field operationId string
---@field input any
---@field identity? operations.Identity  an approval applies to one identity only
---@field spec? operations.Spec  an approval ends when its type, schemas or source change
---@field destination? string  where the call goes: an approval ends when it changes
---@field name? string  the tool's name
---@field rule? string  the name of the policy's rule that asks
---@field reason? string  of this rule
---@field remember? "once"|"arguments"|"always"  the most that the answer may cover

---@alias operations.Confirm fun(call: operations.ApprovalCall): boolean, string?

--- One approval in stored form.
---@class operations.Approval
---@field operationId string
---@field arguments? string  64 hexadecimal digits; nil: any arguments
---@field operation? string  a digest of the operation: its schemas, source and destination; nil: they were unknown
---@field identity? string  a digest of the caller's whole identity; nil: callers without one

---@class operations.Approvals
local Approvals = {}
Approvals.__index = Approvals


-- An id has no control characters, so keys cannot collide.
local function key_of(item)
  return table.concat({ item.operationId, item.arguments or "", item.operation or "",
    item.identity and "=" .. item.identity or "" }, "\n")
end

local function identity_of(call)
  return type(call.identity) == "table" and identity_key.of(call.identity) or nil
end

local function digest_of(text)
  return hexadecimal.of(core.sha256(text))
end

-- Nil when the input is not JSON: such calls are asked about each time.
local function fingerprint_of(input)
  local text = input == nil and "{}" or json.encode(input, { sort_keys = true })
  return text and digest_of(text)
end

-- What is approved is this operation: schemas that are functions were not looked at.
local function operation_of(call)
  local spec = call.spec
  if not spec then
    return nil
  end
  local parts = { type = spec.type, version = spec.version, destination = call.destination }
  for _, name in ipairs({ "inputSchema", "outputSchema", "_meta" }) do
    local part = spec[name]
    parts[name] = type(part) ~= "function" and json.encode(part, { sort_keys = true }) or nil
  end
  return digest_of(json.encode(parts, { sort_keys = true }))
end

local function item_of(call, fingerprint)
  return { operationId = call.operationId, arguments = fingerprint, operation = operation_of(call),
    identity = identity_of(call) }
end

local function is_approval(item)
  return type(item) == "table" and type(item.operationId) == "string"
    and (item.arguments == nil or type(item.arguments) == "string" and #item.arguments == 64)
    and (item.identity == nil or type(item.identity) == "string")
    and (item.operation == nil or type(item.operation) == "string" and #item.operation == 64)
end

-- When there are too many, the oldest are dropped: their calls are asked about again.
local function add(self, item)
  local key = key_of(item)
  if self._keys[key] then
    return false
  end
  self._keys[key] = true
  table.insert(self._list, item)
  if #self._list > limits.approvals then
    local oldest = table.remove(self._list, 1)
    self._keys[key_of(oldest)] = nil
  end
  return true
end

local function copied(item)
  return { operationId = item.operationId, arguments = item.arguments, operation = item.operation,
    identity = item.identity }
end

-- The approvals in a file, and what stores the list there: written as a whole, for its owner only.
local function of_file(path)
  local list
  if system.kind(path) then
    local text, message = system.read_regular(path, limits.sources_file)
    list, message = text and json.decode(text), message
    if type(list) ~= "table" then
      return nil, errors.new("VALIDATION_ERROR", ("%s: a list of approvals expected%s"):format(path,
        message and ": " .. tostring(message) or ""))
    end
  end
  return list or {}, function(now)
    local ok, message = system.write_private(path, json.encode(now, { sort_keys = true }) .. "\n")
    if not ok then
      error(message, 0)
    end
  end
end

--- Makes a memory.
---@param stored? operations.Approval[]|string  a result of `list`, of which invalid entries are ignored; or a file that
---  is read now, and written after each change
---@param changed? fun(list: operations.Approval[])  called with the new list after each change
---@return operations.Approvals?
---@return operations.Error? err  VALIDATION_ERROR: the file is no list
function approvals.new(stored, changed)
  if type(stored) == "string" then
    if stored:find("%z") then
      error("bad argument #1 to 'approvals' (path with a zero byte)", 2)
    end
    stored, changed = of_file(stored)
    if not stored then
      return nil, changed
    end
  end
  argument.optional(stored, "table", 1, "approvals")
  argument.optional(changed, "function", 2, "approvals")
  local self = setmetatable({ _keys = {}, _list = {}, _changed = changed }, Approvals)
  for _, item in ipairs(stored or {}) do
    if is_approval(item) then
      add(self, copied(item))
    end
  end
  return self
end

--- The approvals, oldest first; a copy, ready for JSON.
---@return operations.Approval[]
function Approvals:list()
  local copy = {}
  for i, item in ipairs(self._list) do
    copy[i] = copied(item)
  end
  return setmetatable(copy, core.array_mt)
end

local function changed(self)
  if self._changed then
    self._changed(self:list())
  end
end

--- Is the call approved?
---@param call operations.ApprovalCall
---@return boolean
function Approvals:allows(call)
  local item = item_of(call)
  if self._keys[key_of(item)] then
    return true
  end
  item.arguments = fingerprint_of(call.input)
  return item.arguments ~= nil and self._keys[key_of(item)] == true
end

--- Stores an approval: of the operation, or of the operation with these arguments.
---@param call operations.ApprovalCall
---@param scope "arguments"|"always"
function Approvals:remember(call, scope)
  if scope ~= "arguments" and scope ~= "always" then
    error(("bad argument #2 to 'remember' (\"arguments\" or \"always\" expected, got %s)"):format(tostring(scope)), 2)
  end
  local fingerprint = scope == "arguments" and fingerprint_of(call.input) or nil
  if (fingerprint or scope == "always") and add(self, item_of(call, fingerprint)) then
    changed(self)
  end
end

--- Removes the approvals of one operation, for every identity; without an id all approvals.
---@param id? string
function Approvals:forget(id)
  argument.optional(id, "string", 1, "forget")
  local kept = {}
  for _, item in ipairs(self._list) do
    kept[#kept + 1] = id and item.operationId ~= id and item or nil
  end
  if #kept < #self._list then
    self._keys, self._list = {}, {}
    for _, item in ipairs(kept) do
      add(self, item)
    end
    changed(self)
  end
end

local function refused(reason)
  local because = type(reason) == "string" and reason ~= "" and ": " .. reason or ""
  local err = errors.new("ACCESS_DENIED", "the call was not approved" .. because)
  err.retryable, err.mayHaveRun = false, false
  return nil, err
end

-- Errors that are no answer: the wait ended, the client is asked in another round, or it cannot be asked.
local passing = { ABORTED = true, TIMEOUT = true, INPUT_REQUIRED = true, CAPABILITY_MISSING = true }

local scopes = { once = true, arguments = true, always = true }

--- Asks the memory, then `confirm`, which may wait. Never raises; a call without a clear approval does not run.
---@param call operations.ApprovalCall
---@param confirm operations.Confirm
---@param memory? operations.Approvals
---@return boolean? approved
---@return operations.Error? err  ACCESS_DENIED: declined, or `confirm` failed; ABORTED or TIMEOUT: the asking task was
---  cancelled; INPUT_REQUIRED: the MCP client answers in another round; CAPABILITY_MISSING: it cannot ask its user
function approvals.ask(call, confirm, memory)
  if memory and memory:allows(call) then
    return true
  end
  local ok, answer, scope = pcall(confirm, call)
  if not ok then
    local err = errors.from(answer)
    if passing[err.code] then
      return nil, err
    end
    return refused("`confirm` failed: " .. err.message)
  elseif answer ~= true then
    return refused(scope)
  elseif scope ~= nil and not scopes[scope] then
    return refused(("`confirm` has to answer true and \"once\", \"arguments\" or \"always\", not %s"):format(
      errors.text(scope)))
  end
  if memory and scope ~= nil and scope ~= "once" then
    pcall(memory.remember, memory, call, scope) -- approved, even if it cannot be stored
  end
  return true
end

return approvals
