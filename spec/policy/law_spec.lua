--- The law of policies: no way to an operation passes by the rules. Each way into a registry is one function here; a
--- new sink (`operations.to_NAME`) has to be added to `sinks`.
local answers = require("spec.support.answers")
local http_request = require("spec.support.http_request")
local operations = require("operations")

local kinds = { "query", "mutation", "subscription" }

-- Calls `act(registry, id)` to run each operation of a registry in one way; errors count as refusals.
local ways = {}

function ways.execute(registry, id)
  return registry:execute(id, { n = 1 })
end

function ways.subscribe(registry, id)
  local stream = registry:subscribe(id, { n = 1 })
  return stream and stream:next()
end

function ways.pages(registry, id)
  local pages = registry:pages(id, { n = 1 })
  return pages and pages:next()
end

function ways.env(registry, id)
  local namespace, name = id:match("^(.+)%.([^.]+)$")
  local got = registry:env()[namespace][name]({ n = 1 })
  return got and got.next and got:next()
end

function ways.with_a_trusted_name(registry, id)
  local root = { id = "root", scopes = { "*" } }
  return registry:execute(id, { n = 1 }, { identity = root, metadata = { trusted = true } })
end

function ways.call_map(registry, id)
  local map, served = operations.call_map(), operations.registry()
  operations.call_handler(registry, map)
  served:route(map)
  served:execute(id, { n = 1 })
  local stream = served:subscribe(id, { n = 1 })
  return stream and stream:next()
end

function ways.pair(registry, id)
  local one, other = operations.transports.pair()
  local map, served = operations.call_map(one), operations.call_map(other, { log = function() end })
  operations.call_handler(registry, served)
  map:call(id, { n = 1 }, { deadline = operations.now() + 1000 })
  local stream = map:subscribe(id, { n = 1 })
  if stream then
    stream:next()
  end
  map:close()
end

function ways.import(registry, id)
  local one, other = operations.transports.pair()
  local map, served = operations.call_map(one), operations.call_map(other, { log = function() end })
  operations.call_handler(registry, served)
  local into = operations.registry()
  into:route(map)
  operations.import(into, map)
  ways.execute(into, id)
  ways.subscribe(into, id)
  map:close()
end

local sinks = {}

function sinks.to_http(registry, id)
  local server = assert(operations.to_http(registry, { log = function() end }))
  local namespace, name = id:match("^(.+)%.([^.]+)$")
  for _, method in ipairs({ "GET", "POST", "QUERY" }) do
    for _, accept in ipairs({ "application/json", "text/event-stream", "application/jsonl" }) do
      local target = ("/%s/%s%s"):format(namespace, name, method == "GET" and "?n=1" or "")
      http_request.send(server, method, target, { accept = accept, ["content-type"] = "application/json" },
        method ~= "GET" and { n = 1 } or nil)
    end
  end
  server:close()
end

local function post(server, body, headers)
  local given = { accept = "application/json, text/event-stream", ["content-type"] = "application/json" }
  for name, value in pairs(headers or {}) do
    given[name] = value
  end
  body.jsonrpc = "2.0"
  return http_request.send(server, "POST", "/mcp", given, body)
end

local PREFIX = "io.modelcontextprotocol/"

function sinks.to_mcp(registry, id)
  for _, options in ipairs({ {}, { resources = true }, { search = "always" } }) do
    options.log = function() end
    local server = operations.to_mcp(registry, options)
    local tool = id:gsub("%.", "_")
    local wanted = { name = tool, arguments = { n = 1 } }
    local session = post(server, { id = 1, method = "initialize", params = { protocolVersion = "2025-11-25",
      capabilities = operations.object(), clientInfo = { name = "spec", version = "1" } } }).headers["mcp-session-id"]
    local own = { ["mcp-session-id"] = session, ["mcp-protocol-version"] = "2025-11-25" }
    local inside = { name = "call_operation", arguments = { name = tool, arguments = { n = 1 } } }
    for i, params in ipairs({ wanted, inside }) do
      post(server, { id = 1 + i, method = "tools/call", params = params }, own)
      params._meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
        [PREFIX .. "clientCapabilities"] = operations.object() }
      post(server, { id = 5, method = "tools/call", params = params }, { ["mcp-protocol-version"] = "2026-07-28",
        ["mcp-method"] = "tools/call", ["mcp-name"] = params.name })
    end
    post(server, { id = 9, method = "resources/read", params = { uri = "operation:" .. id .. "?n=1" } }, own)
    server:close()
  end
end

function sinks.to_tools(registry, id)
  for _, format in ipairs({ "openai", "anthropic" }) do
    for _, search in ipairs({ false, true }) do
      local tools = assert(operations.to_tools(registry, { format = format, search = search or nil }))
      local name = id:gsub("%.", "_")
      tools:run(answers.calling(format, { { id = "1", name = name, arguments = { n = 1 } },
        { id = "2", name = "call_operation", arguments = { name = name, arguments = { n = 1 } } } }))
    end
  end
end

for name, way in pairs(sinks) do
  ways[name] = way
end

-- The ways of a registry into another one.
local places = {}

function places.itself(registry)
  return registry, ""
end

function places.a_mount(registry)
  local outer = operations.registry()
  assert(outer:mount(registry, { prefix = "team" }))
  return outer, "team."
end

local rules = {
  ["is blocked"] = { { match = "*rules.*", action = "block" } },
  ["is blocked with this input"] = { { match = "*rules.*", action = "block", when = { required = { "n" } } } },
  ["needs an approval"] = { { match = "*rules.*", action = "ask" } },
}

describe("no way", function()
  local ran

  local function fill(registry, nested)
    for _, kind in ipairs(kinds) do
      assert(registry:register({ namespace = "rules", name = kind, type = kind, _meta = { exposed = true },
        inputSchema = { type = "object", properties = { n = { type = "integer" } } }, handler = function()
          ran[#ran + 1] = kind
          return 1
        end }))
    end
    for _, kind in ipairs(nested and kinds or {}) do
      assert(registry:register({ namespace = "outer", name = kind, type = kind, handler = function(_, context)
        local got = context.env.rules[kind]({ n = 1 })
        if got and got.next then
          got:next()
        end
        local deeper = context.env.outer[kind .. "_inner"]
        return deeper and 1
      end }))
    end
    return registry
  end

  before_each(function()
    ran = {}
  end)

  for title, policy in pairs(rules) do
    for way, act in pairs(ways) do
      it(("passes by a rule: what %s is not run by %s"):format(title, way), function()
        for place, put in pairs(places) do
          local registry, prefix = put(fill(operations.registry({ policy = policy, log = function() end })))
          for _, kind in ipairs(kinds) do
            act(registry, prefix .. "rules." .. kind)
          end
          assert.same({}, ran, place)
        end
        -- The policy of the outer registry counts for what is mounted in it.
        local outer = operations.registry({ policy = policy, log = function() end })
        assert(outer:mount(fill(operations.registry()), { prefix = "team" }))
        for _, kind in ipairs(kinds) do
          act(outer, "team.rules." .. kind)
        end
        assert.same({}, ran)
      end)
    end
  end

  it("runs nothing because nothing can be run: without a policy every way runs something", function()
    for way, act in pairs(ways) do
      ran = {}
      local registry = fill(operations.registry())
      for _, kind in ipairs(kinds) do
        act(registry, "rules." .. kind)
      end
      assert.is_true(#ran > 0, way)
    end
  end)

  it("leads through the handlers of other operations: blocks hold there, and asks that say so", function()
    for _, policy in ipairs({ { { match = "rules.*", action = "block" } },
      { { match = "rules.*", action = "ask", nested = true } } }) do
      local registry = fill(operations.registry({ policy = policy, log = function() end }), true)
      for _, kind in ipairs(kinds) do
        for _, act in pairs(ways) do
          act(registry, "outer." .. kind)
        end
      end
      assert.same({}, ran)
    end
  end)

  it("is missing here: each sink of the library has one", function()
    for _, name in ipairs({ "lua/operations/init.lua" }) do
      for line in io.lines(name) do
        local sink = line:match("^function operations%.(to_%w+)") or line:match("^%s+(to_%w+) = ")
        assert.truthy(not sink or sinks[sink], sink)
      end
    end
  end)
end)
