local errors = require("operations.base.error")
local json = require("operations.base.json")
local message = require("operations.mcp.protocol.message")
local negotiation = require("operations.mcp.protocol.negotiation")

local MODERN, LEGACY = "2026-07-28", "2025-11-25"

local function discovered(versions)
  return message.result(1, { supportedVersions = versions, capabilities = {} })
end

local function initialized(version)
  return message.result(1, { protocolVersion = version, capabilities = {} })
end

local function failed(code, data)
  return message.failure(1, code, "no", data)
end

local function status(code)
  return errors.new("HTTP_" .. code, "no", { statusCode = code })
end

local closed = errors.new("EXECUTION_ERROR", "ended", { kind = "closed" })
local timeout = errors.new("TIMEOUT", "silent")

-- Goes through a negotiation: what was asked, how it ended.
local function play(options, ...)
  local state, asked = negotiation.new(options), {}
  for _, reply in ipairs({ ... }) do
    asked[#asked + 1] = state.step .. " " .. state.version .. (state.fresh and " fresh" or "")
    local answer, err = reply, nil
    if errors.is_error(reply) then
      answer, err = nil, reply
    end
    if state.step == "discover" then
      state = state:discovered(answer, err)
    else
      state = state:initialized(answer, err)
    end
  end
  return state, asked
end

describe("negotiation", function()
  it("asks a server what it speaks, and takes the newest that both do", function()
    local state, asked = play({}, discovered({ LEGACY, MODERN, "2030-01-01" }))
    assert.same({ "discover " .. MODERN }, asked)
    assert.equal("ready", state.step)
    assert.is_true(state.modern)
    assert.equal(MODERN, state.version)
  end)

  it("takes a server that names older revisions only by its handshake", function()
    local state, asked = play({}, discovered({ "2025-06-18" }), initialized("2025-06-18"))
    assert.same({ "discover " .. MODERN, "initialize 2025-06-18" }, asked)
    assert.is_false(state.modern)
    assert.equal("2025-06-18", state.version)
  end)

  for name, reply in pairs({
    ["does not know the method"] = failed(-32601), ["has another error"] = failed(-32000), ["is silent"] = timeout,
  }) do
    it("continues with a handshake over stdio when the server " .. name, function()
      local state, asked = play({}, reply, initialized(LEGACY))
      assert.same({ "discover " .. MODERN, "initialize " .. LEGACY }, asked)
      assert.equal("ready", state.step)
      assert.is_false(state.modern)
    end)
  end

  it("asks a server again that was slow, not of the legacy era", function()
    local state = play({}, timeout, failed(-32601), discovered({ MODERN }))
    assert.equal("ready", state.step)
    assert.is_true(state.modern)
    assert.equal("failed", play({}, timeout, failed(-32601), timeout).step)
  end)

  it("restarts a server that ended because of the question", function()
    local _, asked = play({}, closed, initialized(LEGACY))
    assert.equal("initialize " .. LEGACY .. " fresh", asked[2])
  end)

  for _, code in ipairs({ 400, 404, 405, 406, 415, 422 }) do
    it("continues with a handshake over HTTP at status " .. code, function()
      local state = play({ http = true }, status(code), initialized(LEGACY))
      assert.equal("ready", state.step)
    end)

    it("falls back to the old transport when that ends in status " .. code .. " too", function()
      local state = play({ http = true }, status(404), status(code))
      assert.same({ "events", LEGACY }, { state.step, state.version })
      assert.equal(code, state.err.details.statusCode)
    end)
  end

  it("takes the old transport for its own revision only, where one is pinned", function()
    for version, step in pairs({ ["2024-11-05"] = "events", ["2025-03-26"] = "failed" }) do
      assert.equal(step, play({ http = true, version = version }, status(404)).step)
    end
    assert.equal("failed", play({ http = false, version = "2024-11-05" }, status(404)).step)
  end)

  for _, err in ipairs({ status(401), status(403), status(503), timeout }) do
    it("learns nothing over HTTP from " .. err.code, function()
      local state = play({ http = true }, err)
      assert.equal("failed", state.step)
      assert.equal(err, state.err)
    end)
  end

  it("learns nothing over stdio from a connection that the program closed", function()
    local aborted = errors.new("ABORTED", "closed")
    local state = play({}, aborted)
    assert.same({ "failed", aborted }, { state.step, state.err })
  end)

  it("fails with the error of the handshake", function()
    assert.equal(closed, play({ era = "legacy" }, closed).err)
    assert.equal("initialize: no", play({ era = "legacy" }, failed(-32000)).err.message)
  end)

  it("agrees on what an error names", function()
    local state, asked = play({}, failed(-32022, { supported = { "2025-03-26" } }), initialized("2025-03-26"))
    assert.same({ "discover " .. MODERN, "initialize 2025-03-26" }, asked)
    assert.equal("ready", state.step)
    state = play({}, failed(-32022, { supported = { "1999-01-01" } }))
    assert.equal("failed", state.step)
    assert.same({ "1999-01-01" }, state.err.details.supported)
    state = play({}, failed(-32022, { supported = setmetatable({ true, {}, json.null }, json.array_mt) }))
    assert.equal("failed", state.step)
    assert.matches("the server speaks none", state.err.message, 1, true)
  end)

  it("falls forward when a handshake meets a server of the modern era", function()
    local unsupported = failed(-32022, { supported = { MODERN } })
    local state, asked = play({ verdict = "legacy" }, unsupported, discovered({ MODERN }))
    assert.same({ "initialize " .. LEGACY, "discover " .. MODERN }, asked)
    assert.is_true(state.modern)
    state = play({ verdict = "legacy" }, failed(-32601), discovered({ MODERN }))
    assert.is_true(state.modern)
  end)

  it("takes for modern a server that refuses the handshake with an error of that era", function()
    for code, step in pairs({ [-32020] = "ready", [-32021] = "ready", [-32022] = "ready", [-32000] = "failed" }) do
      assert.equal(step, play({ verdict = "legacy" }, failed(code), discovered({ MODERN })).step)
    end
  end)

  it("is over where a modern server wants more of the client, and fails at its other errors", function()
    local state = play({}, failed(-32021))
    assert.same({ "ready", true, MODERN }, { state.step, state.modern, state.version })
    for _, code in ipairs({ -32020, -32022 }) do
      state = play({}, failed(code))
      assert.same({ "failed", "server/discover: no" }, { state.step, state.err.message })
    end
  end)

  it("asks a server once what it speaks", function()
    local state, asked = play({}, discovered({ "2025-06-18" }), failed(-32601))
    assert.same({ "failed", 2 }, { state.step, #asked })
    state = play({}, discovered({ "2025-06-18" }), failed(-32022, { supported = { MODERN } }))
    assert.same({ "ready", true }, { state.step, state.modern })
  end)

  local only_modern = failed(-32022, { supported = { MODERN } })

  it("needs nothing more of a server that refuses the handshake and names a modern revision", function()
    for _, http in ipairs({ true, false }) do
      for _, refusal in ipairs({ failed(-32601), status(404), http and status(400) or closed }) do
        local state, asked = play({ http = http }, refusal, only_modern)
        assert.equal(2, #asked)
        assert.same({ "ready", true, MODERN }, { state.step, state.modern, state.version })
        assert.is_nil(state.result)
      end
      for _, last in ipairs({ failed(-32601), status(404), timeout }) do
        local state, asked = play({ http = http, verdict = "legacy" }, only_modern, last)
        assert.equal("discover " .. MODERN, asked[2])
        assert.same({ "ready", true, MODERN }, { state.step, state.modern, state.version })
      end
    end
    assert.equal("failed", play({ http = true, verdict = "legacy" }, only_modern, status(401)).step)
  end)

  it("does not fall forward when the legacy era or a revision of it is pinned", function()
    for _, options in ipairs({ { era = "legacy" }, { version = LEGACY } }) do
      local state = play(options, only_modern)
      assert.equal("failed", state.step)
      assert.is_nil(state.err.message:find("we speak " .. MODERN, 1, true))
    end
  end)

  it("tells what a server supports that refuses the revision that is pinned, whichever it names", function()
    for _, supported in ipairs({ "2024-11-05", "2025-06-18" }) do
      local state, asked = play({ version = "2025-06-18" }, failed(-32022, { supported = { supported } }))
      assert.same({ "initialize 2025-06-18" }, asked)
      assert.equal(("initialize: the server refused revision 2025-06-18, the only one allowed; it supports %s: no")
        :format(supported), state.err.message)
      assert.equal("version", state.err.details.kind)
    end
  end)

  it("does not say that there is no common revision when the one it asked for is refused again", function()
    local refusal = failed(-32602, { supported = { "2024-11-05" } })
    local state, asked = play({}, failed(-32601), refusal, refusal)
    assert.same({ "discover " .. MODERN, "initialize " .. LEGACY, "initialize 2024-11-05" }, asked)
    assert.equal("initialize: the server refused each revision that it says it supports (2024-11-05): no",
      state.err.message)
  end)

  it("asks with each revision once, and says so when none is left", function()
    local refusal = failed(-32022, { supported = { LEGACY, "2024-11-05" } })
    local state, asked = play({}, failed(-32022, { supported = { MODERN, LEGACY } }), refusal, refusal)
    assert.same({ "discover " .. MODERN, "initialize " .. LEGACY, "initialize 2024-11-05" }, asked)
    assert.equal("failed", state.step)
    assert.equal("initialize: the server refused each revision that it says it supports (2025-11-25, 2024-11-05): no",
      state.err.message)
    assert.equal(-32022, state.err.details.rpcCode)
    assert.same({ LEGACY, "2024-11-05" }, state.err.details.supported)
    state = play({}, only_modern)
    assert.equal("failed", state.step)
    assert.matches("server/discover: the server refused each revision", state.err.message, 1, true)
  end)

  it("ends where two errors would lead in a circle", function()
    local state = play({}, failed(-32022, { supported = { LEGACY } }), only_modern)
    assert.equal("failed", state.step)
    assert.equal("failed", play({}, failed(-32601), failed(-32601)).step)
  end)

  it("accepts an older revision in the handshake, none that is unknown", function()
    assert.equal("2024-11-05", play({ era = "legacy" }, initialized("2024-11-05")).version)
    local state = play({ era = "legacy" }, initialized("1999-01-01"))
    assert.equal("failed", state.step)
    assert.equal("no common revision of MCP: the server speaks 1999-01-01, we speak 2025-11-25, 2025-06-18, "
      .. "2025-03-26, 2024-11-05", state.err.message)
  end)

  it("asks nothing when a modern revision or era is pinned, or was found before", function()
    for _, options in ipairs({ { version = MODERN }, { era = "modern" }, { verdict = "modern" } }) do
      local state = negotiation.new(options)
      assert.equal("ready", state.step)
      assert.is_true(state.modern)
      assert.is_nil(state.result)
    end
    assert.equal("events", negotiation.new({ verdict = "events" }).step)
  end)

  it("knows the revisions that are supported", function()
    assert.same({ MODERN, LEGACY, "2025-06-18", "2025-03-26", "2024-11-05" }, negotiation.all())
    for name, is_known in pairs({ [MODERN] = true, ["2024-11-05"] = true, ["1999-01-01"] = false, [7] = false }) do
      assert.equal(is_known, negotiation.is_known(name))
    end
  end)

  it("shakes hands with the revision that is pinned", function()
    local state = negotiation.new({ version = "2025-06-18" })
    assert.equal("initialize", state.step)
    assert.equal("2025-06-18", state.version)
  end)

  it("tries the oldest transport once, whatever is answered there", function()
    for _, code in ipairs({ 400, 404, 405 }) do
      local state, asked = play({ http = true }, status(code), status(code), status(code))
      assert.same({ "discover " .. MODERN, "initialize " .. LEGACY .. " fresh", "events " .. LEGACY .. " fresh" },
        asked)
      assert.same({ "failed", "HTTP_" .. code }, { state.step, state.err.code })
      state, asked = play({ http = true, verdict = "events" }, status(code))
      assert.same({ "events " .. LEGACY }, asked)
      assert.same({ "failed", "HTTP_" .. code }, { state.step, state.err.code })
    end
  end)

  it("takes a server that fails over an unknown method for one of the legacy era", function()
    local function step(number, media)
      local state = negotiation.new({ http = true })
      state:discovered(nil, errors.new("HTTP_" .. number, "no", { kind = "status", statusCode = number,
        headers = { ["content-type"] = media } }))
      return state.step
    end
    for _, case in ipairs({ { 500, "text/html" }, { 503, "text/plain" }, { 502 }, { 501, "application/json" }, { 409 },
      { 410, "application/json" } }) do
      assert.equal("initialize", step(case[1], case[2]))
    end
    assert.equal("failed", step(500, "application/json"))
    assert.equal("failed", step(429))
  end)
end)
