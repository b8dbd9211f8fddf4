--- Lists the commands, addresses and files of the servers in an `mcp.json` file, without starting anything: for a
--- person who is asked to trust the file.
local directories = require("operations.base.directories")
local entries = require("operations.mcp.client.entries")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local trust = require("operations.people.trust")

local effects = {}

-- The texts inside a value, at any depth.
local function each_text(value, fn)
  if type(value) == "table" then
    for _, key in ipairs(members.names(value)) do
      each_text(value[key] == nil and value[tonumber(key)] or value[key], fn)
    end
  elseif value ~= nil then
    fn(number_text.of(value))
  end
end

-- Fills in what names a place, and leaves commands as they are written.
local function placed(text, directory)
  return (text:gsub("%$(%b{})", function(braced)
    local inner = braced:sub(2, -2)
    local name, default = inner:match("^(.-):%-(.*)$")
    name = (name or inner):gsub("^env:", "")
    if name == "workspaceFolder" then
      return directory
    end
    return name == "userHome" and os.getenv("HOME") or os.getenv(name) or default
  end))
end

-- "A, B (${env:TOKEN})": names with what their values refer to.
local function named(map)
  local list = {}
  for _, name in ipairs(members.names(map)) do
    local references = {}
    for reference in tostring(map[name]):gmatch("%$%b{}") do
      references[#references + 1] = reference
    end
    list[#list + 1] = name .. (references[1] and " (" .. table.concat(references, ", ") .. ")" or "")
  end
  return table.concat(list, ", ")
end

local function object(value)
  return type(value) == "table" and value or {}
end

-- The variables and directory of an entry, as text.
local function notes_of(own)
  local notes = ""
  if next(object(own.env)) then
    notes = notes .. ", with the variables " .. named(own.env)
  end
  if own.envFile then
    notes = notes .. ", with the variables in " .. tostring(own.envFile)
  end
  if own.cwd then
    notes = notes .. ", in the directory " .. tostring(own.cwd)
  end
  return notes
end

-- Programs that the entry's own PATH would find below the directory.
local function add_found(subject, own, directory)
  local command, path = own.command, object(own.env).PATH
  for place in placed(type(path) == "string" and path or "", directory):gmatch("[^:]+") do
    if place:sub(1, 1) ~= "/" or place:sub(1, #directory) == directory then
      subject:file(directories.absolute(place .. "/" .. tostring(command), directory))
    end
  end
end

local function add_entry(subject, entry, directory, places)
  local own = entries.options(entry)
  if own.command then
    local words = members.joined({ tostring(own.command) }, object(own.args))
    subject:line("%s runs: %s%s", entry.name, trust.command_line(words), notes_of(own))
  elseif own.url then
    local headers = named(object(own.headers))
    subject:line("%s calls: %s%s", entry.name, tostring(own.url),
      headers ~= "" and ", with the headers " .. headers or "")
  end
  local cwd = type(own.cwd) == "string" and placed(own.cwd, directory)
  local all = cwd and members.joined({ cwd }, places) or places
  each_text(own, function(text)
    for braced in text:gmatch("%$(%b{})") do
      local command = braced:match("^{cmd:%s*(.*)}$")
      if command then
        subject:line("%s runs: sh -c %s", entry.name, trust.command_line({ command }))
      end
    end
    subject:words(placed(text, directory), all)
  end)
  if type(own.envFile) == "string" then
    subject:file(directories.absolute(placed(own.envFile, directory), directory))
  end
  add_found(subject, own, directory)
end

--- Adds what the servers would do to what a person is asked to trust.
---@param subject operations.people.Subject
---@param path string  of the file
---@param directory string  that the servers are started in
---@return true?
---@return string? message  the file cannot be read
function effects.add(subject, path, directory)
  subject:file(path)
  if subject.problem then
    return nil, subject.problem
  end
  local value, err = entries.read(path)
  local list, problem
  if value then
    list, problem = entries.list(value, function() end)
  end
  if not list then
    return nil, err and err.message or problem
  end
  local places = { directory, path:match("^(.*)/[^/]*$") }
  for _, entry in ipairs(list) do
    if type(entry.value) == "table" then
      add_entry(subject, entry, directory, places)
    end
  end
  return true
end

return effects
