--- The end of a call: prints data or an error, and determines the exit code.
local core = require("operations.core")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")
local output = require("operations.cli.output")
local request = require("operations.cli.request")
local schema_place = require("operations.people.schema_place")
local shell = require("operations.base.shell")

local outcome = {}

-- A failed call leaves no file.
local function discard(answer)
  if answer.place and answer.place.close then
    answer.place:close()
    answer.place = nil
  end
end

-- An answer that cannot be read is kept by -o and -O, each byte of it. Returns an error message.
local function keep(answer, details)
  local options = answer.options
  if details.kind ~= "response" or type(details.body) ~= "string" or not (options.output or options["remote-name"]) then
    return nil
  end
  local place = answer:stream()
  local _, problem = pcall(function()
    place:write(details.body)
    return place:finish()
  end)
  answer.place = nil
  return place.problem or problem
end

--- Reports an error; with --envelope, its HTTP answer goes to standard output.
---@param asked operations.cli.Request
---@param err operations.Error
---@return integer code
function outcome.failed(asked, err)
  local details = type(err) == "table" and type(err.details) == "table" and err.details or {}
  local problem = keep(asked.answer, details)
  if problem then
    output.complain("%s", tostring(problem))
  end
  discard(asked.answer)
  if asked.answer.options.envelope and type(details.statusCode) == "number" then
    local headers = details.headers or {}
    local meta = { statusCode = details.statusCode, headers = headers, contentType = headers["content-type"] }
    local message = asked.answer:value(core.http_envelope(details.body, meta))
    output.complain("%s", tostring(err))
    return message and output.usage("%s", message) or output.exit_code(err)
  end
  local code = output.fail(request.hinted(err, asked.spec.inputSchema))
  if details.statusCode == 401 and asked.is_http then
    output.notice("--bearer, --basic or --api-key gives credentials, operations login those of a remembered source; "
      .. "operations describe %s shows which", shell.word(asked.id))
  end
  return code
end

-- A page instead of JSON: of a login, a proxy or a wrong address.
local function warn_of_page(asked)
  local head = asked.sends_http and asked.exchange.head
  local media_type = head and head.headers["content-type"]
  local schema = head and asked.spec.outputSchema
  if type(media_type) == "string" and media_type:lower():find("^text/html")
    and type(schema) == "table" and not schema_place.allows(schema_place.find(schema, {}), "string") then
    output.notice("warning: the answer is text/html, and %s answers JSON: is this the API's address?", asked.id)
  end
end

--- Prints the data of an envelope, or all of it, by the options. The answer of a failed MCP tool (`isError`) is printed
--- too, but changes the exit code.
---@param asked operations.cli.Request
---@param envelope operations.Envelope
---@param pretty boolean|nil  default without an option; nil: pretty on a terminal
---@return integer code
function outcome.print(asked, envelope, pretty)
  local answer, has_failed = asked.answer, envelope.meta.isError == true
  if has_failed then
    discard(answer)
  end
  local value = envelope
  if not answer.options.envelope then
    value = envelope.data
    if value == nil then
      value = core.null
    end
  end
  local message = answer:value(value, envelope.meta.source, pretty)
  if message and asked.spec.type == "mutation" and not has_failed then -- it cannot be called again for its answer
    output.complain("%s; the call was made, so its whole answer is printed", message)
    answer:whole(value, pretty)
    return output.codes.SELECTION
  elseif message then
    return output.usage("%s", message)
  elseif has_failed then
    output.tool_failure(envelope.meta.content)
    return output.codes.EXECUTION_ERROR
  end
  return output.codes.OK
end

--- Finishes the output.
---@param asked operations.cli.Request
---@param code integer
---@return integer code  of the last failure, else `code`
function outcome.finish(asked, code)
  warn_of_page(asked)
  local place = asked.answer.place
  if place and (code == output.codes.OK or code == output.codes.SELECTION) then
    local ok, result = pcall(place.finish, place)
    local message = place.problem or ok and result
    if message then
      return output.usage("%s", message)
    elseif not ok then
      error(result, 0)
    end
  end
  return code
end

-- All pages of a list (`--all`).

-- Passes the items of a page to `take` until it returns false; returns the problem, if any.
local function take_page(asked, envelope, take)
  local whole = envelope.data
  if asked.answer.options.envelope then
    whole = envelope
  elseif envelope.meta.items and not asked.answer.options.select then
    whole = json_pointer.get(whole, envelope.meta.items)
  end
  local value, message = asked.answer:select(whole)
  if message then
    return message
  end
  for _, item in ipairs(core.kind(value) == "array" and value or { value }) do
    if not take(item) then
      break
    end
  end
end

-- The text of pages of CSV: the line of names stands in the first one only.
local function joined_csv(texts)
  local names, parts = nil, {}
  for i, text in ipairs(texts) do
    local head, rest = tostring(text):match("^([^\n]*\n?)(.*)$")
    names = names or head:gsub("%s+$", "")
    parts[i] = i > 1 and head:gsub("%s+$", "") == names and rest or text
    if parts[i] ~= "" and not parts[i]:find("\n$") then
      parts[i] = parts[i] .. "\n"
    end
  end
  return table.concat(parts)
end

-- Is the data of an answer CSV?
local function is_csv(envelope)
  return type(envelope.data) == "string" and (envelope.meta.contentType or ""):find("^text/csv") ~= nil
end

-- Takes pages until the end, or enough items; returns the error of a page that cannot be fetched, or the exit code of
-- another failure; then whether all pages are CSV.
local function take_pages(asked, every, most, take)
  local count, got, csv = 0, 0, true
  while count < most do
    local envelope, err = every:next()
    if not envelope then
      return err, csv and got > 0
    end
    got, csv = got + 1, csv and is_csv(envelope)
    output.progress(("page %d, %d items"):format(got, count))
    local message = take_page(asked, envelope, function(item)
      count = count + 1
      take(item)
      return count < most
    end)
    if message then
      return output.usage("%s", message)
    end
  end
  return nil, csv
end

--- Prints the items of all pages as one list, or pages of CSV as one. If a page cannot be fetched, the previous ones
--- are printed anyway, except to a file, which is removed.
---@param asked operations.cli.Request
---@param most number  items
---@return integer code
function outcome.pages(asked, most)
  local answer, list = asked.answer, marked.array()
  local every, err = asked.registry:pages(asked.id, asked.input, asked.context)
  if not every then
    return outcome.failed(asked, err)
  end
  local ok, problem, csv = pcall(take_pages, asked, every, most, function(item)
    if answer.format == "ndjson" then
      answer:item(item)
    else
      list[#list + 1] = item
    end
  end)
  every:close()
  if not ok then
    error(problem, 0)
  end
  local is_failure = type(problem) == "table"
  if answer.format ~= "ndjson" and (not problem or is_failure and not answer.place and #list > 0) then
    if csv and answer.is_plain then
      answer:stream():write(joined_csv(list))
    else
      answer:print(csv and joined_csv(list) or list)
    end
  end
  if is_failure then
    return outcome.failed(asked, problem)
  end
  return outcome.finish(asked, problem or output.codes.OK)
end

return outcome
