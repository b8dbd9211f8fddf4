local cjson = require("cjson")
local http = require("operations.net.http")
local test_server = require("spec.support.server")

describe("a redirect of a method other than GET", function()
  local server = test_server.around(setup, teardown)

  local function send(method, status, options)
    options = options or {}
    options.method, options.body = method, options.body or "text"
    options.url = ("%s/redirect?to=%s/echo&status=%d"):format(server.url, options.to or "", status)
    options.to = nil
    options.redirect_all = options.redirect_all == nil or options.redirect_all
    options.headers = options.headers or { ["Content-Type"] = "text/plain", ["X-Other"] = "kept" }
    local response, err = http.request(options)
    return response and response.status == 200 and cjson.decode(response.body), err, response
  end

  it("is not followed unless asked for", function()
    local _, _, response = send("POST", 302, { redirect_all = false })
    assert.equal(302, response.status)
  end)

  for _, status in ipairs({ 301, 302, 303 }) do
    it("makes a POST a GET without a body: " .. status, function()
      local seen = send("POST", status)
      assert.equal("GET", seen.method)
      assert.equal("", seen.body)
      assert.is_nil(seen.headers["content-type"])
      assert.equal("kept", seen.headers["x-other"])
    end)
  end

  for _, status in ipairs({ 307, 308 }) do
    it("repeats method and body: " .. status, function()
      local seen = send("POST", status)
      assert.equal("POST", seen.method)
      assert.equal("text", seen.body)
      assert.equal("text/plain", seen.headers["content-type"])
    end)
  end

  it("keeps PUT and DELETE, but for 303", function()
    assert.equal("PUT", send("PUT", 301).method)
    assert.equal("DELETE", send("DELETE", 302).method)
    assert.equal("GET", send("PUT", 303).method)
  end)

  it("takes blanks in a Location for what they were meant to be", function()
    assert.equal("/echo/a%20b?c%20d/echo", send("GET", 302, { to = "/echo/a+b?c+d" }).uri)
  end)

  it("encodes what of a Location is no ASCII", function()
    assert.equal("/echo/%C3%BC?%E2%82%AC/echo", send("GET", 302, { to = "/echo/%C3%BC?%E2%82%AC" }).uri)
  end)

  it("reports the last URL", function()
    local _, _, response = send("PUT", 308)
    assert.equal(server.url .. "/echo", response.url)
  end)

  it("takes no credential to another origin", function()
    local seen = send("POST", 307, {
      to = server.other,
      headers = { Authorization = "a", ["X-Api-Key"] = "b", ["X-Other"] = "kept" },
      credentials = { "X-API-KEY" },
    })
    assert.is_nil(seen.headers.authorization)
    assert.is_nil(seen.headers["x-api-key"])
    assert.equal("kept", seen.headers["x-other"])
  end)

  it("takes no credential of the query to another origin", function()
    local function target(origin)
      local seen = send("POST", 307, {
        to = origin .. "/echo%3Fapi%255Fkey=secret%26x=1%26token=more%23end%3F/echo",
        query_credentials = { "api_key", "token" },
      })
      return seen.uri
    end
    assert.equal("/echo?x=1", target(server.other))
    assert.equal("/echo?api%5Fkey=secret&x=1&token=more", target(server.url))
  end)

  it("fails where a body that came piece by piece would be sent again", function()
    local left = 1
    local _, err = send("POST", 307, {
      body = function()
        left = left - 1
        return left == 0 and "piece" or nil
      end,
    })
    assert.equal("redirect", err.details.kind)
    assert.matches("second time", err.message)
  end)
end)
