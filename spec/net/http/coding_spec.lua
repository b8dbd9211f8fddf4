local http = require("operations.net.http")
local operations = require("operations")
local stream = require("operations.net.stream")

-- Calls fn(get) where get(headers, body) is what a request gets that a server answers so, which then closes.
local function with_server(fn)
  operations.run(function()
    local answer
    local listener = assert(stream.listen("127.0.0.1", 0, function(accepted)
      local asked = ""
      accepted:each_chunk(function(bytes)
        if not bytes then
          accepted:close()
          return
        end
        asked = asked .. bytes
        if asked:find("\r\n\r\n", 1, true) then
          asked = ""
          accepted:offer(answer, true)
          accepted:finish()
        end
      end)
    end))
    fn(function(headers, body, max_body)
      answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n" .. headers .. "\r\n" .. body
      local response, err = http.request({
        url = "http://127.0.0.1:" .. listener.port .. "/", timeout = 60000, max_body = max_body,
      })
      return response and response.body, err and err.details.kind
    end)
    listener:close()
  end)
end

local function bytes_of(hex)
  return (hex:gsub("%x%x", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

local function chunked(body, size, format, last)
  return (body:gsub(".?" .. (".?"):rep(size - 1), function(piece)
    return piece ~= "" and format:format(#piece) .. "\r\n" .. piece .. "\r\n" or nil
  end)) .. last
end

-- Ways to frame a body: a name, and a function that returns headers and what follows them.
local framings = {
  { "the end of the connection", function(body) return "", body end },
  { "a length", function(body) return ("Content-Length: %d\r\n"):format(#body), body end },
}
for _, case in ipairs({
  { 1, "%x", "0\r\n\r\n" }, { 2, "%X", "00\r\n\r\n" }, { 10, "%x", "0\r\n\r\n" }, { 15, "0%X", "0\r\nA: b\r\n\r\n" },
  { 30, "%x;name=value", "0;last\r\n\r\n" },
}) do
  framings[#framings + 1] = { "chunks of " .. case[1], function(body)
    return "Transfer-Encoding: chunked\r\n", chunked(body, case[1], case[2], case[3])
  end }
end

-- Members of gzip (RFC 1952, section 2.2).
local hi = bytes_of("1f8b0800000000000203cbc80400ac2a93d802000000")
local ok = bytes_of("1f8b0800000000000203cbcf060047dddc7902000000")

-- Frames of zstd (RFC 8878, section 3.1).
local hello = "\x29\0\0hello" -- the last block, raw
local function frame(descriptor, ...)
  return "\x28\xB5\x2F\xFD" .. string.char(descriptor) .. table.concat({ ... })
end
local skipped = "\x50\x2A\x4D\x18\3\0\0\0abc"

local bodies = {
  gzip = {
    { hi, "hi" },
    { bytes_of("1f8b080000000000020303000000000000000000"), "" },
    { bytes_of("1f8b0800000000000403010a00f5ff0a350d0a0a300d0a0d0a056647050a000000"), "\n5\r\n\n0\r\n\r\n" },
    { hi .. ok, "hiok", { [22] = "hi" } },
    { hi .. "\0\0" .. ok .. "\0", "hiok", { [22] = "hi", [23] = "hi", [24] = "hi", [46] = "hiok" } },
  },
  deflate = {
    { bytes_of("789ccbc80400013b00d2"), "hi" }, { bytes_of("789c030000000001"), "" },
    { bytes_of("7801010a00f5ff0a350d0a0a300d0a0d0a049b00bf"), "\n5\r\n\n0\r\n\r\n" },
    { bytes_of("78daedc13101000000c2a0fea967094fa0" .. ("00"):rep(67) .. "80b7012a286e81"), ("\255"):rep(70000) },
  },
  br = { { bytes_of("8b0080686903"), "hi" }, { "\6", "" } },
  zstd = {
    { bytes_of("28b52ffd04581100006869fa3826ea"), "hi" }, { bytes_of("28b52ffd240001000099e9d851"), "" },
    { frame(0x20, "\5", hello), "hello" }, { frame(0, "\0", hello), "hello" },
    { frame(0x21, "\0\5", hello), "hello" }, { frame(0x22, "\0\0\5", hello), "hello" },
    { frame(0x23, "\0\0\0\0\5", hello), "hello" }, { frame(0xA3, "\0\0\0\0\5\0\0\0", hello), "hello" },
    { frame(0x60, "\0\0", "\x03\8\0x"), ("x"):rep(256) }, { frame(0x40, "\0\0\0", "\x03\8\0x"), ("x"):rep(256) },
    { frame(0xC0, "\0\5\0\0\0\0\0\0\0", "\x28\0\0hello", "\1\0\0"), "hello" },
    { skipped .. frame(0x20, "\5", hello) .. skipped, "hello", { [11] = "", [25] = "hello" } },
    { frame(0x20, "\5", hello) .. frame(0x20, "\5", hello), "hellohello", { [14] = "hello" } },
  },
}
bodies["x-gzip"] = { bodies.gzip[1] }

describe("a body in a coding", function()
  -- Since 8.7, libcurl begins to decode before it shows the head, so that nothing can be done about what it cannot.
  local major, minor = require("operations.transfer").libcurl():match("^(%d+)%.(%d+)")
  local is_early = tonumber(major) > 8 or tonumber(major) == 8 and tonumber(minor) >= 7
  local function omitted() end
  local early, late = is_early and it or omitted, is_early and omitted or it

  it("of gzip is compared with its length, of which all bytes count", function()
    local pipe = io.popen("head -c 16909060 /dev/zero | gzip -c") -- 0x01020304
    local body = pipe:read("*a")
    pipe:close()
    with_server(function(get)
      assert.equal(16909060, #assert(get("Content-Encoding: gzip\r\n", body, 2e7)))
    end)
  end)

  early("that libcurl cannot decode fails with libcurl 8.7 and later, unless the request decodes nothing", function()
    with_server(function(get)
      for _, name in ipairs({ "UTF-8", "aws-chunked", "gzip, rot13" }) do
        assert.same({ nil, "encoding" }, { get(("Content-Encoding: %s\r\n"):format(name), hi) })
      end
      assert.same({ nil, "encoding" }, { get("Content-Encoding: gzip\r\n", hi .. ok) })
      assert.same({ "hi" }, { get("Content-Encoding: identity, gzip ,\r\n", hi) })
    end)
  end)

  late("of gzip may have many members of any size: each ends with a checksum, only zeros follow the last", function()
    local pipe = io.popen("head -c 100000 /dev/urandom | gzip -c") -- more than one piece of libcurl's
    local large = pipe:read("*a")
    pipe:close()
    with_server(function(get)
      assert.equal(300004, #assert(get("Content-Encoding: gzip\r\n", large .. hi .. large:rep(2) .. ok)))
      assert.equal(40000, #assert(get("Content-Encoding: gzip\r\n", hi:rep(20000))))
      assert.same({ nil, "size" }, { get("Content-Encoding: gzip\r\n", hi .. ok, 3) })
      for _, wrong in ipairs({ hi .. "and more", hi .. "\0and more", hi .. hi:gsub("\172%*", "\172+"), "hi" }) do
        assert.same({ nil, "encoding" }, { get("Content-Encoding: gzip\r\n", wrong) })
      end
      assert.same({ "hi" }, { get("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", hi) })
      assert.same({ "a\0" }, { get("Content-Encoding: gzip\r\nContent-Encoding: rot13\r\n", "a\0") })
    end)
  end)

  it("of two codings is decoded twice, whether one field names both or each has its own", function()
    local twice = bytes_of("1f8b080000000000020393efe660000126e6d3275818d6684dbec104e40100b896825d16000000")
    with_server(function(get)
      assert.same({ "hi" }, { get("Content-Encoding: gzip, gzip\r\n", twice) })
      assert.same({ "hi" }, { get("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", twice) })
    end)
  end)

  it("of deflate may lack header and checksum: then two of its bytes are needed", function()
    with_server(function(get)
      assert.same({ "hi" }, { get("Content-Encoding: deflate\r\n", bytes_of("cbc80400")) })
      assert.same({ "cha" }, { get("Content-Encoding: deflate\r\n", bytes_of("4bce480400")) }) -- a multiple of 31
      assert.same({ "h" }, { get("Content-Encoding: deflate\r\n", bytes_of("cbc8")) })
      assert.same({ nil, "truncated" }, { get("Content-Encoding: deflate\r\n", bytes_of("cb")) })
      assert.same({ nil, "truncated" }, { get("Content-Encoding: deflate\r\n", "") })
    end)
  end)

  late("that is unknown stays unchanged: names of charsets, of signatures, in lists, and beside known ones", function()
    with_server(function(get)
      for _, name in ipairs({ "UTF-8", "iso-8859-1", "aws-chunked", "rot13", "aws-chunked, UTF-8", "gzip,rot13" }) do
        for _, framing in ipairs(framings) do
          local headers, body = framing[2]("\31\139 bytes")
          assert.same({ "\31\139 bytes" }, { get(("Content-Encoding: %s\r\n%s"):format(name, headers), body) }, name)
        end
      end
      assert.same({ "hi" }, { get("Content-Encoding: gzip\r\n", bodies.gzip[1][1]) }) -- the next one is decoded
      assert.same({ "hi" }, { get("Content-Encoding: identity, gzip ,\r\n", bodies.gzip[1][1]) })
      assert.same({ "hi" }, { get("Content-Encoding: none\r\n", "hi") })
    end)
  end)

  it("may be empty where its framing says so", function()
    with_server(function(get)
      for name in pairs(bodies) do
        for _, framing in ipairs(framings) do
          local headers, body = framing[2]("")
          local expected = framing[1] == "the end of the connection" and { nil, "truncated" } or { "" }
          assert.same(expected, { get(("Content-Encoding: %s\r\n%s"):format(name, headers), body) }, framing[1])
        end
      end
    end)
  end)

  for name, list in pairs(bodies) do
    for i, case in ipairs(list) do
      local at = case[2] == "hiok" and late or it -- several members
      at(("is whole or cut short, however it is framed: %s %d"):format(name, i), function()
        with_server(function(get)
          for _, framing in ipairs(framings) do
            local function outcome(count)
              local headers, body = framing[2](case[1]:sub(1, count))
              return { get(("Content-Encoding: %s\r\n%s"):format(name, headers), body) }
            end
            assert.same({ case[2] }, outcome(#case[1]), framing[1])
            for count = framing[1] == "the end of the connection" and 0 or 1, #case[1] - 1 do
              local whole = case[3] and case[3][count]
              assert.same(whole and { whole } or { nil, "truncated" }, outcome(count), framing[1] .. " after " .. count)
            end
          end
        end)
      end)
    end
  end
end)
