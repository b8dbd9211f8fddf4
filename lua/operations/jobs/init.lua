--- Jobs of a server, kept for the callers who started them: MCP's tasks and the answers 202 of the HTTP server. A job
--- belongs to the identity that started it. In this process, or,
--- over a call map of mode `reliable`, in Redis: then any process of the system answers for it, and the job of a killed
--- worker runs on another one.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
local memory = require("operations.jobs.memory")
local remote = require("operations.jobs.remote")

local jobs = {}

---@class operations.JobsOptions
---@field map? operations.CallMap  over Redis in mode `reliable`: keeps the jobs there; default: in this process
---@field ttl? integer  ms for which a record is kept, from the job's start, default 1 hour; a job that runs then is
---  cancelled
---@field longest_ttl? integer  ms, default 1 day: what callers may ask for, at least 60 s
---@field poll? integer  ms between two looks at a job that callers are advised to keep, default 1,000
---@field max_jobs? integer  of this server that have not ended, default 1,000; with `map`, `max_queue` of
---  its Redis applies
---@field max_identity_jobs? integer  of them for one identity, default 100; without an identity, of all callers without

--- What a server asks of the store of its jobs. Each function may wait.
---@class operations.JobStore
---@field start fun(self, id: string, input: any, options: operations.JobStart?): operations.JobRecord?,
---  operations.Error?  OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR, BUSY, UNAVAILABLE
---@field get fun(self, id: string, identity: operations.Identity?): operations.JobRecord?, operations.Error?
---  OPERATION_NOT_FOUND: no such job of this identity
---@field wait fun(self, id: string, identity: operations.Identity?, options: operations.JobWait?):
---  operations.JobRecord?, operations.Error?
---@field answer fun(self, id: string, identity: operations.Identity?, answers: table<string, table>):
---  operations.JobRecord?, operations.Error?  VALIDATION_ERROR: one does not fit its question
---@field cancel fun(self, id: string, identity: operations.Identity?, reason: string?): operations.JobRecord?,
---  operations.Error?
---@field forget fun(self, id: string, identity: operations.Identity?): true?, operations.Error?  cancels it, too
---@field close fun(self)

---@class operations.JobStart
---@field identity? operations.Identity
---@field ttl? number  ms for which the record is wanted
---@field capabilities? table  what the caller can be asked, as those of an MCP client; nil: nothing
---@field metadata? table
---@field traceparent? string

---@class operations.JobWait
---@field after? integer|string  the version that is known: returns once there is another one
---@field ended? boolean  returns once the job has ended or has questions, not for progress
---@field timeout? number  ms; returns the record then; default: no limit

local option_kinds = { map = "table", ttl = "number", longest_ttl = "number", poll = "number", max_jobs = "number",
  max_identity_jobs = "number" }

--- Makes the store of a server's jobs.
---@param registry operations.Registry
---@param options? operations.JobsOptions
---@return operations.JobStore
function jobs.new(registry, options)
  argument.object(registry, "admit", "registry", 1, "jobs")
  argument.optional(options, "table", 2, "jobs")
  options = options or {}
  argument.options(options, option_kinds, "jobs")
  for name in pairs(option_kinds) do
    local value = options[name]
    if type(value) == "number" and not (value >= 1 and value < math.huge) then
      error(("bad option '%s' to 'jobs' (a number from 1 on expected)"):format(name), 2)
    end
  end
  local known = {
    map = options.map, ttl = options.ttl or limits.job_ttl, longest_ttl = options.longest_ttl or limits.job_most_ttl,
    poll = options.poll or limits.job_poll, max_jobs = options.max_jobs or limits.jobs,
    max_identity_jobs = options.max_identity_jobs or limits.identity_jobs,
  }
  local workers = hosts.current().workers
  if known.map then
    argument.object(known.map, "submit", "call map", 2, "jobs")
    return remote.new(registry, known)
  elseif workers and workers() > 1 then
    error("jobs in memory need a server of one process, and nginx has several workers: give `map`, a call map over "
      .. "Redis in mode \"reliable\"", 2)
  end
  return memory.new(registry, known)
end

--- The store of a server's jobs, by its option `tasks`.
---@param registry operations.Registry
---@param given? operations.JobsOptions|operations.JobStore|false  nil: in memory, made when it is first wanted; false:
---  there is none
---@return fun(): operations.JobStore?, operations.Error? find  UNAVAILABLE
---@return fun() close  ends the store with its server, unless the program has given it
function jobs.provider(registry, given)
  local store, problem = nil, "this server runs no tasks"
  local is_own = not given or type(given.start) ~= "function"
  if given and not is_own then
    store = given
  elseif given then
    store = jobs.new(registry, given)
  end
  return function()
    if not store and given == nil then
      local ok, made = pcall(jobs.new, registry)
      store, problem = ok and made or nil, made
    end
    if not store then
      return nil, errors.new("UNAVAILABLE", errors.text(problem), { kind = "none" })
    end
    return store
  end, function()
    if store and is_own then
      store:close()
    end
  end
end

return jobs
