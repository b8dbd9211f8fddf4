--- `operations call`: calls a query or mutation. `operations watch`: prints the events of a subscription, one line of
--- JSON each, as they arrive.
local answers = require("operations.cli.answer")
local arguments = require("operations.cli.arguments")
local backoff = require("operations.base.backoff")
local input = require("operations.people.input")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local outcome = require("operations.cli.outcome")
local output = require("operations.cli.output")
local rules = require("operations.cli.rules")
local request = require("operations.cli.request")
local schema_place = require("operations.people.schema_place")
local task = require("operations.task")

local invocation = {}

-- The pause before a lost stream is opened again doubles, from the first to the longest; ms.
local FIRST_PAUSE, LONGEST_PAUSE = 1000, 30000

---@type operations.cli.Option[]
local running_options = members.joined({
  { name = "--timeout", value = "SECONDS", help = "cancel the call after this time" },
  rules.policy, rules.audit, rules.transform,
}, arguments.identity_options)

local lua_code_option = { name = "--lua-code", help = "print the Lua program that does the same, send nothing" }
local no_input_option = { name = "--no-input", help = "do not ask for required input at a terminal" }

-- Calls.

--- Options of both `operations call` and `operations request`. `--lua-code` is not among them: a Lua program has no
--- operation for a request of the latter.
---@type operations.cli.Option[]
invocation.request_options = members.joined({
  { name = "--all", help = "fetch every page of a list" },
  { name = "--max-items", value = "N", help = "stop after N items of all pages" },
  { name = "--dry-run", help = "show the request, send nothing" },
  { name = "--curl", help = "print the request as a command of curl, send nothing" },
  { name = "--detach", help = "leave a task running on its server, print its id" },
  { name = "--each", help = "a call for each line of JSON on standard input" },
  { name = "--jobs", short = "-j", value = "N", help = "--each: so many calls at once (1)" },
  { name = "--fail-fast", help = "--each: stop at the first failure" },
  { name = "--skip", value = "N", help = "--each: leave out the first N lines" },
  { name = "--yes", short = "-y", help = "do not ask before a deletion" },
}, answers.file_options, answers.options, { no_input_option }, running_options)

invocation.call = {
  usage = "operations call OPERATION [INPUT...] [OPTIONS]",
  summary = "Calls a query or mutation and prints its data: JSON, or the bytes of the server.",
  options = members.joined(invocation.request_options, { lua_code_option }),
  notes = input.help,
  takes_input = true,
}

-- Does the operation delete, by its method or its server's hints?
local function is_destructive(spec)
  local meta = type(spec._meta) == "table" and spec._meta or {}
  return spec.type ~= "query" and (meta.method == "DELETE" or meta.destructive == true)
end

-- Asks at a terminal whether to call an operation that deletes.
local function is_confirmed(spec, options)
  if options.yes or not is_destructive(spec) or not output.can_ask() then
    return true
  end
  local meta = spec._meta
  return require("operations.cli.person").confirm(("%s.%s deletes%s: continue?"):format(spec.namespace, spec.name,
    meta.path and (" (%s %s)"):format(meta.method, meta.path) or ""))
end

-- Can the result arrive in pieces, other than JSON?
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

-- Has everything been printed: sent to the sink, or empty?
local function is_written(asked, envelope)
  local place = asked.answer.place
  return asked.answer.is_plain and envelope.data == nil
    and (place ~= nil and place.count > 0 or envelope.meta.source == "http")
end

local function run_call(asked)
  local answer, context = asked.answer, asked.context
  if answer.is_plain and gives_bytes(asked) then
    answer.streamed = answer.place or answer:stream()
    context.sink = sink_of(answer.streamed)
    if answer.place.path == nil and not answer.place.name then
      answer.place = nil -- JSON is printed to standard output
    end
  end
  context.detach = answer.options.detach
  local envelope, err = asked.registry:execute(asked.id, asked.input, context)
  if err and err.code == "DETACHED" then
    output.text(("%s@%s\n"):format(asked.id, err.details.task))
    return output.codes.OK
  end
  local place = answer.streamed or answer.place
  if place and place.raised == output.closed then
    error(output.closed, 0)
  elseif place and place.problem then
    return output.usage("%s", place.problem)
  elseif not envelope then
    return outcome.failed(asked, err)
  elseif place and place.count > 0 then
    answer.place = place
  end
  return outcome.finish(asked, is_written(asked, envelope) and output.codes.OK or outcome.print(asked, envelope, nil))
end

---@param parsed operations.cli.Arguments
---@return integer code
function invocation.call.run(parsed)
  local options, most = parsed.options, math.huge
  if options.each then
    local each = require("operations.cli.each")
    return each.problem(options) and output.usage("%s", each.problem(options)) or each.run(request.read(parsed))
  end
  if options.detach and (options.all or options["max-items"]) then
    return output.usage("--detach leaves one call running: it excludes --all and --max-items")
  elseif options["max-items"] then
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
  elseif options["lua-code"] then
    return require("operations.cli.lua_code").run(asked, parsed)
  elseif options["dry-run"] or options.curl then
    local shown, err = require("operations.cli.rehearsal").run(asked, options)
    return shown or outcome.failed(asked, err)
  end
  if not is_confirmed(asked.spec, options) then
    output.complain("not called")
    return output.codes.ABORTED
  end
  local ok, message = asked.answer:open(asked.exchange)
  if not ok then
    return output.usage("%s", message)
  end
  output.progress("calling " .. asked.id)
  if options.all or most < math.huge then
    return outcome.pages(asked, most)
  end
  return run_call(asked)
end

-- Tasks.

invocation.task = {
  usage = "operations task ID [OPTIONS]",
  summary = "Waits for a call that --detach has left running on its server, and prints its\n"
    .. "data.",
  options = members.joined({
    { name = "--cancel", help = "ask the server to end it" },
  }, answers.file_options, answers.options, running_options),
}

---@param parsed operations.cli.Arguments
---@return integer code
function invocation.task.run(parsed)
  local id, started = (parsed.rest[1] or ""):match("^([^@%s]+)@(%S+)$")
  if not id or parsed.rest[2] then
    return output.usage("expected the ID that operations call --detach has printed")
  end
  parsed.rest[1], parsed.resumes = id, true
  local asked, code = request.read(parsed)
  if not asked then
    return code
  elseif parsed.options.cancel then
    local ok, err = asked.registry:cancel_task(asked.id, started, asked.context)
    return ok and output.codes.OK or outcome.failed(asked, err)
  end
  local ok, message = asked.answer:open(asked.exchange)
  if not ok then
    return output.usage("%s", message)
  end
  output.progress("waiting for " .. asked.id)
  local envelope, err = asked.registry:resume(asked.id, started, asked.context)
  if not envelope then
    return outcome.failed(asked, err)
  end
  return outcome.finish(asked, outcome.print(asked, envelope, nil))
end

-- Subscriptions.

invocation.watch = {
  usage = "operations watch OPERATION [INPUT...] [OPTIONS]",
  summary = "Follows a subscription: prints a line of JSON for each event, until it ends or\n"
    .. "Ctrl-C. A stream that is lost is opened again after its last event.",
  options = members.joined({
    { name = "--from", value = "ID", help = "resume after the event with this id" },
    { name = "--limit", value = "N", help = "stop after N events" },
  }, answers.options, { no_input_option }, running_options, { lua_code_option }),
  notes = input.help,
  takes_input = true,
}

-- Opens a stream again that was lost after it had begun; returns the error of one that stays lost. `failures`:
-- consecutive attempts without an event.
local function reopen(asked, err, failures)
  if not err.retryable or failures > limits.reconnects then
    return nil, err
  end
  local pause = math.max(backoff.delay(FIRST_PAUSE, failures, LONGEST_PAUSE), err.retryAfter or 0)
  output.complain("%s; opening it again in %d s", err.message, math.ceil(pause / 1000))
  task.sleep(pause / 1000)
  local subscription, problem = asked.registry:subscribe(asked.id, asked.input, asked.context)
  return subscription, problem
end

-- Prints events until the end or `limit`; returns the exit code, that of the last unsuccessful event.
local function follow(state, asked, limit)
  local count, code, failures = 0, output.codes.OK, 0
  while count < limit do
    local envelope, err = state.subscription:next()
    if envelope then
      local printed = outcome.print(asked, envelope, false)
      code = printed ~= output.codes.OK and printed or code
      count, failures = count + 1, 0
      asked.context.lastEventId = envelope.meta.lastEventId or asked.context.lastEventId
    elseif not err then
      return code
    else
      failures = failures + 1
      local again, problem
      if count > 0 then
        again, problem = reopen(asked, err, failures)
      end
      if not again then
        return outcome.failed(asked, problem or err)
      end
      state.subscription = again
    end
  end
  return code
end

---@param parsed operations.cli.Arguments
---@return integer code
function invocation.watch.run(parsed)
  local text, format = parsed.options.limit, parsed.options.format
  if text and not text:find("^%d+$") then
    return output.usage("--limit: expected a whole number, got %q", text)
  elseif format and format ~= "json" and format ~= "ndjson" then
    return output.usage("--format: events are lines: expected json or ndjson, got %q", format)
  end
  local asked, code = request.read(parsed)
  if not asked then
    return code
  elseif asked.spec.type ~= "subscription" then
    return output.usage("%s is a %s: use operations call", asked.id, asked.spec.type)
  elseif parsed.options["lua-code"] then
    return require("operations.cli.lua_code").run(asked, parsed)
  end
  asked.context.lastEventId = parsed.options.from
  local subscription, err = asked.registry:subscribe(asked.id, asked.input, asked.context)
  if not subscription then
    return outcome.failed(asked, err)
  end
  local state = { subscription = subscription }
  output.progress("watching " .. asked.id .. " (Ctrl-C ends)")
  local ok, result = pcall(follow, state, asked, text and tonumber(text) or math.huge)
  state.subscription:close() -- always runs the handler's cleanup
  if not ok then
    error(result, 0)
  end
  return result
end

return invocation
