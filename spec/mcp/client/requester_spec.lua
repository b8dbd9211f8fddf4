-- What the client makes of HTTP answers, given by a server of the specs' own.
local errors = require("operations.base.error")
local listener = require("operations.server.listener")
local operations = require("operations")
local requester = require("operations.mcp.client.requester")

describe("a request of the MCP client", function()
  local opened, answers, seen

  setup(function()
    opened = assert(listener.listen({ port = 0 }, function(request)
      local body = request.body
      if type(body) == "function" then
        local pieces = {}
        for piece in body do
          pieces[#pieces + 1] = piece
        end
        body = table.concat(pieces)
      end
      seen[#seen + 1] = { target = request.target, method = request.method, body = body, headers = request.headers }
      local answer = table.remove(answers, 1) or { status = 200 }
      return { status = answer.status, headers = answer.headers or {}, body = answer.body or "" }
    end))
  end)

  teardown(function()
    opened:close()
  end)

  before_each(function()
    answers, seen = {}, {}
  end)

  local function url(path)
    return ("http://127.0.0.1:%d%s"):format(opened.port, path or "/mcp")
  end

  local function config(more)
    local made = { connect_timeout = 5000, max_timeout = 20000, max_message = 1000 }
    for name, value in pairs(more or {}) do
      made[name] = value
    end
    return made
  end

  local function request(more)
    local made = { url = url(), method = "POST", headers = { B = "2" } }
    for name, value in pairs(more or {}) do
      made[name] = value
    end
    return made
  end

  -- The status and text of an answer; or nil and the error.
  local function open(given, asked, body)
    return operations.run(function()
      local stream, err = requester.open(config(given), asked or request(), body or "{}")
      if not stream then
        return nil, err
      end
      local text = requester.body(stream, 1000)
      return stream.status, text
    end)
  end

  local function redirect(status, location)
    return { status = status, headers = { location = location } }
  end

  it("has the headers of the configuration and its own, and a body", function()
    answers = { { status = 200, body = "yes" } }
    assert.same({ 200, "yes" }, { open({ headers = { A = "1" } }) })
    assert.same({ "/mcp", "POST", "{}", "1", "2" }, { seen[1].target, seen[1].method, seen[1].body, seen[1].headers.a,
      seen[1].headers.b })
  end)

  it("follows redirects that keep it, at its origin", function()
    for _, status in ipairs({ 307, 308 }) do
      answers, seen = { redirect(status, "/other"), { status = 200, body = "there" } }, {}
      assert.same({ 200, "there" }, { open() })
      assert.same({ "/other", "POST", "{}", "2" }, { seen[2].target, seen[2].method, seen[2].body, seen[2].headers.b })
    end
    answers, seen = { redirect(302, url("/other")), { status = 200 } }, {}
    assert.equal(200, (open(nil, request({ method = "GET" }))))
    assert.equal("/other", seen[2].target)
  end)

  it("follows five redirects, and no more", function()
    for i = 1, 5 do
      answers[i] = redirect(307, "/r" .. i)
    end
    assert.equal(200, (open()))
    answers = {}
    for i = 1, 6 do
      answers[i] = redirect(307, "/r" .. i)
    end
    local _, err = open()
    assert.equal(("POST %s: more than 5 redirects"):format(url("/r5")), err.message)
    assert.same({ "HTTP_307", "redirect", 307 }, { err.code, err.details.kind, err.details.statusCode })
  end)

  it("follows no redirect that changes it or leads elsewhere", function()
    for _, status in ipairs({ 300, 301, 302, 303, 399 }) do
      answers = { redirect(status, "/other") }
      local _, err = open()
      assert.equal(("POST %s: redirected (%d), which a POST cannot follow"):format(url(), status), err.message)
    end
    answers = { { status = 307 } }
    assert.matches("redirected %(307%), which a POST cannot follow$", select(2, open()).message)
    for _, location in ipairs({ "http://127.0.0.1:1/", "https://127.0.0.1/", "ftp://x/" }) do
      answers = { redirect(307, location) }
      assert.matches("redirected to another origin$", select(2, open()).message)
    end
    assert.equal(9, #seen)
  end)

  it("ignores the answers of other requests", function()
    for _, status in ipairs({ 304, 400, 404, 500 }) do
      answers = { { status = status } }
      assert.equal(status, (open()))
    end
  end)

  it("is made again with credentials that were renewed, four times at most", function()
    local asked = {}
    local auth = { headers = function(_, address)
      assert.equal(url(), address)
      return { Authorization = "Bearer " .. #asked }
    end, challenged = function(_, answer, credentials)
      asked[#asked + 1] = { answer.status, answer.url, credentials.Authorization, answer.headers["www-authenticate"] }
      return true
    end }
    answers = { { status = 401, headers = { ["www-authenticate"] = "Bearer x" } }, { status = 403 }, { status = 200 } }
    assert.equal(200, (open({ auth = auth })))
    assert.same({ { 401, url(), "Bearer 0", "Bearer x" }, { 403, url(), "Bearer 1" } }, asked)
    assert.equal("Bearer 2", seen[3].headers.authorization)
    answers, asked = {}, {}
    for i = 1, 6 do
      answers[i] = { status = 401 }
    end
    assert.equal(401, (open({ auth = auth })))
    assert.equal(4, #asked)
  end)

  it("is not made again where there is no way to renew credentials", function()
    answers = { { status = 401 } }
    assert.equal(401, (open()))
    local auth = { headers = function()
      return {}
    end, challenged = function()
      return false
    end }
    answers = { { status = 401 } }
    assert.equal(401, (open({ auth = auth })))
    auth.challenged = function()
      return nil, errors.new("ACCESS_DENIED", "no user")
    end
    answers = { { status = 401 } }
    local _, err = open({ auth = auth })
    assert.same({ "ACCESS_DENIED", "no user", false }, { err.code, err.message, err.mayHaveRun })
    auth.headers = function()
      return nil, errors.new("UNAVAILABLE", "no token")
    end
    _, err = open({ auth = auth })
    assert.same({ "UNAVAILABLE", "no token", false }, { err.code, err.message, err.mayHaveRun })
  end)

  it("is answered with at most as many bytes as are allowed", function()
    answers = { { status = 200, body = ("x"):rep(1000) } }
    assert.equal(1000, #select(2, open()))
    answers = { { status = 200, body = ("x"):rep(1001) } }
    local text, err = operations.run(function()
      return requester.body(assert(requester.open(config(), request(), "{}")), 1000)
    end)
    assert.is_nil(text)
    assert.same({ "the response is larger than 1000 bytes", "size", 1000 }, { err.message, err.details.kind,
      err.details.limit })
  end)

  it("fails with the words of the answer, where it has some", function()
    local function failure(body, status)
      answers = { { status = status or 400, body = body } }
      local ok, err = operations.run(function()
        return requester.deliver(config(), request(), "{}", 0)
      end)
      assert.is_nil(ok)
      assert.same({ "HTTP_" .. (status or 400), "status", status or 400, body }, { err.code, err.details.kind,
        err.details.statusCode, err.details.body })
      return (err.message:gsub("^POST " .. url():gsub("%p", "%%%0") .. ": ", ""))
    end
    for body, words in pairs({ ['{"error":{"message":"m"}}'] = ": m", ['{"message":"m"}'] = ": m",
      ['{"error":"e","error_description":"d"}'] = ": d", ['{"detail":"d"}'] = ": d", ['{"error":"e"}'] = ": e",
      ['{"other":1}'] = "", ['{"message":7}'] = "", ["<html>"] = "", [" a\n b\1"] = ":  a b",
      [""] = "", ["{broken"] = ": {broken" }) do
      assert.equal("status 400" .. words, failure(body))
    end
    assert.equal("status 503: " .. ("x"):rep(200), failure(("x"):rep(300), 503))
  end)

  it("is delivered by any success", function()
    for _, status in ipairs({ 200, 202, 204 }) do
      answers = { { status = status } }
      assert.is_true(operations.run(function()
        return requester.deliver(config(), request(), "{}", 0)
      end))
    end
  end)
end)

describe("the media type of an answer", function()
  it("is told without its parameters, in lower case", function()
    local function of(value)
      return requester.media_type({ headers = { ["content-type"] = value } })
    end
    assert.equal("text/event-stream", of(" Text/Event-Stream; charset=utf-8"))
    assert.equal("", of(nil))
    assert.equal("a/b", requester.media_type({ content_type = "A/B", headers = { ["content-type"] = "c/d" } }))
  end)

  it("is of events where the answer succeeded", function()
    local headers = { ["content-type"] = "text/event-stream" }
    assert.is_true(requester.has_events({ status = 200, headers = headers }))
    assert.is_false(requester.has_events({ status = 201, headers = headers }))
    assert.is_false(requester.has_events({ status = 200, headers = {} }))
  end)
end)
