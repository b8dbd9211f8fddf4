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
      truncated = { retryable = true, mayHaveRun = true }, encoding = { retryable = false, mayHaveRun = true },
      protocol = { retryable = false, mayHaveRun = true }, redirect = { retryable = false, mayHaveRun = true },
      body = { retryable = false, mayHaveRun = true }, dns = { retryable = true, mayHaveRun = false },
      connect = { retryable = true, mayHaveRun = false },
      tls = { retryable = false }, request = { retryable = false, mayHaveRun = false },
      reset = { retryable = true, mayHaveRun = true },
      timeout = { retryable = true, mayHaveRun = true }, size = { retryable = false, mayHaveRun = true },
      aborted = { mayHaveRun = true }, memory = {},
    }) do
      assert.same(expected, known(failure.new(request, kind, "no")))
    end
    assert.same({ retryable = true, mayHaveRun = false }, known(failure.new(request, "timeout", "no", "connect")))
    assert.same({ mayHaveRun = true }, known(failure.new(request, "timeout", "no", "deadline")))
    assert.same({ retryable = true, mayHaveRun = true }, known(failure.new(request, "reset", "no", "reused")))
  end)

  it("says of each status whether the request ran and may be sent again", function()
    local refused = { false, false }
    local known_statuses = { [408] = { true, false }, [409] = { nil, true }, [421] = { nil, false },
      [423] = { nil, true }, [424] = { nil, true }, [425] = { true, false }, [429] = { true, false },
      [502] = { true, true }, [503] = { true, true }, [504] = { true, true } }
    for _, status in ipairs({ 401, 407, 411, 412, 413, 414, 415, 417, 426, 428, 431, 501, 505, 511 }) do
      known_statuses[status] = refused
    end
    for status = 100, 599 do
      local class = status < 300 and {} or status < 500 and { false, true } or { nil, true }
      local expected, err = known_statuses[status] or class, failure.judge({}, status, {})
      assert.same({ status, expected[1], expected[2] }, { status, err.retryable, err.mayHaveRun })
    end
  end)

  it("is told with its method, its URL without secrets, and its kind", function()
    local err = failure.new(request, "timeout", "via http://me:s3cret@proxy/ no", "total")
    assert.same({ "TIMEOUT", "GET http://x/: via http://proxy/ no" }, { err.code, err.message })
    assert.same({ kind = "timeout", phase = "total", method = "GET", url = "http://x/" }, err.details)
    assert.same({ "ABORTED", "EXECUTION_ERROR" }, { failure.new(request, "aborted", "").code,
      failure.new(request, "dns", "").code })
  end)

  it("is that of the wait that was interrupted", function()
    local errors = require("operations.base.error")
    local function interrupted(code)
      return failure.interrupted(request, errors.new(code, "why"))
    end
    assert.same({ "TIMEOUT", "timeout", "deadline", "GET http://x/: why" }, { interrupted("TIMEOUT").code,
      interrupted("TIMEOUT").details.kind, interrupted("TIMEOUT").details.phase, interrupted("TIMEOUT").message })
    assert.same({ "ABORTED", "aborted", nil }, { interrupted("ABORTED").code, interrupted("ABORTED").details.kind,
      interrupted("ABORTED").details.phase })
    assert.same({ "NOT_FOUND", "why" }, { interrupted("NOT_FOUND").code, interrupted("NOT_FOUND").message })
    assert.has_error(function()
      failure.interrupted(request, "another")
    end, "another")
  end)

  it("is of a connection that others used, or of the request's own", function()
    assert.is_true(failure.is_stale(failure.new(request, "reset", "", "reused")))
    assert.is_false(failure.is_stale(failure.new(request, "reset", "")))
    assert.is_false(failure.is_stale({ details = "reused" }))
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

  it("was not sent when the connection is refused", function()
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
