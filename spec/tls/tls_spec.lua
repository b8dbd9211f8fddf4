local certificates = require("spec.support.certificates")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local stream = require("operations.net.stream")
local tls = require("operations.tls")

local function pair(name, key)
  return { cert = certificates.read(name .. ".pem"), key = certificates.read((key or name) .. ".key") }
end

local function context(more)
  local options = { certificates = { pair("localhost") }, session = 60 }
  for name, value in pairs(more or {}) do
    options[name] = value
  end
  return tls.context(options)
end

-- A server whose session is fed each piece that `cut(bytes, before)` makes of what comes behind `before` bytes; it
-- answers the request with its path. Calls `fn(url, told)`; `told` has what the last session was.
local function with_sessions(shared, cut, fn)
  operations.run(function()
    local told, held = {}, {} -- luacheck: ignore 241 (a stream that nobody holds is closed)
    local listener = assert(stream.listen("127.0.0.1", 0, function(connection)
      local session, said, fed = shared:session(), "", 0
      held[connection] = true
      connection:each_chunk(function(bytes)
        for _, piece in ipairs(bytes and cut(bytes, fed) or {}) do
          local plain, out, state, reason = session:receive(piece)
          if out then
            connection:offer(out, true)
          end
          told.reason = reason or told.reason
          said, told.state, fed = said .. (plain or ""), state or told.state, fed + #piece
          told.fed = fed
        end
        local path = said:match("^GET (%S+) .*\r\n\r\n$")
        if path then
          told.peer, said = session:peer(), ""
          told.nothing = { session:send("") }
          connection:offer(session:send(("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"):format(
            #path, path)), true)
          connection:offer(session:finish(), true)
          connection:finish()
        elseif bytes == nil then
          held[connection] = nil
          session:close()
        end
      end)
    end))
    fn("https://localhost:" .. listener.port, told)
    listener:close()
  end)
end

local function get(url)
  return assert(operations.http.request({ url = url, ca_file = certificates.path("ca.pem") }))
end

local function whole(bytes)
  return { bytes }
end

local function each_byte(bytes)
  local pieces = {}
  for i = 1, #bytes do
    pieces[i] = bytes:sub(i, i)
  end
  return pieces
end

describe("a session of TLS", function()
  teardown(certificates.remove)

  it("is read whole and byte by byte", function()
    for _, cut in ipairs({ whole, each_byte }) do
      with_sessions(assert(context()), cut, function(url, told)
        assert.equal("/a", get(url .. "/a").body)
        assert.equal("TLSv1.3", told.peer.protocol)
        assert.matches("^TLS_[%u%d_]+$", told.peer.cipher)
        assert.is_false(told.peer.resumed)
        assert.equal("localhost", told.peer.server_name)
        assert.is_nil(told.peer.subject)
        assert.same({}, told.nothing)
        assert.is_true(eventually(function() return told.state ~= nil end))
        assert.same({ "closed", "" }, { told.state, told.reason })
      end)
    end
  end)

  it("is read at every split", function()
    local shared, at, longest = assert(context()), 0, 1
    with_sessions(shared, function(bytes, before)
      local i = at - before
      return i > 0 and i < #bytes and { bytes:sub(1, i), bytes:sub(i + 1) } or { bytes }
    end, function(url, told)
      while at < longest do
        assert.equal("/" .. at, get(url .. "/" .. at).body)
        longest, at = math.max(longest, told.fed or 1), at + 1
      end
      assert.is_true(longest > 500, longest)
    end)
  end)

  it("says that the other side ends, and what it does not understand", function()
    local session = assert(context()):session()
    local plain, out, state, reason = session:receive("\22\3\1\0\2hello, hello")
    assert.same({ nil, "failed" }, { plain, state })
    assert.equal("\21\3", out:sub(1, 2)) -- an alert
    assert.matches("%l", reason)
    assert.same({ nil, nil, "failed", "the session has failed" }, { session:receive("more") })
    assert.is_nil(session:send("a"))
    assert.equal("http", (select(3, assert(context()):session():receive("GET / HTTP/1.1\r\n\r\n"))))
  end)

  it("sends nothing before the handshake has ended, and is unusable when it is closed", function()
    local session = assert(context()):session()
    assert.same({}, { session:send("a"), session:finish(), session:peer() })
    for _ = 1, 2 do
      assert.equal(0, select("#", session:close()))
    end
    for _, method in ipairs({ "receive", "send", "finish", "peer" }) do
      assert.error_matches(function()
        session[method](session, "a")
      end, "the session is closed")
    end
  end)

  it("stands any bytes", function()
    local shared, hello = assert(context()), nil
    with_sessions(shared, function(bytes)
      hello = hello or bytes
      return { bytes }
    end, get)
    math.randomseed(1)
    for _ = 1, 2000 do
      local session, bytes = shared:session(), hello
      for _ = 1, math.random(3) do
        local at = math.random(#bytes)
        bytes = bytes:sub(1, at - 1) .. string.char(math.random(0, 255)) .. bytes:sub(at + math.random(0, 2))
      end
      local _, out, state = session:receive(bytes)
      if state then
        assert.equal("failed", state)
      end
      assert.is_true(#(out or "") < 16384)
      session:close()
    end
  end)
end)

describe("a context of TLS", function()
  teardown(certificates.remove)

  local function flaw(options)
    local made, message, part, index = tls.context(options)
    assert.is_nil(made)
    return { message, part, index }
  end

  it("says which certificate, key or authority is wrong, and why", function()
    local own, text = pair("localhost"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    for _, case in ipairs({
      { { cert = "", key = own.key }, "no certificate in PEM is in it", "cert" },
      { { cert = own.key, key = own.key }, "no certificate in PEM is in it", "cert" },
      { { cert = own.cert, key = "" }, "no private key in PEM is in it", "key" },
      { { cert = own.cert, key = own.cert }, "no private key in PEM is in it", "key" },
      { pair("localhost", "rsa"), "it is not the key of the certificate", "key" },
      { pair("localhost", "example"), "it is not the key of the certificate", "key" },
      { pair("localhost", "locked"), "the key needs a password", "key" },
    }) do
      assert.same({ case[2], case[3], 2 }, flaw({ certificates = { own, case[1] }, session = 60 }))
    end
    assert.equal("cert", flaw({ certificates = { { cert = text, key = own.key } }, session = 60 })[2])
    assert.equal("cert", flaw({ certificates = { { cert = own.cert .. text, key = own.key } }, session = 60 })[2])
    local locked = pair("localhost", "locked")
    locked.password = "guess"
    assert.same({ "the password is wrong", "key", 1 }, flaw({ certificates = { locked }, session = 60 }))
    for length, message in pairs({ [1024] = "the password is wrong", [1025] = "the key needs a password" }) do
      locked.password = ("x"):rep(length) -- OpenSSL has room for 1024 bytes
      assert.same({ message, "key", 1 }, flaw({ certificates = { locked }, session = 60 }))
    end
    locked.password = "secret"
    assert.is_truthy(tls.context({ certificates = { locked }, session = 60 }))
    assert.equal("client_ca", flaw({ certificates = { own }, session = 60, client_ca = "", client_certificate =
      "required" })[2])
  end)

  it("knows how long its certificates are valid", function()
    local made = assert(tls.context({ certificates = { pair("localhost"), pair("expired") }, session = 60 }))
    assert.is_true(made:left(1) > 86400 and made:left(1) <= 2 * 86400)
    assert.is_true(made:left(2) < 0)
    assert.has_error(function()
      made:left(3)
    end)
  end)

  local function exchange(url, words)
    local child = assert(operations.process.spawn({ "sh", "-c", ("exec 2>&1; printf 'GET /a HTTP/1.1\\r\\n\\r\\n' | "
      .. "timeout 20 openssl s_client -ign_eof -connect %s -CAfile %s %s"):format(url:match("[%w.]+:%d+$"),
      certificates.path("ca.pem"), words) }))
    local said = {}
    for piece in function() return child:read() end do
      said[#said + 1] = piece
    end
    child:wait()
    return table.concat(said)
  end

  it("uses the first of two certificates for the same name and kind of key", function()
    for _, names in ipairs({ { "localhost", "expired" }, { "example", "localhost", "expired" } }) do
      local pairs_of = {}
      for i, name in ipairs(names) do
        pairs_of[i] = pair(name)
      end
      with_sessions(assert(context({ certificates = pairs_of })), whole, function(url)
        assert.equal("/a", get(url .. "/a").body)
      end)
    end
  end)

  it("says how long a session can be resumed", function()
    for _, seconds in ipairs({ 60, 7200 }) do
      with_sessions(assert(context({ session = seconds })), whole, function(url)
        for _, version in ipairs({ "-tls1_2", "-tls1_3" }) do
          assert.equal(tostring(seconds), exchange(url, version):match("lifetime hint: (%d+) %(seconds%)"))
        end
      end)
    end
  end)

  it("does not resume a session for longer than its time, however often it was resumed", function()
    local file = os.tmpname()
    finally(function() os.remove(file) end)
    for _, version in ipairs({ "-tls1_2", "-tls1_3" }) do
      with_sessions(assert(context({ session = 2 })), whole, function(url, told)
        exchange(url, version .. " -sess_out " .. file)
        eventually(function()
          exchange(url, ("%s -sess_in %s -sess_out %s"):format(version, file, file))
          return told.peer.resumed == false
        end)
      end)
    end
  end)

  it("does not resume a session for longer than the client's certificate is valid", function()
    local file = os.tmpname()
    finally(function() os.remove(file) end)
    for _, version in ipairs({ "-tls1_2", "-tls1_3" }) do
      local words = ("%s -cert %s -key %s"):format(version, certificates.path("soon.pem"),
        certificates.path("soon.key"))
      with_sessions(assert(context({ client_ca = certificates.read("ca.pem"), client_certificate = "required" })),
        whole, function(url, told)
          local seconds = 2
          repeat -- on a busy machine it expires before it is shown
            seconds = 2 * seconds
            certificates.expiring(seconds)
            exchange(url, words .. " -sess_out " .. file)
          until told.peer
          assert.matches("^CN=soon", told.peer.subject)
          eventually(function()
            told.state = nil
            exchange(url, ("%s -sess_in %s -sess_out %s"):format(words, file, file))
            return told.state == "failed"
          end)
          assert.matches("certificate has expired", told.reason)
        end)
    end
  end)

  it("resumes no session of a client that was asked for another authority's certificate", function()
    local file = os.tmpname()
    finally(function() os.remove(file) end)
    local function asking(name, previous)
      return assert(context({ client_ca = certificates.read(name), client_certificate = "optional",
        previous = previous }))
    end
    local first = asking("ca.pem")
    with_sessions(first, whole, function(url)
      exchange(url, "-sess_out " .. file)
    end)
    for name, resumed in pairs({ ["ca.pem"] = true, ["other.pem"] = false }) do
      with_sessions(asking(name, first), whole, function(url, told)
        exchange(url, "-sess_in " .. file)
        assert.equal(resumed, told.peer.resumed)
      end)
    end
  end)

  it("resumes no session of a client that was asked in another way", function()
    local file = os.tmpname()
    finally(function() os.remove(file) end)
    local ca, modes = certificates.read("ca.pem"), { "unasked", "optional", "required" }
    local function asking(mode, previous)
      return assert(context({ client_ca = ca, client_certificate = mode, previous = previous }))
    end
    for i, mode in ipairs(modes) do
      local words = mode == "required" and (" -cert %s -key %s"):format(certificates.path("ada.pem"),
        certificates.path("ada.key")) or ""
      local first = asking(mode)
      with_sessions(first, whole, function(url)
        exchange(url, "-sess_out " .. file .. words)
      end)
      for k, other in ipairs(modes) do
        with_sessions(asking(other, first), whole, function(url, told)
          exchange(url, "-sess_in " .. file)
          if i == k then
            assert.is_true(told.peer.resumed)
          elseif other == "required" then
            assert.same({ "failed" }, { told.state, told.peer })
          else
            assert.is_false(told.peer.resumed)
          end
        end)
      end
    end
  end)

  it("reads the tickets of its last two keys, which contexts that follow have, too", function()
    local file = os.tmpname()
    finally(function() os.remove(file) end)
    for _, version in ipairs({ "-tls1_3", "-tls1_2" }) do
      local first = assert(context())
      local made = first
      local function session()
        return made:session()
      end
      with_sessions({ session = session }, whole, function(url, told)
        local function resumed(words)
          told.peer = nil
          exchange(url, ("%s %s"):format(version, words))
          return told.peer.resumed
        end
        assert.is_false(resumed("-sess_out " .. file))
        assert.is_true(made:rotate())
        assert.is_true(resumed("-sess_in " .. file))
        made = assert(context({ previous = first }))
        assert.is_true(resumed("-sess_in " .. file))
        -- A ticket of the newest key; s_client keeps that of a session of TLS 1.2 that it resumes to itself.
        resumed((version == "-tls1_3" and "-sess_in " .. file or "") .. " -sess_out " .. file)
        made:rotate()
        assert.is_true(resumed("-sess_in " .. file))
        made:rotate()
        assert.is_false(resumed("-sess_in " .. file))
      end)
    end
  end)

  it("is not made of unknown options", function()
    local own = pair("localhost")
    local function with(more)
      local options = { certificates = { own }, session = 60 }
      for name, value in pairs(more) do
        options[name] = value
      end
      return options
    end
    local many = {}
    for i = 1, 1001 do
      many[i] = own
    end
    for _, case in ipairs({
      { {}, "number expected, got nil" }, { { session = 60 }, "table expected, got nil" },
      { with({ certificates = {} }), "1 to 1000 certificates expected" },
      { with({ certificates = many }), "1 to 1000 certificates expected" },
      { with({ certificates = { own, 1 } }), "table expected, got number" },
      { with({ certificates = { { cert = "a" } } }), "'key' expected" },
      { with({ certificates = { { key = "a" } } }), "'cert' expected" },
      { with({ certificates = { { cert = {}, key = "a" } } }), "string expected, got table" },
      { with({ certificates = { { cert = "a", key = "a", password = {} } } }), "string expected, got table" },
      { with({ session = "soon" }), "number expected, got string" },
      { with({ client_certificate = "required" }), "'client_ca' expected" },
      { with({ client_certificate = "optional" }), "'client_ca' expected" },
      { with({ client_certificate = "perhaps" }), "invalid option 'perhaps'" },
      { with({ client_ca = {} }), "string expected, got table" },
      { with({ previous = 1 }), "operations.tls" }, { 1, "table expected, got number" },
    }) do
      assert.error_matches(function() tls.context(case[1]) end, (case[2]:gsub("%p", "%%%0")))
    end
    assert.is_truthy(tls.context(with({ client_certificate = "unasked" })))
    many[1001] = nil
    local large = assert(tls.context(with({ certificates = many })))
    assert.equal(large:left(1), large:left(1000))
    for _, index in ipairs({ 0, 1001, -1 }) do
      assert.error_matches(function() large:left(index) end, "no such certificate")
    end
  end)

  it("is unusable once it was collected", function()
    local made = assert(context())
    local session = made:session()
    getmetatable(made).__gc(made)
    getmetatable(made).__gc(made)
    for _, name in ipairs({ "left", "rotate", "session" }) do
      assert.error_matches(function() made[name](made, 1) end, "the context is closed")
    end
    assert.error_matches(function() context({ previous = made }) end, "the context is closed")
    assert.same({}, { session:send("a") }) -- it keeps what it needs
  end)
end)
