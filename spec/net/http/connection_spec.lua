local eventually = require("spec.support.eventually")
local http = require("operations.net.http")
local members = require("operations.base.members")
local task = require("operations.task")
local test_server = require("spec.support.server")

describe("a connection that is kept and then lost", function()
  local server = test_server.around(setup, teardown)

  local function ask(path, given)
    local options = members.merged({ url = server.url .. path, timeout = 10000 }, given)
    return http.request(options)
  end

  -- Takes the connection that is kept if it can, and keeps none.
  local function ask_once(path, given)
    local options = members.merged({ headers = { Connection = "close" } }, given)
    return ask(path, options)
  end

  local methods = {
    { method = "GET" },
    { method = "PUT", body = "text" },
    { method = "POST", body = "text" },
    { method = "POST" },
    { method = "PATCH", body = "text" },
  }

  for _, options in ipairs(methods) do
    local name = options.method .. (options.body and " with a body" or "")
    it("between two requests costs none of them: " .. name, function()
      for i = 1, 5 do
        assert(ask("/kept/closed"))
        task.sleep(0.05) -- until that has arrived
        assert.equal(tostring(i), assert(ask_once("/flaky?fail=0&key=" .. name:gsub(" ", ""), options)).body)
      end
    end)
  end

  for i, options in ipairs(methods) do
    local name = options.method .. (options.body and " with a body" or "")
    it("has nothing that came unasked taken for an answer: " .. name, function()
      for n = 1, 3 do
        local note = ("unasked%d.%d"):format(i, n)
        assert.equal("ok", assert(ask("/fault/unasked?note=" .. note)).body)
        assert.is_true(eventually(function()
          return http.request({ url = server.other .. "/note/" .. note }).body == "said"
        end))
        assert.equal(tostring(n), assert(ask_once("/flaky?fail=0&key=unasked" .. i, options)).body)
      end
    end)
  end

  it("has nothing that came unasked taken for an answer, whatever connections there were since", function()
    assert.equal("ok", assert(ask("/fault/unasked?note=between")).body)
    for _ = 1, 3000 do -- of each port modulo 1024, as good as surely
      assert(http.request({ url = server.other .. "/small", headers = { Connection = "close" } }))
    end
    assert.equal("said", http.request({ url = server.other .. "/note/between" }).body)
    assert.equal("1", assert(ask_once("/flaky?fail=0&key=afterwards")).body)
  end)

  it("with a request on it costs no idempotent one", function()
    assert(ask("/kept/taken"))
    assert.equal("1", assert(ask_once("/flaky?fail=0&key=get")).body)
    assert(ask("/kept/taken"))
    local options = { method = "POST", body = "text", headers = { ["Idempotency-Key"] = "1", Connection = "close" } }
    assert.equal("1", assert(ask("/flaky?fail=0&key=post", options)).body)
    assert(ask("/kept/taken"))
    options = { method = "POST", body = "text", headers = { Connection = "close" }, idempotent = true }
    assert.equal("1", assert(ask("/flaky?fail=0&key=declared", options)).body)
  end)

  for _, options in ipairs({ { method = "POST", body = "text" }, { method = "POST" }, { method = "PATCH" } }) do
    local name = options.method .. (options.body and " with a body" or "")
    it("with a request on it has no other one sent twice: " .. name, function()
      assert(ask("/kept/taken"))
      local response, err = ask_once("/flaky?fail=0&key=once", options)
      assert.is_nil(response)
      assert.equal("reset", err.details.kind)
      assert.equal("none", ask_once("/note/once").body)
    end)
  end
end)
