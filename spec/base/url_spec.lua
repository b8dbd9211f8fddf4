local url = require("operations.base.url")

describe("a URL", function()
  it("is taken apart without decoding anything", function()
    assert.same({
      scheme = "http",
      userinfo = "me:pw@x",
      host = "example.com",
      port = "8080",
      path = "/a%2Fb/",
      query = "q=1?2",
      fragment = "f#g",
    }, url.parse("HTTP://me:pw@x@Example.COM:8080/a%2Fb/?q=1?2#f#g"))
  end)

  it("is at the origin of another one, whatever follows", function()
    assert.is_true(url.same_origin("https://h/a", "HTTPS://H:443/b?q"))
    assert.is_false(url.same_origin("https://h/", "http://h/"))
    assert.is_nil(url.same_origin("https://h/", "/path"))
  end)

  it("may lack path, query and fragment", function()
    assert.same({ scheme = "https", host = "h", path = "" }, url.parse("https://h"))
    assert.same({ scheme = "https", host = "h", path = "", query = "" }, url.parse("https://h?"))
    assert.same({ scheme = "https", host = "h", path = "/" }, url.parse("https://h:/"))
  end)

  it("may name an IPv6 address", function()
    assert.equal("[::1]", url.parse("http://[::1]/").host)
    assert.equal("80", url.parse("http://[::1]:80/").port)
  end)

  it("is nothing without scheme and authority", function()
    for _, text in ipairs({ "", "h/p", "/p", "mailto:a@b", "1http://h" }) do
      assert.is_nil(url.parse(text))
    end
  end)

  -- RFC 3986, 5.4; what is not listed there: the last three.
  it("resolves references as RFC 3986 says", function()
    local base = "http://a/b/c/d;p?q"
    for reference, expected in pairs({
      ["g:h"] = "g:h",
      ["g"] = "http://a/b/c/g",
      ["./g"] = "http://a/b/c/g",
      ["g/"] = "http://a/b/c/g/",
      ["/g"] = "http://a/g",
      ["//g"] = "http://g",
      ["?y"] = "http://a/b/c/d;p?y",
      ["g?y"] = "http://a/b/c/g?y",
      ["#s"] = "http://a/b/c/d;p?q#s",
      ["g#s"] = "http://a/b/c/g#s",
      ["g?y#s"] = "http://a/b/c/g?y#s",
      [";x"] = "http://a/b/c/;x",
      ["g;x?y#s"] = "http://a/b/c/g;x?y#s",
      [""] = "http://a/b/c/d;p?q",
      ["."] = "http://a/b/c/",
      ["./"] = "http://a/b/c/",
      [".."] = "http://a/b/",
      ["../"] = "http://a/b/",
      ["../g"] = "http://a/b/g",
      ["../.."] = "http://a/",
      ["../../"] = "http://a/",
      ["../../g"] = "http://a/g",
      ["../../../g"] = "http://a/g",
      ["/./g"] = "http://a/g",
      ["/../g"] = "http://a/g",
      ["g."] = "http://a/b/c/g.",
      ["..g"] = "http://a/b/c/..g",
      ["./../g"] = "http://a/b/g",
      ["./g/."] = "http://a/b/c/g/",
      ["g/./h"] = "http://a/b/c/g/h",
      ["g/../h"] = "http://a/b/c/h",
      ["g?y/../x"] = "http://a/b/c/g?y/../x",
      ["/a//b"] = "http://a/a//b",
      ["/"] = "http://a/",
      ["/g/"] = "http://a/g/",
    }) do
      assert.equal(expected, url.resolve(base, reference), reference)
    end
    assert.equal("http://h:1/x", url.resolve("http://h:1", "x"))
    assert.is_nil(url.resolve("/no/base", "x"))
  end)

  it("has an origin whose port is always named", function()
    assert.equal("https://h:443", url.origin(url.parse("https://H/x")))
    assert.equal("http://h:8080", url.origin(url.parse("http://h:8080")))
  end)

  it("shows no secrets when redacted", function()
    assert.equal("http://h/p", url.redact("http://user:pass@h/p?key=1#f"))
    assert.equal("http://h/@p", url.redact("http://h/@p"))
    for given, shown in pairs({
      ["http://user:pa/ss@h/p?key=1"] = "http://h/p", ["user:pass@h:6379"] = "h:6379", ["redis:user:pa@ss@h"] = "h",
      ["http://h/p"] = "http://h/p", ["h?key=1"] = "h", [""] = "",
    }) do
      assert.equal(shown, url.redact_any(given))
    end
  end)

  it("encodes all but unreserved characters", function()
    assert.equal("a-Z_0.9~%20%2F%3A%C3%A9%00", url.encode("a-Z_0.9~ /:\195\169\0"))
  end)

  it("takes parameters out of a query by their names", function()
    for given, left in pairs({
      ["http://x/a?k=1&b=2&k=3#f"] = "http://x/a?b=2#f", ["http://x/a?api%20key=1"] = "http://x/a",
      ["http://x/a?ka=1&&k"] = "http://x/a?ka=1", ["http://x/a"] = "http://x/a", ["/a?b#?k=1"] = "/a?b#?k=1",
    }) do
      assert.equal(left, url.without_query(given, { "k", "api key" }))
    end
  end)

  it("in ASCII has its host as DNS has it, and the rest percent-encoded", function()
    for text, ascii in pairs({
      ["http://a.test/%C3%A9?x=1#y"] = "http://a.test/%C3%A9?x=1#y", ["http://bücher.test:80/é?ü=ö#ä"] =
      "http://xn--bcher-kva.test:80/%C3%A9?%C3%BC=%C3%B6#%C3%A4", ["https://ä:ö@é.test"] =
      "https://%C3%A4:%C3%B6@xn--9ca.test", ["/é"] = "/%C3%A9", ["http://a.test/\255"] = "http://a.test/%FF",
    }) do
      assert.equal(ascii, url.ascii(text))
    end
    assert.is_nil(url.ascii("http://\255.test/"))
  end)

  it("decodes escapes, and leaves malformed ones unchanged", function()
    assert.equal("a /\195\169+%2%zz%", url.decode("a%20%2f%C3%a9+%2%zz%"))
  end)

  it("tells this machine from others", function()
    for _, host in ipairs({ "localhost", "127.0.0.1", "127.8.9.10", "[::1]" }) do
      assert.is_true(url.is_loopback(host), host)
    end
    for _, host in ipairs({ "localhost.test", "127.0.0.1.test", "128.0.0.1", "[::2]", "" }) do
      assert.is_false(url.is_loopback(host), host)
    end
  end)

  it("tells what browsers call an origin", function()
    for _, text in ipairs({ "https://a.test", "http://localhost:3000", "http://[::1]:80", "chrome-extension://abc" }) do
      assert.is_true(url.is_origin(text), text)
    end
    for _, text in ipairs({ "null", "*", "a.test", "https://", "https://a.test/", "https://A.test", "https://b@a.test",
      "https://a.test?q", "https:a", "https://a .test" }) do
      assert.is_false(url.is_origin(text), text)
    end
    assert.is_false(url.is_origin(nil))
  end)

  it("is opened for a login only if it is absolute, and https or on this machine", function()
    for _, good in ipairs({ "https://a.test", "https://a.test/x?y#z", "http://127.0.0.1:1/", "http://[::1]/",
      "HTTP://LOCALHOST/" }) do
      assert.is_nil(url.untrusted(good))
    end
    for bad, problem in pairs({
      [""] = "it is not an absolute URL", ["/x"] = "it is not an absolute URL",
      ["//a.test/"] = "it is not an absolute URL",
      ["javascript:alert(1)"] = "it is not an absolute URL", ["file:///etc/passwd"] = "it is not an absolute URL",
      ["data:text/html,x"] = "it is not an absolute URL", ["https://a.test/ x"] = "it is not an absolute URL",
      ["javascript://a.test/%0aalert(1)"] = "it is neither https nor on this machine",
      ["http://a.test/"] = "it is neither https nor on this machine",
      ["http://127.0.0.1.a.test/"] = "it is neither https nor on this machine",
      ["http://localhost.a.test/"] = "it is neither https nor on this machine",
      ["https://localhost@a.test/"] = "it contains a user name or password",
    }) do
      assert.equal(problem, url.untrusted(bad))
    end
    assert.equal("it is not an absolute URL", url.untrusted(nil))
    assert.equal("it is not an absolute URL", url.untrusted({}))
  end)
end)
