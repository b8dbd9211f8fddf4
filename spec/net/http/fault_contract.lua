--- What servers do wrong, or seldom, and what comes of it on every host, as specs: `faults(busted)` describes it;
--- `busted` has busted's functions, which only spec files see. None hangs.
local dkjson = require("dkjson")
local free_port = require("spec.support.free_port")
local http = require("operations.net.http")
local members = require("operations.base.members")
local operations = require("operations")
local test_server = require("spec.support.server")

-- What the server does, its path, and the kind of the failure.
local failures = {
  { "resets the connection in the middle of a body", "/raw/reset", "reset" },
  { "sends no byte", "/raw/empty", "reset" },
  { "ends in the middle of the head", "/raw/cut_head", "truncated" },
  { "says nothing for too long", "/fault/silence", "timeout", { first_byte_timeout = 50 }, phase = "first_byte" },
  { "stops in the head", "/fault/half_head", "timeout", { first_byte_timeout = 50 }, phase = "first_byte" },
  { "drips its head", "/fault/dripping_head", "timeout", { first_byte_timeout = 100 }, phase = "first_byte" },
  { "stops in the body", "/fault/stalled_body", "timeout", { idle_timeout = 50 }, phase = "idle" },
  { "drips its body", "/fault/dripping_body", "timeout", { idle_timeout = 5000, timeout = 200 }, phase = "total" },
  { "sends a body without end", "/fault/endless_chunks", "size", { max_body = 100000 } },
  { "sends informational answers without end", "/fault/endless_informing", "protocol" },
  { "sends 50 of them before the last one", "/raw/informing", "protocol" },
  { "sends 90 KB of headers", "/raw/big_headers", "size" },
  { "sends headers without end", "/fault/endless_head", "size", text = "larger than max_headers" },
  { "sends one header line without end", "/fault/endless_line", "size", text = "larger than allowed" },
  { "ends no chunk's size", "/fault/endless_extension", "timeout", { idle_timeout = 50 }, phase = "idle" },
  { "sends trailers without end", "/fault/endless_trailers", "size" },
  { "sends a bomb", "/raw/bomb", "size", { max_body = 1000000 }, text = "larger than max_body %(1000000 bytes%)" },
  { "redirects in a circle", "/redirect/loop", "redirect", text = "more than 5 redirects" },
  { "redirects to an invalid URL", "/redirect?to=http://", "redirect" },
  { "redirects to another scheme", "/redirect?to=file:///etc/passwd", "redirect", text = "from http to file" },
  { "says two different lengths", "/raw/two_lengths", "protocol", text = "two different Content%-Length" },
  { "says two different lengths at once", "/raw/listed_lengths", "protocol", text = "two different Content%-Length" },
  { "says a length that is none", "/raw/odd_length", "protocol" },
  { "says a length that nobody can send", "/raw/huge_length", "protocol" },
  { "says a negative length", "/raw/negative_length", "protocol" },
  { "sends less than it said", "/raw/short_length", "truncated" },
  { "sends chunks that are none", "/raw/bad_chunk", "protocol" },
  { "sends a chunk longer than it said", "/raw/no_chunk_end", "protocol" },
  { "sends a chunk of more bytes than there are", "/raw/huge_chunk", "protocol" },
  { "sends no last chunk", "/raw/cut_chunk", "truncated" },
  { "speaks HTTP/0.9", "/raw/old", "protocol" },
  { "puts a NUL into a header", "/raw/nul_header", "protocol" },
  { "says gzip and sends something else", "/raw/broken_gzip", "encoding" },
  { "says gzip and sends nothing", "/raw/no_gzip", "truncated" },
  { "says br and sends nothing", "/raw/no_br", "truncated" },
  { "cuts gzip short", "/raw/cut_gzip", "truncated", text = "compressed body was cut short" },
  { "cuts gzip short by a byte", "/raw/cut_gzip?cut=1", "truncated" },
  { "cuts deflate short", "/raw/coded?name=deflate&cut=1", "truncated" },
  { "cuts deflate shorter", "/raw/coded?name=deflate&cut=20", "truncated" },
  { "cuts br short", "/raw/coded?name=br&cut=1", "truncated" },
  { "cuts br shorter", "/raw/coded?name=br&cut=10", "truncated" },
  { "cuts zstd short", "/raw/coded?name=zstd&cut=1", "truncated" },
  { "cuts zstd in a block", "/raw/coded?name=zstd&cut=9", "truncated" },
  { "cuts zstd without a checksum short", "/raw/coded?name=zstd_unsummed&cut=1", "truncated" },
}

local text = ("hello "):rep(2000)
local head = { method = "HEAD" }
local asking = { method = "POST", body = "a body", headers = { Expect = "100-continue" } }

-- What the server does, its path, and the body of the answer.
local answers = {
  { "says one length twice", "/raw/equal_lengths", "hello" },
  { "says one length twice at once", "/raw/listed_length", "hello" },
  { "says a length and chunks", "/raw/length_and_chunks", "hello" },
  { "sends more than it said", "/raw/excess", "hello" },
  { "sends chunk extensions", "/raw/chunk_extension", "hello" },
  { "sends trailers", "/raw/trailers", "hello" },
  { "says to continue without being asked", "/raw/continued", "ok" },
  { "says to continue when asked", "/fault/continue", "a body", asking },
  { "continues without a word", "/fault/silent_continue", "a body", asking },
  { "refuses to continue", "/fault/refused_continue", "no", asking, status = 417 },
  { "gives early hints", "/raw/informed", "ok" },
  { "ends a body by closing", "/raw/no_length", "until the end" },
  { "says that gzip has no bytes", "/raw/no_bytes_of_gzip", "" },
  { "answers 304 with a length", "/raw/not_modified_with_body", "", status = 304 },
  { "answers 304", "/status/304", "", status = 304 },
  { "answers 204", "/status/204", "", status = 204 },
  { "answers a HEAD with a length", "/bytes?size=100", "", head },
  { "answers a HEAD as if it encoded", "/raw/no_gzip", "", head },
  { "encodes with gzip", "/raw/gzip", text },
  { "encodes with gzip in chunks of a byte", "/raw/chunked_gzip", text },
}
for _, name in ipairs({ "deflate", "raw_deflate", "br", "zstd", "zstd_unsummed" }) do
  answers[#answers + 1] = { "encodes with " .. name, "/raw/coded?name=" .. name, text }
end

-- Frames of zstd (RFC 8878, section 3.1), made by hand: what is in them, the bytes, the body.
local function frame(descriptor, ...)
  return "\x28\xB5\x2F\xFD" .. string.char(descriptor) .. table.concat({ ... })
end
local plain = "\x29\0\0hello" -- the last block, raw
local frames = {
  { "a raw block", frame(0x20, "\5", plain), "hello" },
  { "a byte that is repeated", frame(0x20, "\5", "\x2B\0\0x"), "xxxxx" },
  { "a window and no length", frame(0, "\0", plain), "hello" },
  { "a length of four bytes", frame(0xA0, "\5\0\0\0", plain), "hello" },
  { "a length of eight bytes", frame(0xE0, "\5\0\0\0\0\0\0\0", plain), "hello" },
  { "two blocks", frame(0x20, "\7", "\x10\0\0hi", plain), "hihello" },
  { "an empty block at the end", frame(0x20, "\5", "\x28\0\0hello", "\1\0\0"), "hello" },
  { "a frame to skip", "\x5A\x2A\x4D\x18\3\0\0\0abc" .. frame(0x20, "\5", plain), "hello" },
}

---@param busted table
return function(busted)
  local it, assert = busted.it, busted.assert
  busted.describe("an HTTP server that", function()
    local server

    busted.setup(function()
      server = test_server.start()
    end)

    busted.teardown(function()
      server:stop()
    end)

    local function options_of(path, given)
      return members.merged({ url = server.url .. path, timeout = 10000 }, given)
    end

    local function get(path, given)
      return http.request(options_of(path, given))
    end

    -- The same, read piece by piece.
    local function read_all(path, given)
      local stream, err = http.open(options_of(path, given))
      local pieces = {}
      while stream and not err do
        local piece
        piece, err = stream:read()
        if not piece then
          break
        end
        pieces[#pieces + 1] = piece
      end
      if err then
        return nil, err
      end
      return { status = stream.status, body = table.concat(pieces) }
    end

    local function assert_goes_on()
      assert.equal("", assert(get("/bytes?size=10", head)).body)
    end

    for _, case in ipairs(failures) do
      local what, path, kind, options = case[1], case[2], case[3], case[4]
      it(what .. " fails: " .. kind, function()
        for _, ask in ipairs({ get, read_all }) do
          local response, err = ask(path, options)
          assert.is_nil(response)
          assert.same({ kind, case.phase }, { err.details.kind, err.details.phase })
          assert.equal(kind == "timeout" and "TIMEOUT" or "EXECUTION_ERROR", err.code)
          assert.matches(case.text or "", err.message)
        end
        assert_goes_on()
      end)
    end

    it("is not there, has no name or speaks no TLS fails: connect, dns, tls", function()
      for kind, url in pairs({
        connect = "http://127.0.0.1:" .. free_port() .. "/",
        dns = "http://nobody.invalid/",
        tls = server.url:gsub("^http:", "https:") .. "/echo",
      }) do
        local _, err = http.request({ url = url, timeout = 10000 })
        assert.equal(kind, err.details.kind)
      end
    end)

    for _, case in ipairs(answers) do
      local what, path, body, options = case[1], case[2], case[3], case[4]
      it(what .. " is understood", function()
        for _, ask in ipairs({ get, read_all }) do
          local response = assert(ask(path, options))
          assert.same({ case.status or 200, body }, { response.status, response.body })
        end
        assert_goes_on()
      end)
    end

    for _, case in ipairs(frames) do
      local what, bytes, body = case[1], case[2], case[3]
      local function ask(count)
        local encoded = operations.base64.encode(bytes:sub(1, count)):gsub("%W", function(character)
          return ("%%%02X"):format(character:byte())
        end)
        return get("/raw/coded?name=zstd&bytes=" .. encoded)
      end
      it("encodes with zstd, " .. what .. ", is understood, and not when it ends early", function()
        assert.equal(body, assert(ask(#bytes)).body)
        for _, count in ipairs({ #bytes - 1, #bytes - #plain, 3 }) do
          local _, err = ask(count)
          assert.equal("truncated", err.details.kind)
        end
      end)
    end

    it("sends more than it said has its connection closed", function()
      for _, path in ipairs({ "/raw/excess", "/raw/length_and_chunks" }) do
        get(path)
        assert.equal("5", get("/upload", { method = "POST", body = "12345" }).body)
      end
    end)

    it("redirects to another origin sees no credential there", function()
      local response = assert(get("/redirect?to=" .. server.other .. "/echo", {
        headers = { Authorization = "a", Cookie = "b", ["X-Api-Key"] = "c", ["X-Other"] = "kept" },
        credentials = { "x-api-key" },
      }))
      local seen = dkjson.decode(response.body).headers
      assert.same({ nil, nil, nil, "kept" }, { seen.authorization, seen.cookie, seen["x-api-key"], seen["x-other"] })
    end)

    it("dies between two requests fails the second one", function()
      local mortal = test_server.start()
      assert(http.request({ url = mortal.url .. "/echo" }))
      mortal:kill()
      local _, err = http.request({ url = mortal.url .. "/echo", timeout = 10000 })
      assert.is_true(err.details.kind == "connect" or err.details.kind == "reset")
      mortal:stop()
    end)

    it("is not on the public internet can be refused", function()
      local _, err = get("/echo", { public_only = true })
      assert.equal("connect", err.details.kind)
      assert.matches("not part of the public internet", err.message)
    end)
  end)
end
