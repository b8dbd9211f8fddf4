local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local http = require("operations.net.http")
local limits = require("operations.base.limits")
local oauth = require("operations.oauth")
local stream = require("operations.net.stream")
local task = require("operations.task")

describe("a browser on this machine", function()
  local port, base

  before_each(function()
    port = free_port()
    base = "http://127.0.0.1:" .. port
  end)

  -- Logs in: `visit` is what the browser does meanwhile. Returns what `open` does, and what `visit` returned.
  local function log_in(visit)
    local visitor
    local browser = oauth.browser(function(address)
      assert.equal("https://as.test/authorize?state=s1&x=2", address)
      visitor = task.detach(visit)
    end, port)
    local answer, err = browser.open("https://as.test/authorize?state=s1&x=2")
    return answer, err, visitor:wait()
  end

  local function get(path, options)
    options = options or {}
    options.url = base .. path
    return assert(http.request(options))
  end

  it("brings the answer to a login", function()
    assert.equal(base .. "/callback", oauth.browser(print, port).redirect_uri)
    local answer, _, response = log_in(function()
      return get("/callback?code=c%20d&state=s1&iss=x")
    end)
    assert.equal(base .. "/callback?code=c%20d&state=s1&iss=x", answer)
    assert.equal(200, response.status)
    assert.matches("You are logged in", response.body)
  end)

  it("is shown no address that is not safe", function()
    local browser = oauth.browser(function()
      error("shown")
    end, port)
    for _, address in ipairs({ "javascript:alert(1)", "file:///etc/passwd", "/authorize", "", "http://as.test/" }) do
      local answer, err = browser.open(address)
      assert.is_nil(answer)
      assert.matches("^the address of the login is refused: it is n", err.message)
    end
  end)

  it("may be back before it is waited for", function()
    local browser = oauth.browser(function()
      get("/callback?state=s1")
    end, port)
    assert.equal(base .. "/callback?state=s1", browser.open("https://as.test/?state=s1"))
  end)

  it("is there during a login only", function()
    log_in(function()
      return get("/callback?state=s1")
    end)
    local _, err = http.request({ url = base .. "/callback?state=s1" })
    assert.equal("connect", err.details.kind)
    assert.equal(base .. "/callback?state=s1", (log_in(function()
      return get("/callback?state=s1")
    end)))
  end)

  it("brings nothing that belongs elsewhere", function()
    local statuses = {}
    local answer = log_in(function()
      for i, request in ipairs({
        { "/favicon.ico" }, { "/callback" }, { "/callback?code=evil&state=other" }, { "/callback?state=s1&state=s1" },
        { "/callback?state=s1", { method = "POST", body = "x" } }, { "/callback/?state=s1" },
        { "/callback?code=good&state=s1" },
      }) do
        statuses[i] = get(request[1], request[2]).status
      end
    end)
    assert.same({ 404, 400, 400, 400, 404, 404, 200 }, statuses)
    assert.equal(base .. "/callback?code=good&state=s1", answer)
  end)

  -- What is said to bytes that are no request.
  local function say(bytes)
    local connection = assert(stream.connect("127.0.0.1", port))
    local pieces, ended = {}, false
    connection:each_chunk(function(chunk)
      pieces[#pieces + 1] = chunk
      ended = ended or chunk == nil
    end)
    connection:write(bytes)
    while not ended do
      task.sleep(0.001)
    end
    return table.concat(pieces)
  end

  it("outlives invalid requests, endless lines and silence", function()
    local said = {}
    local answer = log_in(function()
      local silent = {}
      for i = 1, 40 do
        silent[i] = stream.connect("127.0.0.1", port)
      end
      said[1] = say("hello\r\n")
      said[2] = say(("x"):rep(20000))
      local slow = assert(stream.connect("127.0.0.1", port))
      slow:write("GET /callback?st")
      task.sleep(0.01)
      slow:write("ate=s1 HTTP/1.1\r\n")
      return #silent
    end)
    assert.matches("^HTTP/1.1 400 ", said[1])
    assert.matches("^HTTP/1.1 400 ", said[2])
    assert.equal(base .. "/callback?state=s1", answer)
  end)

  it("brings nothing by a line that was refused for its length, also where that ends later", function()
    local answer = log_in(function()
      local connection, said = assert(stream.connect("127.0.0.1", port)), nil
      connection:each_chunk(function(chunk)
        said = said or chunk
      end)
      connection:write("GET /callback?state=s1&code=" .. ("x"):rep(20000))
      eventually(function()
        return said
      end)
      connection:write(" HTTP/1.1\r\n")
      task.sleep(0.01)
      assert.matches("^HTTP/1.1 400 ", said)
      return get("/callback?state=s1")
    end)
    assert.equal(base .. "/callback?state=s1", answer)
  end)

  it("is shown the URL by a function, on a port that is a number", function()
    assert.has_error(function()
      oauth.browser("firefox")
    end, "bad argument #1 to 'browser' (function expected, got string)")
    assert.has_error(function()
      oauth.browser(print, "8976")
    end, "bad argument #2 to 'browser' (number expected, got string)")
  end)

  it("says when the port is taken", function()
    local listener = assert(stream.listen("127.0.0.1", port, function() end))
    local answer, err = oauth.browser(error, port).open("https://as.test/?state=s1")
    assert.is_nil(answer)
    assert.equal("listen", err.details.kind)
    listener:close()
  end)

  it("is not waited for longer than allowed", function()
    local before = limits.oauth_login
    limits.oauth_login = 20
    local answer, err = oauth.browser(function() end, port).open("https://as.test/?state=s1")
    limits.oauth_login = before
    assert.is_nil(answer)
    assert.equal("login_required", err.details.error)
  end)

  it("is not waited for when the task is cancelled", function()
    local answer, err
    task.run(function()
      local child = task.spawn(function()
        answer, err = oauth.browser(function() end, port).open("https://as.test/?state=s1")
      end)
      task.sleep(0.01)
      child:cancel()
      child:wait()
    end)
    assert.is_nil(answer)
    assert.equal("ABORTED", err.code)
    assert(stream.listen("127.0.0.1", port, function() end)):close()
  end)

  it("passes on that the URL could not be shown", function()
    assert.has_error(function()
      oauth.browser(function()
        error("no display", 0)
      end, port).open("https://as.test/?state=s1")
    end, "no display")
    assert(stream.listen("127.0.0.1", port, function() end)):close()
  end)
end)
