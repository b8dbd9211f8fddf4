--- What `call` and `watch` share: from the command line to registry, id, input and context.
local core = require("operations.core")
local input = require("operations.cli.input")
local json = require("operations.base.json")
local operations = require("operations")
local output = require("operations.cli.output")
local sources = require("operations.cli.sources")
local task = require("operations.task")

local invocation = {}

---@type operations.cli.Option[]
invocation.options = {
  { name = "--envelope", help = "print the whole envelope, not just its data" },
  { name = "--pretty", help = "indent the JSON (the default on a terminal)" },
  { name = "--compact", help = "one line of JSON (the default elsewhere)" },
  { name = "--timeout", value = "SECONDS", help = "give up after so long" },
  { name = "--scopes", value = "A,B", help = "call with these scopes" },
  { name = "--identity", value = "JSON", help = "call as {\"id\", \"scopes\", \"resources\"}" },
}

local function scope_list(text)
  local scopes = operations.array()
  for scope in text:gmatch("[^,%s]+") do
    scopes[#scopes + 1] = scope
  end
  return scopes
end

local function identity_of(options)
  local identity
  if options.identity then
    local err
    identity, err = json.decode(options.identity)
    if type(identity) ~= "table" or core.kind(identity) ~= "object" then
      return nil, "--identity: " .. (err and err.message or "expected a JSON object")
    end
  end
  if options.scopes then
    identity = identity or { id = "command line" }
    identity.scopes = scope_list(options.scopes)
  end
  return identity
end

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
  context.identity, message = identity_of(options)
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
function invocation.print(envelope, parsed, pretty)
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

local function usage(format, ...)
  output.complain(format, ...)
  return nil, output.codes.USAGE
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
function invocation.read(parsed)
  local id = table.remove(parsed.rest, 1)
  if not id then
    return usage("expected an OPERATION")
  end
  local context, message = context_of(parsed.options)
  if not context then
    return usage("%s", message)
  end
  local value, texts = input.parse(parsed.rest)
  if value == nil then
    return usage("%s", texts)
  end
  task.deadline(context.deadline) -- it counts for sources too
  local registry, code = sources.registry(parsed)
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

return invocation
