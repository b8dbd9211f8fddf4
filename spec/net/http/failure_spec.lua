local failure = require("operations.net.http.failure")
local http = require("operations.net.http")
local test_server = require("spec.support.server")

local request = { method = "GET", url = "http://user:secret@x/" }

local function known(err)
  return { retryable = err.retryable, mayHaveRun = err.mayHaveRun, retryAfter = err.retryAfter }
end

describe("a failure of an HTTP request", function()
  it("says whether trying again makes sense, and whether the request may have run", function()
    for kind, expected in pairs({
      dns = { retryable = true, mayHaveRun = false }, connect = { retryable = true, mayHaveRun = false },
      tls = { retryable = false }, request = { retryable = false, mayHaveRun = false },
      reset = { retryable = true, mayHaveRun = true }, truncated = { retryable = true, mayHaveRun = true },
      timeout = { retryable = true, mayHaveRun = true }, size = { retryable = false, mayHaveRun = true },
      aborted = { mayHaveRun = true }, memory = {},
    }) do
      assert.same(expected, known(failure.new(request, kind, "no")))
    end
    assert.same({ retryable = true, mayHaveRun = false }, known(failure.new(request, "timeout", "no", "connect")))
    assert.same({ mayHaveRun = true }, known(failure.new(request, "timeout", "no", "deadline")))
    assert.same({ retryable = true, mayHaveRun = true }, known(failure.new(request, "reset", "no", "reused")))
  end)

  it("says it of statuses, with the time that the server asks for", function()
    for status, expected in pairs({
      [200] = {}, [307] = { retryable = false, mayHaveRun = true }, [404] = { retryable = false, mayHaveRun = true },
      [401] = { retryable = false, mayHaveRun = false }, [413] = { retryable = false, mayHaveRun = false },
      [409] = { mayHaveRun = true }, [421] = { mayHaveRun = false }, [425] = { retryable = true, mayHaveRun = false },
      [429] = { retryable = true, mayHaveRun = false }, [500] = { mayHaveRun = true },
      [502] = { retryable = true, mayHaveRun = true }, [503] = { retryable = true, mayHaveRun = true },
    }) do
      assert.same(expected, known(failure.judge({}, status, {})))
    end
    assert.equal(7000, failure.judge({}, 503, { ["retry-after"] = "7" }).retryAfter)
    assert.equal(0, failure.judge({}, 429, { ["retry-after"] = "Sun, 06 Nov 1994 08:49:37 GMT" }).retryAfter)
    assert.is_nil(failure.judge({}, 503, { ["retry-after"] = "soon" }).retryAfter)
  end)

  it("has not run when nobody listens", function()
    for _, method in ipairs({ "GET", "POST" }) do
      local _, err = http.request({ url = "http://127.0.0.1:1/", method = method })
      assert.equal("connect", err.details.kind)
      assert.same({ retryable = true, mayHaveRun = false }, known(err))
    end
  end)

  it("may have run when its time was up", function()
    local server = test_server.start()
    local _, err = http.request({ url = server.url .. "/slow?head=5", first_byte_timeout = 20 })
    assert.equal("first_byte", err.details.phase)
    assert.same({ retryable = true, mayHaveRun = true }, known(err))
    server:stop()
  end)
end)
