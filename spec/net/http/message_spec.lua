local message = require("operations.net.http.message")

local function prepare(text)
  local request, problem = message.prepare({ url = text })
  return problem or request.url
end

describe("the URL of a request", function()
  for _, text in ipairs({
    "http://a/", "https://a.b-c.example:8080/", "http://127.0.0.1:1/x?y=%20&z", "https://A9/\195\164", "http://a:/",
    "http://a", "http://a:80", "HTTP://a/", "http://[::1]/",
  }) do
    it("stays as it is: " .. text, function()
      assert.equal(text, prepare(text))
    end)
  end

  it("loses its fragment", function()
    assert.equal("http://a/?b", prepare("http://a/?b#c"))
    assert.equal("http://a", prepare("http://a#/"))
  end)

  for text, problem in pairs({
    [""] = "none of http", ["http:/"] = "none of http", ["ftp://a/"] = "none of http", ["httpx://a/"] = "none of http",
    ["//a/"] = "none of http", ["http://"] = "no proper host", ["http:///"] = "no proper host",
    ["http://a%2f/"] = "no proper host", ["http://u@a/"] = "a user name", ["http://a b/"] = "a blank",
    ["http://a/ "] = "a blank", ["http://a/\t"] = "a control", ["http://a/\127"] = "a control",
    ["http://a/\0"] = "a control", ["http://a\0/"] = "a control", ["http://a/#\n"] = "a control",
  }) do
    it(("is refused: %q"):format(text), function()
      assert.truthy(prepare(text):find(problem, 1, true), prepare(text))
    end)
  end

  it("is read in linear time, however long its host", function()
    assert.equal("http://" .. ("1"):rep(1000000), prepare("http://" .. ("1"):rep(1000000)))
  end)
end)
