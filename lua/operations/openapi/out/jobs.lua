--- Jobs in a document: the response 202, the preference that asks for it, and the paths of jobs.
local core = require("operations.core")

local jobs = {}

local text, whole, time = { type = "string" }, { type = "integer" }, { type = "string", format = "date-time" }
local problem = { ["$ref"] = "#/components/schemas/Problem" }

--- The state of a job, as `components/schemas/Job`.
jobs.schema = {
  type = "object", title = "Job", description = "A call that is answered before it is done.",
  required = { "id", "operation", "state", "created", "updated", "expires" },
  properties = {
    id = text, operation = text,
    state = { type = "string", enum = { "working", "input_required", "completed", "failed", "cancelled" } },
    progress = { type = "object", required = { "done" },
      properties = { done = { type = "number" }, total = { type = "number" }, message = text } },
    message = text, created = time, updated = time,
    expires = { type = "string", format = "date-time", description = "After that, the job is unknown." },
    result = { description = "The data of a completed job; bytes are at /result." }, error = problem,
    attempt = whole,
  },
}

local content = { ["application/json"] = { schema = { ["$ref"] = "#/components/schemas/Job" } } }
local pause = { description = "Seconds until the next request.", schema = whole }

--- The response 202.
jobs.accepted = {
  description = "It is a job now: Location is its place.", content = content,
  headers = {
    Location = { description = "The place of the job.", schema = { type = "string", format = "uri-reference" } },
    ["Retry-After"] = pause, ["Preference-Applied"] = { schema = text } },
}

--- The parameter by which callers ask for it.
jobs.preference = { name = "Prefer", ["in"] = "header", schema = text,
  description = "respond-async: answer at once, with the place of a job; wait=N: after at most N seconds (RFC 7240)." }

local wait = { name = "Prefer", ["in"] = "header", schema = text,
  description = "wait=N: answer at the end of the job, or after N seconds." }
local id = { name = "id", ["in"] = "path", required = true, schema = text }

local function operation(name, summary, responses, security, ...)
  responses["4XX"] = { ["$ref"] = "#/components/responses/Refused" }
  responses.default = { ["$ref"] = "#/components/responses/Failed" }
  -- from_openapi follows jobs by itself, and leaves these out.
  return { ["x-operation-job"] = true, operationId = name, summary = summary, description = summary .. ".",
    tags = { "jobs" }, security = security,
    parameters = { ... }, responses = responses }
end

--- Adds the paths of jobs, if an operation can be one.
---@param paths table  the Paths Object
---@param entries operations.openapi.Entry[]
---@param security table[]  of requests about jobs
---@return boolean added
function jobs.describe(paths, entries, security)
  local found = false
  for _, entry in ipairs(entries) do
    found = found or entry.task ~= nil
  end
  if found then
    local state = { description = "The state of the job.", content = content, headers = { ["Retry-After"] = pause } }
    paths["/jobs/{id}"] = {
      get = operation("jobState", "The state of a job", { ["200"] = state }, security, id, wait),
      delete = operation("cancelJob", "Cancels a job, or removes one that has ended",
        { ["200"] = state, ["204"] = { description = "It is removed." } }, security, id) }
    paths["/jobs/{id}/result"] = {
      get = operation("jobResult", "The answer of a job's call", { ["2XX"] = { description = "That of the call.",
        content = { ["*/*"] = setmetatable({}, core.object_mt) } } }, security, id) }
  end
  return found
end

return jobs
