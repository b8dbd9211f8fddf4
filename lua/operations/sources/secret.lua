--- Secrets given by reference: other users can see the words of the command line, and configuration files are copied.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local shell = require("operations.base.shell")

local secret = {}

local readers = {}

function readers.env(name)
  local value = os.getenv(name)
  return value, not value and (name == "" and "env: names no variable" or "the environment has no " .. name) or nil
end

local function first_line(file)
  local line = file:read("*l")
  file:close()
  return line and line:gsub("\r$", "")
end

function readers.file(path)
  local file, err = io.open(path)
  if not file then
    return nil, err
  end
  return first_line(file), ("%s is empty"):format(path)
end

local LONGEST = 65536 -- bytes that a command may print

-- The first line and the exit code, which LuaJIT's `close` does not return: the shell prints it behind the output.
local function output_of(pipe)
  local first, size = nil, 0
  for line in pipe:lines() do
    local code = line:match("^\30(%d+)$")
    size = size + #line
    if code or size > LONGEST then
      return first, tonumber(code)
    end
    first = first or line
  end
end

function readers.cmd(command)
  local pipe, err = io.popen(("sh -c %s; printf '\\n\\036%%d\\n' $?"):format(shell.word(command)))
  if not pipe then
    return nil, err
  end
  local line, code = output_of(pipe)
  pipe:close()
  if code ~= 0 then
    return nil, ("`%s` %s"):format(command, code and "failed with exit code " .. code
      or "was ended, or printed too much")
  elseif not line or line == "" then
    return nil, ("`%s` printed nothing"):format(command)
  end
  return (line:gsub("\r$", ""))
end

--- Splits NAME=SECRET. The padding of base64 is not taken for a separator.
---@param word string
---@return string? name  nil when the word is the secret alone
---@return string? secret
function secret.named(word)
  return word:match("^([%w_.%-]+)=([^=].*)$")
end

--- Is a word a reference to a secret, not the secret itself?
---@param word string
---@return boolean
function secret.is_reference(word)
  local kind = word:match("^(%l+):.")
  return kind ~= nil and readers[kind] ~= nil
end

--- The text that a word refers to, or the word itself.
---@param word string
---@return string? text
---@return string? message  error message
function secret.text(word)
  local kind, rest = word:match("^(%l+):(.*)$")
  if not readers[kind] then
    return word
  end
  local value, message = readers[kind](rest)
  return value, not value and message or nil
end

--- Reads the token that a word refers to.
---@param word string
---@return string? value
---@return string? message  error message
function secret.read(word)
  local value, message = secret.text(word)
  if not value then
    return nil, message
  elseif not value:find("^[!-~]+$") then
    return nil, "expected a token of printable characters without blanks"
  end
  return value
end

--- The secret that a word refers to, read once, when it is first needed: for `auth` and headers.
---@param word string  env:NAME, file:PATH, cmd:COMMAND, or the secret itself
---@return fun(): string  raises when it cannot be read
function secret.later(word)
  argument.expect(word, "string", 1, "secret")
  local value
  return function()
    if not value then
      local message
      value, message = secret.text(word)
      if not value then
        error(errors.new("VALIDATION_ERROR", "secret: " .. message), 0)
      end
    end
    return value
  end
end

return secret
