local guard = require("operations.server.guard")

local function check(headers, options, peer)
  return guard.check({ headers = headers, peer = peer }, options or {})
end

describe("the guard of a server", function()
  it("lets numeric addresses and localhost pass, other names only when they are listed", function()
    for _, host in ipairs({ "localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:80", "[::1]:8080", "10.1.2.3" }) do
      assert.is_nil(check({ host = host }), host)
    end
    assert.is_nil(check({ host = "api.example:80" }, { hosts = { "api.example" } }))
    assert.is_nil(check({ host = "API.example" }, { hosts = { "api.example" } }))
    for _, host in ipairs({ "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "" }) do
      assert.matches("the option `hosts`", check({ host = host }), 1, true)
    end
  end)

  it("does not ask for names on a Unix socket", function()
    assert.is_nil(check({ host = "anything" }, {}, { address = "unix:" }))
  end)

  it("remembers the hosts it has admitted over TCP, and nothing else", function()
    local options = {}
    local function refused()
      assert.matches("the option `hosts`", check({ host = "evil.example" }, options), 1, true)
    end
    refused()
    refused()
    assert.is_nil(check({ host = "evil.example" }, options, { address = "unix:" }))
    refused()
    for _ = 1, 2 do
      assert.is_nil(check({ host = "localhost" }, options))
    end
    refused()
    assert.is_truthy(check({ host = "localhost", origin = "http://evil.example" }, options))
    assert.is_truthy(check({ host = "localhost", ["sec-fetch-site"] = "cross-site" }, options))
  end)

  it("refuses pages of other origins, and null", function()
    assert.is_nil(check({ host = "localhost:80", origin = "http://localhost:80" }))
    assert.is_nil(check({ host = "localhost", origin = "http://localhost:80" }))
    local listed = { origins = { "https://app.example" } }
    assert.is_nil(check({ host = "localhost", origin = "https://app.example" }, listed))
    for _, origin in ipairs({ "http://evil.example", "null", "http://localhost:81", "file://",
      "http://localhost:80/x" }) do
      assert.matches("the option `origins`", check({ host = "localhost:80", origin = origin }), 1, true)
    end
  end)

  it("lets pages of this machine use requests that say so", function()
    local function of(origin, is_local, options, site)
      return guard.check({ headers = { host = "localhost:80", origin = origin, ["sec-fetch-site"] = site },
        is_local = is_local }, options or { local_pages = true })
    end
    assert.is_nil(of("http://localhost:6274", true))
    assert.is_nil(of("http://localhost:6274", true, nil, "same-site"))
    assert.is_truthy(of("http://localhost:6274", false))
    assert.is_truthy(of("http://localhost:6274", true, {}))
    for _, origin in ipairs({ "http://localhost.evil", "http://evil.example", "null", "file://" }) do
      assert.matches("the option `origins`", of(origin, true), 1, true)
    end
  end)

  it("refuses requests that a browser sends for a page elsewhere without an Origin", function()
    assert.is_nil(check({ host = "localhost", ["sec-fetch-site"] = "same-origin" }))
    assert.is_nil(check({ host = "localhost", ["sec-fetch-site"] = "none" }))
    assert.matches("Sec%-Fetch%-Site: cross%-site", check({ host = "localhost", ["sec-fetch-site"] = "cross-site" }))
    assert.is_truthy(check({ host = "localhost", ["sec-fetch-site"] = "same-site" }))
    assert.is_nil(check({ host = "localhost", ["sec-fetch-site"] = "cross-site", origin = "https://app.example" },
      { origins = { "https://app.example" } }))
  end)

  it("lets links of other pages lead to public resources, and only links", function()
    local function follow(mode, method, public, more)
      local headers = { host = "localhost", ["sec-fetch-site"] = "cross-site", ["sec-fetch-mode"] = mode }
      for name, value in pairs(more or {}) do
        headers[name] = value
      end
      return guard.check({ method = method, headers = headers }, {}, public)
    end
    assert.is_nil(follow("navigate", "GET", true))
    assert.is_nil(follow("navigate", "HEAD", true))
    assert.is_truthy(follow("navigate", "GET", false))
    assert.is_truthy(follow("navigate", "GET"))
    assert.is_truthy(follow("navigate", "POST", true))
    assert.is_truthy(follow("no-cors", "GET", true))
    assert.is_truthy(follow(nil, "GET", true))
    assert.is_truthy(follow("navigate", "GET", true, { origin = "http://evil.example" }))
    assert.is_truthy(follow("navigate", "GET", true, { host = "evil.example" }))
  end)

  it("checks the host of listed origins too", function()
    assert.is_truthy(check({ host = "evil.example", origin = "https://app.example" },
      { origins = { "https://app.example" } }))
  end)
end)
