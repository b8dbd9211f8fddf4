local inside = require("spec.support.inside")
local operations = require("operations")

local MOST = 20 -- turns of the loop that a request takes

describe("a server whose streams never wait", function()
  if not inside.has("curl") then
    pending("curl is not installed")
    return
  end

  local function registry()
    local made = operations.registry({ log = function() end })
    local function stream(name, handler)
      assert(made:register({ namespace = "spec", name = name, type = "subscription", handler = handler }))
    end
    stream("emit", function(_, context)
      while true do
        context.emit("x")
      end
    end)
    stream("yield", function()
      while true do
        coroutine.yield(("y"):rep(1000))
      end
    end)
    stream("nested", function(_, context)
      for envelope in made:subscribe("spec.yield", nil, context) do
        context.emit(envelope.data)
      end
    end)
    assert(made:register({ namespace = "spec", name = "sink", type = "query",
      outputSchema = { type = "string", contentMediaType = "application/octet-stream" },
      handler = function(_, context)
        while true do
          context.sink(("z"):rep(30000))
        end
      end }))
    assert(made:register({ namespace = "spec", name = "add", type = "query", handler = function() return 1 end }))
    return made
  end

  local function quantile(list, share)
    table.sort(list)
    return list[math.ceil(#list * share)]
  end

  -- The turns that each of 100 requests to `paths` takes.
  local function measure(url, paths)
    local turns, over, taken = 0, false, {}
    operations.spawn(function()
      while not over do
        turns = turns + 1
        operations.sleep(0)
      end
    end)
    for i = 1, 100 do
      local before = turns
      assert.equal(200, assert(operations.http.request({ url = url .. paths[i % #paths + 1] })).status)
      taken[i] = turns - before
    end
    over = true
    return taken
  end

  it("answers 99 of 100 requests within some turns of the loop", function()
    operations.run(function()
      local server = assert(operations.to_http(registry()))
      local url = "http://127.0.0.1:" .. assert(server:listen({ port = 0 })).port
      local readers = {}
      for i, name in ipairs({ "emit", "yield", "nested", "sink" }) do
        readers[i] = assert(operations.process.spawn({ "curl", "-sN", "-o", "/dev/null", url .. "/spec/" .. name }))
      end
      -- waits until all four readers, programs of their own, are served
      operations.sleep(0.2)
      local ok, taken = pcall(measure, url, { "/spec/add", "/healthz" })
      for _, reader in ipairs(readers) do
        reader:stop({ close = 0 })
      end
      server:close()
      assert(ok, taken)
      assert.is_true(quantile(taken, 0.99) <= MOST, "turns: " .. quantile(taken, 0.99))
    end)
  end)

  it("lets others run beside a subscription that a task reads in a loop", function()
    local ticks, seen = 0, 0
    operations.run(function()
      local reader = operations.spawn(function()
        for _ in registry():subscribe("spec.emit") do
          seen = seen + 1
        end
      end)
      repeat
        ticks = ticks + 1
        operations.sleep(0)
      until ticks == 5
      reader:cancel()
      pcall(reader.wait, reader)
    end)
    assert.is_true(seen > 0)
  end)
end)

describe("a caller with slow calls", function()
  local function registry(gate)
    local made = operations.registry({ log = function() end })
    assert(made:register({ namespace = "spec", name = "slow", type = "query", handler = function()
      gate.count = gate.count + 1
      repeat
        operations.sleep(0)
      until gate.open
      return 1
    end }))
    return made
  end

  local function by_token(request)
    return request.token and { id = request.token, scopes = {} }
  end

  -- Sends requests of several callers, 3 each; returns the statuses of each, sorted.
  local function statuses_of(server, gate, callers, request_of)
    local tasks, found = {}, {}
    for _, name in ipairs(callers) do
      for i = 1, 3 do
        local request = request_of(i)
        request.headers.host, request.peer = "localhost", { address = name }
        request.headers.authorization = name:find("^%a") and "Bearer " .. name or nil
        tasks[#tasks + 1] = operations.spawn(function()
          found[name] = found[name] or {}
          table.insert(found[name], server:handle(request).status)
        end)
      end
    end
    repeat
      operations.sleep(0)
    until gate.count == 2 * #callers
    gate.open = true
    for _, each in ipairs(tasks) do
      each:wait()
    end
    for _, list in pairs(found) do
      table.sort(list)
    end
    return found
  end

  local expected = { ada = { 200, 200, 503 }, bob = { 200, 200, 503 }, ["192.0.2.1"] = { 200, 200, 503 },
    ["192.0.2.2"] = { 200, 200, 503 } }
  local callers = { "ada", "bob", "192.0.2.1", "192.0.2.2" }

  it("gets a share of the server, by identity or address", function()
    operations.run(function()
      local gate = { count = 0 }
      local server = assert(operations.to_http(registry(gate), { max_identity_requests = 2, authorize = by_token,
        anonymous = true }))
      assert.same(expected, statuses_of(server, gate, callers, function()
        return { method = "GET", target = "/spec/slow", headers = {}, body = "" }
      end))
      assert.equal(0, server.running)
    end)
  end)

  it("gets a share of an MCP server, by identity or address", function()
    operations.run(function()
      local gate = { count = 0 }
      local server = operations.to_mcp(registry(gate), { max_identity_requests = 2, authorize = by_token,
        anonymous = true })
      assert.same(expected, statuses_of(server, gate, callers, function(i)
        return { method = "POST", target = "/mcp", headers = { ["content-type"] = "application/json",
          accept = "application/json, text/event-stream", ["mcp-protocol-version"] = "2026-07-28",
          ["mcp-method"] = "tools/call", ["mcp-name"] = "spec_slow" },
          body = operations.json.encode({ jsonrpc = "2.0", id = i, method = "tools/call", params = {
            name = "spec_slow", arguments = operations.object({}), _meta = {
              ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
              ["io.modelcontextprotocol/clientCapabilities"] = operations.object({}),
              ["io.modelcontextprotocol/clientInfo"] = { name = "spec", version = "1" } } } }) }
      end))
      assert.equal(0, server.running)
    end)
  end)
end)
