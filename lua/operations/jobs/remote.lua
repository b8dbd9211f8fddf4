--- Jobs over a call map that submits them, which is Redis in mode `reliable`: any process of the system answers for a
--- job, and the job of a killed worker runs on another one. They do not end with this process.
local question = require("operations.registry.question")
local rules = require("operations.jobs.rules")

---@class operations.RemoteJobs : operations.JobStore
---@field _registry operations.Registry
---@field _options operations.JobsOptions
---@field _map operations.CallMap
local Remote = {}
Remote.__index = Remote

local remote = {}

function Remote:start(id, input, options)
  options = options or {}
  local most = self._options
  local ok, err = self._registry:admit(id, input, { identity = options.identity, metadata = options.metadata })
  if not ok then
    return nil, err
  end
  local ttl = rules.granted(most, options.ttl)
  local record
  record, err = self._map:submit(id, input, { expires = ttl, keep = ttl, identity = options.identity,
    metadata = options.metadata, traceparent = options.traceparent, capabilities = options.capabilities,
    owner = rules.owner_of(options.identity), owner_limit = most.max_identity_jobs })
  if record then
    record.ttl, record.poll = ttl, most.poll
  end
  return record, err
end

-- The record of a job of this identity; nil when it is unknown. Jobs that programs submit have no such owner.
local function shown(self, record, identity)
  local ttl = record and record.keep
  if not ttl or record.owner ~= rules.owner_of(identity) or (record.age or 0) >= ttl then
    return nil
  end
  record.owner, record.age, record.keep, record.due = nil, nil, nil, nil
  record.ttl, record.poll = ttl, self._options.poll
  return record
end

local function find(self, id, identity)
  if type(id) ~= "string" or id == "" then
    return rules.unknown(id)
  end
  local record, err = self._map:_look(id)
  if err and err.code ~= "OPERATION_NOT_FOUND" then
    return nil, err
  end
  record = shown(self, record, identity)
  if not record then
    return rules.unknown(id)
  end
  return record
end

function Remote:get(id, identity)
  return find(self, id, identity)
end

function Remote:wait(id, identity, options)
  options = options or {}
  local record, err = find(self, id, identity)
  if not record or rules.suffices(record, options) then
    return record, err
  end
  record, err = self._map:_await(id, math.min(options.timeout or math.huge, record.ttl), function(seen)
    return rules.suffices(seen, options)
  end)
  record = record and shown(self, record, identity)
  if not record and (not err or err.code == "OPERATION_NOT_FOUND") then
    return rules.unknown(id)
  end
  return record, err
end

function Remote:answer(id, identity, answers)
  local record, err = find(self, id, identity)
  if not record then
    return nil, err
  end
  local fitting, flaw = question.fitting(record.questions or {}, answers)
  if not fitting then
    return nil, flaw
  end
  local ok
  ok, err = self._map:_answer(id, fitting)
  if not ok then
    return nil, err
  end
  return find(self, id, identity)
end

function Remote:cancel(id, identity, reason)
  local record, err = find(self, id, identity)
  if not record or record.ended then
    return record, err
  end
  record, err = self._map:cancel(id, reason)
  if not record then
    return nil, err
  end
  return find(self, id, identity)
end

function Remote:forget(id, identity)
  local record, err = find(self, id, identity)
  if not record then
    return nil, err
  end
  return self._map:forget(id)
end

--- The jobs and the call map are those of the program.
function Remote.close() end

---@param registry operations.Registry
---@param options operations.JobsOptions  all of them
---@return operations.RemoteJobs
function remote.new(registry, options)
  return setmetatable({ _registry = registry, _options = options, _map = options.map }, Remote)
end

return remote
