local module = require("operations.reactor")
require("operations.transfer")
local stream = require("operations.net.stream")
local operations = require("operations")

local TEXTS = { "url", "method", "proxy", "ca_file", "cert_file", "key_file", "key_password" }
local NUMBERS = { "window", "max_body", "max_headers", "keep_alive", "connection_age",
  "dns_cache", "idle_connections", "host_connections",
  "connections", "idle_timeout", "connect_timeout", "first_byte_timeout", "timeout", "deadline", "upload_size" }

describe("the options of a transfer", function()
  local reactor

  before_each(function()
    reactor = assert(module.new())
  end)

  after_each(function()
    reactor:close()
  end)

  local function refused(name, value)
    local options = { url = "http://127.0.0.1:1/", method = "GET" }
    options[name] = value
    local ok, raised = pcall(reactor.http, reactor, options)
    assert.is_false(ok)
    local usual = { [name] = value }
    local ok_of_all, raised_of_all = pcall(function()
      local another = module.new(usual)
      another:http({ url = "http://127.0.0.1:1/", method = "GET" })
    end)
    assert.is_false(ok_of_all)
    assert.equal((raised:gsub("^.-:%d+: ", "")), (raised_of_all:gsub("^.-:%d+: ", "")))
    return raised
  end

  it("that are texts take no other type and no NUL", function()
    for _, name in ipairs(TEXTS) do
      for _, value in ipairs({ 5, true, {} }) do
        local message = ("bad option '%s' (string expected, got %s)"):format(name, type(value))
        assert.matches(message, refused(name, value), 1, true)
      end
      assert.matches(("bad option '%s' (contains a NUL)"):format(name), refused(name, "a\0b"), 1, true)
    end
  end)

  it("that are numbers take no other type and none below 0", function()
    for _, name in ipairs(NUMBERS) do
      for _, value in ipairs({ "soon", true, {} }) do
        local message = ("bad option '%s' (number expected, got %s)"):format(name, type(value))
        assert.matches(message, refused(name, value), 1, true)
      end
      for _, value in ipairs({ -1, -0.001, -math.huge, 0 / 0 }) do
        assert.matches(("bad option '%s' (negative)"):format(name), refused(name, value), 1, true)
      end
    end
  end)

  it("include an address and a method, and headers that are strings", function()
    for _, options in ipairs({ {}, { url = "http://a/" }, { method = "GET" } }) do
      assert.error_matches(function() reactor:http(options) end, "bad options %('url' and 'method' expected%)")
    end
    local usual = module.new({ url = "http://a/", method = "GET" })
    assert.error_matches(function() usual:http({}) end, "bad options %('url' and 'method' expected%)")
    for _, headers in ipairs({ { 1 }, { "A: b", true }, { "A: b", {}, "C: d" } }) do
      assert.error_matches(function()
        reactor:http({ url = "http://a/", method = "GET", headers = headers })
      end, "bad option 'headers' %(strings expected%)")
    end
    assert.error_matches(function() reactor:http({ url = "http://a/", method = "GET", body = 5 }) end,
      "bad option 'body' %(string expected, got number%)")
    assert.error_matches(function() reactor:http("http://a/") end, "table expected")
    assert.equal(0, reactor:inflight())
  end)

  it("of a connection are those, and an address alone is needed", function()
    for _, name in ipairs(TEXTS) do
      assert.error_matches(function() reactor:connect({ url = "http://a/", [name] = {} }) end,
        "bad option '" .. name .. "' %(string expected, got table%)")
    end
    assert.error_matches(function() reactor:connect({ url = "http://a/", queue = "x" }) end,
      "bad option 'queue' %(number expected, got string%)")
    assert.error_matches(function() reactor:connect({ method = "GET" }) end, "bad options %('url' expected%)")
    assert.error_matches(function() reactor:connect() end, "table expected")
    local handle = assert(reactor:connect({ url = "http://127.0.0.1:1/" }, "owner"))
    assert.equal("owner", handle:owner())
    assert.error_matches(function() handle:transmit("x") end, "not a stream that is connected")
    repeat
      reactor:step(-1)
    until reactor:pending()
    local told, kind, what = reactor:next()
    assert.same({ handle, "error", "connect" }, { told, kind, what })
    assert.equal(0, reactor:inflight())
  end)

  it("include no address of another scheme", function()
    for _, start in ipairs({ "file:///etc/passwd", "ftp://127.0.0.1:1/", "gopher://127.0.0.1:1/" }) do
      local handle = assert(reactor:http({ url = start, method = "GET" }))
      repeat
        reactor:step(-1)
      until reactor:pending()
      local told, kind, what, message = reactor:next()
      assert.same({ handle, "error", "protocol" }, { told, kind, what })
      assert.matches('Protocol "%a+" ', message) -- is not supported or disabled
    end
  end)

  it("are known by their whole names, whatever others there are", function()
    local handle = assert(reactor:http({ url = "http://127.0.0.1:1/", method = "GET", [5] = true, ur = 5, urls = 5,
      timeou = "x", Timeout = "x", ["timeout\0"] = "x", [true] = 1 }))
    handle:cancel()
  end)

  it("lend as many bytes as are asked for, from 1 to 2^31 - 1", function()
    local handle = assert(reactor:http({ url = "http://127.0.0.1:1/", method = "GET", stream = true }))
    for _, size in ipairs({ 0, -1, 0.5, 2 ^ 31, math.huge, 0 / 0 }) do
      assert.error_matches(function() handle:lend(size) end, "out of range")
    end
    for _, size in ipairs({ 1, 2 ^ 31 - 1 }) do
      assert.equal(0, select("#", handle:lend(size)))
    end
    assert.error_matches(function() handle:lend() end, "number expected")
    assert.error_matches(function() handle:write() end, "string expected")
    for _, name in ipairs({ "read", "lend", "write", "pause", "resume" }) do
      assert.error_matches(function() handle[name](reactor:timer(1), "1") end, "not a transfer")
    end
  end)

  -- What is asked of a server.
  local function asked(options)
    local head
    operations.run(function()
      local listener = assert(stream.listen("127.0.0.1", 0, function(accepted)
        local text = ""
        accepted:each_chunk(function(bytes)
          text = text .. (bytes or "")
          if text:find("\r\n\r\n", 1, true) and not head then
            head = text
            accepted:offer("HTTP/1.1 204 x\r\n\r\n", true)
          end
        end)
      end))
      options.url = ("http://127.0.0.1:%d%s"):format(listener.port, options.url or "/")
      operations.http.request(options)
      listener:close()
    end)
    return head
  end

  it("name their own method, however long that and the one before are", function()
    for _, length in ipairs({ 1, 15, 16, 17, 40 }) do
      for _, last in ipairs({ "A", "B", "B", "A" }) do
        local method = ("X"):rep(length - 1) .. last
        local head = asked({ method = method })
        assert.equal(method, head:match("^(%S+) / HTTP/1.1\r\n"))
        assert.is_nil(head:find("Content%-Length"))
      end
    end
  end)

  it("name a method, a path and headers, and their defaults", function()
    local head = asked({ method = "BREW", url = "/a?b=%20", headers = { ["X-One"] = "1", ["X-None"] = "" } })
    assert.matches("^BREW /a%?b=%%20 HTTP/1.1\r\n", head)
    assert.matches("\r\nX%-One: 1\r\n", head)
    assert.matches("\r\nX%-None:%s*\r\n", head)
    assert.matches("\r\nHost: 127.0.0.1:%d+\r\n", head)
    assert.matches("\r\nAccept%-Encoding: [^\r]*gzip", head)
    assert.is_nil(head:find("Content%-Length") or head:find("Expect:") or head:find("Transfer%-Encoding"))
    assert.matches("\r\nContent%-Length: 0\r\n", asked({ method = "POST" }))
    assert.matches("\r\nContent%-Length: 3\r\n\r\nabc$", asked({ method = "PUT", body = "abc" }))
    assert.matches("^HEAD / HTTP/1.1\r\n", asked({ method = "HEAD" }))
    local own = asked({
      headers = { Host = "other", ["User-Agent"] = "me", Accept = "a/b", ["Accept-Encoding"] = "x" },
    })
    for _, line in ipairs({ "Host: other", "User-Agent: me", "Accept: a/b", "Accept-Encoding: x" }) do
      local name = line:match("^[^:]*")
      assert.equal(1, select(2, own:lower():gsub("\r\n" .. name:lower():gsub("%-", "%%-") .. ":", "")), name)
      assert.truthy(own:find("\r\n" .. line .. "\r\n", 1, true), line)
    end
  end)
end)
