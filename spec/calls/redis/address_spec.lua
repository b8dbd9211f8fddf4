--- The address of a Redis server: its URL, its options and the nodes of its cluster.
local addresses = require("operations.calls.redis.address")

describe("the address of a Redis server", function()
  local function of(url, options)
    return addresses.read(url, options or {})
  end

  it("is read from its URL", function()
    assert.same({ tls = false, host = "h", port = 6379, proxy = "", nodes = {} }, of("redis://h"))
    assert.same({ tls = true, host = "h", port = 1, database = 2, user = "u/", password = "p:", proxy = "",
      nodes = {} },
      of("rediss://u%2F:p%3A@H:1/2"))
    assert.same({ tls = false, host = "::1", port = 65535, proxy = "", nodes = {} }, of("redis://[::1]:65535/"))
    assert.same({ "p" }, { of("redis://:p@h").password })
    assert.is_nil(of("redis://:p@h").user)
    assert.is_nil(of("redis://u@h").password)
    assert.equal(0, of("redis://h/0").database)
  end)

  it("has the options of its connection, which go before the URL", function()
    local options = { user = "a", password = "b", ca_file = "c", cert_file = "d", key_file = "e", key_password = "f",
      public_only = true, connect_timeout = 5, proxy = "http://p" }
    assert.same({ tls = false, host = "h", port = 6379, user = "a", password = "b", ca_file = "c", cert_file = "d",
      key_file = "e", key_password = "f", public_only = true, connect_timeout = 5, proxy = "http://p",
      nodes = {} }, of("redis://u:p@h", options))
  end)

  it("is refused where the URL is invalid, without its password", function()
    for url, message in pairs({
      ["http://u:p@h"] = "bad argument #1 to 'redis' (URL of redis or rediss expected, got http://h)",
      ["h"] = "bad argument #1 to 'redis' (URL of redis or rediss expected, got h)",
      ["redis://u:p@h/x"] = "bad argument #1 to 'redis' (redis://user:password@host:port/database, with %2F and the "
        .. "like in a password, expected, got redis://h/x)",
      ["redis://h:65536"] = "bad argument #1 to 'redis' (redis://user:password@host:port/database, with %2F and the "
        .. "like in a password, expected, got redis://h:65536)",
    }) do
      local ok, raised = pcall(of, url)
      assert.is_false(ok)
      assert.equal(message, (raised:gsub("^[^ ]*:%d+: ", "")))
    end
  end)

  it("has the kinds of its options, beside others", function()
    local kinds = addresses.options({ mode = "string" })
    assert.same({ "string", "number", "boolean" }, { kinds.mode, kinds.connect_timeout, kinds.public_only })
    assert.is_nil(addresses.options({}).mode)
  end)
end)
