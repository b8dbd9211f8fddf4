local compat = require("operations.base.compat")
local http = require("operations.net.http")
local test_server = require("spec.support.server")

describe("a cookie jar", function()
  local jar

  before_each(function()
    jar = http.jar()
  end)

  local function stores(from, ...)
    jar:store(from, { ... })
  end

  it("sends the cookies of a host back to it", function()
    stores("http://a.test/", "one=1", "two=2; HttpOnly")
    assert.equal("one=1; two=2", jar:header("http://a.test/x"))
    assert.is_nil(jar:header("http://b.test/"))
    assert.is_nil(jar:header("http://sub.a.test/"))
  end)

  it("replaces a cookie of the same name, domain and path", function()
    stores("http://a.test/", "a=1", "b=2", "a=3")
    assert.equal("a=3; b=2", jar:header("http://a.test/"))
  end)

  it("keeps to domains, but never to one that all share", function()
    stores("http://www.a.test/", "d=1; Domain=a.test", "e=1; Domain=.a.test", "f=1; Domain=test", "g=1; Domain=b.test")
    assert.equal("d=1; e=1", jar:header("http://other.a.test/"))
    assert.is_nil(jar:header("http://xa.test/"))
    stores("http://127.0.0.1/", "h=1; Domain=0.1")
    assert.is_nil(jar:header("http://127.0.0.1/"))
  end)

  it("reads dates as browsers do", function()
    local past, future = {}, {}
    for i, date in ipairs({ "Wed, 01 Jan %s 00:00:00 GMT", "Wed, 01 Jan %s 00:00:00 UTC",
      "Wed, 01 Jan %s 00:00:00 +0000",
      "Wed, 01 Jan %s 00:00:00", "01 Jan %s 00:00:00 GMT", "Wed, 1 Jan %s 0:0:0 GMT", "Wed, 01-Jan-%s 0:00:00 GMT",
      "Jan 1 %s 00:00:00", "00:00:00 %s January 01", "Wed Jan  1 00:00:00 %s", "Wed,01-JAN-%s;00:00:00" }) do
      if not date:find(";") then
        past[i], future[i] = ("a%d=1; Expires=" .. date):format(i, 2020), ("a%d=1; Expires=" .. date):format(i, 2060)
      end
    end
    stores("http://a.test/", compat.unpack(past))
    assert.is_nil(jar:header("http://a.test/"))
    stores("http://a.test/", compat.unpack(future))
    assert.equal(#future, select(2, jar:header("http://a.test/"):gsub("a%d+=1", "")))
    stores("http://b.test/", "a=1; Expires=01 Jan 70 00:00:00 GMT", "b=1; Expires=01 Jan 69 00:00:00 GMT",
      "c=1; Expires=01 Jan 1600 00:00:00 GMT", "d=1; Expires=01 Jan 2020 24:00:00 GMT",
      "e=1; Expires=32 Jan 2020 1:1:1",
      "f=1; Expires=Jan 2020 1:1", "g=1; Expires=never") -- not a date: until the program ends
    assert.equal("b=1; c=1; d=1; e=1; f=1; g=1", jar:header("http://b.test/"))
  end)

  it("keeps to paths, the longest first", function()
    stores("http://a.test/x/y", "short=1; Path=/", "long=1; Path=/x", "default=1")
    assert.equal("long=1; default=1; short=1", jar:header("http://a.test/x/z"))
    assert.equal("short=1", jar:header("http://a.test/xy"))
  end)

  it("sends secure cookies over https only, and takes them from there only", function()
    stores("https://a.test/", "s=1; Secure")
    stores("http://a.test/", "t=1; Secure", "__Host-u=1; Path=/", "__Secure-v=1")
    assert.equal("s=1", jar:header("https://a.test/"))
    assert.is_nil(jar:header("http://a.test/"))
  end)

  it("lets no cookie that came in the clear take the place of a secure one", function()
    stores("https://a.test/login", "s=1; Secure; Path=/login", "t=1; Secure")
    stores("http://a.test/", "s=2; Path=/login/en", "t=2; Domain=a.test", "u=2")
    stores("http://sub.a.test/", "t=3; Domain=a.test")
    assert.equal("s=1; t=1; u=2", jar:header("https://a.test/login/en"))
    stores("http://a.test/", "s=3; Path=/", "__SECURE-a=1", "__host-b=1; Path=/")
    assert.equal("s=1; t=1; u=2; s=3", jar:header("https://a.test/login/en"))
    stores("https://a.test/", "v=1; Secure; Domain=a.test")
    stores("https://sub.a.test/", "w=1; Secure")
    stores("http://sub.a.test/", "v=2", "w=2; Domain=a.test")
    assert.equal("v=1; w=1", jar:header("https://sub.a.test/"))
  end)

  it("takes names that promise something where the promise is kept", function()
    stores("https://a.test/", "__Secure-a=1; Secure", "__Secure-b=1")
    stores("https://a.test/x/", "__Host-c=1; Secure; Path=/", "__Host-d=1; Secure", "__Host-e=1; Path=/",
      "__Host-f=1; Secure; Path=/; Domain=a.test")
    assert.equal("__Secure-a=1; __Host-c=1", jar:header("https://a.test/x/"))
  end)

  it("drops expired cookies", function()
    stores("http://a.test/", "a=1", "b=1; Max-Age=100", "c=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT")
    assert.equal("a=1; b=1", jar:header("http://a.test/"))
    stores("http://a.test/", "a=; Max-Age=0", "b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=100")
    assert.equal("b=", jar:header("http://a.test/"))
    jar:clear()
    assert.is_nil(jar:header("http://a.test/"))
  end)

  it("takes nothing that could break a header", function()
    stores("http://a.test/", "a=1\r\nX: y", "=x", "noequals", "long=" .. ("x"):rep(5000))
    assert.is_nil(jar:header("http://a.test/"))
  end)

  it("stores as much as RFC 6265 asks of clients, and no more", function()
    for i = 1, 60 do
      stores("http://h" .. i .. ".a.test/", ("c%d=%d; Domain=a.test"):format(i, i), ("own%d=1"):format(i))
      stores("http://b.test/", ("b%d=1"):format(i))
    end
    local header = jar:header("http://h60.a.test/")
    assert.matches("c60=60", header, 1, true)
    assert.is_nil(header:find("c1=1;", 1, true))
    assert.is_true(select(2, header:gsub("=", "")) <= 50)
    assert.equal(50, select(2, jar:header("http://b.test/"):gsub("=", "")))
    assert.is_nil(jar:header("http://b.test/"):find("b10=", 1, true)) -- the oldest
    for i = 1, 200 do
      for k = 1, 20 do
        stores(("http://s%d.test/"):format(i), ("k%d=1"):format(k))
      end
    end
    local count = 0
    for i = 1, 200 do
      local sent = jar:header(("http://s%d.test/"):format(i)) or ""
      count = count + select(2, sent:gsub("=", ""))
    end
    assert.equal(3000, count)
    assert.is_nil(jar:header("http://b.test/"))
    stores("http://c.test/", "a=" .. ("x"):rep(4094), "b=" .. ("x"):rep(4095), "c=1; Path=/" .. ("x"):rep(5000))
    assert.equal(4096, #jar:header("http://c.test/"))
  end)

  describe("given with requests", function()
    local server = test_server.around(setup, teardown)

    it("carries cookies from one to the next, and over redirects", function()
      assert.equal("none", http.request({ url = server.url .. "/cookie?set=a=1", jar = jar }).body)
      assert.equal("a=1; b=2", http.request({ url = server.url .. "/cookie?set=b=2&to=/cookie", jar = jar }).body)
    end)

    it("adds to the caller's own Cookie header", function()
      jar:store(server.url, { "a=1" })
      local response = http.request({ url = server.url .. "/cookie", jar = jar, headers = { cookie = "mine=1" } })
      assert.equal("mine=1; a=1", response.body)
    end)

    it("is needed: without one, nothing is kept", function()
      http.request({ url = server.url .. "/cookie?set=a=1" })
      assert.equal("none", http.request({ url = server.url .. "/cookie" }).body)
    end)
  end)
end)
