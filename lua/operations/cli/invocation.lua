--- `operations call`: one query or mutation. `operations watch`: the events of a subscription, one line of JSON each,
--- as they come. Both go from the command line to registry, id, input and context.
local core = require("operations.core")
local identities = require("operations.cli.identity")
local input = require("operations.offer.input")
local members = require("operations.base.members")
local operations = require("operations")
local output = require("operations.cli.output")
local sources = require("operations.cli.sources")
local task = require("operations.task")

local invocation = {}

---@type operations.cli.Option[]
local shared_options = members.joined({
  { name = "--envelope", help = "print the whole envelope, not just its data" },
  { name = "--pretty", help = "indent the JSON (the default on a terminal)" },
  { name = "--compact", help = "one line of JSON (the default elsewhere)" },
  { name = "--timeout", value = "SECONDS", help = "give up after so long" },
}, identities.options)

--- The context that the options ask for, or nil, message.
local function context_of(options)
  local context = {}
  if options.timeout then
    local seconds = tonumber(options.timeout)
    if not seconds or seconds <= 0 or seconds ~= seconds or seconds == math.huge then
      return nil, ("--timeout: expected a number of seconds above 0, got %q"):format(options.timeout)
    end
    context.deadline = core.now() + math.ceil(seconds * 1000)
  end
  local message
  context.identity, message = identities.read(options)
  if message then
    return nil, message
  end
  return context
end

--- Prints the data of an envelope, or all of it, as the options say. That of a tool which failed (MCP: `isError`) is an
--- answer too, but told to the shell.
---@param envelope operations.Envelope
---@param parsed operations.cli.Arguments
---@param pretty boolean|nil  what to do when they do not say; nil: pretty on a terminal
---@return integer code
local function print_data(envelope, parsed, pretty)
  local value = envelope
  if not parsed.options.envelope then
    value = envelope.data
    if value == nil then
      value = operations.null
    end
  end
  if parsed.options.compact or parsed.options.pretty then
    pretty = not parsed.options.compact
  end
  output.data(value, pretty)
  if envelope.meta.isError then
    output.tool_failure(envelope.meta.content)
    return output.codes.EXECUTION_ERROR
  end
  return output.codes.OK
end

--- The operation's input schema, compiled; nil where it accepts everything.
local function compiled_input(spec)
  if type(spec.inputSchema) ~= "table" or next(spec.inputSchema) == nil then
    return nil
  end
  return assert(operations.schema.compile(spec.inputSchema))
end

---@class operations.cli.Invocation
---@field registry operations.Registry
---@field id string
---@field spec operations.Spec
---@field input any
---@field context table

--- Reads everything that a call needs, or says what is wrong.
---@param parsed operations.cli.Arguments
---@return operations.cli.Invocation|nil
---@return integer|nil code  the exit code when something is wrong
local function read(parsed)
  local id = table.remove(parsed.rest, 1)
  if not id then
    return nil, output.usage("expected an OPERATION")
  end
  local context, message = context_of(parsed.options)
  if not context then
    return nil, output.usage("%s", message)
  end
  local value, texts = input.parse(parsed.rest)
  if value == nil then
    return nil, output.usage("%s", texts)
  end
  task.deadline(context.deadline) -- it counts for sources too
  local registry, code = sources.registry(parsed, { identity = context.identity })
  task.deadline(nil)
  if not registry then
    return nil, code
  end
  local spec
  spec, code = sources.find(registry, id)
  if not spec then
    return nil, code
  end
  local schema = compiled_input(spec)
  if schema then
    value = input.convert(value, texts, schema)
  end
  return { registry = registry, id = id, spec = spec, input = value, context = context }
end

-- Calls

invocation.call = {
  usage = "operations call OPERATION [INPUT...] [OPTIONS]",
  summary = "Calls a query or mutation and prints its data as JSON.",
  options = shared_options,
  notes = input.help,
}

---@param parsed operations.cli.Arguments
---@return integer code
function invocation.call.run(parsed)
  local asked, code = read(parsed)
  if not asked then
    return code
  elseif asked.spec.type == "subscription" then
    return output.usage("%s is a subscription: use operations watch", asked.id)
  end
  output.progress("calling " .. asked.id)
  local envelope, err = asked.registry:execute(asked.id, asked.input, asked.context)
  if not envelope then
    return output.fail(err)
  end
  return print_data(envelope, parsed, nil)
end

-- Subscriptions

invocation.watch = {
  usage = "operations watch OPERATION [INPUT...] [OPTIONS]",
  summary = "Follows a subscription: one line of JSON per event, until it ends or Ctrl-C.",
  options = members.joined({ { name = "--limit", value = "N", help = "stop after N events" } }, shared_options),
  notes = input.help,
}

--- Prints events until there are no more, or `limit`; returns the exit code, that of the last one which is no success.
local function follow(subscription, parsed, limit)
  local count, code = 0, output.codes.OK
  while count < limit do
    local envelope, err = subscription:next()
    if envelope == nil then
      return err and output.fail(err) or code
    end
    local printed = print_data(envelope, parsed, false)
    code = printed ~= output.codes.OK and printed or code
    count = count + 1
  end
  return code
end

---@param parsed operations.cli.Arguments
---@return integer code
function invocation.watch.run(parsed)
  local text = parsed.options.limit
  if text and not text:find("^%d+$") then
    return output.usage("--limit: expected a whole number, got %q", text)
  end
  local asked, code = read(parsed)
  if not asked then
    return code
  elseif asked.spec.type ~= "subscription" then
    return output.usage("%s is a %s: use operations call", asked.id, asked.spec.type)
  end
  local subscription, err = asked.registry:subscribe(asked.id, asked.input, asked.context)
  if not subscription then
    return output.fail(err)
  end
  output.progress("watching " .. asked.id .. " (Ctrl-C ends)")
  local ok, result = pcall(follow, subscription, parsed, text and tonumber(text) or math.huge)
  subscription:close() -- whatever happened, the handler's cleanup runs
  if not ok then
    error(result, 0)
  end
  return result
end

return invocation
