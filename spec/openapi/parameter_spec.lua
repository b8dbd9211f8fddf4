local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

local function vectors()
  local file = assert(io.open("spec/vectors/openapi/parameters.json", "rb"))
  local text = file:read("*a")
  file:close()
  return assert(operations.json.decode(text))
end

--- What of a request the vectors speak of, as the server saw it.
local function seen(echo, location)
  if location == "path" then
    return (echo.uri:match("^/echo/at/(.*)$"))
  elseif location == "query" or location == "querystring" then
    return echo.uri:match("%?(.*)$") or ""
  elseif location == "header" then
    return echo.headers.p
  end
  return echo.headers.cookie
end

describe("a parameter on the wire:", function()
  local running = server.around(setup, teardown)

  --- What a real server saw of a call; or nil and the error.
  local function call(vector)
    local parameter = vector.parameter
    parameter.required = parameter["in"] == "path" or nil
    local template = parameter["in"] == "path" and "/echo/at/{p}" or "/echo"
    local registry = support.registry(support.one({ parameters = { parameter } },
      { path = template, doc = { openapi = "3.2.0" } }), running.url)
    local envelope, err = registry:execute("api.op", { [parameter.name] = vector.value })
    return envelope and seen(envelope.data, parameter["in"]), err
  end

  for _, vector in ipairs(vectors()) do
    it(vector.name, function()
      local found, err = call(vector)
      if vector.refused then
        assert.is_nil(found)
        assert.equal("VALIDATION_ERROR", err.code)
        assert.equal("/p", err.details[1].path:sub(1, 2))
      else
        assert.is_nil(err)
        assert.equal(vector.sent, found)
      end
    end)
  end

  it("refuses invalid numbers", function()
    for _, value in ipairs({ 0 / 0, math.huge, -math.huge }) do
      local found, err = call({ parameter = { name = "p", ["in"] = "query" }, value = value })
      assert.is_nil(found)
      assert.equal("VALIDATION_ERROR", err.code)
    end
  end)

  it("sends integers of 64 bits in full", function()
    for _, text in ipairs({ "9007199254740993", "-9223372036854775808", "18446744073709551615" }) do
      local value = operations.json.decode(text)
      assert.equal("p=" .. text, (call({ parameter = { name = "p", ["in"] = "query" }, value = value })))
      local list = { parameter = { name = "p", ["in"] = "query", explode = false }, value = { value, value } }
      assert.equal("p=" .. text .. "," .. text, (call(list)))
    end
  end)

  it("refuses functions", function()
    local found, err = call({ parameter = { name = "p", ["in"] = "query" }, value = print })
    assert.is_nil(found)
    assert.equal("/p", err.details[1].path)
  end)
end)
