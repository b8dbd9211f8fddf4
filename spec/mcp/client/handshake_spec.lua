-- What is remembered of servers.
describe("the handshake with an MCP server", function()
  local NAME = "operations.mcp.client.handshake"
  local shared, handshake

  before_each(function() -- one that has seen no server yet
    shared = package.loaded[NAME]
    package.loaded[NAME] = nil
    handshake = require(NAME)
  end)

  after_each(function()
    package.loaded[NAME] = shared
  end)

  -- The first request to a server, of the legacy era.
  local function first(config)
    local asked = {}
    local link = { pending = { next_id = function() return 1 end }, speak = function() end, started = function() end,
      deliver = function() return true end }
    assert(handshake.run({ _config = config, _link = link, _self = {}, supervisor = { failures = 0 },
      _ask = function(_, _, method)
      asked[#asked + 1] = method
      if method == "server/discover" then
        return { error = { code = -32601, message = "no" } }
      end
      return { result = { protocolVersion = "2025-11-25", capabilities = {} } }
    end }))
    return asked[1]
  end

  it("is remembered of 1,000 servers, and all are forgotten for one more", function()
    for i = 1, 1000 do
      assert.equal("server/discover", first({ command = "c" .. i }))
    end
    assert.equal("initialize", first({ command = "c1" }))
    assert.equal("initialize", first({ command = "c1000" }))
    assert.equal("server/discover", first({ command = "c1001" }))
    assert.equal("initialize", first({ command = "c1001" }))
    for i = 1, 999 do
      assert.equal("server/discover", first({ command = "c" .. i }))
    end
    assert.equal("initialize", first({ command = "c1" }))
    assert.equal("server/discover", first({ command = "c1000" }))
    assert.equal("initialize", first({ command = "c1000" }))
    assert.equal("server/discover", first({ command = "c1" }))
  end)

  it("is that of a program with its arguments and directory, or of a URL without its query", function()
    local same = { { command = "a", args = { "b" } }, { command = "a", cwd = "/x" }, { url = "http://a.test/mcp" } }
    for _, config in ipairs(same) do
      assert.equal("server/discover", first(config))
      assert.equal("initialize", first(config))
    end
    assert.equal("initialize", first({ url = "http://a.test/mcp?key=1" }))
    assert.equal("initialize", first({ url = "http://a.test/mcp#x" }))
    for _, other in ipairs({ { command = "a" }, { command = "a", args = { "c" } }, { url = "http://a.test/other" } }) do
      assert.equal("server/discover", first(other))
    end
  end)
end)
