--- Writes the attempt, progress and questions of a submitted job into its record while the worker runs it, and reads
--- the answers to the questions. Only the holder of the job's entry can write.
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local scripts = require("operations.calls.redis.scripts")

local redis_notes = {}

---@class operations.RedisNotes
---@field peer operations.Peer  of the job's request: `asking` is set when it is made
---@field _shared operations.RedisShared
---@field _job operations.RedisJob
---@field _now fun(): number  by Redis' clock
---@field _progress? table
---@field _pause? fun()  stops the timer of the pause after a note
---@field _unwritten? boolean  there is more to note after the pause
---@field _looking? fun()  stops the timer of the next look for answers
local Notes = {}
Notes.__index = Notes

local function nothing() end

local function asked(self)
  return self.peer.asking and self.peer.asking:asked()
end

local function send(self)
  local shared, job = self._shared, self._job
  local key = shared.keys:job(job.id)
  local text = json.encode({ progress = self._progress, questions = asked(self) })
  if text then
    scripts.note:send(shared.link, nothing, 2, { job.queue, key, job.entry, shared.presence.id,
      ("%.0f"):format(self._now()), "a", job.attempt, "n", shared.signature:seal(key, text) })
  end
end

--- Writes what is known; progress may come often, so there are pauses.
function Notes:write()
  self._unwritten = self._pause ~= nil
  if self._unwritten or self._closed then
    return
  end
  send(self)
  self._pause = scheduler.host().timer(limits.redis_note, function()
    self._pause = nil
    if self._unwritten then
      self:write()
    end
  end)
end

--- Writes at once what a pause holds back: the outcome follows.
function Notes:flush()
  if self._unwritten and not self._closed then
    self._unwritten = false
    send(self)
  end
end

--- Notes the latest progress.
---@param payload { done: number, total?: number, message?: string }
function Notes:progress(payload)
  self._progress = { done = payload.done, total = payload.total, message = payload.message }
  self:write()
end

local function look(self)
  local shared, id = self._shared, self._job.id
  self._looking = scheduler.host().timer(limits.redis_answers, function()
    self._looking = nil
    if self._closed or not asked(self) then
      return
    end
    look(self)
    scripts.look:send(shared.link, function(reply)
      if reply then
        self.peer.asking:answer(redis_notes.answers(shared, id, reply[1]))
      end
    end, 2, { shared.keys:record(id), shared.keys:job(id) })
  end)
end

-- Called when there are other questions.
local function changed(self)
  self:write()
  if asked(self) and not self._looking then
    look(self)
  end
end

--- The job runs no more.
function Notes:close()
  self._closed = true
  for _, stop in ipairs({ self._pause or nothing, self._looking or nothing }) do
    stop()
  end
end

--- The answers among the fields of a job, by key; those that are not signed as they must be are left out.
---@param shared operations.RedisShared
---@param id string  of the job
---@param fields string[]  names and values
---@return table<string, table>
function redis_notes.answers(shared, id, fields)
  local answers, place = {}, shared.keys:job(id)
  for i = 1, #fields, 2 do
    local key = fields[i]:match("^q:(.*)$")
    local sealed = key and shared.signature:fits(place, fields[i + 1]) and json.decode(fields[i + 1])
    if type(sealed) == "table" and sealed.key == key and type(sealed.answer) == "table" then
      answers[key] = sealed.answer
    end
  end
  return answers
end

--- Begins the notes of a job that is started.
---@param shared operations.RedisShared
---@param job operations.RedisJob
---@param peer operations.Peer
---@param now fun(): number  ms since the epoch, by Redis' clock
---@return operations.RedisNotes
function redis_notes.new(shared, job, peer, now)
  local self = setmetatable({ peer = peer, _shared = shared, _job = job, _now = now }, Notes)
  function peer.changed()
    changed(self)
  end
  self:write()
  return self
end

return redis_notes
