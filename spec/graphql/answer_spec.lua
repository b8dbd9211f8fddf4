-- Answers of GraphQL services as envelopes and errors.
local exchange = require("operations.graphql.exchange")
local operations = require("operations")

-- Sends a request that gets this reply.
local function send(reply, more, options, context)
  local all = { endpoint = "https://api.test/graphql", http = operations.testing.http({ ["*"] = { reply } }) }
  for name, value in pairs(options or {}) do
    all[name] = value
  end
  local request = { type = "query", query = "{ user { name } }", field = "user" }
  for name, value in pairs(more or {}) do
    request[name] = value or nil
  end
  return exchange.send(exchange.new(all), request, context)
end

local null = operations.null
local broken = { message = "it broke", path = { "user", "posts", 0 }, extensions = { code = "BROKEN" } }

describe("an answer", function()
  it("is the value of the root field, null and false too", function()
    for _, value in ipairs({ { name = "Ada" }, false, null, 0, operations.array() }) do
      local envelope = assert(send({ json = { data = { user = value } } }))
      assert.same(value, envelope.data)
    end
  end)

  it("of a document is its whole data", function()
    assert.same({ user = { name = "Ada" } },
      send({ json = { data = { user = { name = "Ada" } } } }, { field = false }).data)
  end)

  it("with data and errors has both, and is logged", function()
    local logged = {}
    local envelope = assert(send({ json = { data = { user = { posts = null } }, errors = { broken } } }, nil, nil,
      { log = function(level, text) logged[#logged + 1] = level .. " " .. text end }))
    assert.same({ posts = null }, envelope.data)
    assert.same({ broken }, envelope.meta.errors)
    assert.same({ "warn the answer has data and errors: it broke (at user.posts[0])" }, logged)
  end)

  it("with data and errors is a failure by option", function()
    local _, err = send({ json = { data = { user = { posts = null } }, errors = { broken } } }, nil,
      { partial = "fail" })
    assert.equal("BROKEN", err.code)
    assert.same({ user = { posts = null } }, err.details.data)
    assert.is_true(err.mayHaveRun)
  end)

  it("has the extensions of the service", function()
    assert.same({ cost = 3 }, send({ json = { data = { user = null }, extensions = { cost = 3 } } }).meta.extensions)
  end)

  it("of media type application/json is read the same", function()
    assert(send({ headers = { ["content-type"] = "application/json" }, json = { data = { user = null } } }))
  end)
end)

describe("errors without data", function()
  it("are an error with the first one's code, message and place", function()
    local _, err = send({ json = { data = null, errors = { broken, { message = "and this" }, { message = "x" } } } })
    assert.same({ "BROKEN", "it broke (at user.posts[0]), and 2 more errors" }, { err.code, err.message })
    assert.same({ "user", "posts", 0 }, err.details.path)
    assert.equal(3, #err.details.errors)
    assert.is_true(err.mayHaveRun)
  end)

  it("have the code GRAPHQL_ERROR where they name none, or one of this library's", function()
    for _, extensions in ipairs({ null, {}, { code = 7 }, { code = "" }, { code = "VALIDATION_ERROR" } }) do
      local _, err = send({ json = { errors = { { message = "no", extensions = extensions } } } })
      assert.equal("GRAPHQL_ERROR", err.code)
      assert.is_false(err.mayHaveRun) -- without `data` nothing was executed
      assert.is_false(err.retryable)
    end
  end)

  it("have no code where the service's is no word", function()
    for _, code in ipairs({ "A\nB", ("x"):rep(101) }) do
      local _, err = send({ json = { errors = { { message = "no", extensions = { code = code } } } } })
      assert.equal("GRAPHQL_ERROR", err.code)
    end
  end)

  it("may have a path that leads nowhere", function()
    local path = { "user", 1.5, operations.array(), null, 1e300, "x" }
    local _, err = send({ json = { errors = { { message = "no", path = path } } } })
    assert.matches("^no %(at user%[2%]%[1%d+%]%.x%)$", err.message)
  end)

  it("are read in other forms, too: as texts, as one error, without a message", function()
    local silent = "the service gives no message"
    for text, list in pairs({ bad = { "bad", 7 }, [silent] = { operations.object() }, worse = "worse",
      single = { message = "single" } }) do
      local _, err = send({ json = { data = null, errors = list } })
      assert.same({ "GRAPHQL_ERROR", text }, { err.code, err.message })
      assert.same(list, err.details.errors)
    end
    for _, none in ipairs({ "", false, null, operations.object(), operations.array() }) do
      assert.equal("x", send({ json = { data = { user = "x" }, errors = none } }, nil, { partial = "fail" }).data)
    end
    local _, err = send({ status = 422, json = { message = "not ours", errors = { { field = "x" } } } })
    assert.equal("HTTP_422", err.code)
  end)

  it("are read of answers with status 4xx and 5xx", function()
    for status, retryable in pairs({ [400] = false, [422] = false, [503] = true }) do
      local _, err = send({ status = status, json = { errors = { { message = "no" } } } })
      assert.same({ "GRAPHQL_ERROR", status, retryable }, { err.code, err.details.statusCode, err.retryable })
    end
  end)

  it("are not read of refusals of our credentials", function()
    for _, status in ipairs({ 401, 403 }) do
      local _, err = send({ status = status, json = { errors = { { message = "who are you?" } } } })
      assert.equal("HTTP_" .. status, err.code)
    end
  end)

  it("fail where the root field is absent, or null because of them", function()
    for _, data in ipairs({ operations.object(), { user = null } }) do
      local _, err = send({ json = { data = data, errors = { broken } } })
      assert.equal("BROKEN", err.code)
    end
  end)
end)

describe("a throttled request", function()
  local function throttled(extensions, more, status)
    local reply = { status = status, json = { errors = { { message = "slow", extensions = extensions } } } }
    for name, value in pairs(more or {}) do
      reply[name] = value
    end
    local _, err = send(reply)
    return { err.retryable, err.retryAfter }
  end

  it("may be repeated, after the time that the service names", function()
    assert.same({ true }, throttled({ code = "THROTTLED" }))
    assert.same({ true, 7000 }, throttled({ code = "RATELIMITED" }, { headers = { ["retry-after"] = "7" } }))
    assert.same({ true, 7000 }, throttled({}, { headers = { ["retry-after"] = "7" } }, 429))
    assert.same({ true, 3000 }, throttled({ code = "COMPLEXITY_BUDGET_EXHAUSTED", retry_in_seconds = 3 }))
    assert.same({ false }, throttled({ code = "OTHER", retryAfter = 3 }))
  end)

  it("names a finite time, whatever the service says", function()
    assert.same({ true, 2 ^ 53 }, throttled({ code = "THROTTLED", retryAfter = 1e308 }))
    assert.same({ true, 2 ^ 53 }, throttled({ code = "THROTTLED" }, { json = { errors = { { message = "slow",
      extensions = { code = "THROTTLED" } } }, extensions = { cost = { requestedQueryCost = 1e308,
      throttleStatus = { restoreRate = 1e-300, currentlyAvailable = 0 } } } } }))
  end)

  it("waits for the points that it costs", function()
    local _, err = send({ json = { errors = { { message = "slow", extensions = { code = "THROTTLED" } } },
      extensions = { cost = { requestedQueryCost = 500, throttleStatus = { currentlyAvailable = 100,
        restoreRate = 50 } } } } })
    assert.equal(8000, err.retryAfter)
    assert.equal(500, err.details.cost.requestedQueryCost)
  end)
end)

describe("other bodies", function()
  it("are errors that say what came", function()
    for _, reply in ipairs({
      { headers = { ["content-type"] = "text/html" }, body = "<html>" }, { body = "" }, { body = "null" },
      { json = { "a" } }, { json = {} }, { json = { errors = {} } }, { json = { errors = 7 } },
      { json = { data = { other = 1 } } }, { json = { data = 7 } }, { json = { data = operations.array({ 1 }) } },
    }) do
      local _, err = send(reply)
      assert.same({ "EXECUTION_ERROR", "response" }, { err.code, err.details.kind })
    end
  end)

  it("of an error status are its HTTP error", function()
    local _, err = send({ status = 404, headers = { ["content-type"] = "text/plain" }, body = "no" })
    assert.equal("HTTP_404", err.code)
  end)
end)
