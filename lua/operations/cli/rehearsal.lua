--- `operations call --dry-run` and `--curl`: show the request without sending it.
local curl = require("operations.cli.curl")
local errors = require("operations.base.error")
local exchange = require("operations.cli.exchange")
local outcome = require("operations.cli.outcome")
local output = require("operations.cli.output")

local rehearsal = {}

local function print_held(asked, options)
  local held = asked.exchange.held
  local shown = exchange.shown(held, asked.exchange.plain)
  if options.curl then
    local text = curl.command(shown, held, asked.input.body, curl.variables(options, asked.references))
    output.text(text, true)
    if text:find("***", 1, true) then
      output.complain("credentials are shown as ***; one that is given as env:NAME is written as $NAME")
    end
  else
    output.text(exchange.text(shown, ""), true)
  end
  return output.codes.OK
end

-- Shows the input of an operation that sends no HTTP request.
local function show_input(asked, options)
  local fits, issues = true, nil
  if asked.schema then
    fits, issues = asked.schema:check(asked.input)
  end
  if not fits then
    return outcome.failed(asked, errors.new("VALIDATION_ERROR", "input", issues))
  end
  local value = { operationId = asked.id, input = asked.input }
  if asked.kind == "mcp" or asked.kind == "mcp-config" then
    local tool = type(asked.spec._meta) == "table" and asked.spec._meta.tool or asked.spec.name
    value = { jsonrpc = "2.0", id = 1, method = "tools/call", params = { name = tool, arguments = asked.input } }
  end
  output.data(value, options.pretty)
  return output.codes.OK
end

--- Shows what a call would send: a request to an HTTP API, as text or as a curl command, or a message to an MCP server;
--- for other operations, the input.
---@param asked operations.cli.Request
---@param options table<string, any>  dry-run, curl, pretty
---@return integer code
function rehearsal.run(asked, options)
  if asked.is_http then
    local _, err = asked.registry:execute(asked.id, asked.input, asked.context)
    return asked.exchange.held and print_held(asked, options) or outcome.failed(asked, err)
  elseif options.curl then
    return output.usage("--curl: %s is not an operation of an HTTP API", asked.id)
  end
  return show_input(asked, options)
end

return rehearsal
