--- `operations call`: one query or mutation. `operations watch`: the events of a subscription, one line of JSON each,
--- as they come.
local answers = require("operations.cli.answer")
local confirmation = require("operations.cli.confirmation")
local core = require("operations.core")
local curl = require("operations.cli.curl")
local errors = require("operations.base.error")
local exchange = require("operations.cli.exchange")
local identities = require("operations.cli.identity")
local input = require("operations.offer.input")
local key_hint = require("operations.cli.key_hint")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local request = require("operations.cli.request")
local schema_place = require("operations.offer.schema_place")

local invocation = {}

---@type operations.cli.Option[]
local shared_options = members.joined(answers.options, {
  { name = "--timeout", value = "SECONDS", help = "give up after so long" },
}, identities.options)

-- A failure leaves no file.
local function discard(answer)
  if answer.place and answer.place.close then
    answer.place:close()
    answer.place = nil
  end
end

-- Reports an error; the answer that it is goes to standard output with --envelope.
local function failed(asked, err)
  local details = type(err) == "table" and type(err.details) == "table" and err.details or {}
  discard(asked.answer)
  if asked.answer.options.envelope and type(details.statusCode) == "number" then
    local headers = details.headers or {}
    local meta = { statusCode = details.statusCode, headers = headers, contentType = headers["content-type"] }
    local message = asked.answer:value(core.http_envelope(details.body, meta))
    output.complain("%s", tostring(err))
    return message and output.usage("%s", message) or output.exit_code(err)
  end
  return output.fail(key_hint.add(err, asked.spec.inputSchema))
end

--- Prints the data of an envelope, or all of it, as the options say. That of a tool which failed (MCP: `isError`) is an
--- answer too, but told to the shell.
---@param asked operations.cli.Request
---@param envelope operations.Envelope
---@param pretty boolean|nil  what to do when they do not say; nil: pretty on a terminal
---@return integer code
local function print_data(asked, envelope, pretty)
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
  if message then
    return output.usage("%s", message)
  elseif has_failed then
    output.tool_failure(envelope.meta.content)
    return output.codes.EXECUTION_ERROR
  end
  return output.codes.OK
end

-- Calls

invocation.call = {
  usage = "operations call OPERATION [INPUT...] [OPTIONS]",
  summary = "Calls a query or mutation and prints its data, JSON or whatever the server sent.",
  options = members.joined({
    { name = "--all", help = "every page of a list" },
    { name = "--max-items", value = "N", help = "of all pages the first N items" },
    { name = "--dry-run", help = "show the request, send nothing" },
    { name = "--curl", help = "print the request as a command of curl, send nothing" },
    confirmation.option,
  }, answers.file_options, shared_options),
  notes = input.help,
}

-- Does the result come in pieces, where it is no JSON?
local function gives_bytes(asked)
  if asked.is_http then
    return true
  end
  for _, schema in ipairs(schema_place.find(asked.spec.outputSchema, {})) do
    if schema.contentMediaType and not schema.contentEncoding then
      return true
    end
  end
  return false
end

local function sink_of(place)
  return function(bytes)
    local ok, raised = pcall(place.write, place, bytes)
    if not ok then
      place.raised = raised
      error(raised, 0)
    end
  end
end

-- Ends what was written; returns the exit code.
local function finish(asked, code)
  local place = asked.answer.place
  if place and code == output.codes.OK then
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

-- Is there nothing left to print: it has gone to the sink, or there was nothing?
local function is_written(asked, envelope)
  local place = asked.answer.place
  return asked.answer:is_plain() and envelope.data == nil
    and (place ~= nil and place.count > 0 or envelope.meta.source == "http")
end

local function run_call(asked)
  local answer, context = asked.answer, asked.context
  if answer:is_plain() and gives_bytes(asked) then
    answer.streamed = answer.place or answer:stream()
    context.sink = sink_of(answer.streamed)
    if answer.place.path == nil and not answer.place.name then
      answer.place = nil -- JSON goes to standard output by itself
    end
  end
  local envelope, err = asked.registry:execute(asked.id, asked.input, context)
  local place = answer.streamed or answer.place
  if place and place.raised == output.closed then
    error(output.closed, 0)
  elseif place and place.problem then
    return output.usage("%s", place.problem)
  elseif not envelope then
    return failed(asked, err)
  elseif place and place.count > 0 then
    answer.place = place
  end
  return finish(asked, is_written(asked, envelope) and output.codes.OK or print_data(asked, envelope, nil))
end

-- Every page

-- Hands the items of a page to `take` until it wants no more; returns what is wrong.
local function take_page(asked, envelope, take)
  local whole = envelope.data
  if asked.answer.options.envelope then
    whole = envelope
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

-- Takes pages until there are no more, or enough; returns the exit code of a failure.
local function take_pages(asked, pages, most, take)
  local count, got = 0, 0
  while count < most do
    local envelope, err = pages:next()
    if not envelope then
      return err and failed(asked, err)
    end
    got = got + 1
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
end

local function run_all(asked, most)
  local answer, list = asked.answer, marked.array()
  local pages, err = asked.registry:pages(asked.id, asked.input, asked.context)
  if not pages then
    return failed(asked, err)
  end
  local ok, code = pcall(take_pages, asked, pages, most, function(item)
    if answer.format == "ndjson" then
      answer:item(item)
    else
      list[#list + 1] = item
    end
  end)
  pages:close()
  if not ok then
    error(code, 0)
  elseif not code and answer.format ~= "ndjson" then
    answer:print(list)
  end
  return finish(asked, code or output.codes.OK)
end

-- Nothing is sent

local function print_held(asked, options)
  local held = asked.exchange.held
  local shown = exchange.shown(held, asked.exchange.plain)
  if options.curl then
    local text = curl.command(shown, held, asked.input.body, curl.variables(options))
    output.text(text, true)
    if text:find("***", 1, true) then
      output.complain("credentials are shown as ***; one that is given as env:NAME is written as $NAME")
    end
  else
    output.text(exchange.text(shown, ""), true)
  end
  return output.codes.OK
end

local function rehearse(asked, options)
  if asked.is_http then
    local _, err = asked.registry:execute(asked.id, asked.input, asked.context)
    return asked.exchange.held and print_held(asked, options) or failed(asked, err)
  elseif options.curl then
    return output.usage("--curl: %s is no operation of an HTTP API", asked.id)
  end
  local fits, issues = true, nil
  if asked.schema then
    fits, issues = asked.schema:check(asked.input)
  end
  if not fits then
    return failed(asked, errors.new("VALIDATION_ERROR", "input", issues))
  end
  output.data({ operationId = asked.id, input = asked.input }, options.pretty)
  return output.codes.OK
end

---@param parsed operations.cli.Arguments
---@return integer code
function invocation.call.run(parsed)
  local options, most = parsed.options, math.huge
  if options["max-items"] then
    if not options["max-items"]:find("^[1-9]%d*$") then
      return output.usage("--max-items: expected a whole number above 0, got %q", options["max-items"])
    end
    most = tonumber(options["max-items"])
  end
  local asked, code = request.read(parsed)
  if not asked then
    return code
  elseif asked.spec.type == "subscription" then
    return output.usage("%s is a subscription: use operations watch", asked.id)
  elseif options["dry-run"] or options.curl then
    return rehearse(asked, options)
  end
  if not confirmation.given(asked.spec, options) then
    output.complain("not called")
    return output.codes.ABORTED
  end
  local ok, message = asked.answer:open(asked.exchange)
  if not ok then
    return output.usage("%s", message)
  end
  output.progress("calling " .. asked.id)
  if options.all or most < math.huge then
    return run_all(asked, most)
  end
  return run_call(asked)
end

-- Subscriptions

invocation.watch = {
  usage = "operations watch OPERATION [INPUT...] [OPTIONS]",
  summary = "Follows a subscription: one line of JSON per event, until it ends or Ctrl-C.",
  options = members.joined({ { name = "--limit", value = "N", help = "stop after N events" } }, shared_options),
  notes = input.help,
}

--- Prints events until there are no more, or `limit`; returns the exit code, that of the last one which is no success.
local function follow(subscription, asked, limit)
  local count, code = 0, output.codes.OK
  while count < limit do
    local envelope, err = subscription:next()
    if envelope == nil then
      return err and failed(asked, err) or code
    end
    local printed = print_data(asked, envelope, false)
    code = printed ~= output.codes.OK and printed or code
    count = count + 1
  end
  return code
end

---@param parsed operations.cli.Arguments
---@return integer code
function invocation.watch.run(parsed)
  local text, format = parsed.options.limit, parsed.options.format
  if text and not text:find("^%d+$") then
    return output.usage("--limit: expected a whole number, got %q", text)
  elseif format == "table" or format == "yaml" then
    return output.usage("--format: events are lines: expected json or ndjson, got %q", format)
  end
  local asked, code = request.read(parsed)
  if not asked then
    return code
  elseif asked.spec.type ~= "subscription" then
    return output.usage("%s is a %s: use operations call", asked.id, asked.spec.type)
  end
  local subscription, err = asked.registry:subscribe(asked.id, asked.input, asked.context)
  if not subscription then
    return failed(asked, err)
  end
  output.progress("watching " .. asked.id .. " (Ctrl-C ends)")
  local ok, result = pcall(follow, subscription, asked, text and tonumber(text) or math.huge)
  subscription:close() -- whatever happened, the handler's cleanup runs
  if not ok then
    error(result, 0)
  end
  return result
end

return invocation
