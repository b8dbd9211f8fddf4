local response_writer = require("operations.server.response_writer")

describe("the date of an answer", function()
  it("is written as HTTP has it", function()
    assert.equal("Sun, 06 Nov 1994 08:49:37 GMT", response_writer.date(784111777000))
    assert.equal("Sun, 06 Nov 1994 08:49:37 GMT", response_writer.date(784111777999))
    assert.equal("Sun, 06 Nov 1994 08:49:38 GMT", response_writer.date(784111778000))
    assert.equal("Thu, 01 Jan 1970 00:00:00 GMT", response_writer.date(0))
    for month, name in ipairs({ "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }) do
      local time = os.time({ year = 2026, month = month, day = 15, hour = 12 })
      assert.matches("^%a%a%a, 15 " .. name .. " 2026 ", response_writer.date(time * 1000))
    end
    for day, name in ipairs({ "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed" }) do
      assert.matches("^" .. name .. ", 0" .. day, response_writer.date((day - 1) * 86400000))
    end
  end)
end)

describe("an answer", function()
  it("has no body by its status", function()
    local function has_body(status)
      return response_writer.bytes({ status = status, headers = {}, body = "abc" }, { now = 0 })
        :find("abc", 1, true) ~= nil
    end
    for _, status in ipairs({ 100, 199, 204, 304 }) do
      assert.is_false(has_body(status))
    end
    for _, status in ipairs({ 200, 203, 205, 303, 305, 404 }) do
      assert.is_true(has_body(status))
    end
  end)

  it("is framed by its body", function()
    local function bytes(body, framing)
      framing = framing or {}
      framing.now = 0
      return (response_writer.bytes({ status = 200, headers = {}, body = body }, framing):gsub("\r\n", "|"))
    end
    local date = "Date: Thu, 01 Jan 1970 00:00:00 GMT|"
    assert.truthy(bytes("abc"):lower():find(date:lower(), 1, true))
    assert.matches("content%-length: 3|", bytes("abc"):lower())
    assert.matches("|abc$", bytes("abc"))
    assert.matches("content%-length: 0|", bytes(nil):lower())
    assert.matches("transfer%-encoding: chunked|", bytes(print, { chunked = true }):lower())
    assert.is_nil(bytes(print):lower():find("chunked", 1, true))
    assert.matches("connection: close|", bytes("abc", { connection = "close" }):lower())
    assert.matches("content%-length: 3|", bytes("abc", { head_only = true }):lower())
    assert.matches("||$", bytes("abc", { head_only = true }))
    assert.is_nil(bytes(nil, { head_only = true }):lower():find("content-length", 1, true))
  end)
end)

describe("the response of a handler", function()
  it("is told what is wrong with it", function()
    for message, response in pairs({
      ["a response expected, got string"] = "x", ["a response with a status expected, got nil"] = {},
      ["a response with a status expected, got 200.5"] = { status = 200.5 },
      ["a response with a status expected, got 99"] = { status = 99 },
      ["a response with a status expected, got 1000"] = { status = 1000 },
      ["a final status expected, got 100"] = { status = 100 }, ["a final status expected, got 199"] = { status = 199 },
      ["a final status expected, got 101"] = { status = 101 },
      ["a final status expected, got 102"] = { status = 102, upgrade = print },
      ["headers of a response: table expected, got string"] = { status = 200, headers = "x" },
      ["body of a response: string or function expected, got table"] = { status = 200, body = {} },
    }) do
      assert.equal(message, response_writer.flaw(response))
    end
    assert.equal("a response expected, got nil", response_writer.flaw(nil))
  end)

  it("may have any final status, or switch to another protocol", function()
    for _, response in ipairs({ { status = 200 }, { status = 999, headers = {}, body = "x" },
      { status = 200, body = print }, { status = 101, upgrade = print } }) do
      assert.is_nil(response_writer.flaw(response))
    end
  end)
end)
