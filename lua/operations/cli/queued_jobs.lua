--- `operations jobs`: the jobs and calls that wait, are delayed or run on a Redis, and the dead ones.
local arguments = require("operations.cli.arguments")
local errors = require("operations.base.error")
local grid = require("operations.cli.grid")
local members = require("operations.base.members")
local operations = require("operations")
local output = require("operations.cli.output")
local redis = require("operations.cli.redis")

local EVERYTHING = 1000000 -- letters and entries, when one is looked for

local states = { "waiting", "delayed", "running", "dead" }

local queued_jobs = {
  usage = "operations jobs --redis URL [list|show|repeat|drop] [ID|OPERATION]",
  summary = "Lists the jobs and calls of workers in mode reliable that wait, are delayed,\n"
    .. "run or are dead. show ID: one of them, or the outcome of one that has ended.\n"
    .. "repeat ID: queues a dead one again. drop ID: cancels one, removes a dead one,\n"
    .. "forgets one that has ended. An OPERATION means all its dead ones.",
  without_sources = true,
  options = members.joined({
    { name = "--redis", value = "URL", help = "redis://HOST:PORT, rediss:// over TLS" },
    { name = "--state", value = "STATE", values = states, help = "list: only those" },
    { name = "--limit", value = "N", help = "list: of each kind and operation (100)" },
    { name = "--json", help = "list: as JSON, with inputs" },
  }, redis.options),
}

local columns = { "state", "id", "operation", "attempt", "time", "worker" }

local function time_of(ms)
  return ms and os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(ms / 1000)) or nil
end

-- A job as it is printed.
local function shown(job)
  local copy = members.copy(job)
  copy.letter = nil
  return copy
end

local actions = {}

function actions.list(map, _, parsed)
  local limit, message = arguments.number(parsed, "limit", 100)
  if message or limit < 1 then
    return output.usage("jobs: %s", message or "--limit: a number from 1 on expected")
  end
  local list, err = map:jobs(parsed.rest[2], { limit = limit })
  if not list then
    return output.fail(err)
  end
  local state, rows, all = parsed.options.state, {}, operations.array()
  for _, job in ipairs(list) do
    if not state or job.state == state then
      rows[#rows + 1] = { state = job.state, id = job.id, operation = job.operation, attempt = job.attempt,
        time = time_of(job.due or job.created), worker = job.worker }
      all[#all + 1] = shown(job)
    end
  end
  if parsed.options.json then
    output.data(all, true)
  elseif rows[1] then
    output.text((grid.text(rows, columns, output.width())))
  end
  return output.codes.OK
end

-- The entry with an id, and its record; calls have none that says their operation.
local function find(map, id)
  local record = map:job(id)
  local list, err = map:jobs(record and record.operation, { limit = EVERYTHING })
  for _, job in ipairs(list or {}) do
    if job.id == id then
      return job, nil, record
    end
  end
  return nil, err, record
end

local function unknown(id)
  return output.fail(errors.new("OPERATION_NOT_FOUND", ("no job '%s'"):format(id)))
end

function actions.show(map, _, parsed)
  local id = parsed.rest[2]
  local job, err, record = find(map, id)
  if err then
    return output.fail(err)
  elseif not job and not record then
    return unknown(id)
  end
  local both = members.merged(record or {}, job and shown(job) or {})
  local failure = both.error
  both.error = failure and { code = failure.code, message = failure.message, details = failure.details } or nil
  output.data(both, true)
  return output.codes.OK
end

-- Does `method` for the dead letter with an id, or all of an operation. Nil: there is none.
local function with_letters(map, transport, parsed, method)
  local word = parsed.rest[2]
  local job, err = find(map, word)
  if job and job.letter or not job and not err and word:find(".", 1, true) then
    local count
    count, err = transport[method](transport, job and job.letter or word)
    if count == 0 then
      return nil
    elseif count then
      output.notice("%d dead job%s", count, count == 1 and "" or "s")
      return output.codes.OK
    end
  end
  return err and output.fail(err) or nil, job
end

actions["repeat"] = function(map, transport, parsed)
  local code, job = with_letters(map, transport, parsed, "revive_dead_letters")
  if code then
    return code
  elseif job then
    return output.fail(errors.new("VALIDATION_ERROR", ("job '%s' is %s: only dead ones are repeated"):format(job.id,
      job.state)))
  end
  return unknown(parsed.rest[2])
end

function actions.drop(map, transport, parsed)
  local id = parsed.rest[2]
  local code, job = with_letters(map, transport, parsed, "drop_dead_letters")
  if code then
    return code
  elseif job then
    local ok, err = transport:end_job({ id = id, operation = job.operation }, "dropped by operations jobs")
    return ok == nil and output.fail(err) or output.codes.OK
  end
  local ok, err = map:forget(id)
  return ok and output.codes.OK or output.fail(err)
end

---@param parsed operations.cli.Arguments
---@return integer code
function queued_jobs.run(parsed)
  local name = parsed.rest[1] or "list"
  local act, url = actions[name], parsed.options.redis
  local options, message = redis.read(parsed)
  local state = parsed.options.state
  if state and not members.set(states)[state] then
    message = ("--state: waiting, delayed, running or dead expected, got %q"):format(state)
  end
  if not act then
    return output.usage("jobs: expected list, show, repeat or drop, got %q", name)
  elseif name ~= "list" and not parsed.rest[2] then
    return output.usage("jobs: %s: expected the ID of a job", name)
  elseif not url or message then
    return output.usage("jobs: %s", message or "expected --redis URL")
  end
  options.mode = "reliable"
  local transport, code = redis.connect(url, options)
  if not transport then
    return code
  end
  local map = operations.call_map(transport)
  code = act(map, transport, parsed)
  map:close()
  return code
end

return queued_jobs
