local freshness = require("operations.middleware.freshness")

local DATE, NOW = "Sun, 06 Nov 1994 08:49:37 GMT", 784111777000 -- the same time

-- ms that an HTTP answer with these headers is fresh, or that of other meta.
local function of(headers, more)
  local meta = { source = "http", statusCode = 200, headers = headers }
  for name, value in pairs(more or {}) do
    meta[name] = value
  end
  return freshness.of(meta, { _meta = nil }, 7, NOW)
end

describe("the freshness of an answer", function()
  it("is as long as its headers say, to the ms", function()
    for control, ms in pairs({ ["max-age=0"] = 0, ["max-age=1"] = 1000, ["max-age=2147483648"] = 2 ^ 31 * 1000,
      ["max-age=99999999999"] = 2 ^ 31 * 1000, ["max-age=x"] = 0, ["max-age=-1"] = 0, ["max-age=1.5"] = 0,
      ["max-age"] = 0, ["no-cache"] = 0, ["no-cache, max-age=5"] = 0, ["private"] = 7,
      ["PUBLIC,Max-Age = \"5\" , immutable"] = 5000, [""] = 7 }) do
      assert.equal(ms, (of({ ["cache-control"] = control })), control)
    end
    assert.equal(3000, (of({ ["cache-control"] = "max-age=5", age = "2" })))
    assert.equal(-1000, (of({ ["cache-control"] = "max-age=5", age = "6" })))
    assert.equal(5000, (of({ ["cache-control"] = "max-age=5", age = "x" })))
    for age in pairs({ ["1.5"] = 1, ["1e400"] = 1, ["-1"] = 1, [""] = 1 }) do
      assert.equal(5000, (of({ ["cache-control"] = "max-age=5", age = age })))
    end
    assert.equal(5000 - 2 ^ 31 * 1000, (of({ ["cache-control"] = "max-age=5", age = ("9"):rep(400) })))
  end)

  it("is the time until Expires, from Date or now", function()
    assert.equal(0, (of({ expires = DATE })))
    assert.equal(1000, (of({ expires = "Sun, 06 Nov 1994 08:49:38 GMT" })))
    assert.equal(2000, (of({ expires = "Sun, 06 Nov 1994 08:49:38 GMT", date = "Sun, 06 Nov 1994 08:49:36 GMT" })))
    assert.equal(1000, (of({ expires = "Sun, 06 Nov 1994 08:49:38 GMT", date = "Sun, 06 Nov 1994 08:49:36 GMT",
      age = "1" })))
    assert.equal(-1000, (of({ expires = "Sun, 06 Nov 1994 08:49:36 GMT" })))
    assert.equal(0, (of({ expires = "0" })))
    assert.equal(7, (of({ date = DATE })))
  end)

  it("is unknown for answers that must not be stored", function()
    for _, headers in ipairs({ { ["cache-control"] = "no-store" }, { ["cache-control"] = "max-age=5, no-store" },
      { vary = "*" }, { vary = "Accept-Encoding, *" }, { vary = "* , Accept" }, { vary = "a,*,b" } }) do
      assert.is_nil((of(headers)))
    end
    for status, ms in pairs({ [199] = false, [200] = 7, [201] = false, [303] = false, [304] = 7, [404] = false }) do
      assert.equal(ms, of({}, { statusCode = status }) or false, status)
    end
    assert.is_nil((freshness.of({ source = "mcp", isError = true, _meta = { ttlMs = 5 } }, {}, 7, NOW)))
  end)

  it("is the ttlMs of the answer, else that of the spec, else the program's", function()
    local function ttl(own, declared)
      return (freshness.of({ source = "mcp", _meta = own and { ttlMs = own } }, { _meta = declared and
        { ttlMs = declared } }, 7, NOW))
    end
    assert.same({ 7, 5, 6, 5, 0, 0 }, { ttl(), ttl(5), ttl(nil, 6), ttl(5, 6), ttl(0), ttl(nil, 0) })
    for _, odd in ipairs({ -1, math.huge, "5", 0 / 0 }) do
      assert.same({ 7, 7 }, { ttl(odd), ttl(nil, odd) })
    end
    assert.equal(7, (freshness.of(nil, {}, 7, NOW)))
  end)

  it("goes with the ETag", function()
    assert.same({ 7, '"a"' }, { of({ etag = '"a"' }) })
    assert.same({ 0, '"a"' }, { of({ etag = '"a"', ["cache-control"] = "no-cache" }) })
    assert.same({ 7 }, { of({ etag = 5 }) })
    assert.same({}, { of({ etag = '"a"', ["cache-control"] = "no-store" }) })
  end)
end)
