local http = require("operations.http")
local test_server = require("spec.support.server")

describe("an HTTP server that", function()
  local server

  setup(function()
    server = test_server.start()
  end)

  teardown(function()
    server:stop()
  end)

  local function get(path, options)
    options = options or {}
    options.url, options.timeout = server.url .. path, options.timeout or 10000 -- none hangs
    return http.request(options)
  end

  -- path -> kind of the failure, phase of a timeout, options
  local failures = {
    ["resets the connection in the middle of a body"] = { "/raw/reset", "reset" },
    ["sends no byte"] = { "/raw/empty", "reset" },
    ["ends in the middle of the head"] = { "/raw/cut_head", "truncated" },
    ["says nothing for too long"] = { "/fault/silence", "timeout", "first_byte", { first_byte_timeout = 50 } },
    ["stops in the middle of the head"] = { "/fault/half_head", "timeout", "first_byte", { first_byte_timeout = 50 } },
    ["drips its head byte by byte"] = { "/fault/dripping_head", "timeout", "first_byte", { first_byte_timeout = 100 } },
    ["stops in the middle of the body"] = { "/fault/stalled_body", "timeout", "idle", { idle_timeout = 50 } },
    ["drips its body byte by byte"] = {
      "/fault/dripping_body", "timeout", "total", { idle_timeout = 5000, timeout = 200 },
    },
    ["sends a body without end"] = { "/fault/endless_chunks", "size", nil, { max_body = 100000 } },
    ["sends informational answers without end"] = { "/fault/endless_informing", "protocol" },
    ["sends headers without end"] = { "/fault/endless_head", "size" },
    ["sends trailers without end"] = { "/fault/endless_trailers", "size" },
    ["sends a bomb"] = { "/raw/bomb", "size" },
    ["redirects in a circle"] = { "/redirect/loop", "redirect" },
    ["says two different lengths"] = { "/raw/two_lengths", "protocol" },
    ["says a negative length"] = { "/raw/negative_length", "protocol" },
    ["sends less than it said"] = { "/raw/short_length", "truncated" },
    ["sends chunks that are none"] = { "/raw/bad_chunk", "protocol" },
    ["sends a chunk longer than it said"] = { "/raw/no_chunk_end", "protocol" },
    ["sends a chunk of more bytes than there are"] = { "/raw/huge_chunk", "protocol" },
    ["sends no last chunk"] = { "/raw/cut_chunk", "truncated" },
    ["speaks HTTP/0.9"] = { "/raw/old", "protocol" },
    ["puts a NUL into a header"] = { "/raw/nul_header", "protocol" },
    ["encodes in a way nobody knows"] = { "/raw/unknown_encoding", "encoding" },
    ["says gzip and sends nothing"] = { "/raw/no_gzip", "truncated" },
    ["says br and sends nothing"] = { "/raw/no_br", "truncated" },
    ["cuts gzip short"] = { "/raw/cut_gzip", "truncated" },
    ["cuts deflate short"] = { "/raw/coded?name=deflate&cut=1", "truncated" },
    ["cuts deflate shorter"] = { "/raw/coded?name=deflate&cut=20", "truncated" },
    ["cuts br short"] = { "/raw/coded?name=br&cut=1", "truncated" },
    ["cuts br shorter"] = { "/raw/coded?name=br&cut=10", "truncated" },
    ["cuts zstd short"] = { "/raw/coded?name=zstd&cut=1", "truncated" },
    ["cuts zstd in a block"] = { "/raw/coded?name=zstd&cut=9", "truncated" },
    ["cuts zstd without a checksum short"] = { "/raw/coded?name=zstd_unsummed&cut=1", "truncated" },
  }

  for what, case in pairs(failures) do
    local path, kind, phase, options = case[1], case[2], case[3], case[4]
    it(what .. " fails: " .. kind, function()
      local response, err = get(path, options)
      assert.is_nil(response)
      assert.equal(kind, err.details.kind)
      assert.equal(phase, err.details.phase)
    end)
  end

  it("sends one header line without end fails", function()
    local _, err = get("/fault/endless_line")
    assert.is_true(err.details.kind == "size" or err.details.kind == "memory")
  end)

  -- path -> body
  local answers = {
    ["says one length twice"] = { "/raw/equal_lengths", "hello" },
    ["says a length and chunks"] = { "/raw/length_and_chunks", "hello" },
    ["sends more than it said"] = { "/raw/excess", "hello" },
    ["sends chunk extensions"] = { "/raw/chunk_extension", "hello" },
    ["sends trailers"] = { "/raw/trailers", "hello" },
    ["says to continue without being asked"] = { "/raw/continued", "ok" },
    ["gives early hints"] = { "/raw/informed", "ok" },
    ["ends a body by closing"] = { "/raw/no_length", "until the end" },
    ["says that gzip has no bytes"] = { "/raw/no_bytes_of_gzip", "" },
    ["answers 304 with a length"] = { "/raw/not_modified_with_body", "" },
    ["answers 204"] = { "/status/204", "" },
  }
  for _, name in ipairs({ "deflate", "raw_deflate", "br", "zstd", "zstd_unsummed" }) do
    answers["encodes with " .. name] = { "/raw/coded?name=" .. name, ("hello "):rep(2000) }
  end

  for what, case in pairs(answers) do
    it(what .. " is understood", function()
      assert.equal(case[2], assert(get(case[1])).body)
      assert.equal("", assert(get("/bytes?size=10", { method = "HEAD" })).body) -- the connection is fine
    end)
  end

  it("sends more than it said has its connection closed", function()
    for _, path in ipairs({ "/raw/excess", "/raw/length_and_chunks" }) do
      get(path)
      assert.equal("5", get("/upload", { method = "POST", body = "12345" }).body)
    end
  end)

  it("encodes a HEAD's body needs not send it", function()
    assert.equal(200, assert(get("/raw/no_gzip", { method = "HEAD" })).status)
  end)

  it("dies between two requests fails the second one", function()
    local mortal = test_server.start()
    assert(http.request({ url = mortal.url .. "/echo" }))
    mortal:kill()
    local _, err = http.request({ url = mortal.url .. "/echo", timeout = 10000 })
    assert.is_true(err.details.kind == "connect" or err.details.kind == "reset")
    mortal:stop()
  end)

  it("is not on the public internet can be refused, also after a redirect", function()
    local _, err = get("/echo", { public_only = true })
    assert.equal("connect", err.details.kind)
    assert.matches("none of the public internet", err.message)
  end)
end)
