--- The rules that all stores of jobs share: the owner of a job, its time to live, when a wait is over.
local errors = require("operations.base.error")
local identity_key = require("operations.base.identity_key")
local limits = require("operations.base.limits")

local rules = {}

--- The owner of jobs that an identity starts.
---@param identity? operations.Identity
---@return string
function rules.owner_of(identity)
  return identity and identity_key.of(identity) or "anonymous"
end

--- The time for which a record is kept.
---@param options operations.JobsOptions
---@param wanted? number  ms
---@return integer ms
function rules.granted(options, wanted)
  if type(wanted) ~= "number" or wanted ~= wanted then
    return options.ttl
  end
  return math.floor(math.min(math.max(wanted, limits.job_least_ttl), options.longest_ttl))
end

--- The error of an id that is unknown, over its time, or of a job of another identity: callers cannot tell these apart.
---@param id string
---@return nil
---@return operations.Error
function rules.unknown(id)
  return nil, errors.new("OPERATION_NOT_FOUND", ("no job '%s'"):format(tostring(id)))
end

--- Is a record what a wait wants?
---@param record operations.JobRecord
---@param options operations.JobWait
---@return boolean
function rules.suffices(record, options)
  if record.ended then
    return true
  elseif options.ended then
    return record.state ~= "working" and record.version ~= options.after
  end
  return record.version ~= options.after
end

return rules
