local command = require("spec.support.command")
local middleware = require("operations.middleware")
local http_server = require("operations.http_server")
local message = require("operations.net.http.message")
local number_text = require("operations.base.number_text")
local operations = require("operations")
local process = require("operations.net.process")
local redis = require("operations.redis")
local style = require("operations.openapi.style")
local task = require("operations.task")

local fractions = { [0.5] = "0.5", [-1.25] = "-1.25", [0.1 + 0.2] = "0.30000000000000004", [1.5e-9] = "1.5e-09",
  [2.5e300] = "2.5e+300" }

describe("the text of a number", function()
  it("has all digits of a whole number, and no fraction", function()
    assert.same({ "7", "7", "-1", "1000000000000000", "1e+18", "true", "x" }, { number_text.of(7), number_text.of(7.0),
      number_text.of(-1.0), number_text.of(1e15), number_text.of(1e18), number_text.of(true), number_text.of("x") })
    assert.equal("18446744073709551615", number_text.of(assert(operations.json.decode("18446744073709551615"))))
  end)

  it("reads back the same", function()
    for value, text in pairs(fractions) do
      assert.equal(text, number_text.of(value))
      assert.equal(text, style.value_text(value))
    end
    assert.equal("[0.5,1.5]", style.value_text({ 0.5, 1.5 }))
  end)

  it("has so many digits after the point as are asked for", function()
    assert.same({ "1.50", "-0.3", "2" }, { number_text.fixed(1.5, 2), number_text.fixed(-0.25001, 1),
      number_text.fixed(2.2, 0) })
  end)

  it("is the same in header fields, of requests and of answers, and in commands of Redis", function()
    local request = message.prepare({ url = "http://localhost/", headers = { ["X-Share"] = 0.5 } })
    assert.same({ "X-Share: 0.5" }, { request.headers[1] })
    assert.equal("HTTP/1.1 200 OK\r\nx-share: 0.5\r\nDate: x\r\nContent-Length: 0\r\n\r\n",
      http_server.answer(200, { ["x-share"] = 0.5 }, "", "x"))
    assert.equal("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\n0.5\r\n", redis.command("SET", "a", 0.5))
  end)

  it("is the same in figures, in refusals and in variables of the environment", function()
    local text = middleware.metrics({ buckets = { 0.25, 1 } }):text()
    assert.is_nil(text:find(",25", 1, true))
    assert.has_error(function() middleware.breaker({ failures = 0.5 }) end)
    local _, raised = pcall(middleware.timeout, 0.5)
    assert.matches("got 0.5", raised, 1, true)
    task.run(function()
      local child = assert(process.spawn({ "sh", "-c", "printf %s \"$SHARE\"", env = { SHARE = 0.5 } }))
      assert.equal("0.5", child:read())
      child:wait()
    end)
  end)
end)

-- The specs of what writes numbers into requests, answers and figures.
local writers = "spec/base/number_text_spec.lua spec/openapi/style_spec.lua spec/openapi/form_spec.lua "
  .. "spec/middleware/plain_spec.lua "
  .. "spec/net/http/message_spec.lua spec/people/schema_text_spec.lua spec/schema/cast_spec.lua"

describe("where the locale has a decimal comma", function()
  it("all numbers are written the same", function()
    local directory = os.tmpname()
    os.remove(directory)
    local built = command.run(("mkdir %s && localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8"):format(directory, directory))
    if built.err:find("not found") or built.err:find("cannot open", 1, true) then
      return pending("localedef or its sources are not installed")
    end
    local env = command.environment()
    local result = command.run(([[LOCPATH=%s LUA_PATH='%s' LUA_CPATH='%s' lua -e '
      assert(os.setlocale("de_DE.UTF-8", "numeric"))
      assert(jit or tostring(1.5) == "1,5")' spec/support/runner/busted.lua --no-auto-insulate -o TAP \
      --filter-out="decimal comma" %s
    ]]):format(directory, env.LUA_PATH, env.LUA_CPATH, writers))
    os.execute("rm -rf " .. directory)
    assert.equal(0, result.code, result.out:gsub("ok %d[^\n]*\n", "") .. result.err)
    assert.matches("\n1%.%.%d%d%d", result.out)
  end)
end)
