local endpoint = require("operations.oauth.endpoint")
local json = require("operations.base.json")

describe("a form of OAuth", function()
  it("is written in the order of its names, all but unreserved characters encoded", function()
    assert.equal("a=%26%3D&b%2B=x%20y&c=1&c=2", endpoint.encode_form({ ["b+"] = "x y", a = "&=", c = { "1", "2" } }))
    assert.equal("", endpoint.encode_form({}))
  end)

  it("is read as browsers write it", function()
    local fields, repeated = endpoint.decode_form("a=x+y%2B&b=&c&%64=%e2%82%ac&&e=a=b")
    assert.same({ a = "x y+", b = "", c = "", d = "\226\130\172", e = "a=b" }, fields)
    assert.same({}, repeated)
  end)

  it("gives nothing of a field that is there twice", function()
    local fields, repeated = endpoint.decode_form("code=a&state=s&code=b&code=c")
    assert.same({ state = "s" }, fields)
    assert.same({ code = true }, repeated)
  end)
end)

describe("an error of an authorization server", function()
  it("is told in words, also where it is an object", function()
    for text, expected in pairs({
      ['{"error":"invalid_grant","error_description":"gone"}'] = { "invalid_grant", "invalid_grant: gone" },
      ['{"error":{"code":"expired","message":"too late"}}'] = { "expired", "expired: too late" },
      ['{"error":{"type":"bad_request","code":400}}'] = { "bad_request", "bad_request" },
      ['{"error":{"b":1,"a":[true]}}'] = { '{"a":[true],"b":1}', '{"a":[true],"b":1}' },
      ['{"error":["x"]}'] = { '["x"]', '["x"]' }, ['{"error":false}'] = { "false", "false" },
    }) do
      local err = endpoint.refusal("https://a.test/token", json.decode(text), 400)
      assert.same({ expected[1], "https://a.test/token: " .. expected[2] }, { err.details.error, err.message })
    end
  end)
end)
