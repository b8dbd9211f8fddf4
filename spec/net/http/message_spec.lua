local members = require("operations.base.members")
local message = require("operations.net.http.message")

local function prepare(text)
  local request, problem = message.prepare({ url = text })
  return problem or request.url
end

describe("the URL of a request", function()
  for _, text in ipairs({
    "http://a/", "https://a.b-c.example:8080/", "http://127.0.0.1:1/x?y=%20&z", "http://a:/",
    "http://a", "http://a:80", "HTTP://a/", "http://[::1]/",
  }) do
    it("stays as it is: " .. text, function()
      assert.equal(text, prepare(text))
    end)
  end

  it("has its host in the form of DNS, and other bytes than ASCII percent-encoded", function()
    assert.equal("https://A9/%C3%A4?%FF", prepare("https://A9/\195\164?\255"))
    assert.equal("http://xn--bcher-kva.a:1/", prepare("http://bücher.a:1/"))
    assert.equal("http://a/%C3%A9", prepare("http://a/é#é"))
  end)

  it("loses its fragment", function()
    assert.equal("http://a/?b", prepare("http://a/?b#c"))
    assert.equal("http://a", prepare("http://a#/"))
  end)

  for text, problem in pairs({
    [""] = "not an http", ["http:/"] = "not an http", ["ftp://a/"] = "not an http", ["httpx://a/"] = "not an http",
    ["//a/"] = "not an http", ["http://"] = "no valid host", ["http:///"] = "no valid host",
    ["http://a%2f/"] = "no valid host", ["http://u@a/"] = "a user name", ["http://a b/"] = "a blank",
    ["http://a/ "] = "a blank", ["http://a/\t"] = "a control", ["http://a/\127"] = "a control",
    ["http://a/\0"] = "a control", ["http://a\0/"] = "a control", ["http://a/#\n"] = "a control",
  }) do
    it(("is refused: %q"):format(text), function()
      assert.truthy(prepare(text):find(problem, 1, true), prepare(text))
    end)
  end

  it("is read in linear time, however long its host", function()
    assert.equal("http://" .. ("1"):rep(1000000), prepare("http://" .. ("1"):rep(1000000)))
  end)
end)

describe("the headers of a request", function()
  local version = require("operations.base.version")

  local function lines(headers, more)
    local options = { url = "http://a/", headers = headers }
    for name, value in pairs(more or {}) do
      options[name] = value
    end
    local request, problem = message.prepare(options)
    return problem or table.concat(request.headers, "|")
  end

  local agent = "User-Agent: operations/" .. version

  it("have our name, unless they have another", function()
    assert.equal(agent, lines(nil))
    assert.equal(agent, lines({}))
    assert.equal("user-agent: x", lines({ ["user-agent"] = "x" }))
  end)

  it("are in the order of their names, lists as several lines", function()
    assert.equal("A: 1|B: x|B: y|" .. agent, lines({ B = { "x", "y" }, A = 1 }))
    assert.equal("A;|B;|" .. agent, lines({ A = "", B = " \t" }))
  end)

  it("have numbers in full, and no others than finite ones", function()
    assert.equal("A: 9007199254740992|" .. agent, lines({ A = 2 ^ 53 }))
    assert.equal("A: 1.5|" .. agent, lines({ A = 1.5 }))
    assert.equal("A: -3|" .. agent, lines({ A = -3.0 }))
    for _, number in ipairs({ 0 / 0, math.huge, -math.huge }) do
      assert.equal("the value of header 'A' is not a finite number", lines({ A = number }))
    end
  end)

  it("have names that are tokens, and values without control characters", function()
    assert.equal('the header name "a b" is not a token', lines({ ["a b"] = "x" }))
    assert.equal('the header name "" is not a token', lines({ [""] = "x" }))
    assert.equal("the value of header 'A' contains a control character", lines({ A = "x\r\ny" }))
    assert.equal("the value of header 'A' contains a control character", lines({ A = { "x", "\0" } }))
    assert.equal("A: x\ty|" .. agent, lines({ A = "x\ty" }))
    for _, name in ipairs({ "Content-Length", "transfer-encoding" }) do
      assert.equal(("the header '%s' is set by the client itself"):format(name), lines({ [name] = "1" }))
    end
  end)

  it("say no more about a body than they are asked to", function()
    assert.equal(agent .. "|Content-Type:|Expect:", lines(nil, { body = "x" }))
    assert.equal(agent .. "|Content-Type:|Expect:", lines(nil, { method = "POST" }))
    assert.equal("content-type: a/b|expect: 100-continue|" .. agent,
      lines({ ["content-type"] = "a/b", expect = "100-continue" }, { body = "x" }))
  end)

  it("have one line of cookies", function()
    local jar = { header = function(_, address)
      return address == "http://a/" and "b=2" or nil
    end, store = print }
    assert.equal(agent .. "|Cookie: b=2", lines(nil, { jar = jar }))
    assert.equal("cookie: a=1; b=2|" .. agent, lines({ cookie = "a=1" }, { jar = jar }))
    assert.equal(agent, lines(nil, { jar = jar, url = "http://b/" }))
  end)
end)

describe("a request for the reactor", function()
  local function prepared(more, stream)
    local options = { url = "http://a/" }
    for name, value in pairs(more or {}) do
      options[name] = value
    end
    return message.prepare(options, stream)
  end

  it("has the options that are its own", function()
    local given = { ca_file = "a", cert_file = "b", key_file = "c", key_password = "d", connect_timeout = 1,
      first_byte_timeout = 2, idle_timeout = 3, max_body = 4, max_headers = 5, insecure = true, window = 6 }
    local request = prepared(given)
    for name, value in pairs(given) do
      assert.equal(value, request[name])
    end
    assert.is_nil(request.retry)
  end)

  it("has a timeout, unless that is 0", function()
    assert.equal(5, prepared({ timeout = 5 }).timeout)
    assert.is_nil(prepared({ timeout = 0 }).timeout)
  end)

  it("has no proxy where there is to be none, or where only public addresses are reached", function()
    assert.is_nil(prepared({}).proxy)
    assert.equal("http://p", prepared({ proxy = "http://p" }).proxy)
    assert.equal("", prepared({ proxy = false }).proxy)
    assert.equal("", prepared({ public_only = true }).proxy)
    assert.equal("http://p", prepared({ public_only = true, proxy = "http://p" }).proxy)
  end)

  it("is a stream where one is opened", function()
    assert.same({ true, true }, { prepared({}, true).stream, prepared({}, true).join })
    assert.is_nil(prepared({}).stream)
  end)

  it("is sent once, unless its method, a key or the program say otherwise, or its body can be read once", function()
    for _, method in ipairs({ "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY" }) do
      assert.is_nil(prepared({ method = method }).once)
    end
    for _, method in ipairs({ "POST", "PATCH", "X-ODD" }) do
      assert.is_true(prepared({ method = method }).once)
      assert.is_nil(prepared({ method = method, idempotent = true }).once)
      assert.is_nil(prepared({ method = method, headers = { ["Idempotency-Key"] = "k" } }).once)
    end
    assert.is_true(prepared({ method = "PUT", body = print }).once)
  end)

  it("has a body as bytes, or a function that reads it", function()
    assert.equal("x", prepared({ body = "x" }).body)
    local request = prepared({ method = "PUT", body = print, body_size = 7 })
    assert.same({ print, true, 7 }, { request.source, request.upload, request.upload_size })
    local reader = { read = print }
    assert.equal(reader, prepared({ method = "PUT", body = reader }).source)
  end)

  it("is not decoded where the program says which encodings it takes", function()
    assert.is_false(prepared({ headers = { ["Accept-Encoding"] = "br" } }).decode)
    assert.is_nil(prepared({}).decode)
  end)

  it("is refused with a bad method, or a body of HEAD", function()
    assert.equal("the method is not a token", select(2, prepared({ method = "A B" })))
    assert.equal("?", (prepared({ method = "A B" }).method))
    assert.equal("a HEAD request has no body", select(2, prepared({ method = "HEAD", body = "x" })))
  end)
end)

describe("the options of a request", function()
  local function raised(options)
    local ok, text = pcall(message.prepare, options)
    assert.is_false(ok)
    return (text:gsub("^[^ ]*:%d+: ", ""))
  end

  it("are refused where they are unknown or of another type", function()
    for text, option in pairs({
      ["bad option 'other' (unknown)"] = { other = 1 },
      ["bad option 'timeout' (number expected, got string)"] = { timeout = "1" },
      ["bad option 'timeout' (negative or not a number)"] = { timeout = -1 },
      ["bad option 'max_body' (negative or not a number)"] = { max_body = 0 / 0 },
      ["bad option 'insecure' (boolean expected, got number)"] = { insecure = 1 },
      ["bad option 'method' (string expected, got number)"] = { method = 1 },
      ["bad option 'body' (string, function or reader expected, got table)"] = { body = {} },
      ["bad option 'body' (string, function or reader expected, got number)"] = { body = 7 },
      ["bad option 'proxy' (string or false expected, got boolean)"] = { proxy = true },
      ["bad option 'jar' (jar expected, got table)"] = { jar = {} },
      ["bad option 'jar' (jar expected, got table) "] = { jar = { header = print } },
      ["bad option 'credentials' (names expected, got number)"] = { credentials = { "a", 7 } },
      ["bad option 'query_credentials' (names expected, got number)"] = { query_credentials = { 7 } },
      ["bad option 'headers' (names expected as keys, got number)"] = { headers = { "x" } },
      ["bad header 'A' (string expected, got boolean)"] = { headers = { A = true } },
    }) do
      option.url = "http://a/"
      assert.equal(text:gsub(" $", ""), raised(option))
    end
    assert.equal("bad option 'url' (string expected, got nil)", raised({}))
    assert.equal("bad argument #1 'options' (table expected, got string)", raised("http://a/"))
  end)
end)

describe("a request as another one", function()
  local function vary(from, own)
    return message.vary(from, members.names(from), own)
  end

  local function base(more)
    local options = { url = "http://a/", headers = { A = "1" } }
    for name, value in pairs(more or {}) do
      options[name] = value
    end
    return (message.prepare(options))
  end

  it("has its own given fields, and the rest of the other one", function()
    local first = base({ method = "POST", timeout = 5 })
    local request, problem = vary(first, { url = "http://b/", body = "x" })
    assert.is_nil(problem)
    assert.same({ "http://b/", "x", 5, first.headers, first.options }, { request.url, request.body, request.timeout,
      request.headers, request.options })
    assert.equal("http://a/", first.url)
    assert.is_nil(first.body)
    assert.equal("http://a/", vary(first, {}).url)
  end)

  it("has the headers that go with its own, or with its body", function()
    assert.equal("B: 2", vary(base(), { headers = { B = "2" } }).headers[1])
    assert.equal(4, #vary(base(), { body = "x" }).headers)
    assert.is_true(vary(base({ method = "PUT" }), { body = print }).upload)
  end)

  it("is refused for another URL as the first would be", function()
    assert.equal("the URL is not an http or https URL", select(2, vary(base(), { url = "ftp://b/" })))
    assert.equal("http://b/", vary(base(), { url = "http://b/#f" }).url)
  end)
end)
