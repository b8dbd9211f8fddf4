--- `operations call --dry-run` and `--curl`: show the request without sending it.
local core = require("operations.core")
local curl = require("operations.cli.curl")
local errors = require("operations.base.error")
local exchange = require("operations.cli.exchange")
local json = require("operations.base.json")
local output = require("operations.cli.output")

local rehearsal = {}

-- The texts of the input outside its body: parameters.
local function texts_of(input)
  local texts = {}
  for name, value in pairs(type(input) == "table" and input or {}) do
    for _, item in ipairs(name ~= "body" and (core.kind(value) == "array" and value or { value }) or {}) do
      texts[type(item) == "string" and item or json.encode(item) or ""] = true
    end
  end
  return texts
end

-- curl removes only these two when a server redirects to another host.
local function tell_of_redirects(held, text)
  for _, name in ipairs(text:find("--location", 1, true) and held.credentials or {}) do
    if held.headers[name] and name:lower() ~= "authorization" and name:lower() ~= "cookie" then
      output.notice("if the server redirects to another host, curl sends it %s too; operations does not", name)
    end
  end
end

local function print_curl(asked, options)
  local held = asked.exchange.held
  local text = curl.command(exchange.shown(held, asked.exchange.plain, texts_of(asked.input)), held,
    { variables = curl.variables(options, asked.references), timeout = tonumber(options.timeout) })
  output.text(text, true)
  if text:find("***", 1, true) then
    output.notice("credentials are shown as ***; one that is given as env:NAME is written as $NAME")
  end
  tell_of_redirects(held, text)
end

local function print_held(asked, options)
  if options.curl then
    print_curl(asked, options)
  else
    output.text(exchange.text(exchange.shown(asked.exchange.held, asked.exchange.plain), ""), true)
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
    return nil, errors.new("VALIDATION_ERROR", "input", issues)
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
---@return integer|false|nil code
---@return operations.Error? err  nothing was shown
function rehearsal.run(asked, options)
  if asked.sends_http then
    local _, err = asked.registry:execute(asked.id, asked.input, asked.context)
    return asked.exchange.held and print_held(asked, options), err
  elseif options.curl then
    return output.usage("--curl: %s is not an operation of an HTTP API", asked.id)
  end
  return show_input(asked, options)
end

return rehearsal
