-- What callers give must not become anything but a value: each place of a request, with values that mean something to
-- HTTP. A server on a raw socket says what came. A request is what it is with a harmless value, that value replaced.
local operations = require("operations")
local raw_server = require("spec.support.raw_server")
local support = require("spec.support.openapi")

local MARK = "MARKED"

local values = {
  "a\r\nX-Injected: 1", "a\r\n\r\nGET /admin HTTP/1.1\r\nHost: evil\r\n\r\n", "a\nb", "a\rb", "a\0b", "\r\n",
  ".", "..", "/../", "../../admin?", "%2e%2e", "%2E%2E%2F", "..%2f", "..;", "..\\..", "#", "a#b", "?", "a?b=c", "&",
  "a&b=c", "=", "+", "a b", " a ", "\t", "\"", "'", "a\"b'c", "<>", "`", "{x}", "a;b=c", "a,b", "|", "[0]", "%", "%zz",
  "%00", "%0d%0aX: 1", "\255\254", "a\192\175b", "\237\160\128", "\226\130\172", "\127", "\27[31m", "", "a:b@c",
  "//evil.test/", "http://evil.test/", ("x"):rep(100000),
}

local function encoded(text)
  return (text:gsub("[^%w._~-]", function(byte)
    return ("%%%02X"):format(byte:byte())
  end))
end

local function has_control(text)
  return text:find("[%z\1-\8\10-\31\127]") ~= nil
end

local function is_dots(text)
  return text == "" or text == "." or text == ".."
end

-- What stands where the mark stood; nil: refused.
local function path_value(text)
  return not is_dots(text) and encoded(text) or nil
end

local function header_value(text)
  return not has_control(text) and text:match("^[ \t]*(.-)[ \t]*$") or nil
end

local function bare_cookie(text)
  return not text:find("[%z\1-\31\127;]") and text or nil
end

-- RFC 6265, 4.1.1: what a cookie's value may hold as it is.
local function cookie_value(text)
  return text:find("[^\33\35-\43\45-\58\60-\126]") == nil and not text:find("\\", 1, true) and text or encoded(text)
end

local function form_value(text)
  return (encoded(text):gsub("%%20", "+"))
end

local function parameter(location, more)
  local node = { name = "p", ["in"] = location, required = location == "path" }
  for key, value in pairs(more or {}) do
    node[key] = value
  end
  return { parameters = { node } }
end

local function body(media_type, schema)
  return { requestBody = { content = { [media_type] = { schema = schema } } } }
end

local function as_parameter(value)
  return { p = value }
end

-- Each place: the operation, the input of a value, what is expected of it, the path template.
local places = {
  ["a path"] = { parameter("path"), as_parameter, path_value, path = "/x/{p}" },
  ["a part of a segment"] = { parameter("path"), as_parameter, encoded, path = "/x/v{p}:run" },
  ["a path of style label"] = { parameter("path", { style = "label" }), as_parameter, function(text)
    return not is_dots("." .. text) and encoded(text) or nil
  end, path = "/x/{p}" },
  ["a path of style matrix"] = { parameter("path", { style = "matrix" }), as_parameter, function(text)
    return text == "" and { ";p=" .. MARK, ";p" } or encoded(text)
  end, path = "/x/{p}" },
  ["an item of a path"] = { parameter("path"), function(value)
    return { p = { "a", value } }
  end, encoded, path = "/x/{p}" },
  ["a query"] = { parameter("query"), as_parameter, encoded },
  ["a name in a query"] = { parameter("query"), function(value)
    return { p = { [value] = "v" } }
  end, encoded },
  ["a name of style deepObject"] = { parameter("query", { style = "deepObject" }), function(value)
    return { p = { [value] = { "v" } } }
  end, encoded },
  ["a query of style spaceDelimited"] = { parameter("query", { style = "spaceDelimited" }), function(value)
    return { p = { "a", value } }
  end, encoded },
  ["all of a query"] = { parameter("querystring", { content = { ["text/plain"] = {} } }), as_parameter,
    function(text)
      return text == "" and { "?" .. MARK, "" } or encoded(text)
    end },
  ["a header"] = { parameter("header"), as_parameter, function(text)
    local value = header_value(text)
    return value == "" and { "p: " .. MARK, "p:" } or value
  end },
  ["an item of a header"] = { parameter("header"), function(value)
    return { p = { "a", value, "b" } }
  end, function(text)
    return not has_control(text) and text or nil
  end },
  ["a cookie"] = { parameter("cookie"), as_parameter, encoded },
  ["a cookie of style cookie"] = { parameter("cookie", { style = "cookie" }), function(value)
    return { p = { "a", value, "b" } }
  end, bare_cookie },
  ["a form"] = { body("application/x-www-form-urlencoded"), function(value)
    return { body = { p = value } }
  end, form_value, method = "post" },
  ["a name in a form"] = { body("application/x-www-form-urlencoded"), function(value)
    return { body = { [value] = "v" } }
  end, form_value, method = "post" },
  ["a text"] = { body("text/plain"), function(value)
    return { body = value }
  end, function(text)
    return text
  end, method = "post" },
}

describe("a value that is meant to be more stays a value:", function()
  local server

  setup(function()
    server = raw_server.start()
  end)

  teardown(function()
    server:stop()
  end)

  local function new_call(place, config)
    local doc = support.one(place[1], { path = place.path or "/x", method = place.method,
      doc = { openapi = "3.2.0", components = { securitySchemes = place.schemes } } })
    local registry = support.registry(doc, server.url, config)
    return function(value)
      local envelope, err = registry:execute("api.op", place[2](value))
      return envelope and envelope.data, err, envelope and tonumber(envelope.meta.headers["x-number"])
    end
  end

  -- The request with the mark replaced; its length told anew.
  local function expected(baseline, replacement)
    local mark, text = MARK, replacement
    if type(replacement) == "table" then
      mark, text = replacement[1], replacement[2]
    end
    local from, to = baseline:find(mark, 1, true)
    local request = baseline:sub(1, from - 1) .. text .. baseline:sub(to + 1)
    local difference = #text - #mark
    return (request:gsub("\r\nContent%-Length: (%d+)", function(size)
      return "\r\nContent-Length: " .. tostring(math.floor(size + difference))
    end, 1))
  end

  local function short(text)
    return #text > 40 and text:sub(1, 20) .. "... of " .. #text or ("%q"):format(text):gsub("\n", "n")
  end

  for name, place in pairs(places) do
    it(name, function()
      local call = new_call(place)
      local baseline, _, count = call(MARK)
      assert.matches(MARK, baseline, 1, true)
      for _, value in ipairs(values) do
        local wanted = place[3](value)
        local request, err, number = call(value)
        if wanted then
          count = count + 1
          assert(request, short(value) .. ": " .. tostring(err))
          if #request < 2000 then
            assert.equal(expected(baseline, wanted), request)
          else
            assert.is_true(expected(baseline, wanted) == request, short(value))
          end
          assert.equal(count, number)
        else
          assert.is_nil(request, short(value))
          assert.equal("VALIDATION_ERROR", err.code)
        end
      end
      assert.equal(count + 1, (select(3, call(MARK)))) -- what was refused was not sent
    end)
  end

  it("a megabyte in a head, which no server takes, is refused by its name", function()
    for _, location in ipairs({ "path", "query", "header", "cookie" }) do
      local call = new_call({ parameter(location), as_parameter, path = location == "path" and "/x/{p}" or nil })
      local request, err = call(("x"):rep(1024 * 1024))
      assert.is_nil(request)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("/p", err.details[1].path)
      assert.is_true(#err.message < 200)
    end
  end)

  it("a megabyte in a body is sent", function()
    local call = new_call(places["a form"])
    local value = ("\r\n&="):rep(256 * 1024)
    local request = assert(call(value))
    assert.is_true(request:sub(-#form_value(value) - 4) == "\r\n" .. "p=" .. form_value(value))
  end)

  it("a credential, which holds no control character", function()
    local schemes = {
      header = { type = "apiKey", ["in"] = "header", name = "X-Key" },
      query = { type = "apiKey", ["in"] = "query", name = "key" },
      cookie = { type = "apiKey", ["in"] = "cookie", name = "key" },
      bearer = { type = "http", scheme = "bearer" },
    }
    local wants = { header = header_value, query = encoded, cookie = cookie_value, bearer = header_value }
    for name in pairs(schemes) do
      local current
      local place = { { security = { { [name] = {} } } }, function() end, schemes = schemes }
      local call = new_call(place, { auth = { [name] = function()
        return current
      end } })
      current = MARK
      local baseline = assert(call())
      for _, value in ipairs(values) do
        current = value
        local request, err = call()
        local wanted = not value:find("[%z\1-\31\127]") and wants[name](value) or nil
        if wanted == nil then
          assert.equal("credential", err.details.kind)
        elseif wanted ~= "" and #value < 1000 and (name ~= "bearer" or value == wanted) then
          assert.equal(expected(baseline, wanted), request)
        end
      end
    end
  end)

  describe("in a multipart body", function()
    local schema = { type = "object", properties = { file = { type = "string", format = "binary" } } }

    local function escaped(text)
      return (text:gsub('[\r\n"]', { ["\r"] = "%0D", ["\n"] = "%0A", ['"'] = "%22" }))
    end

    local function is_utf8(text)
      return operations.json.encode(text) ~= nil
    end

    local function check(input_of, wanted_of)
      local call = new_call({ body("multipart/form-data", schema), input_of, method = "post" })
      local function bare(request)
        local boundary = request:match("boundary=([%w-]+)")
        return (request:gsub(boundary:gsub("%-", "%%-"), "B"):gsub("Content%-Length: %d+", ""))
      end
      local baseline = bare(assert(call(MARK)))
      for _, value in ipairs(values) do
        local wanted = wanted_of(value)
        local request, err = call(value)
        if wanted and #value < 1000 then
          assert(request, short(value) .. ": " .. tostring(err))
          assert.equal(expected(baseline, wanted), bare(request))
        elseif not wanted then
          assert.is_nil(request, short(value))
          assert.equal("VALIDATION_ERROR", err.code)
        end
      end
    end

    local function name_value(text)
      return is_utf8(text) and not text:find("%z") and escaped(text) or nil
    end

    it("a name", function()
      check(function(value)
        return { body = { [value] = "v" } }
      end, name_value)
    end)

    it("a file name", function()
      check(function(value)
        return { body = { file = { data = "v", filename = value } } }
      end, name_value)
    end)

    it("a media type of a part", function()
      check(function(value)
        return { body = { file = { data = "v", contentType = "a/b; c=" .. value } } }
      end, function(text)
        return not text:find("[^\32-\126]") and text or nil
      end)
    end)

    it("a header of a part", function()
      check(function(value)
        return { body = { file = { data = "v", headers = { ["X-Part"] = value } } } }
      end, function(text)
        return not has_control(text) and text or nil
      end)
    end)

    it("a part's bytes", function()
      check(function(value)
        return { body = { file = value } }
      end, function(text)
        return text
      end)
    end)
  end)
end)
