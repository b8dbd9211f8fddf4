local core = require("operations.core")
local errors = require("operations.base.error")
local success = require("operations.server.success")

local function of(envelope, route, cache_control)
  return success.answer(envelope, route or { id = "a.b" }, cache_control)
end

local function local_of(data, route, cache_control)
  return of({ data = data, meta = { source = "local" } }, route, cache_control)
end

local function http_of(data, meta, route)
  meta.source = "http"
  return of({ data = data, meta = meta }, route)
end

describe("the answer to a call", function()
  it("is its data as JSON, not to be stored", function()
    assert.same({ status = 200, body = '{"a":1}', headers = { ["cache-control"] = "no-store",
      ["content-type"] = "application/json" } }, local_of({ a = 1 }))
    assert.equal("max-age=5", local_of(1, nil, "max-age=5").headers["cache-control"])
    assert.equal("null", local_of(core.null).body)
    assert.equal("false", local_of(false).body)
  end)

  it("has no content where there is no data", function()
    assert.same({ status = 204, body = "", headers = { ["cache-control"] = "no-store" } }, local_of(nil))
    assert.same({ 201, "" }, { local_of(nil, { id = "a.b", status = 201 }).status,
      local_of(nil, { id = "a.b", status = 201 }).body })
    assert.same({ 204, "" }, { local_of(1, { id = "a.b", status = 204 }).status,
      local_of(1, { id = "a.b", status = 204 }).body })
  end)

  it("has the status that the operation declares", function()
    assert.equal(202, local_of(1, { id = "a.b", status = 202 }).status)
  end)

  it("is a text or bytes as they are where the operation says so", function()
    local route = { id = "a.b", output_media = "text/csv" }
    assert.same({ "a,b", "text/csv" }, { local_of("a,b", route).body, local_of("a,b", route).headers["content-type"] })
    assert.same({ "[1]", "application/json" }, { local_of({ 1 }, route).body,
      local_of({ 1 }, route).headers["content-type"] })
  end)

  it("fails where the data is not JSON", function()
    local made, err = local_of({ print })
    assert.is_nil(made)
    assert.equal("EXECUTION_ERROR", err.code)
    assert.matches("^a%.b: the result is not JSON: ", err.message)
  end)

  it("fails with the first text of a tool that failed", function()
    local function failed(content)
      local made, err = of({ data = 1, meta = { source = "mcp", isError = true, content = content } })
      assert.is_nil(made)
      return { err.code, err.message, err.details.content }
    end
    assert.same({ "TOOL_ERROR", "no", { { text = "no" } } }, failed({ { text = "no" } }))
    for _, content in ipairs({ {}, "x", { 7 }, { { text = 7 } } }) do
      assert.same({ "TOOL_ERROR", "the tool failed", content }, failed(content))
    end
    assert.equal("1", of({ data = 1, meta = { source = "mcp", isError = false } }).body)
    assert.is_true(errors.is_error(select(2, of({ meta = { source = "mcp", isError = true } }))))
  end)
end)

describe("the answer of a handler's own HTTP envelope", function()
  it("has its status, where one with data may have it", function()
    for given, expected in pairs({ [200] = 200, [201] = 201, [299] = 299, [205] = 200, [206] = 200, [404] = 200,
      [199] = 200, [300] = 200, [200.5] = 200 }) do
      assert.equal(expected, http_of(1, { statusCode = given }).status)
    end
    assert.equal(201, http_of(1, { statusCode = 201 }, { id = "a.b", status = 202 }).status)
    assert.equal(202, http_of(1, { statusCode = 404 }, { id = "a.b", status = 202 }).status)
    assert.equal(200, of({ data = 1, meta = { source = "local", statusCode = 201 } }).status)
  end)

  it("has its headers, but for those of the connection and those that cannot be sent", function()
    local headers = http_of(1, { statusCode = 200, headers = { Location = "/x", ["X-N"] = 7, ["x-b"] = true,
      ["x-c"] = "a\nb", ["not a token"] = "x", connection = "close", ["Content-Length"] = "1", ["keep-alive"] = "1",
      ["transfer-encoding"] = "x", upgrade = "x", trailer = "x", te = "x", date = "x", ["proxy-authenticate"] = "x",
      ["proxy-connection"] = "x", setCookie = { "a=1", "b=2" }, ["Content-Type"] = "text/x" } }).headers
    assert.same({ ["cache-control"] = "no-store", location = "/x", ["x-n"] = "7", ["set-cookie"] = { "a=1", "b=2" },
      ["content-type"] = "text/x" }, headers)
    assert.equal("max-age=1", http_of(1, { headers = { ["Cache-Control"] = "max-age=1" } }).headers["cache-control"])
    assert.is_nil(http_of(1, { headers = { setCookie = "a=1" } }).headers["set-cookie"])
    assert.equal(200, http_of(1, { headers = "x" }).status)
  end)
end)

describe("the answer that another server gave", function()
  it("has the headers that speak of the data alone", function()
    local route = { id = "a.b", imported = true }
    local headers = http_of(1, { statusCode = 201, headers = { ["content-language"] = "de", etag = '"e"',
      ["last-modified"] = "m", link = "l", location = "/x", ["retry-after"] = "1", server = "s", ["set-cookie"] = "a=1",
      ["cache-control"] = "public", setCookie = { "a=1" } } }, route).headers
    assert.same({ ["cache-control"] = "no-store", ["content-type"] = "application/json", ["content-language"] = "de",
      etag = '"e"', ["last-modified"] = "m", link = "l", location = "/x", ["retry-after"] = "1" }, headers)
    assert.equal(201, http_of(1, { statusCode = 201 }, route).status)
    assert.equal(200, http_of(1, { headers = 7 }, route).status)
    assert.is_nil(http_of(1, { headers = { etag = 7 } }, route).headers.etag)
    assert.is_nil(of({ data = 1, meta = { source = "mcp", headers = { etag = "x" } } }, route).headers.etag)
  end)
end)
