local json = require("operations.base.json")
local metadata = require("operations.mcp.protocol.metadata")

local PREFIX = "io.modelcontextprotocol/"

describe("what a request says of itself", function()
  local legacy = { modern = false, version = "2025-06-18", client = { name = "c", version = "1" }, capabilities = {} }
  local modern = {
    modern = true, version = "2026-07-28", client = { name = "c", version = "1" }, capabilities = { roots = {} },
    extended = { roots = {}, extensions = {} }, log_level = "info",
  }

  it("is nothing in the legacy era unless something was asked for", function()
    local params = { name = "t" }
    assert.equal(params, metadata.params(legacy, params, {}))
    assert.is_nil(metadata.params(legacy, nil, {}))
    assert.same({ name = "t", _meta = { progressToken = 7 } }, metadata.params(legacy, params, {}, 7))
    assert.same({ _meta = { traceparent = "00-a" } }, metadata.params(legacy, nil, { traceparent = "00-a" }))
    assert.same({ _meta = { k = "v" } }, metadata.params(legacy, nil, { meta = { k = "v" } }))
    assert.same({ name = "t" }, params)
    assert.equal(params, metadata.params(legacy, params, { meta = {} }))
  end)

  it("names the client and its capabilities in the modern era, beside the given _meta", function()
    local given = { _meta = { own = 1 } }
    assert.same({ _meta = {
      own = 1, progressToken = "p",
      [PREFIX .. "protocolVersion"] = "2026-07-28", [PREFIX .. "clientCapabilities"] = { roots = {}, extensions = {} },
      [PREFIX .. "clientInfo"] = { name = "c", version = "1" }, [PREFIX .. "logLevel"] = "info",
    } }, metadata.params(modern, given, {}, "p"))
    assert.same({ _meta = { own = 1 } }, given)
    assert.equal("2026-07-28", metadata.params(modern, nil, {})._meta[PREFIX .. "protocolVersion"])
  end)

  it("is its revision, its capabilities and its name when it is the first", function()
    assert.same({ protocolVersion = "2025-06-18", capabilities = {}, clientInfo = legacy.client },
      metadata.initialize(legacy, "2025-06-18"))
    local bare = metadata.initialize({ client = legacy.client }, "2025-06-18")
    assert.equal("{}", json.encode(bare.capabilities))
    assert.same({ roots = {} }, metadata.initialize(modern, "2025-06-18").capabilities)
  end)
end)

describe("what a server says about itself", function()
  it("is found where its revision has it", function()
    local info = { name = "s", version = "1" }
    assert.same(info, metadata.server_of({ serverInfo = info }))
    assert.same(info, metadata.server_of({ _meta = { [PREFIX .. "serverInfo"] = info } }))
    assert.is_nil(metadata.server_of({ _meta = "none" }))
    assert.is_nil(metadata.server_of(nil))
  end)
end)
