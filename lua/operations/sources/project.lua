--- The project's file `.operations.json`: what its sources would run, call and read, and whether the user trusts that.
local directories = require("operations.base.directories")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local system = require("operations.system")

local project = {}

local NAME = ".operations.json"

--- The project's file in the working directory or the nearest one above it.
---@return string? path
function project.file()
  return directories.above(NAME)
end

--- The files in a directory that may have to be trusted.
---@param directory string  absolute
---@return string[]
function project.files(directory)
  local list = {}
  for _, name in ipairs({ NAME, "mcp.json" }) do
    local path = directory:gsub("/$", "") .. "/" .. name
    list[#list + 1] = system.kind(path) == "file" and path or nil
  end
  return list
end

--- Is it a project's file of sources, by its name?
---@param path string
---@return boolean
function project.is_file(path)
  return path:match("[^/]*$") == NAME
end

-- Most directories have no such file, so what reads and compares what it would run is loaded on first use.
local function trust()
  return require("operations.people.trust")
end

-- Adds what a kind of source runs and reads.
local add = {}

function add.lua(subject, path)
  local files = { path }
  if system.kind(path) == "directory" then
    local problem
    files, problem = require("operations.registry.scanner").files(path, { most = limits.trust_entries })
    if not files then
      subject.problem = subject.problem or problem.message
      return
    end
  end
  for _, file in ipairs(files) do
    subject:line("  runs the Lua file %s", file)
    subject:file(file)
  end
end

-- The file of descriptions, and what each of them would run.
function add.command(subject, path, _, base)
  subject:file(path)
  local descriptions, err = require("operations.sources.loader").descriptions(path)
  if not descriptions then
    subject.problem = subject.problem or tostring(err)
    return
  end
  for _, each in ipairs(descriptions) do
    local words = {}
    for _, item in ipairs(type(each) == "table" and type(each.argv) == "table" and each.argv or {}) do
      words[#words + 1] = type(item) == "table" and table.concat(item, " ") or tostring(item)
    end
    subject:line("    runs: %s", trust().command_line(words))
    for _, word in ipairs(words) do
      subject:words(word, { base, directories.current() })
    end
  end
end

function add.openapi(subject, place, entry)
  if place:find("^https?://") then
    return
  end
  subject:file(place, function()
    return require("operations.openapi").files(place, entry["ref-root"]) or {}
  end)
end

function add.graphql(subject, place)
  if not place:find("^https?://") then
    subject:file(place)
  end
end

add["mcp-config"] = function(subject, path, _, _, directory)
  local ok, message = require("operations.mcp.client.effects").add(subject, path, directory or directories.current())
  if not ok then
    subject.problem = subject.problem or message
  end
end

function add.mcp(subject, place, _, base)
  if not place:find("^https?://") then
    subject:words(place, { base, directories.current() })
  end
end

-- The command of a reference cmd:COMMAND: the whole value, behind the name of a header, a user or an API key.
local function command_of(value)
  return value:match("^cmd:(.+)$") or value:match("^[%w_.%-]+=cmd:(.+)$") or value:match("^[^:%s]+:%s*cmd:(.+)$")
end

local function add_member(subject, name, value, entry, base)
  local command = command_of(value)
  if command then
    subject:line("  %s runs: sh -c %s", name, trust().command_line({ command }))
    subject:words(command, { base, directories.current() })
  elseif add[name] then
    subject:line("  %s%s: %s", name, name == "mcp" and not value:find("^https?://") and " runs" or "", value)
    add[name](subject, value, entry, base)
  else
    subject:line("  %s: %s", name, value)
  end
  if name == "ca-file" or name == "patch" then
    subject:file(value)
  end
end

local function add_entry(subject, entry, base, with_path)
  local whole = {}
  for name, value in pairs(entry) do
    whole[name] = type(value) == "string" and with_path(name, value, base) or value
  end
  for _, name in ipairs(members.names(whole)) do
    local value = whole[name]
    for _, item in ipairs(name ~= "profiles" and type(value) == "table" and value or { value }) do
      if type(item) ~= "table" then
        add_member(subject, name, number_text.of(item), whole, base)
      end
    end
  end
end

--- What the sources of a file would do.
---@param path string  absolute
---@param content table  of the file
---@param with_path fun(name: string, value: string, base: string): string  makes paths absolute
---@return operations.people.Subject
function project.subject(path, content, with_path)
  local subject, base = trust().subject(path), path:match("^(.*)/[^/]*$")
  for _, name in ipairs(members.names(content.sources or {})) do
    local entry = content.sources[name]
    subject:line("the source %s", name)
    add_entry(subject, entry, base, with_path)
    for _, profile in ipairs(members.names(entry.profiles or {})) do
      subject:line("  with the profile %s", profile)
      add_entry(subject, members.merged(entry.profiles[profile], { ["ref-root"] = entry["ref-root"] }), base, with_path)
    end
  end
  return subject
end

--- What a file that Neovim may use would do: an mcp.json, or an OpenAPI document.
---@param path string  absolute
---@return operations.people.Subject
function project.other(path)
  local subject = trust().subject(path)
  local value = not subject.problem and require("operations.mcp.client").read(path) or nil
  if value and value.openapi == nil and value.swagger == nil then
    add["mcp-config"](subject, path, nil, nil, (path:match("^(.*)/")))
  else
    subject:file(path, function()
      return require("operations.openapi").files(path) or {}
    end)
  end
  return subject
end

--- Why a file's sources are left out, and the command that shows and trusts them.
---@param subject operations.people.Subject
---@param changed string[]
---@return string
function project.refusal(subject, changed)
  local directory = subject.path:match("^(.*)/[^/]*$")
  local where = trust().command_line({ directory == "" and "/" or directory })
  if subject.problem then
    return ("%s cannot be trusted: %s"):format(subject.path, subject.problem)
  elseif changed[1] then
    return ("%s: what it runs has changed since it was trusted (%s), so its sources are left out: operations trust %s "
      .. "shows and trusts them"):format(subject.path, table.concat(changed, ", "), where)
  end
  return ("%s is not trusted, so its sources are left out: operations trust %s shows and trusts them"):format(
    subject.path, where)
end

return project
