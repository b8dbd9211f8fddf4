local core = require("operations.core")
local handshake = require("operations.net.handshake")
local limits = require("operations.base.limits")
local operations = require("operations")
local scheduler = require("operations.task.scheduler")

-- The example of RFC 6455, 1.3.
local KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

local function with(fields, more)
  local all = {}
  for _, list in ipairs({ fields, more or {} }) do
    for name, value in pairs(list) do
      all[name] = value or nil
    end
  end
  return all
end

describe("a handshake", function()
  it("has a deadline of its own, or the earlier one of its task, which continues afterwards", function()
    operations.run(function()
      local now = core.now()
      local function deadline()
        return scheduler.deadline_of(scheduler.here())
      end
      for _, case in ipairs({ { nil, 60000 }, { 30000, 30000 }, { 90000, 60000 } }) do
        local outer = case[1] and now + case[1]
        scheduler.deadline(outer)
        local given = { handshake.within(60000, function(first, second)
          assert.is_true(math.abs(deadline() - now - case[2]) < 5000)
          return first, second, "detail"
        end, false, "err") }
        assert.same({ false, "err", "detail" }, given)
        assert.equal(outer, deadline())
      end
      scheduler.deadline(nil)
    end)
  end)
end)

describe("the request of a WebSocket client", function()
  local opening = { host = "a.test:8080", path = "/hub?x=1", key = KEY, protocol = "ops" }
  local head = "GET /hub?x=1 HTTP/1.1\r\nHost: a.test:8080\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    .. "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " .. KEY .. "\r\nSec-WebSocket-Protocol: ops\r\n"

  it("is a head of HTTP/1.1, with the given fields", function()
    assert.equal(head .. "\r\n", handshake.request(opening))
    assert.equal(head .. "Authorization: Bearer t\r\n\r\n",
      handshake.request(with(opening, { headers = { Authorization = "Bearer t" } })))
  end)
end)

describe("the answer to a WebSocket client", function()
  local opening = { key = KEY, protocol = "ops" }
  local good = { "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
    "Sec-WebSocket-Accept: " .. ACCEPT }

  -- Reads an answer: `good` with other lines in the given places.
  local function read(other, rest)
    local lines = {}
    for i, line in pairs(with(good, other)) do
      lines[#lines + 1] = { i, line }
    end
    table.sort(lines, function(a, b) return a[1] < b[1] end)
    for i, line in ipairs(lines) do
      lines[i] = line[2]
    end
    return handshake.read_response(opening, table.concat(lines, "\r\n") .. "\r\n\r\n" .. (rest or ""))
  end

  it("opens the connection, which gets the bytes that follow it", function()
    assert.equal("", read({}))
    assert.equal("frames", read({}, "frames"))
    for _, other in ipairs({ { "HTTP/1.1 101" }, { [2] = "UPGRADE:  h2c , WebSocket \t" },
      { [3] = "connection: keep-alive, upgrade" }, { [3] = "Connection: keep-alive", [5] = "Connection: Upgrade" },
      { [5] = "Sec-WebSocket-Protocol: ops" }, { [5] = "Empty:" } }) do
      assert.equal("x", read(other, "x"))
    end
  end)

  it("is waited for until it is whole", function()
    local text = table.concat(good, "\r\n") .. "\r\n\r\n"
    for i = 0, #text - 1 do
      assert.same({}, { handshake.read_response(opening, text:sub(1, i)) })
    end
  end)

  it("that refuses says why", function()
    for message, other in pairs({
      ["the server does not speak HTTP/1.1"] = { "HTTP/1.0 101 OK" },
      ["the server answered 200"] = { "HTTP/1.1 200 OK" },
      ["the server answered 404"] = { "HTTP/1.1 404 Not Found" },
      ["the server did not upgrade the connection"] = { [2] = "Upgrade: h2c" },
      ["the server did not read the key (Sec-WebSocket-Accept)"] = { [4] = "Sec-WebSocket-Accept: " .. KEY },
      ["the server does not speak ops"] = { [5] = "Sec-WebSocket-Protocol: other" },
      ["the server chose an extension that was not offered"] = { [5] = "Sec-WebSocket-Extensions: permessage-deflate" },
      ["a header field is malformed"] = { [5] = "no colon" },
    }) do
      local rest, err = read(other)
      assert.is_nil(rest)
      assert.same({ "TRANSPORT_LOST", message, "handshake" }, { err.code, err.message, err.details.kind })
    end
    for _, other in ipairs({ { [3] = false }, { [3] = "Connection: close" }, { [2] = false } }) do
      assert.equal("the server did not upgrade the connection", select(2, read(other)).message)
    end
    for _, field in ipairs({ ": x", "a b: x", "a\0: x", "a: \0" }) do
      assert.equal("a header field is malformed", select(2, read({ [5] = field })).message)
    end
  end)

  it("with status 401 or 403 denies access; nothing has run", function()
    for status, code in pairs({ ["401"] = "ACCESS_DENIED", ["403"] = "ACCESS_DENIED", ["400"] = "TRANSPORT_LOST",
      ["402"] = "TRANSPORT_LOST", ["503"] = "TRANSPORT_LOST" }) do
      local _, err = read({ "HTTP/1.1 " .. status .. " x" })
      assert.same({ code, "the server answered " .. status, false }, { err.code, err.message, err.mayHaveRun })
    end
    assert.equal(401, select(2, read({ "HTTP/1.1 401 x" })).details.statusCode)
    local busy = select(2, read({ "HTTP/1.1 503 x", [5] = "Retry-After: 7" }))
    assert.same({ true, 7000 }, { busy.retryable, busy.retryAfter })
  end)

  it("has a head of limited length", function()
    local function of(length)
      local text = table.concat(good, "\r\n") .. "\r\nX: "
      return handshake.read_response(opening, text .. ("x"):rep(length - #text) .. "\r\n\r\n")
    end
    assert.equal("", of(limits.headers - 1))
    assert.equal("the head is longer than allowed", select(2, of(limits.headers)).message)
    assert.same({}, { handshake.read_response(opening, ("x"):rep(limits.headers)) })
    assert.equal("the head is longer than allowed",
      select(2, handshake.read_response(opening, ("x"):rep(limits.headers + 1))).message)
  end)
end)

describe("a request to a hub", function()
  local headers = { upgrade = "websocket", connection = "Upgrade", ["sec-websocket-version"] = "13",
    ["sec-websocket-key"] = KEY }

  local function flaw(more, method)
    return { handshake.flaw({ method = method or "GET", headers = with(headers, more) }, "ops") }
  end

  it("opens a connection", function()
    for _, more in ipairs({ {}, { connection = "keep-alive, upgrade" }, { upgrade = "WebSocket" },
      { ["sec-websocket-protocol"] = "other, ops" } }) do
      assert.same({}, flaw(more))
    end
  end)

  it("is refused with a status and a reason", function()
    assert.same({ 400, "GET expected" }, flaw({}, "POST"))
    for _, name in ipairs({ "content-length", "transfer-encoding" }) do
      assert.same({ 400, "a handshake has no body" }, flaw({ [name] = "0" }))
    end
    for _, more in ipairs({ { upgrade = false }, { upgrade = "h2c" }, { connection = false },
      { connection = "close" } }) do
      assert.same({ 426, "this is a WebSocket endpoint" }, flaw(more))
    end
    for _, version in ipairs({ false, "12", "130" }) do
      assert.same({ 426, "version 13 expected" }, flaw({ ["sec-websocket-version"] = version }))
    end
    for _, key in ipairs({ false, "", "==", KEY .. "=", "x" .. KEY, KEY:sub(2), (KEY:gsub("^d", "!")),
      ("A"):rep(24) }) do
      assert.same({ 400, "Sec-WebSocket-Key: 16 bytes in base64 expected" }, flaw({ ["sec-websocket-key"] = key }))
    end
    assert.same({ 400, "Sec-WebSocket-Protocol: ops expected" }, flaw({ ["sec-websocket-protocol"] = "other" }))
  end)

  it("is read once its head is whole, or refused where the head is invalid", function()
    local read, text = handshake.reader(), "GET /x?y HTTP/1.1\r\nHost: a\r\n\r\n"
    for i = 0, #text - 1 do
      assert.same({}, { read(text:sub(1, i)) })
    end
    local request, refusal, rest = read(text .. "rest")
    assert.same({ "GET", "/x?y", "a", "", "rest" },
      { request.method, request.target, request.headers.host, request.body, rest })
    assert.is_nil(refusal)
    request, refusal = read("GET\r\n\r\n")
    assert.is_nil(request)
    assert.equal(400, refusal.status)
  end)

  it("has the token of its Authorization", function()
    for value, token in pairs({ ["Bearer t"] = "t", ["bEARER  t"] = "t", ["Basic t"] = false, ["Bearer a b"] = false,
      ["Bearer"] = false, ["xBearer t"] = false }) do
      assert.equal(token or nil, handshake.opening({ target = "/", headers = { authorization = value } }).token)
    end
    local fields = {}
    assert.same({ path = "/x?y", headers = fields, peer = 7 },
      handshake.opening({ target = "/x?y", headers = fields, peer = 7 }))
  end)

  it("is accepted by its key, with the protocol where one was offered", function()
    local function upgrade() end
    local expected = { Upgrade = "websocket", Connection = "Upgrade", ["Sec-WebSocket-Accept"] = ACCEPT }
    assert.same({ status = 101, upgrade = upgrade, headers = expected },
      handshake.accept({ headers = headers }, "ops", upgrade))
    expected["Sec-WebSocket-Protocol"] = "ops"
    assert.same(expected, handshake.accept({ headers = with(headers, { ["sec-websocket-protocol"] = "x, ops" }) },
      "ops", upgrade).headers)
  end)

  it("is refused in words, with what the status asks for", function()
    local plain = { ["Content-Type"] = "text/plain", Connection = "close" }
    assert.same({ status = 400, body = "why", headers = plain }, handshake.refuse(400, "why", "Bearer"))
    assert.same(with(plain, { Upgrade = "websocket", ["Sec-WebSocket-Version"] = "13" }),
      handshake.refuse(426, "why", "Bearer").headers)
    assert.same(with(plain, { ["WWW-Authenticate"] = "Bearer" }), handshake.refuse(401, "why", "Bearer").headers)
    assert.same(plain, handshake.refuse(401, "why").headers)
  end)
end)
