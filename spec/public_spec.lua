--- Everything public has its line in a page of doc/: the functions of `require("operations")` and of its parts, the
--- methods of the objects that they return, the options that annotations list, and the limits.
local annotations = require("spec.support.annotations")
local command = require("spec.support.command")
local errors = require("operations.base.error")
local catalogue = require("operations.openapi.catalogue")
local operations = require("operations")
local option_rows = require("spec.support.option_rows")
local samples = require("spec.support.samples")

local PROGRAM = { "true" }

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- What a page has in code: spans and blocks.
local codes = {}
local function code_of(page)
  if not codes[page] then
    local path = ("doc/%s.md"):format(page)
    local pieces = {}
    for _, block in ipairs(samples.blocks(path)) do
      pieces[#pieces + 1] = block.text
    end
    for span in read(path):gsub("\n```.-\n```", ""):gmatch("`([^`]+)`") do
      pieces[#pieces + 1] = span
    end
    codes[page] = table.concat(pieces, "\n")
  end
  return codes[page]
end

local function has_word(page, word)
  return code_of(page):find("%f[%w_]" .. word:gsub("%p", "%%%0") .. "%f[^%w_]") ~= nil
end

local names = { "array", "array_mt", "object", "object_mt", "null", "registry", "error", "is_error", "local_envelope",
  "http_envelope", "mcp_envelope", "is_response_envelope", "unwrap", "schema", "to_http", "_VERSION" }

-- The pages that together describe a part.
local everywhere = {}
for name in io.popen("ls doc/*.md"):read("*a"):gmatch("doc/([%w%-]+)%.md") do
  everywhere[#everywhere + 1] = name
end

local function anywhere(text)
  for _, page in ipairs(everywhere) do
    if code_of(page):find(text .. "%f[^%w_]") then
      return true
    end
  end
  return false
end

-- The classes whose fields a page has, each of them.
local described = {
  registry = { "AccessControl", "Context", "Definition", "ErrorSchema", "Filter", "HttpMeta", "Identity", "LocalMeta",
    "McpMeta", "RegistryOptions", "ScanOptions", "ScanProblem", "Spec" },
  schemas = { "Change", "Issue", "schema.Options" },
  openapi = { "openapi.Config", "openapi.FileValue", "openapi.Problem", "openapi.Reconnect" },
  graphql = { "graphql.Config" },
  ["http-client"] = { "HttpRequest", "HttpResponse", "RetryPolicy", "SigV4Options" },
  oauth = { "oauth.AuthorizerOptions", "oauth.Client", "oauth.ExchangeOptions", "oauth.Store", "oauth.TokenOptions" },
  mcp = { "mcp.Config", "mcp.Problem", "mcp.RequestOptions", "mcp.TaskOptions" },
  ["mcp-server"] = { "McpLinesOptions", "McpOptions", "McpPrompt", "McpPromptArgument", "McpResource" },
  ["http-server"] = { "HttpOptions", "PublisherOptions", "ServerRequest", "ServerResponse" },
  ["http-callers"] = { "CorsOptions", "oauth.IntrospectionOptions", "oauth.ResourceServerOptions" },
  ["http-hosting"] = { "AccessLogEntry", "ListenOptions", "TlsOptions" },
  tools = { "ToolsOptions", "Tools", "Approval" },
  types = { "TypesOptions" },
  code = { "CodeOptions" },
  sandbox = { "SandboxCall", "SandboxOptions", "SandboxResult" },
  middleware = { "BreakerOptions", "CacheOptions", "CallLogEntry", "ConcurrencyOptions", "ConfirmOptions",
    "MetricsOptions", "RateLimitOptions", "RetryOptions", "Span", "TraceOptions" },
  policy = { "PolicyOptions", "PolicyRule", "PolicyExplanation", "PolicyFacts", "AuditOptions" },
  calls = { "CallHandlerOptions", "CallOptions", "DeadLetter", "HubOptions", "ImporterOptions",
    "ImportOptions", "PeerOptions", "RedisOptions",
    "WebSocketOptions", "WebSocketReconnect", "WebSocketRequest" },
  jobs = { "JobRecord", "JobsOptions", "QueuedJob", "SubmitOptions" },
  hosts = { "EveryOptions", "MapOptions" },
  errors = { "Error" },
  ["command-to-program"] = { "SourceOptions" },
  pieces = { "CommandOptions", "ProcessEnd", "ProcessOptions", "SseEvent", "SseOptions", "json.DecodeOptions",
    "json.EncodeOptions" },
  neovim = { "nvim.Options" },
  ["neovim-assistants"] = { "nvim.ServeOptions" },
}

-- Options that no program gives: of one file for another.
local internal = {
  "CachePolicy", "ConnectionOptions", "SearchOptions", "EventStreamOptions", "ProblemOptions", "RedisBatchOptions",
  "RouteOptions", "StreamOptions", "ToolContentOptions", "cli.ServeOptions", "cli.SourceOptions",
  "sources.ProxyOptions",
  "mcp.ConnectionConfig", "mcp.NegotiationOptions", "openapi.OutOptions", "Policy",
}

-- Fields that are not for programs.
local hidden = {
  ["Context.relay"] = true, ["RouteOptions.paths"] = true,
  ["StreamOptions.tls"] = true, -- the URL of a transport says it
  ["oauth.AuthorizerOptions.remote"] = true, ["oauth.TokenOptions.remote"] = true,
  ["oauth.ExchangeOptions.remote"] = true,
  ["oauth.ResourceServerOptions.remote"] = true, -- set by the library
  ["ServerRequest.is_local"] = true, ["ServerRequest.breaks_off"] = true, ["ServerRequest.outer_prefix"] = true,
  ["mcp.RequestOptions.mirrored"] = true, ["mcp.RequestOptions.asker"] = true,
  ["mcp.TaskOptions.asker"] = true, ["mcp.RequestOptions.repeatable"] = true, ["mcp.RequestOptions.attached"] = true,
}

-- Methods that are for other files of the library, by the object that has them.
local inner = {
  handler = { enter = true, leave = true },
  job = { answer = true, await_change = true, lose = true },
  task = { on_wait = true },
  server = { sign = true },
}

describe("the pages", function()
  local classes = annotations.classes()

  for _, field in ipairs(annotations.fields(classes, "operations")) do
    names[#names + 1] = field
  end

  it("have every field of the module", function()
    for name in pairs(operations) do
      local _ = operations[name]
    end
    for _, name in ipairs(names) do
      assert.truthy(operations[name] ~= nil, "operations." .. name)
      assert.truthy(name == "_VERSION" or anywhere("operations%." .. name), "operations." .. name)
    end
  end)

  for _, part in ipairs({ "base64", "from_graphql", "from_mcp", "from_openapi", "http", "json", "middleware", "oauth",
    "process", "sandbox", "scanner", "schema", "schemas", "sources", "transports", "type" }) do
    it("have every function of operations." .. part, function()
      local short = part == "type" and "T" or part
      local found = {}
      for name in pairs(operations[part]) do
        found[name] = true
      end
      for _, name in ipairs(annotations.fields(classes, "operations." .. (part == "schema" and "Schema" or part))) do
        found[name] = true
      end
      for name in pairs(found) do
        local fn = operations[part][name]
        for _, option in ipairs(type(fn) == "function" and annotations.inline_options(fn) or {}) do
          assert.truthy(anywhere("%f[%w_]" .. option), ("operations.%s.%s: the option %s"):format(part, name, option))
        end
        local said = anywhere(part .. "%." .. name) or anywhere(short .. "[%.:]" .. name)
          or part == "schemas" and anywhere(name)
          or read("doc/middleware.md"):find(("\n## `%s("):format(name), 1, true)
        assert.truthy(said, ("operations.%s.%s"):format(part, name))
      end
    end)
  end

  for page, list in pairs(described) do
    it(("doc/%s.md has every option and field of its tables"):format(page), function()
      local missing = {}
      for _, name in ipairs(list) do
        for _, field in ipairs(annotations.fields(classes, "operations." .. name)) do
          if not has_word(page, field) and not hidden[name .. "." .. field] and not (hidden["StreamOptions." .. field]
            and name:find("^[RW]e[db]")) then
            missing[#missing + 1] = name .. "." .. field
          end
        end
      end
      assert.equal("", table.concat(missing, " "))
    end)
  end

  it("list only options and fields that exist", function()
    local unknown = {}
    for page, list in pairs(described) do
      local fields = {}
      for _, name in ipairs(list) do
        for _, field in ipairs(annotations.fields(classes, "operations." .. name)) do
          fields[field] = true
        end
      end
      for _, row in ipairs(option_rows(page)) do
        for span in row:gmatch("`([%a][%w_]*)`") do
          unknown[#unknown + 1] = not fields[span] and ("doc/%s.md: %s"):format(page, span) or nil
        end
      end
    end
    assert.equal("", table.concat(unknown, "\n"))
  end)

  it("describe all options that there are", function()
    local known = {}
    for _, list in pairs(described) do
      for _, name in ipairs(list) do
        known["operations." .. name] = true
      end
    end
    for _, name in ipairs(internal) do
      known["operations." .. name] = true
    end
    for name in pairs(classes) do
      if name:find("Options$") or name:find("Config$") or name:find("Policy$") then
        assert.truthy(known[name], name .. " is in no page's list")
      end
    end
  end)

  it("have every command and option of the command line", function()
    local function help(name)
      return command.run("operations " .. name .. " --help").out
    end
    local missing, known = {}, {}
    for name in help(""):match("\nCommands:\n(.-)\n\n"):gmatch("\n? *(%l+) [^\n]+") do
      if not anywhere("operations " .. name) then
        missing[#missing + 1] = name
      end
      for option in help(name):gmatch("\n  [%-%l, ]*(%-%-[%l%-]+)") do
        if not known[option] and not anywhere((option:gsub("%-", "%%-"))) then
          missing[#missing + 1] = name .. " " .. option
        end
        known[option] = true
      end
    end
    assert.truthy(known["--lua"] and known["--issuer"])
    assert.equal("", table.concat(missing, "\n"))
  end)

  it("have every code of an error", function()
    local text = read("doc/errors.md")
    for code in pairs(errors.codes) do
      assert.truthy(text:find("`" .. code .. "`", 1, true), code)
    end
  end)

  it("have every limit, with its value", function()
    local limits, text = operations.http.limits, read("doc/limits.md")
    local units = { KiB = 1024, MiB = 1024 * 1024, ms = 1, s = 1, [""] = 1 }
    for name, value in pairs(limits) do
      local number, unit = text:match("| `" .. name .. "` | ([%d,]+) ?(%a*) |")
      assert.truthy(number, name)
      assert.equal(value, tonumber((number:gsub(",", ""))) * units[unit], name)
    end
    for name in text:gmatch("\n| `([%l_]+)` |") do
      assert.truthy(limits[name], name)
    end
  end)
end)

-- Objects as programs get them, each with the page that has its methods.
local function objects()
  local registry = operations.registry()
  local here, there = operations.transports.pair()
  local map = operations.call_map(here)
  local server = assert(operations.to_http(registry))
  local memory = operations.approvals()
  local auth = operations.oauth.authorizer({ client = { client_id = "a" }, grant = "client_credentials" })
  local source = operations.oauth.token_source({ token_endpoint = "https://a.test/", client_id = "a",
    client_secret = "b" })
  registry:register({ namespace = "a", name = "b", type = "subscription", handler = function() end })
  registry:register({ namespace = "a", name = "c", handler = function() end })
  return {
    { "registry", "registry", registry }, { "schema", "schemas", assert(operations.schema.compile({})) },
    { "subscription", "registry", assert(registry:subscribe("a.b")) },
    { "parser", "pieces", operations.sse_parser() }, { "decoder", "pieces", operations.json.decoder() },
    { "child", "pieces", assert(operations.process.spawn(PROGRAM)) },
    { "map", "calls", map }, { "handler", "calls", operations.call_handler(registry, operations.call_map(there)) },
    { "job", "jobs", assert(registry:start("a.c")) },
    { "server", "http-server", server }, { "listener", "http-hosting", assert(server:listen()) },
    { "publisher", "http-server", operations.publisher() },
    { "catalogue", "openapi", catalogue.new("http://a.test/", 3600, { operations = {}, problems = {} }) },
    { "server", "mcp-server", operations.to_mcp(registry) },
    { "tools", "tools", assert(operations.to_tools(registry, { format = "openai" })) },
    { "memory", "tools", memory }, { "auth", "oauth", auth }, { "source", "oauth", source },
    { "exchange", "oauth", operations.oauth.token_exchange({ token_endpoint = "https://a.test/", client_id = "a" }) },
    { "jar", "http-client", operations.http.jar() }, { "task", "hosts", operations.spawn(function() end) },
    { "client", "mcp", assert(operations.from_mcp.connect("words", { command = command.interpreter(),
      args = { "examples/mcp/words.lua" }, env = command.environment() })) },
    { "cache", "middleware", operations.middleware.cache() },
    { "metrics", "middleware", operations.middleware.metrics() },
    { "hub", "calls", operations.transports.websocket_hub and assert(operations.transports.websocket_hub({})) or {} },
    { "servers", "mcp", assert(operations.from_mcp.load({ mcpServers = {} })) },
  }, server
end

-- The public functions of an object by name, including those of its metatable.
local function methods_of(object)
  local found = {}
  local function collect(from)
    for name, value in pairs(type(from) == "table" and from or {}) do
      if type(name) == "string" and type(value) == "function" and not name:find("^_") then
        found[name] = value
      end
    end
  end
  collect(object)
  collect((getmetatable(object) or {}).__index)
  return found
end

describe("the pages", function()
  it("have every method of the objects", function()
    operations.run(function()
      local list, server = objects()
      local missing = {}
      for _, entry in ipairs(list) do
        local name, page, object = entry[1], entry[2], entry[3]
        for method, fn in pairs(methods_of(object)) do
          local skipped = inner[name] and inner[name][method]
          if not skipped and not code_of(page):find(("[:%%.]%s%%f[^%%w_]"):format(method)) then
            missing[#missing + 1] = ("%s: %s:%s"):format(page, name, method)
          end
          for _, option in ipairs(not skipped and annotations.inline_options(fn) or {}) do
            if not has_word(page, option) then
              missing[#missing + 1] = ("%s: %s:%s: the option %s"):format(page, name, method, option)
            end
          end
        end
        if object.close and name ~= "listener" and name ~= "schema" then
          object:close()
        end
      end
      server:close()
      table.sort(missing)
      assert.equal("", table.concat(missing, "\n"))
    end)
  end)
end)
