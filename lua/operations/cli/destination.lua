--- The destination of an answer's bytes: standard output, a terminal, or a file, which is written completely or not at
--- all.
local core = require("operations.core")
local json = require("operations.base.json")
local output = require("operations.cli.output")
local printable = require("operations.base.printable")
local system = require("operations.system")
local url = require("operations.base.url")

local destination = {}

local PROGRESS_EVERY = 100 -- ms

---@class operations.cli.Destination
---@field path? string       of the file, if it is one
---@field count integer      bytes written
---@field problem? string    message for the user in place of the error that `write` raised
---@field raised? any        the raised error
---@field exchange? operations.cli.Exchange  knows the total bytes
---@field write fun(self: operations.cli.Destination, bytes: string)  raises when they cannot be written
---@field finish fun(self: operations.cli.Destination): string?  the answer is complete; returns a message when it
---  cannot be stored

-- Keeps the message for the user apart from the raised error, which a handler's caller would see changed.
local function refuse(self, message)
  self.problem = message
  error(message, 0)
end

-- Standard output that is not a terminal: unchanged bytes.

local Pipe = {}
Pipe.__index = Pipe

function Pipe:write(bytes)
  self.count = self.count + #bytes
  output.bytes(bytes)
end

function Pipe.finish()
end

-- A terminal: text without control sequences.

local Terminal = {}
Terminal.__index = Terminal

-- The number of bytes at the end that belong to an incomplete character.
local function cut_off(text)
  for back = 1, math.min(3, #text) do
    local byte = text:byte(-back)
    if byte >= 0xC0 then
      local length = byte >= 0xF0 and 4 or byte >= 0xE0 and 3 or 2
      return length > back and back or 0
    elseif byte < 0x80 then
      return 0
    end
  end
  return 0
end

local function show(self, text)
  if text:find("%z") or not json.encode(text) then
    refuse(self, "the answer is not text: -o FILE saves it, -o - prints it as it is")
  end
  self.last = text ~= "" and text:sub(-1) or self.last
  output.text(text)
end

function Terminal:write(bytes)
  self.count = self.count + #bytes
  local text = self.rest .. bytes
  local rest = cut_off(text)
  self.rest = text:sub(#text - rest + 1)
  show(self, text:sub(1, #text - rest))
end

function Terminal:finish()
  show(self, self.rest)
  if self.count > 0 and self.last ~= "\n" then
    output.text("\n")
  end
end

-- A file.

local File = {}
File.__index = File

local function random_name(prefix)
  return ("%s.%s.part"):format(prefix, core.random_id():sub(1, 8))
end

-- Is it a device or a pipe, which must not be replaced by a file?
local function is_special(path)
  return system.kind(path) == "other" or path:find("^/dev/") ~= nil or path:find("^/proc/") ~= nil
end

-- Some functions of Lua begin their message with the name of the file, which here is a draft's.
local function failure(path, message)
  return ("cannot write %s: %s"):format(path, message:match("%s*([^:]*)$"))
end

local function open(self, draft, path)
  local file, message = io.open(draft, "wb")
  if not file then
    return nil, failure(path, message)
  end
  self.file, self.draft = file, draft ~= path and draft or nil
  output.at_end(self)
  return self
end

local EXISTS = "%s exists already: -o FILE writes over a file"

-- Gives the draft its name. A link replaces no file, also none that has appeared since the download began.
local function publish(self)
  if not self.name then
    return os.rename(self.draft, self.path)
  end
  local ok, message = system.link(self.draft, self.path)
  if ok then
    return os.remove(self.draft)
  end
  return nil, system.kind(self.path) and EXISTS:format(self.path) or failure(self.path, message)
end

-- Determines the server's name for the file before anything is written, so that a failure costs no download.
local function settle_name(self)
  local name, message = self.name()
  if not name then
    refuse(self, message)
  elseif system.kind(name) then
    refuse(self, EXISTS:format(name))
  end
  self.path = name
end

local function tell_progress(self)
  local now = core.now()
  self.began = self.began or now
  if now - (self.told or 0) >= PROGRESS_EVERY then
    self.told = now
    output.progress(output.transfer(self.count, self.exchange and self.exchange:total(), now - self.began))
  end
end

function File:write(bytes)
  if not self.path then
    settle_name(self)
  end
  local ok, message = self.file:write(bytes)
  if not ok then
    refuse(self, failure(self.path, message))
  end
  self.count = self.count + #bytes
  tell_progress(self)
end

function File:finish()
  if not self.path then
    settle_name(self)
  end
  local file = self.file
  self.file = nil
  local ok, message = file:close()
  if ok and self.draft then
    ok, message = publish(self)
  end
  if not ok then
    os.remove(self.draft or "")
    self.draft = nil
    return self.name and message or failure(self.path, message)
  end
  self.draft = nil
  if self.name then
    output.notice("saved %s, %s", self.path, output.size(self.count))
  end
end

--- Ends an unfinished file: removes it.
function File:close()
  if self.file then
    self.file:close()
    self.file = nil
  end
  if self.draft then
    os.remove(self.draft)
    self.draft = nil
  end
end

--- Standard output.
---@param is_raw? boolean  also writes unchanged bytes to a terminal
---@return operations.cli.Destination
function destination.stdout(is_raw)
  if output.is_terminal() and not is_raw then
    return setmetatable({ count = 0, rest = "", last = nil }, Terminal)
  end
  return setmetatable({ count = 0 }, Pipe)
end

--- A file; an existing one is kept until the answer is complete.
---@param path string
---@param exchange? operations.cli.Exchange
---@return operations.cli.Destination?
---@return string? message
function destination.file(path, exchange)
  if system.kind(path) == "directory" then
    return nil, ("cannot write %s: it is a directory"):format(path)
  end
  local self = setmetatable({ path = path, count = 0, exchange = exchange }, File)
  return open(self, is_special(path) and path or random_name(path), path)
end

--- A file in the working directory, named when the answer begins. An existing file of that name is kept.
---@param name fun(): string?, string?  the name, or nil and the reason
---@param exchange? operations.cli.Exchange
---@return operations.cli.Destination?
---@return string? message
function destination.named(name, exchange)
  local self = setmetatable({ name = name, count = 0, exchange = exchange }, File)
  return open(self, random_name(".operations"), "the working directory")
end

-- The file name given by a server: from `Content-Disposition` (RFC 6266), else the end of the URL. Never a path.

local LONGEST = 255 -- bytes of a name, on most systems

-- The last part of a path of any system; nil if it is not a proper name: hidden, like an option, or with characters
-- that hide or reorder others.
local function last_part(text)
  local name = text:match("([^/\\]*)$"):gsub("^%s+", ""):gsub("%s+$", "")
  local is_proper = name:find("^[^.-]") and #name <= LONGEST and not name:find("%c") and printable.line(name) == name
  return is_proper and name or nil
end

-- RFC 8187: charset'language'percent-encoded
local function extended(field)
  local charset, text = field:match("[;%s][fF][iI][lL][eE][nN][aA][mM][eE]%*%s*=%s*([%w-]+)'[^']*'([^;%s]+)")
  return charset and charset:lower() == "utf-8" and url.decode(text) or nil
end

local function plain(field)
  local rest = field:match("[;%s][fF][iI][lL][eE][nN][aA][mM][eE]%s*=%s*(.*)$")
  if not rest then
    return nil
  elseif rest:sub(1, 1) == '"' then
    return (rest:match('^"(.-[^\\])"') or rest:match('^"([^"]*)"') or ""):gsub("\\(.)", "%1")
  end
  return rest:match("^[^;%s]+")
end

--- The file name for an answer.
---@param field? string  its header Content-Disposition
---@param address? string  the URL of the answer
---@return string? name  nil: there is no safe name
function destination.remote_name(field, address)
  local given = field and (extended(";" .. field) or plain(";" .. field))
  local name = given and last_part(given)
  if name or not address then
    return name
  end
  local path = address:gsub("[?#].*$", ""):match("^%a[%w+.-]*://[^/]*/(.*)$")
  return path and last_part(url.decode(path) or path) or nil
end

return destination
