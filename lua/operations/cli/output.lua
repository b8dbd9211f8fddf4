--- The output of the command line: data to stdout, everything else to stderr, an exit code to the shell; and what is
--- closed before the program ends.
local compat = require("operations.base.compat")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local printable = require("operations.base.printable")
local system = require("operations.system")

local output = {}

local STDIN, STDOUT, STDERR = 0, 1, 2
local WIDTH = 80 -- columns for files and pipes

--- The exit codes: number, name, and what `operations --help` says.
---@type { [1]: integer, [2]: string, [3]: string }[]
output.exits = {
  { 0, "OK", "done" }, { 1, "UNKNOWN_ERROR", "unknown error" }, { 2, "USAGE", "wrong usage" },
  { 3, "OPERATION_NOT_FOUND", "no such operation" }, { 4, "ACCESS_DENIED", "access denied" },
  { 5, "VALIDATION_ERROR", "invalid input" }, { 6, "TIMEOUT", "timeout" }, { 7, "ABORTED", "aborted" },
  { 8, "EXECUTION_ERROR", "the handler, or a tool of an MCP server, failed" },
  { 9, "OPERATION_CODE", "an error that the operation declares" }, { 10, "HTTP_CLIENT_ERROR", "HTTP status 4xx" },
  { 11, "HTTP_SERVER_ERROR", "HTTP status 5xx" }, { 12, "SOURCE", "a source could not be loaded" },
  { 13, "UNREACHABLE", "a server could not be reached" },
  { 14, "SELECTION", "done, --select names no part" }, { 130, "INTERRUPTED", "interrupted" },
}

--- The number of each, by name.
---@type table<string, integer>
output.codes = {}

for _, exit in ipairs(output.exits) do
  output.codes[exit[2]] = exit[1]
end
output.codes.APPROVAL_REQUIRED = output.codes.ACCESS_DENIED

--- Raised when stdout is closed: the reader has finished, which is not a failure.
output.closed = setmetatable({}, { __tostring = function() return "stdout is closed" end })

local function write(text)
  local ok, message = compat.write(io.stdout, text)
  if not ok then
    error(message == "Broken pipe" and output.closed or "stdout: " .. tostring(message), 0)
  end
end

-- Long texts at a terminal.

-- The program in the environment that shows long texts, page by page.
local function pager()
  local own = os.getenv("OPERATIONS_PAGER") or os.getenv("PAGER") or ""
  return own:find("%S") and own ~= "cat" and system.is_terminal(STDIN) and own or nil
end

-- Less shows colours, and ends at once where all fits, unless its own variable says otherwise.
local function paged(program, text)
  local pipe = io.popen((os.getenv("LESS") and "" or "export LESS=FRX; ") .. "exec " .. program, "w")
  if not pipe then
    return write(text)
  end
  pipe:write(text) -- fails if the reader has seen enough
  pipe:close()
end

-- Writes a text; one with more lines than the terminal goes to a pager, if there is one.
local function show(text)
  local _, rows = system.terminal_size(STDOUT)
  local program = rows and select(2, text:gsub("\n", "\n", rows)) >= rows and pager()
  if program then
    paged(program, text)
  else
    write(text)
  end
end

local progress_shown, is_quiet = false, false

--- Leaves out progress, warnings and notices from now on: `--quiet`.
function output.be_quiet()
  is_quiet = true
end

--- Shows progress when a person watches; the next output on stderr erases it.
---@param text string
function output.progress(text)
  if system.is_terminal(STDERR) and not is_quiet then
    io.stderr:write("\r\27[K", (printable.text(text):gsub("%s+", " ")), " ")
    progress_shown = true
  end
end

--- Erases the progress line.
function output.settle()
  if progress_shown then
    io.stderr:write("\r\27[K")
    progress_shown = false
  end
end

--- Prints a text for people; with `as_is`, files and pipes get it unchanged.
---@param text string
---@param as_is? boolean
function output.text(text, as_is)
  output.settle()
  show(as_is and not system.is_terminal(STDOUT) and text or printable.text(text))
end

--- Prints bytes unchanged.
---@param bytes string
function output.bytes(bytes)
  output.settle()
  write(bytes)
end

--- Is standard output a terminal?
---@return boolean
function output.is_terminal()
  return system.is_terminal(STDOUT)
end

--- The width of the terminal that standard output is.
---@return integer?  nil: not a terminal, lines may have any length
function output.width()
  return system.is_terminal(STDOUT) and (system.terminal_size(STDOUT) or WIDTH) or nil
end

--- Prints JSON text; on a terminal, without control sequences.
---@param text string
---@param style? operations.cli.Style  its colours
function output.json(text, style)
  output.settle()
  text = system.is_terminal(STDOUT) and printable.json(text) or text
  show(style and style:json(text) or text)
end

--- A value as JSON; raises the error object when it is not JSON.
---@param value any
---@param pretty? boolean
---@return string
function output.encode(value, pretty)
  local text, err = json.encode(value, { indent = pretty and 2 or nil, keep_order = true })
  return text or error(err, 0)
end

-- A copy of data in which all strings and names are changed.
local function map(value, seen)
  if type(value) == "string" then
    return printable.text(value)
  elseif type(value) ~= "table" then
    return value
  elseif seen[value] then
    return seen[value]
  end
  local copy, order = {}, core.property_order[value]
  seen[value] = copy
  for key, item in pairs(value) do
    copy[map(key, seen)] = map(item, seen)
  end
  core.property_order[copy] = order and map(order, seen) or nil
  return members.mark(copy, value)
end

--- Data whose texts are to be read, names of members included.
---@param value any
---@return any copy
function output.readable(value)
  return map(value, {})
end

--- Prints a text with our colours, `ESC [ N m`; removes other control sequences.
---@param text string  whose foreign parts are from `output.readable`: colours of theirs would pass
function output.styled(text)
  output.settle()
  local parts = {}
  for before, colour in (text .. "\27[0m"):gmatch("(.-)(\27%[%d+m)") do
    parts[#parts + 1] = printable.text(before) .. colour
  end
  show((table.concat(parts):gsub("\27%[0m$", "")))
end

--- Prints a value as JSON; raises the error object when it is not JSON.
---@param value any
---@param pretty boolean|nil  nil: if stdout is a terminal
function output.data(value, pretty)
  if pretty == nil then
    pretty = system.is_terminal(STDOUT)
  end
  output.json(output.encode(value, pretty) .. "\n")
end

--- Keeps standard output for data: what `print` and `io.write` of definitions and handlers say goes to standard error.
function output.keep_stdout()
  io.output(io.stderr)
  rawset(_G, "print", function(...)
    local words = { ... }
    for i = 1, select("#", ...) do
      words[i] = number_text.of(words[i])
    end
    output.settle()
    io.stderr:write(table.concat(words, "\t"), "\n")
  end)
end

--- Prints a notice on standard error.
---@param text string
function output.tell(text)
  output.settle()
  io.stderr:write(printable.text(text))
end

--- Can a person at a terminal be asked?
---@return boolean
function output.can_ask()
  return system.is_terminal(STDIN) and system.is_terminal(STDERR)
end

--- Shows on standard error what a file would do.
---@param subject operations.people.Subject
function output.subject(subject)
  output.tell(table.concat(subject:text(), "\n") .. "\n")
end

local records_only = false -- all lines on stderr are JSON

-- Writes a line below a message.
local function indent(text)
  if records_only then
    output.record({ time = core.now(), level = "info", message = text })
  else
    io.stderr:write("  ", printable.message(text), "\n")
  end
end

---@param format string
function output.complain(format, ...)
  local message = format:format(...)
  output.settle()
  if records_only then
    output.record({ time = core.now(), level = message:match("^(%l+): ") or "info", message = message })
  else
    io.stderr:write("operations: ", printable.message(message), "\n")
  end
end

--- Prints a warning or a notice, which `--quiet` leaves out.
---@param format string
function output.notice(format, ...)
  if not is_quiet then
    output.complain(format, ...)
  end
end

--- Reports why a file gives no definition.
---@param problem operations.ScanProblem
function output.problem(problem)
  local said = problem.message:sub(1, #problem.path) == problem.path
  output.complain("%s", said and problem.message or problem.path .. ": " .. problem.message)
end

--- Writes a line of a log: one JSON object.
---@param entry table
function output.record(entry)
  output.settle()
  io.stderr:write(printable.json(assert(json.encode(entry, { sort_keys = true }))), "\n")
end

-- An entry of an access log for people.
local function line_of(entry)
  local words = { os.date("%H:%M:%S", math.floor(entry.time / 1000)) }
  for _, word in ipairs({ entry.method or false, entry.path or entry.operation or "-", entry.status or false,
    entry.code or false, ("%d ms"):format(entry.ms), entry.path and entry.operation or false, entry.mcp or false,
    entry.identity or false }) do
    words[#words + 1] = word and tostring(word) or nil
  end
  return table.concat(words, " ")
end

---@type operations.cli.Option
output.log_option = { name = "--log-format", value = "FORMAT", values = { "text", "json", "none" },
  help = "of a line a request: text (at a terminal), json, none" }

--- Reads `--log-format`: what writes the entries of an access log to stderr, JSON unless stderr is a terminal. With
--- "json", all other messages are JSON from now on, too.
---@param parsed operations.cli.Arguments
---@return (fun(entry: table))?  nil: no entries are written
---@return string? message  of an unknown format
function output.log_writer(parsed)
  local format = parsed.options["log-format"] or system.is_terminal(STDERR) and "text"
  if format == "none" or is_quiet and not parsed.options["log-format"] then
    return nil
  elseif format and format ~= "text" and format ~= "json" then
    return nil, ("--log-format: text, json or none expected, got %s"):format(format)
  end
  records_only = format == "json"
  return format ~= "text" and output.record or function(entry)
    output.settle()
    io.stderr:write(printable.message(line_of(entry)), "\n")
  end
end

--- Reports an error in the command line.
---@param format string
---@return integer code
function output.usage(format, ...)
  output.complain(format, ...)
  return output.codes.USAGE
end

--- Prints issues, one per line; the path of the whole value is "/".
---@param issues table[]
function output.issues(issues)
  for _, issue in ipairs(issues) do
    local path = issue.path == "" and "/" or issue.path
    indent(path .. ": " .. issue.message)
  end
end

local LONGEST = 1000 -- bytes of an error's text that are shown

-- The beginning of a text; of a page of HTML what it says.
local function excerpt(text)
  local size = #text
  if text:find("^%s*<[!hH]") then
    text = text:gsub("<[sS][tTcC][yYrR].-</[sS][tTcC][yYrR]%l*>", ""):gsub("<[^>]*>", " "):gsub("%s+", " ")
    text = text:match("^ ?(.-) ?$")
  end
  if #text > LONGEST then
    text = text:sub(1, LONGEST):gsub("[\192-\255][\128-\191]*$", "") .. "..."
  end
  return #text < size and ("%s (%s; --envelope shows all)"):format(text, output.size(size)) or text
end

local function http_body(details)
  local body = details.body
  if body == nil or body == "" then
    return nil
  end
  return type(body) == "string" and excerpt(body) or json.encode(body, { sort_keys = true })
end

--- The first line about an error; leaves out a message that repeats the first issue.
local function headline(err, issues)
  local first = issues and issues[1]
  local subject = first and (first.path == "" and "input" or first.path)
  if first and err.message:find(subject .. ": " .. first.message, 1, true) == 1 then
    return err.code
  end
  return tostring(err)
end

--- Prints an error object: code and message, then its issues or the body of the HTTP answer.
---@param err operations.Error
function output.failure(err)
  local details = type(err) == "table" and err.details
  if type(details) ~= "table" then
    output.complain("%s", tostring(err))
    return
  end
  local first = details[1]
  local issues = type(first) == "table" and type(first.message) == "string" and type(first.path) == "string" and details
  output.complain("%s", headline(err, issues))
  if issues then
    output.issues(issues)
    if err.hint then
      indent("(" .. err.hint .. ")")
    end
  elseif type(details.statusCode) == "number" then
    local body = http_body(details)
    if body then
      indent(body)
    end
  elseif next(details) ~= nil then
    local shown = members.merged(details)
    shown.stderr = details.kind == nil and details.stderr or nil -- the message of a server that ended has it
    io.stderr:write("  ", printable.json(json.encode(shown, { sort_keys = true }) or "(details are no JSON)"), "\n")
  end
end

--- Reports that a tool failed, with its first text if it has one.
---@param content any[]  of its answer
function output.tool_failure(content)
  local said = ""
  for _, block in ipairs(content) do
    if type(block) == "table" and block.type == "text" and type(block.text) == "string" then
      said = ": " .. block.text
      break
    end
  end
  output.complain("EXECUTION_ERROR: the tool failed%s", said)
end

local unreachable = { dns = true, connect = true, tls = true }

--- Does an error mean that there is no connection to a server?
---@param err any
---@return boolean
function output.is_unreachable(err)
  local details = type(err) == "table" and type(err.details) == "table" and err.details
  return details and (unreachable[details.kind] or details.kind == "timeout" and details.phase == "connect") or false
end

--- The exit code for an error object.
---@param err any
---@return integer
function output.exit_code(err)
  local code = type(err) == "table" and err.code
  local status = type(err) == "table" and type(err.details) == "table" and err.details.statusCode
  if type(code) ~= "string" then
    return output.codes.UNKNOWN_ERROR
  elseif output.is_unreachable(err) then
    return output.codes.UNREACHABLE
  elseif type(status) == "number" and status >= 400 then
    return status < 500 and output.codes.HTTP_CLIENT_ERROR or output.codes.HTTP_SERVER_ERROR
  elseif type(status) == "number" and not errors.codes[code] then -- an answer without a failure that is no result
    return output.codes.EXECUTION_ERROR
  end
  -- An operation's own code may have the name of one of ours.
  return errors.codes[code] and output.codes[code] or output.codes.OPERATION_CODE
end

--- Reports the error that ended a command.
---@param err any
---@return integer code  for the shell
function output.fail(err)
  if err == output.closed then
    return output.codes.OK
  elseif system.interrupted() then
    output.settle()
    return output.codes.INTERRUPTED
  end
  output.failure(err)
  return output.exit_code(err)
end

-- Sizes for people.

local units = { "kB", "MB", "GB", "TB" }

--- A number of bytes: "1 byte", "999 bytes", "1.2 MB".
---@param count integer
---@return string
function output.size(count)
  if count < 1000 then
    return ("%d byte%s"):format(count, count == 1 and "" or "s")
  end
  local value, unit = count / 1000, 1
  while value >= 999.95 and units[unit + 1] do
    value, unit = value / 1000, unit + 1
  end
  return ("%s %s"):format(number_text.fixed(value, 1), units[unit])
end

--- The progress and the rate of a transfer.
---@param count integer  bytes so far
---@param total? integer
---@param elapsed number  ms
---@return string
function output.transfer(count, total, elapsed)
  local text = output.size(count)
  if total and total > 0 then
    text = ("%s of %s (%d %%)"):format(text, output.size(total), math.floor(count * 100 / total))
  end
  return elapsed > 0 and ("%s, %s/s"):format(text, output.size(math.floor(count * 1000 / elapsed))) or text
end

-- What is closed before the program ends, however it ends.

local pending = {}

--- Registers an object to be closed at the end.
---@param thing { close: fun(self: table) }
function output.at_end(thing)
  pending[#pending + 1] = thing
end

--- Closes the registered objects once, the last one first.
function output.close()
  while #pending > 0 do
    table.remove(pending):close()
  end
end

return output
