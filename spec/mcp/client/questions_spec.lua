local eventually = require("spec.support.eventually")
local pipe = require("spec.support.mcp_server.pipe")

-- What a handler behind the proxy wrote; nil: nothing yet.
local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text ~= "" and text or nil
end

for _, era in ipairs({ "legacy", "modern" }) do
  describe("behind a proxy, a server of the " .. era .. " era", function()
    local proxy

    local function start(...)
      proxy = pipe.run("proxy", era, ...)
    end

    after_each(function()
      proxy.child:abort()
    end)

    -- Calls the tool that asks who is there; the request that the client got.
    local function ask(id)
      proxy:send({ id = id, method = "tools/call", params = { name = "far_demo_greet", arguments = {} } })
      local request = proxy:receive()
      assert.equal("elicitation/create", request.method)
      assert.equal("Who is there?", request.params.message)
      return request
    end

    it("asks a client of the legacy era, which answers, or declines", function()
      start()
      proxy:initialize()
      proxy:send({ id = ask("a").id, result = { action = "accept", content = { name = "Ada" } } })
      assert.same({ action = "accept", name = "Ada" }, proxy:receive().result.structuredContent)
      proxy:send({ id = ask("b").id, result = { action = "cancel" } })
      assert.same({ action = "cancel" }, proxy:receive().result.structuredContent)
    end)

    it("asks a client of the modern era, in the rounds of the call", function()
      start()
      local first = proxy:call("far_demo_greet", {}, pipe.modern).result
      assert.equal("input_required", first.resultType)
      local key, request = next(first.inputRequests)
      assert.is_nil((next(first.inputRequests, key)))
      assert.equal("Who is there?", request.params.message)
      local second = proxy:request("tools/call", { name = "far_demo_greet", arguments = {}, _meta = pipe.modern,
        requestState = first.requestState,
        inputResponses = { [key] = { action = "accept", content = { name = "Ada" } } } }).result
      assert.equal("complete", second.resultType)
      assert.same({ action = "accept", name = "Ada" }, second.structuredContent)
    end)

    local asked = { maxTokens = 10, messages = { { role = "user", content = { type = "text", text = "A number?" } } } }
    local guess = { role = "assistant", model = "spec", content = { type = "text", text = "7" } }

    it("asks the model of a client of the legacy era, which may refuse", function()
      start()
      proxy:initialize(nil, { sampling = {} })
      for _, answer in ipairs({ { result = guess }, { error = { code = -1, message = "the user refused" } } }) do
        proxy:send({ id = "g", method = "tools/call", params = { name = "far_demo_guess", arguments = {} } })
        local request = proxy:receive()
        assert.equal("sampling/createMessage", request.method)
        assert.same(asked, request.params)
        answer.id = request.id
        proxy:send(answer)
        local got = proxy:receive()
        if answer.result then
          assert.same({ model = "spec", text = "7" }, got.result.structuredContent)
        else
          assert.is_true(got.error ~= nil or got.result.isError)
        end
      end
    end)

    it("asks the model of a client of the modern era, in the rounds of the call", function()
      start()
      local meta = {}
      for name, value in pairs(pipe.modern) do
        meta[name] = name:find("clientCapabilities$") and { sampling = {} } or value
      end
      local first = proxy:call("far_demo_guess", {}, meta).result
      local key, request = next(first.inputRequests)
      assert.same({ "input_required", "sampling/createMessage", asked },
        { first.resultType, request.method, request.params })
      local second = proxy:request("tools/call", { name = "far_demo_guess", arguments = {}, _meta = meta,
        requestState = first.requestState, inputResponses = { [key] = guess } }).result
      assert.same({ model = "spec", text = "7" }, second.structuredContent)
    end)

    it("gets no guess from a client without a model", function()
      start()
      proxy:initialize()
      local answer = proxy:call("far_demo_guess", {})
      assert.is_true(answer.error ~= nil or answer.result.isError)
    end)

    it("is told that the user declines, where the client has no way to ask", function()
      start()
      proxy:initialize(nil, { roots = {} })
      assert.same({ action = "decline" }, proxy:call("far_demo_greet", {}).result.structuredContent)
    end)

    it("is told that a call was cancelled", function()
      local file = os.tmpname()
      start()
      proxy:initialize()
      proxy:send({ id = "w", method = "tools/call", params = { name = "far_demo_wait", arguments = { file = file },
        _meta = { progressToken = "p" } } })
      assert.equal("p", proxy:receive().params.progressToken)
      proxy:send({ method = "notifications/cancelled", params = { requestId = "w" } })
      eventually(function()
        return read(file)
      end)
      assert.truthy(read(file):find("^ABORTED"))
      os.remove(file)
    end)

    it("is told that the time of a call is over", function()
      local file = os.tmpname()
      start("timeout=300")
      proxy:initialize()
      local result = proxy:call("far_demo_wait", { file = file }).result
      assert.is_true(result.isError)
      assert.equal("TIMEOUT", result._meta["operations/error"].code)
      eventually(function()
        return read(file)
      end)
      assert.truthy(read(file):find("^ABORTED"))
      os.remove(file)
    end)
  end)
end

describe("behind a proxy, a server of the legacy era that two callers call", function()
  it("asks neither of them, as the server does not say which one it means", function()
    local proxy = pipe.run("proxy", "legacy")
    proxy:initialize()
    proxy:send({ id = "w", method = "tools/call", params = { name = "far_demo_wait", arguments = {},
      _meta = { progressToken = "p" } } })
    assert.equal("p", proxy:receive().params.progressToken)
    assert.same({ action = "decline" }, proxy:call("far_demo_greet", {}).result.structuredContent)
    proxy.child:abort()
  end)
end)
