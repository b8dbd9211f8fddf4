--- A record of calls: one line of JSON for each, also for those that were refused.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local hexadecimal = require("operations.base.hexadecimal")
local hmac = require("operations.base.hmac")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local layer = require("operations.middleware.layer")
local log = require("operations.task.log")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local system = require("operations.system")
local timestamp = require("operations.base.timestamp")

local audit = {}

---@class operations.AuditOptions
---@field path? string  of a file: each line is appended to it, so it may be moved away at any time
---@field write? fun(line: string): any, any  instead of a file; must not wait; fails by an error, or nil and a reason
---@field key? string  of the digests of inputs (HMAC-SHA-256), which can be compared while it is the same; default: a
---  random one
---@field preview? true|string[]  adds inputs, without what the schema calls `writeOnly` or a password, and what these
---  JSON Pointers (RFC 6901) name
---@field log? fun(level: string, message: string)  told when lines cannot be written; default: to stderr

local kinds = { path = "string", write = "function", key = "string", preview = "boolean or table", log = "function" }

local PREVIEW = 1024 -- bytes
local DEEPEST = 32 -- levels of a schema
local HIDDEN = "***"

---@class operations.Audit  a middleware
---@field lost integer  lines that could not be written
local Audit = {}
Audit.__index = Audit

-- Hiding.

local mask

local function mask_members(value, schema, root, depth)
  local copy = members.copy(value)
  for name, item in pairs(value) do
    local of = type(schema.properties) == "table" and schema.properties[name] or schema.additionalProperties
    copy[name] = mask(item, of, root, depth)
  end
  return copy
end

local function mask_items(value, schema, root, depth)
  local copy = members.copy(value)
  for i, item in ipairs(value) do
    copy[i] = mask(item, type(schema.prefixItems) == "table" and schema.prefixItems[i] or schema.items, root, depth)
  end
  return copy
end

local combining = { "allOf", "anyOf", "oneOf" }
local single = { "if", "then", "else" }

-- The value without what its schema hides. Every branch counts, whichever the value fits.
function mask(value, schema, root, depth)
  schema = type(schema) == "table" and depth > 0 and schema or {}
  if schema.writeOnly == true or schema.format == "password" then
    return HIDDEN
  end
  local kind = core.kind(value)
  if kind == "object" then
    value = mask_members(value, schema, root, depth - 1)
  elseif kind == "array" then
    value = mask_items(value, schema, root, depth - 1)
  end
  local target = type(schema["$ref"]) == "string" and schema["$ref"]:match("^#(.*)$")
  if target then
    value = mask(value, json_pointer.get(root, target), root, depth - 1)
  end
  for _, name in ipairs(combining) do
    for _, branch in ipairs(type(schema[name]) == "table" and schema[name] or {}) do
      value = mask(value, branch, root, depth - 1)
    end
  end
  for _, name in ipairs(single) do
    value = schema[name] ~= nil and mask(value, schema[name], root, depth - 1) or value
  end
  return value
end

local function hide_at(value, pointer)
  local holder, name = json_pointer.get(value, pointer:match("^(.*)/[^/]*$") or ""), pointer:match("([^/]*)$")
  name = json_pointer.unescape(name)
  if core.kind(holder) == "array" then
    name = (tonumber(name) or -1) + 1
  end
  if type(holder) == "table" and holder[name] ~= nil then
    holder[name] = HIDDEN
  end
end

local function preview_of(self, input, schema)
  local shown = mask(input, schema, schema, DEEPEST)
  for _, pointer in ipairs(self._pointers) do
    hide_at(shown, pointer)
  end
  local text = json.encode(shown, { sort_keys = true })
  if text and #text > PREVIEW then
    text = text:sub(1, PREVIEW):gsub("[\192-\255][\128-\191]*$", "") .. "..."
  end
  return text
end

-- Writing.

local function append(path, line)
  if not system.kind(path) then
    system.write_private(path, "")
  end
  local file, message = io.open(path, "ab")
  if not file then
    return nil, message
  end
  file:setvbuf("no") -- one write for one line
  local ok, reason = file:write(line, "\n")
  file:close()
  return ok, reason
end

local function write(self, record)
  local text = json.encode(record, { sort_keys = true })
  local ok, done, reason = pcall(self._write, text)
  if ok and (done ~= nil or reason == nil) then
    if self._failing then
      self._failing = false
      self._log("warn", ("audit: lines are written again; %d were lost"):format(self.lost))
    end
    return
  end
  self.lost = self.lost + 1
  if not self._failing then
    self._failing = true
    self._log("error", "audit: a line could not be written: " .. errors.text(ok and reason or done))
  end
end

-- Records.

local function client_of(metadata)
  metadata = type(metadata) == "table" and metadata or {}
  local mcp, http = type(metadata.mcp) == "table" and metadata.mcp, type(metadata.http) == "table" and metadata.http
  local client = mcp and type(mcp.client) == "table" and mcp.client or {}
  local found = { name = client.name, version = client.version, address = http and http.address or nil }
  return next(found) and found or nil
end

local function identity_of(identity)
  return type(identity) == "table" and { id = identity.id, issuer = identity.issuer } or nil
end

local function outcome_of(err)
  local details = type(err.details) == "table" and err.details or {}
  if details.declined then
    return "declined"
  elseif details.rule and err.code == "ACCESS_DENIED" then
    return "blocked"
  end
  return err.code == "ABORTED" and "aborted" or "error"
end

local function record_of(self, call, err)
  local encoded = json.encode(call.input == nil and marked.object({}) or call.input, { sort_keys = true })
  local details = err and type(err.details) == "table" and err.details or {}
  return { time = timestamp.of(call.start), operation = call.id, id = call.requestId, parent = call.parent,
    identity = identity_of(call.identity), client = client_of(call.metadata),
    outcome = err and outcome_of(err) or call.failed and "tool_error" or "ok", code = err and err.code,
    duration = call.finish - call.start, input = encoded and hexadecimal.of(self._sign(encoded)) or nil,
    rule = call.approval and call.approval.rule or details.rule, approval = call.approval and call.approval.by,
    program = call.program, calls = call.calls,
    preview = self._pointers and call.input ~= nil and preview_of(self, call.input, call.schema) or nil }
end

--- A call that its registry refused before any handler ran.
---@class operations.RefusedCall
---@field id string
---@field input any
---@field schema any
---@field requestId? string
---@field parent? string
---@field identity? operations.Identity
---@field metadata? table

--- Records a refused call; its registry calls this.
---@param call operations.RefusedCall
---@param err operations.Error
function Audit:refused(call, err)
  local now = scheduler.now()
  write(self, record_of(self, members.merged(call, { start = now, finish = now }), err))
end

--- A program of a model that has ended.
---@class operations.ProgramRun : operations.RefusedCall
---@field program string  SHA-256 of its text, in hexadecimal
---@field calls { operation?: string, outcome: string, duration: number }[]
---@field start integer  ms since the epoch
---@field finish integer

--- Records a program; the sink that ran it calls this.
---@param run operations.ProgramRun
---@param err? operations.Error
function Audit:program(run, err)
  write(self, record_of(self, run, err))
end

local function is_tool_error(value)
  return type(value) == "table" and type(value.meta) == "table" and value.meta.isError == true
    and core.is_response_envelope(value)
end

local function around(self, inner, spec)
  local id = layer.id(spec)
  local function over(err, _, call, value)
    call.finish, call.failed = scheduler.now(), is_tool_error(value)
    local ok, raised = pcall(function()
      write(self, record_of(self, call, err))
    end)
    if not ok then
      self._log("error", ("audit: %s: %s"):format(id, errors.text(raised)))
    end
  end
  local followed = layer.followed(inner, over)
  return function(input, context)
    local call = { id = id, input = input, schema = spec.inputSchema, start = scheduler.now(),
      requestId = context.requestId, parent = context.parentRequestId, identity = context.identity,
      metadata = context.metadata, approval = rawget(context, "_approval") }
    return followed(input, context, call)
  end
end

function Audit:__call(handler, spec)
  return self._layer(handler, spec)
end

--- Records each call by one line of JSON: `time`, `operation`, `id`, `parent`, `identity`, `client`, `outcome` ("ok",
--- "error" with its `code`, "tool_error", "blocked", "declined", "aborted"), `duration` (ms), `input` (a digest of its
--- canonical JSON), `rule`, `approval` (who gave it) and, by option, `preview`. Put it first in the list of middleware.
---@param options operations.AuditOptions
---@return operations.Audit
function audit.new(options)
  argument.expect(options, "table", 1, "audit")
  argument.options(options, kinds, "audit")
  if (options.path == nil) == (options.write == nil) then
    error("bad argument #1 to 'audit' (path or write expected, one of them)", 2)
  elseif options.path and system.kind(options.path) and system.kind(options.path) ~= "file" then
    error(("bad option 'path' to 'audit' (%s is no regular file)"):format(options.path), 2)
  end
  local key, path = options.key or core.random_id() .. core.random_id(), options.path
  local self = setmetatable({ lost = 0, _failing = false, _log = options.log or log.write,
    _pointers = options.preview and (options.preview == true and {} or options.preview) or false,
    _sign = hmac.signer(key), _write = options.write or function(line)
      return append(path, line)
    end }, Audit)
  self._layer = layer.new(function(inner, spec)
    return around(self, inner, spec)
  end)
  return self
end

return audit
