--- One process that runs some spec files: its start, what it has recorded, and its end by itself or by force.
local lfs = require("lfs")
local system = require("system")
local sources = require("spec.support.sources")

local batch = {}
batch.__index = batch

local unescaped = { n = "\n", r = "\r", ["\\"] = "\\" }

-- The process leads a group, and what it starts can be told by its environment too: some leave the group. A crash
-- leaves the servers of its specs behind: they are ended with it.
local script = [[
set -m
export SPEC_RUN='%s'
(
  exec 3>&2 2>/dev/null # bash tells of processes that are killed
  %s --output=spec/support/runner/record.lua -Xoutput '%s.record%s' %s 2>&3 3>&-
  status=$?
  { echo $status; times; } >'%s.status.new' && mv '%s.status.new' '%s.status'
  [ $status -lt 128 ] || kill -KILL 0
) </dev/null %s &
echo $! >'%s.pid'
]]

local function quoted(list)
  local words = {}
  for i, word in ipairs(list) do
    words[i] = "'" .. word:gsub("'", "'\\''") .. "'"
  end
  return table.concat(words, " ")
end

--- Starts busted on files.
---@param path string  a prefix for the names of temporary files
---@param files string[]
---@param command string  starts busted, as text for a shell
---@param options string[]  of busted
---@param is_shown boolean  are a character for each spec, and what specs print, printed at once?
function batch.start(path, files, command, options, is_shown)
  local file = assert(io.open(path .. ".sh", "w"))
  file:write(script:format(path, command, path, is_shown and ",shown" or "",
    quoted(options) .. " " .. quoted(files), path, path, path,
    is_shown and "" or (">'%s.log' 2>&1"):format(path), path))
  file:close()
  os.execute("bash " .. path .. ".sh")
  return setmetatable({
    path = path, files = files, passed = 0, failures = {}, seconds = {}, finished = {},
    processor = 0, -- seconds of processor time
    read = 0, -- bytes of the record
    changed = system.monotime(), -- when it was longer the last time
  }, batch)
end

function batch:fail(text, file)
  self.failures[#self.failures + 1] = { file = file or self.file or self.files[1], text = text }
end

local events = {}

function events:file(path)
  self.file, self.spec = path, nil
end

function events:seconds(text)
  local seconds, path = text:match("^(%S+) (.*)$")
  self.seconds[path], self.finished[path], self.file = tonumber(seconds), true, nil
end

function events:spec(name)
  self.spec = name
end

events["end"] = function(self, status)
  self.passed, self.spec = self.passed + (status == "success" and 1 or 0), nil
end

function events:failure(text)
  local file, rest = text:match("^([^\n]*)\n(.*)$")
  self:fail(rest, file)
  self.finished[file] = true
end

function events:exit(count)
  self.expected = tonumber(count)
end

-- Reads what was recorded since the last time.
function batch:follow()
  local file = io.open(self.path .. ".record", "rb")
  if not file then
    return
  end
  file:seek("set", self.read)
  for line in file:read("*a"):gmatch("[^\n]*\n") do
    local kind, text = line:match("^(%S+) (.*)\n$")
    self.read, self.changed = self.read + #line, system.monotime()
    events[kind](self, (text:gsub("\\(.)", unescaped)))
  end
  file:close()
end

-- Where the process is, for a failure that no spec has told.
function batch:place()
  return self.spec or self.file or table.concat(self.files, " ")
end

local function how(status)
  return status > 128 and ("signal %d"):format(status - 128) or ("status %d"):format(status)
end

--- Looks at the process: true when it has ended. One that records nothing for `patience` seconds is ended.
---@param patience number
---@return boolean
function batch:poll(patience)
  local has_status = lfs.attributes(self.path .. ".status", "mode") ~= nil -- all that is recorded came before
  self:follow()
  if not has_status then
    if system.monotime() - self.changed < patience then
      return false
    end
    self:fail(("Hang -> %s\nno end after %d s"):format(self:place(), patience))
    self:kill()
    return true
  end
  os.remove(self.path .. ".pid")
  local text = sources.read(self.path .. ".status")
  local status = tonumber(text:match("^%d+"))
  for minutes, rest in text:gmatch("(%d+)m(%d+%.%d+)s") do
    self.processor = self.processor + 60 * minutes + rest
  end
  if not self.expected or status >= 128 or (status == 0) ~= (self.expected == 0) then
    self:fail(("Crash -> %s\nthe process ended with %s"):format(self:place(), how(status)))
    -- The sanitizer's search for leaks may itself end by a signal, after all specs have passed.
    self.again = self.expected == 0
      and self:output():find("LeakSanitizer has encountered a fatal error", 1, true) ~= nil
  end
  return true
end

--- Ends the process and what it has started.
function batch:kill()
  os.execute(([[
    kill -KILL "-$(cat '%s.pid')" 2>/dev/null
    for file in $(grep -lsxz 'SPEC_RUN=%s' /proc/[0-9]*/environ); do
      process=${file#/proc/}
      kill -KILL "${process%%/*}" 2>/dev/null
    done]]):format(self.path, self.path))
  os.remove(self.path .. ".pid")
end

--- The files that have not begun; none if the first one could not.
---@return string[]
function batch:rest()
  local list = {}
  for _, path in ipairs(self.file and self.files or {}) do
    if not self.finished[path] and path ~= self.file then
      list[#list + 1] = path
    end
  end
  return list
end

--- Does a file print figures? Those of `make test` do not.
---@return boolean
function batch:has_figures()
  for _, path in ipairs(self.files) do
    if not path:find("_spec%.lua$") then
      return true
    end
  end
  return false
end

--- What specs have printed.
---@return string
function batch:output()
  local path = self.path .. ".log"
  return lfs.attributes(path, "mode") and sources.read(path) or ""
end

return batch
