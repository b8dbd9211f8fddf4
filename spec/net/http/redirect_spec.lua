local dkjson = require("dkjson")
local http = require("operations.net.http")
local message = require("operations.net.http.message")
local redirect = require("operations.net.http.redirect")
local test_server = require("spec.support.server")

describe("the number of redirects that a request follows", function()
  local function most(redirects)
    return redirect.most((message.prepare({ url = "http://a/", redirects = redirects })))
  end

  it("is the request's own, or the usual one", function()
    assert.equal(3, most(3))
    assert.equal(0, most(0))
    assert.equal(require("operations.base.limits").redirects, most())
  end)
end)

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
    return response and response.status == 200 and dkjson.decode(response.body), err, response
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

  it("encodes blanks in a Location", function()
    assert.equal("/echo/a%20b?c%20d/echo", send("GET", 302, { to = "/echo/a+b?c+d" }).uri)
  end)

  it("encodes the bytes of a Location beyond ASCII", function()
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

describe("where an answer redirects to", function()
  local server = test_server.around(setup, teardown)

  local function target(method, status, options)
    return redirect.target({ method = method, options = options or {} },
      { status = status, headers = { location = "/there" } })
  end

  it("is known by its status and method", function()
    for _, status in ipairs({ 301, 302, 303, 307, 308 }) do
      for _, method in ipairs({ "GET", "HEAD" }) do
        assert.equal("/there", target(method, status))
      end
      for _, method in ipairs({ "POST", "PUT", "DELETE", "OPTIONS" }) do
        assert.is_nil(target(method, status))
        assert.equal("/there", target(method, status, { redirect_all = true }))
      end
    end
    for _, status in ipairs({ 200, 201, 300, 304, 305, 306, 309, 400 }) do
      assert.is_nil(target("GET", status))
    end
  end)

  it("is of no interest where none may be followed", function()
    assert.is_nil(target("GET", 302, { redirects = 0 }))
    assert.equal("/there", target("GET", 302, { redirects = 1 }))
    assert.is_nil(redirect.target({ method = "GET", options = {} }, { status = 302, headers = {} }))
  end)

  it("is followed so often, and no more", function()
    local options = { method = "GET", url = server.url .. "/redirect?to=/redirect%3Fto=/echo", redirects = 1 }
    local answer, err = http.request(options)
    assert.is_nil(answer)
    assert.same({ "redirect", true }, { err.details.kind, err.message:find("more than 1 redirects", 1, true) ~= nil })
    options.redirects = 2
    assert.equal(200, http.request(options).status)
    options.redirects = 0
    assert.equal(302, http.request(options).status)
  end)

  it("keeps the user of a URL at its origin, and nowhere else", function()
    local function follow(to, from)
      local request = assert(message.prepare({ url = from or "http://u:p@a.test/x/y", userinfo = true }))
      local following, problem = redirect.follow(request, 302, to)
      return problem or following.url
    end
    for to, expected in pairs({ ["z"] = "http://u:p@a.test/x/z", ["/z?q#f"] = "http://u:p@a.test/z?q",
      ["//a.test/z"] = "http://u:p@a.test/z", ["http://a.test:80/z"] = "http://u:p@a.test:80/z",
      ["http://b.test/z"] = "http://b.test/z", ["https://a.test/z"] = "https://a.test/z",
      ["http://a.test:8080/z"] = "http://a.test:8080/z" }) do
      assert.equal(expected, follow(to), to)
    end
    for _, to in ipairs({ "http://v:q@a.test/", "//v@b.test/" }) do
      assert.equal("redirected, and the URL contains a user name or password", follow(to))
    end
    assert.equal("http://a.test/z", follow("/z", "http://a.test/"))
  end)

  it("goes to hosts and paths that are not ASCII", function()
    local request = assert(message.prepare({ url = "http://bücher.test/é" }))
    assert.equal("http://xn--bcher-kva.test/%C3%A9", request.url)
    for to, expected in pairs({ ["/ü ü"] = "http://xn--bcher-kva.test/%C3%BC%20%C3%BC",
      ["http://bücher.test/ä?ö"] = "http://xn--bcher-kva.test/%C3%A4?%C3%B6",
      ["//РОССИЯ.рф"] = "http://xn--h1alffa9f.xn--p1ai", ["\255"] = "http://xn--bcher-kva.test/%FF" }) do
      assert.equal(expected, redirect.follow(request, 302, to).url)
    end
    assert.equal("redirected to an invalid URL", select(2, redirect.follow(request, 302, "http://\255.test/")))
    assert.equal("the URL has no valid host", select(2, message.prepare({ url = "http://\255.test/" })))
  end)

  it("takes the same request there, or another", function()
    for status, methods in pairs({ [301] = "GET HEAD PUT", [302] = "GET HEAD PUT DELETE", [303] = "GET HEAD",
      [307] = "GET HEAD POST PUT", [308] = "GET HEAD POST PUT" }) do
      for method in methods:gmatch("%u+") do
        assert.is_true(redirect.keeps_request(status, method))
      end
    end
    for status, methods in pairs({ [301] = "POST", [302] = "POST", [303] = "POST PUT", [200] = "GET" }) do
      for method in methods:gmatch("%u+") do
        assert.is_false(redirect.keeps_request(status, method))
      end
    end
  end)

  it("is the origin that was asked, another, or refused", function()
    for to, expected in pairs({
      ["/x y?\195\188"] = { "http://h:80/x%20y?%C3%BC", false },
      ["http://h/x"] = { "http://h/x", false },
      ["http://H:80/x"] = { "http://H:80/x", false },
      ["http://h:81/x"] = { "http://h:81/x", true },
      ["https://h/x"] = { "https://h/x", true },
      ["ftp://h/x"] = { nil, "redirected from http to ftp" },
      ["http:x"] = { nil, "redirected to an invalid URL" },
    }) do
      assert.same(expected, { redirect.destination("http://h:80/a", to) }, to)
    end
    assert.same({ nil, "redirected from https to http" }, { redirect.destination("https://h/a", "http://h/a") })
    assert.same({ "https://g/a", true }, { redirect.destination("https://h/a", "https://g/a") })
  end)
end)
