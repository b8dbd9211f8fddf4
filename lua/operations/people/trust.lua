--- Stores which files of a directory (a project's file, an mcp.json) a person trusts, by path and digest of every file
--- that can run something. The command line and Neovim share the store, $XDG_STATE_HOME/operations/trust.json.
local core = require("operations.core")
local directories = require("operations.base.directories")
local hexadecimal = require("operations.base.hexadecimal")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local printable = require("operations.base.printable")
local shell = require("operations.base.shell")
local system = require("operations.system")

local trust = {}

---@class operations.people.Subject  what a person is asked to trust
---@field path string  absolute, of the file that names the rest
---@field lines string[]  what it runs, calls and reads
---@field files table<string, string>  digests by real path
---@field refs table<string, string[]>  the files that a document refers to, by its real path
---@field problem? string  why it cannot be trusted
local Subject = {}
Subject.__index = Subject

-- Reading and writing the store.

local function store_file()
  local directory = directories.state()
  return directory and directory .. "/trust.json"
end

local function read_store()
  local path = store_file()
  local text = path and system.read_regular(path, limits.trust_file)
  local all = text and json.decode(text)
  return type(all) == "table" and all or {}
end

local function change_store(key, value)
  local path = store_file()
  if not path then
    return nil, "neither XDG_STATE_HOME nor HOME says where to note it"
  end
  local all = read_store()
  all[key] = value
  local ok, message = system.make_private_directory(directories.state())
  if ok then
    ok, message = system.write_private(path, assert(json.encode(all, { indent = 2, sort_keys = true })) .. "\n")
  end
  return ok, message
end

-- What is stored for a file: { files, refs }; a text of earlier versions counts as a change.
local function stored(path)
  local entry = read_store()[path]
  if type(entry) ~= "table" or type(entry.files) ~= "table" then
    return nil, entry ~= nil
  end
  return { files = entry.files, refs = type(entry.refs) == "table" and entry.refs or {} }, true
end

-- Digests.

-- The digest of a regular file; of a large one its size and the time of its last change.
local function digest_of(path)
  local kind, _, version = system.kind(path)
  if kind and kind ~= "file" then
    return nil, path .. ": not a regular file"
  elseif kind and tonumber(version:match("%d+$")) > limits.trust_file then
    return "version " .. version
  end
  local text, message = system.read_regular(path, limits.trust_file)
  return text and hexadecimal.of(core.sha256(text)), message
end

-- Subjects.

--- Begins with the file that names the rest.
---@param path string  absolute
---@return operations.people.Subject
function trust.subject(path)
  local self = setmetatable({ path = path, lines = {}, files = {}, refs = {}, problem = nil }, Subject)
  self._key = system.real_path(path) or path
  self._stored, self._is_known = stored(self._key)
  self:file(path)
  return self
end

--- Adds a line of what it runs, calls or reads.
---@param format string
function Subject:line(format, ...)
  self.lines[#self.lines + 1] = format:format(...)
end

--- Adds a file that it names. A file that is missing counts as new once it is there.
---@param path string
---@param refs? fun(): string[]  the files that it refers to; not called while they are known
function Subject:file(path, refs)
  local real = system.real_path(path)
  if not real or self.files[real] and (not refs or self.refs[real]) then
    return
  end
  local digest, message = digest_of(real)
  self.files[real], self.problem = digest, self.problem or message
  if digest and refs then
    local known = self._stored and self._stored.files[real] == digest and self._stored.refs[real]
    local list = type(known) == "table" and known or refs()
    self.refs[real] = list
    for _, other in ipairs(list) do
      self:file(other)
    end
  end
end

--- Adds the files that the words of a text name: a command line, an argument, a variable.
---@param text string
---@param places string[]  the directories in which a relative name may be meant
function Subject:words(text, places)
  local function try(word)
    word = word:gsub("^~/", (os.getenv("HOME") or "") .. "/")
    for _, place in ipairs(word ~= "" and not word:find("%z") and places or {}) do
      local path = directories.absolute(word, place)
      if system.kind(path) == "file" then
        self:file(path)
      end
    end
  end
  try(text)
  for word in text:gmatch("[^%s'\"`;|&()<>=,:@]+") do
    try(word)
  end
end

--- Is everything as it was when the person trusted it?
---@return boolean
---@return string[] changed  the files that changed or are new; empty if it was never trusted
function Subject:is_trusted()
  local changed = {}
  for _, path in ipairs(self._is_known and members.names(self.files) or {}) do
    if not self._stored or self._stored.files[path] ~= self.files[path] then
      changed[#changed + 1] = path
    end
  end
  return self._is_known and self._stored ~= nil and #changed == 0 and not self.problem, changed
end

--- Trusts it as it is now.
---@return true?
---@return string? message
function Subject:trust()
  if self.problem then
    return nil, self.problem
  end
  return change_store(self._key, { files = self.files, refs = self.refs })
end

--- Is it trusted? If not, the person is asked.
---@param face? operations.people.Face  nil: without one, it is not trusted
---@return boolean
---@return string[] changed  the files that changed or are new
---@return string? message  why it cannot be trusted
function Subject:ask(face)
  local trusts, changed = self:is_trusted()
  if trusts then
    return true, changed
  elseif self.problem or not (face and face.trust and face.trust(self, changed)) then
    return false, changed, self.problem
  end
  local ok, message = self:trust()
  return ok == true, changed, message
end

--- Withdraws the trust in a file.
---@param path string  absolute
---@return true?
---@return string? message
function trust.revoke(path)
  return change_store(system.real_path(path) or path, nil)
end

-- Texts.

--- A command line as a shell would take it.
---@param words string[]
---@return string
function trust.command_line(words)
  local list = {}
  for i, word in ipairs(words) do
    list[i] = shell.word(tostring(word))
  end
  return table.concat(list, " ")
end

--- What it would run, call and read, and the files whose content is trusted, for a person.
---@return string[] lines
function Subject:text()
  local lines = { self.path .. ":" }
  for _, line in ipairs(self.lines) do
    lines[#lines + 1] = "  " .. line
  end
  lines[#lines + 1] = "files that are trusted with their present content:"
  for _, path in ipairs(members.names(self.files)) do
    lines[#lines + 1] = "  " .. path
  end
  for i, line in ipairs(lines) do
    lines[i] = printable.line(line)
  end
  return lines
end

return trust
