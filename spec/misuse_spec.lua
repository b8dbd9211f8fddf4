--- Every public function is given what it does not expect. It must raise a message that names the argument, or return
--- nil and an error object, or get on with it: never fail inside, crash or change what it was given.
local operations = require("operations")

local cycle = { name = "cycle" }
cycle.self = cycle

local deep = {}
for _ = 1, 2000 do
  deep = { deep }
end

-- A list with names: nil is one of them.
local bad_values = {
  { "nil", nil },
  { "a boolean", true },
  { "NaN", 0 / 0 },
  { "infinity", math.huge },
  { "an empty string", "" },
  { "invalid UTF-8", "\255\254" },
  { "a NUL", "a\0b" },
  { "a long string", ("x"):rep(100000) },
  { "a cyclic table", cycle },
  { "a deep table", deep },
  { "a table with holes", { 1, nil, 3 } },
  { "a mixed table", { 1, a = 2 } },
  { "a table with odd keys", { [true] = 1, [1.5] = 2 } },
  { "a function", function() end },
  { "a thread", coroutine.create(function() end) },
  { "a userdata", io.stdout },
}

local function fresh()
  local registry = operations.registry({ log = function() end })
  _G.assert(registry:register({
    namespace = "a",
    name = "b",
    inputSchema = { type = "object", properties = { x = { type = "string" } } },
    outputSchema = { type = "object", properties = { x = { type = "string" } } },
    handler = function(input)
      return input
    end,
  }))
  _G.assert(registry:register({ namespace = "a", name = "s", type = "subscription", handler = function() end }))
  return registry
end

-- Made once, and never opened: what is called on them ends in a check of its arguments, or is without effect.
local server, mcp_server, tools, servers = operations.to_http(fresh()), operations.to_mcp(fresh()),
  operations.to_tools(fresh(), { format = "openai" }), operations.from_mcp.load({ mcpServers = {} })
local middleware = operations.middleware

-- Name, how many arguments, the call, and where its first argument goes when that is not the first place.
local functions = {
  { "registry", 1, operations.registry },
  { "error", 2, operations.error },
  { "array", 1, operations.array },
  { "object", 1, operations.object },
  { "local_envelope", 2, operations.local_envelope },
  { "http_envelope", 2, operations.http_envelope },
  { "mcp_envelope", 2, operations.mcp_envelope },
  { "is_response_envelope", 1, operations.is_response_envelope },
  { "unwrap", 1, operations.unwrap },
  { "is_error", 1, operations.is_error },
  { "json.encode", 2, operations.json.encode },
  { "json.decode", 2, operations.json.decode },
  { "schema.compile", 2, operations.schema.compile },
  { "sse_parser", 2, operations.sse_parser },
  { "run", 1, operations.run },
  { "all", 1, operations.all },
  { "map", 3, operations.map },
  { "process.spawn", 1, operations.process.spawn },
  { "process.spawn cwd", 1, function(cwd) return operations.process.spawn({ "true", cwd = cwd }) end },
  { "process.spawn env", 1, function(value) return operations.process.spawn({ "true", env = { A = value } }) end },
  { "process.spawn env_allow", 1, function(name)
    return operations.process.spawn({ "true", env_allow = { name } })
  end },
  { "process:write", 1, function(...) return _G.assert(operations.process.spawn({ "cat" })):write(...) end },
  { "process:stop", 1, function(...)
    return _G.assert(operations.process.spawn({ "cat" })):stop(...)
  end },
  { "sleep", 1, function(seconds)
    if seconds ~= math.huge then
      return operations.sleep(seconds)
    end
  end },
  { "call_map", 2, operations.call_map },
  { "call_handler", 3, operations.call_handler },
  { "call_handler", 1, function(options)
    return operations.call_handler(fresh(), operations.call_map(), options)
  end, 3 },
  { "import", 3, operations.import },
  { "from_peer", 2, operations.from_peer },
  { "call_map:call", 3, function(...) return operations.call_map():call(...) end },
  { "call_map:subscribe", 3, function(...) return operations.call_map():subscribe(...) end },
  { "call_map:respond", 2, function(...) return operations.call_map():respond(...) end },
  { "call_map:emit_error", 4, function(...) return operations.call_map():emit_error(...) end },
  { "call_map:complete", 1, function(...) return operations.call_map():complete(...) end },
  { "call_map:submit", 3, function(...) return operations.call_map():submit(...) end },
  { "call_map:outcome", 2, function(...) return operations.call_map():outcome(...) end },
  { "call_map:abort", 2, function(...) return operations.call_map():abort(...) end },
  { "scanner.scan", 2, operations.scanner.scan },
  { "scanner.files", 2, operations.scanner.files },
  { "scanner.load", 2, operations.scanner.load },
  { "register", 2, function(...) return fresh():register(...) end },
  { "register_all", 2, function(...) return fresh():register_all(...) end },
  { "register_spec", 2, function(...) return fresh():register_spec(...) end },
  { "register_handler", 2, function(...) return fresh():register_handler(...) end },
  { "unregister", 1, function(...) return fresh():unregister(...) end },
  { "get", 1, function(...) return fresh():get(...) end },
  { "get_spec", 1, function(...) return fresh():get_spec(...) end },
  { "get_handler", 1, function(...) return fresh():get_handler(...) end },
  { "get_by_name", 2, function(...) return fresh():get_by_name(...) end },
  { "list", 1, function(...) return fresh():list(...) end },
  { "specs", 1, function(...) return fresh():specs(...) end },
  { "env", 2, function(...) return fresh():env(...) end },
  { "execute", 3, function(...) return fresh():execute(...) end },
  { "execute a.b", 2, function(...) return fresh():execute("a.b", ...) end },
  { "start", 3, function(...) return fresh():start(...) end },
  { "subscribe", 3, function(...) return fresh():subscribe(...) end },
  { "subscribe a.s", 2, function(...) return fresh():subscribe("a.s", ...) end },
  { "schema:check", 1, function(...) return _G.assert(operations.schema.compile({ maxItems = 1 })):check(...) end },
  { "schema:cast", 2, function(...) return _G.assert(operations.schema.compile({ maxItems = 1 })):cast(...) end, 2 },
  { "from_graphql.document", 2, function(...) return operations.from_graphql.document(...) end },
  { "from_graphql.file", 2, function(...) return operations.from_graphql.file(...) end },
  { "from_openapi.document", 2, function(...) return operations.from_openapi.document(...) end },
  { "from_openapi.file", 2, function(...) return operations.from_openapi.file(...) end },
  { "to_http", 2, operations.to_http },
  { "to_http options", 1, function(options) return operations.to_http(fresh(), options) end, 2 },
  { "to_http:mount", 2, function(...) return server:mount(...) end },
  { "to_http:openapi", 2, function(...) return server:openapi(...) end },
  { "to_http:drain", 1, function(...) return operations.to_http(fresh()):drain(...) end },
  { "to_mcp", 2, operations.to_mcp },
  { "to_mcp options", 1, function(options) return operations.to_mcp(fresh(), options) end, 2 },
  { "to_mcp code", 1, function(options) return operations.to_mcp(fresh(), { code = options }) end },
  { "to_tools code", 1, function(options)
    return operations.to_tools(fresh(), { format = "openai", code = options })
  end },
  { "to_mcp:resource", 1, function(...) return mcp_server:resource(...) end },
  { "to_mcp:prompt", 1, function(...) return mcp_server:prompt(...) end },
  { "to_mcp:offer", 1, function(...) return mcp_server:offer(...) end },
  { "to_mcp:changed", 1, function(...) return mcp_server:changed(...) end },
  { "to_mcp:updated", 1, function(...) return mcp_server:updated(...) end },
  { "to_mcp:drain", 1, function(...) return operations.to_mcp(fresh()):drain(...) end },
  { "to_mcp:listen_lines", 1, function(...) return mcp_server:listen_lines(...) end },
  { "to_tools", 2, operations.to_tools },
  { "to_tools options", 1, function(options) return operations.to_tools(fresh(), options) end, 2 },
  { "to_tools:name_of", 1, function(...) return tools:name_of(...) end },
  { "to_tools:id_of", 1, function(...) return tools:id_of(...) end },
  { "to_tools:stream", 2, function(...) return tools:stream(...) end },
  { "client", 3, operations.client },
  { "with", 2, operations.with },
  { "types", 2, operations.types },
  { "types options", 1, function(options) return operations.types(fresh(), options) end, 2 },
  { "from_mcp.connect", 2, operations.from_mcp.connect },
  { "from_mcp.load", 2, operations.from_mcp.load },
  { "from_mcp.read", 1, operations.from_mcp.read },
  { "servers:register", 1, function(...) return servers:register(...) end },
  { "servers:on_state", 1, function(...) return servers:on_state(...) end },
  { "servers:enable", 1, function(...) return servers:enable(...) end },
  { "servers:disable", 1, function(...) return servers:disable(...) end },
  { "middleware.only", 2, middleware.only },
  { "middleware.breaker", 1, middleware.breaker },
  { "middleware.cache", 1, middleware.cache },
  { "middleware.concurrency", 1, middleware.concurrency },
  { "middleware.confirm", 2, middleware.confirm },
  { "middleware.log", 1, middleware.log },
  { "middleware.metrics", 1, middleware.metrics },
  { "middleware.rate_limit", 1, middleware.rate_limit },
  { "middleware.retry", 1, middleware.retry },
  { "middleware.timeout", 1, middleware.timeout },
  { "middleware.trace", 2, middleware.trace },
  { "base64.encode", 1, operations.base64.encode },
  { "base64.decode", 1, operations.base64.decode },
  { "approvals", 2, operations.approvals },
  { "await", 1, function(arm) return type(arm) ~= "function" and operations.await(arm) or nil end },
  { "on_error", 1, function(fn) return type(fn) ~= "function" and operations.on_error(fn) or nil end },
  { "spawn", 1, operations.spawn },
}

local function is_named(message)
  for _, phrase in ipairs({ "bad argument", "bad option", "expected", "unknown option" }) do
    if message:find(phrase, 1, true) then
      return true
    end
  end
end

-- The caller: the line that a message is to name.
local function caller(fn, ...)
  local result, err = fn(...)
  return result, err
end

--- What is wrong with how a call with up to `last` arguments ended, or nil.
local function complaint(last, ok, result, err)
  if ok then
    return result == nil and err ~= nil and type(err) ~= "table" and "returned nil and a " .. type(err) or nil
  elseif operations.is_error(result) then
    return nil
  elseif type(result) ~= "string" then
    return "raised a " .. type(result)
  elseif result:match("attempt to") or not is_named(result) then
    return "raised: " .. result
  elseif not result:find("^spec/misuse_spec%.lua:%d+: ") then
    return "does not name the caller: " .. result
  end
  local position = tonumber(result:match("bad argument #(%d+)") or 1)
  return (position < 1 or position > last) and "names an argument that there is not: " .. result or nil
end

describe("bad arguments never get the better of", function()
  for _, entry in ipairs(functions) do
    local name, arity, fn, first = entry[1], entry[2], entry[3], entry[4] or 1
    it(name, function()
      local problems = {}
      for position = 1, arity do
        for _, value in ipairs(bad_values) do
          local arguments = { "a.b", {}, {} }
          arguments[position] = value[2]
          local problem = complaint(arity + first - 1, pcall(caller, fn, arguments[1], arguments[2], arguments[3]))
          if problem then
            problems[#problems + 1] = ("%s as #%d %s"):format(value[1], position, problem)
          end
        end
      end
      assert.equal("", table.concat(problems, "\n"):sub(1, 2000))
      assert.equal(cycle, cycle.self)
    end)
  end
end)

local function nothing() end

-- Options that are unknown, or of which the value is out of its range.
for name, calls in pairs({
  breaker = { middleware.breaker, { { nope = 1 } }, { { failures = 0 } }, { { failures = 3, of = 2 } },
    { { pause = math.huge } }, { { failures = 1.5 } } },
  cache = { middleware.cache, { { nope = 1 } }, { { max_bytes = -1 } } },
  concurrency = { middleware.concurrency, { { nope = 1 } }, { { limit = 0 } }, { { queue = -1 } } },
  confirm = { middleware.confirm, { nothing, { nope = 1 } }, { nothing, { memory = {} } } },
  metrics = { middleware.metrics, { { nope = 1 } }, { { buckets = { 2, 1 } } }, { { buckets = { 0 } } } },
  only = { middleware.only, { { nope = 1 }, {} }, { {}, { 7 } } },
  rate_limit = { middleware.rate_limit, { { nope = 1 } }, { { rate = 0 } }, { { rate = 1, per = 0 } },
    { { rate = 1, store = {} } } },
  retry = { middleware.retry, { { nope = 1 } }, { { attempts = 0 } }, { { attempts = 101 } }, { { jitter = 2 } },
    { { budget = { nope = 1 } } } },
  timeout = { middleware.timeout, { 0 } },
  trace = { middleware.trace, { nothing, { nope = 1 } }, { nothing, { sample = 1.5 } }, { nothing, { sample = -1 } } },
  to_http = { operations.to_http, { fresh(), { nope = 1 } } },
  to_mcp = { operations.to_mcp, { fresh(), { nope = 1 } }, { fresh(), { timeout = -1 } }, { fresh(), { ttl = -1 } } },
  types = { operations.types, { fresh(), { nope = 1 } } },
  to_tools = { operations.to_tools, { fresh(), { nope = 1 } }, { fresh(), { format = "nope" } },
    { fresh(), { format = "openai", max_bytes = 0 } } },
}) do
  it("bad options of " .. name .. " are refused in the line that gives them", function()
    for i = 2, #calls do
      local ok, raised = pcall(caller, calls[1], calls[i][1], calls[i][2])
      assert.is_false(ok, ("call %d"):format(i - 1))
      assert.is_nil(complaint(2, ok, raised))
    end
  end)
end

-- What the library itself gives its modules in C is checked there, too: the boundaries on both sides.
describe("modules in C", function()
  local core = require("operations.core")
  local http_server = require("operations.http_server")
  local reactor = require("operations.reactor")
  local websocket = require("operations.websocket")

  local function parser()
    return http_server.parser(65536, 256, 16384, 1000)
  end
  local head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  for what, calls in pairs({
    ["the ceiling of an event"] = { core.sse_parser, { 1, 2147483647 }, { 0, 2147483648 } },
    ["what is a schema"] = { core.schema_compile, { true, {} }, { 5, "x" } },
    ["the options of a schema"] = { function(given) return core.schema_compile({}, given) end, { {} }, { 5, true } },
    ["a limit of a request"] = { function(n) return http_server.parser(n, 1, 1, 1) end, { 1 }, { 0 } },
    ["where a request begins"] = { function(from) return parser():read(head, from) end, { 1, #head + 1 },
      { 0, #head + 2 } },
    ["a status"] = { function(status)
      return http_server.answer(status, {}, "", "now", "close", false)
    end, { 200, 999 }, { 99, 1000 } },
    ["the ceiling of a message"] = { function(max) return websocket.codec(true, max) end, { 1, 1e14 }, { 0, 1e15 } },
    ["the code of an end"] = { function(code) return websocket.codec(true, 9):close(code) end, { 1000, 4999 },
      { 999, 5000 } },
    ["how long a step waits"] = { function(ms) return reactor.new():step(ms) end, { 0 }, { 0 / 0 } },
  }) do
    it("name " .. what, function()
      for _, value in ipairs(calls[2]) do
        assert.is_true(pcall(calls[1], value), tostring(value))
      end
      for _, value in ipairs(calls[3]) do
        local ok, raised = pcall(calls[1], value)
        assert.is_false(ok, tostring(value))
        assert.matches("bad argument #%d to '[%w_.?]+'", raised)
      end
    end)
  end
end)
