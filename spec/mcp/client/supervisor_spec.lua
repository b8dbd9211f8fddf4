-- The supervisor of a client's connection; the server is in this process, and time passes in jumps.
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
local mcp_link = require("spec.support.mcp_link")
local operations = require("operations")

describe("the supervisor of a connection", function()
  local states

  before_each(function()
    states = {}
    hosts.use(fake_host.new(1000))
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function ended()
    return errors.new("EXECUTION_ERROR", "srv: the server ended with exit code 3: no token", { kind = "closed",
      command = "srv" })
  end

  local function with(more, fn, methods)
    local server = mcp_link.server("legacy", nil, methods or { x = function() return { n = 1 } end })
    operations.run(function()
      local client = assert(mcp_link.connect(server, more))
      client:on_state(function(state)
        states[#states + 1] = state
      end)
      fn(client, server)
      client:close()
    end)
  end

  it("connects again without being asked, and lists the tools again", function()
    with(nil, function(client, server)
      operations.sleep(60)
      server.links[1]:lost(ended())
      operations.sleep(1)
      assert.same({ "lost", "connecting", "connected" }, states)
      assert.equal("connected", client.state)
      assert.equal(2, #mcp_link.params(server, "tools/list"))
    end)
  end)

  it("makes pauses that grow while the server stays away", function()
    with(nil, function(client, server)
      local attempts = 0
      function server.opens()
        attempts = attempts + 1
        return ended()
      end
      server.links[1]:lost(ended())
      operations.sleep(120)
      assert.equal("retrying", client.state)
      assert.equal("no token", client.reason.message:match("no token"))
      assert.is_true(attempts >= 7 and attempts <= 14, attempts)
      server.opens = nil
      operations.sleep(31)
      assert.equal("connected", client.state)
    end)
  end)

  it("waits as long as the server asks", function()
    with(nil, function(client, server)
      local attempts = 0
      function server.opens()
        attempts = attempts + 1
        local err = errors.new("HTTP_503", "busy", { kind = "status", statusCode = 503 })
        err.retryAfter = 100000
        return err
      end
      server.links[1]:lost(ended())
      operations.sleep(95)
      assert.equal(1, attempts)
      assert.equal("retrying", client.state)
      operations.sleep(10)
      assert.equal(2, attempts)
    end)
  end)

  it("holds back the calls that had not begun until the server is back", function()
    with(nil, function(client, server)
      local attempts = 0
      function server.opens()
        attempts = attempts + 1
        return attempts < 4 and ended() or nil
      end
      server.links[1]:lost(ended())
      assert.same({ { n = 1 }, { n = 1 } }, operations.map({ 1, 2 }, function()
        return client:request("x")
      end))
      assert.equal(4, attempts)
    end)
  end)

  it("lets calls fail with the state and the cause when the server stays away for long", function()
    with(nil, function(client, server)
      function server.opens()
        return ended()
      end
      server.links[1]:lost(ended())
      local began = hosts.current().now()
      local value, err = client:request("x")
      assert.is_nil(value)
      assert.equal(limits.mcp_recovery, hosts.current().now() - began)
      assert.matches("^s is not connected %(retrying in %d+ s%): the server ended with exit code 3: no token$",
        err.message)
      assert.same({ "retrying", "closed", true, false }, { err.details.state, err.details.kind, err.retryable,
        err.mayHaveRun })
      assert.is_true(err.retryAfter > 0)
      began = hosts.current().now()
      assert.is_nil(client:request("x"))
      assert.equal(began, hosts.current().now()) -- at once from then on
    end)
  end)

  it("does not start a server at once that ends again and again", function()
    local starts = 0
    with(nil, function(client, server)
      server.links[1]:lost(ended())
      operations.sleep(600)
      assert.is_true(starts > 5 and starts < 60, starts)
      assert.equal("retrying", client.state)
    end, { initialize = function(params, link)
      starts = starts + 1
      if starts > 1 then
        operations.spawn(function()
          operations.sleep(0.01)
          link:lost(ended())
        end)
      end
      return { protocolVersion = params.protocolVersion, capabilities = operations.object() }
    end })
  end)

  it("gives up where another attempt changes nothing, until a call asks again", function()
    for _, details in ipairs({ { kind = "command" }, { kind = "status", statusCode = 401 }, { kind = "oauth" } }) do
      states = {}
      with(nil, function(client, server)
        local attempts = 0
        function server.opens()
          attempts = attempts + 1
          return errors.new("EXECUTION_ERROR", "no", details)
        end
        server.links[1]:lost(ended())
        local began = hosts.current().now()
        assert.is_nil(client:request("x"))
        assert.equal(began, hosts.current().now()) -- nothing is waited for
        operations.sleep(3600)
        assert.same({ 1, "lost" }, { attempts, client.state })
        assert.is_nil(client:request("x"))
        assert.equal(2, attempts)
        server.opens = nil
        assert.same({ n = 1 }, client:request("x"))
        assert.equal("connected", client.state)
      end)
    end
  end)

  it("does nothing where it is turned off", function()
    with({ restart = false }, function(client, server)
      server.links[1]:lost(ended())
      operations.sleep(3600)
      assert.same({ "lost" }, states)
      assert.is_nil(client:request("x"))
      assert.equal(1, #server.links)
    end)
  end)

  it("reads the list again where the server says that it has no such tool", function()
    for _, refuse in ipairs({ function() return nil, { code = -32602, message = "Unknown tool: a" } end,
      function()
        return { isError = true, content = { { type = "text", text = "MCP error -32602: Tool a not found" } } }
      end,
    }) do
      local name = "a"
      with(nil, function(client, server)
        name = "b"
        client:call("a")
        operations.sleep(1)
        assert.equal(2, #mcp_link.params(server, "tools/list"))
        assert.equal("b", client:tools()[1].name)
      end, { ["tools/call"] = refuse, ["tools/list"] = function()
        return { tools = { { name = name, inputSchema = operations.object() } } }
      end })
    end
  end)

  it("makes calls that had not begun wait for a restart by the program", function()
    local answers = { function() return { n = 1 } end }
    with(nil, function(client, server)
      function server.opens()
        return ended()
      end
      server.links[1]:lost(ended())
      operations.sleep(1)
      local waiting = operations.spawn(client.request, client, "x")
      operations.sleep(1)
      server.opens = nil
      local restarted = operations.spawn(client.restart, client)
      local later = operations.spawn(client.request, client, "x")
      assert.is_true(restarted:wait())
      assert.same({ { n = 1 }, { n = 1 } }, { (waiting:wait()), (later:wait()) })
      assert.equal("connected", client.state)
    end, { x = answers[1] })
  end)

  it("makes a call that a restart cut off fail, unless it may be repeated", function()
    local count = 0
    with(nil, function(client)
      local once = operations.spawn(client.request, client, "x")
      local again = operations.spawn(client.request, client, "x", nil, { repeatable = true })
      operations.sleep(1)
      assert.is_true(client:restart())
      local _, err = once:wait()
      assert.is_true(err.mayHaveRun)
      assert.same({ n = 3 }, (again:wait()))
    end, { x = function()
      count = count + 1
      if count < 3 then
        operations.sleep(30)
      end
      return { n = count }
    end })
  end)

  it("ends with the client", function()
    with(nil, function(client, server)
      function server.opens()
        return ended()
      end
      server.links[1]:lost(ended())
      operations.sleep(20)
      local waiting = operations.spawn(function()
        return client:request("x")
      end)
      client:close()
      assert.is_nil(waiting:wait())
      operations.sleep(60)
      assert.equal("stopped", client.state)
      assert.equal(0, hosts.current().timers)
    end)
  end)
end)
