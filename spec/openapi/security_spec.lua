local operations = require("operations")
local support = require("spec.support.openapi")

local schemes = {
  key = { type = "apiKey", ["in"] = "header", name = "X-Key" },
  query = { type = "apiKey", ["in"] = "query", name = "api key" },
  cookie = { type = "apiKey", ["in"] = "cookie", name = "session" },
  basic = { type = "http", scheme = "Basic" },
  bearer = { type = "http", scheme = "bearer" },
  oauth = { type = "oauth2", flows = {} },
  odd = { type = "http", scheme = "hoba" },
  tls = { type = "mutualTLS" },
}

local function call(security, auth, more, reply)
  more = more or {}
  local doc = { components = { securitySchemes = schemes }, security = more.document }
  local api = support.api(support.one({ security = security, parameters = more.parameters }, { doc = doc }),
    { auth = auth, headers = more.headers }, reply)
  local _, err = api.definitions[1].handler(more.input or {}, more.context)
  return api.requests[1], err, api
end

describe("the credentials of a request", function()
  it("stand in the header that the scheme names", function()
    assert.equal("k", call({ { key = {} } }, { key = "k" }).headers["X-Key"])
  end)

  it("stand in the query, encoded, behind the parameters", function()
    local request = call({ { query = {} } }, { query = "a&b" },
      { parameters = { { name = "q", ["in"] = "query" } }, input = { q = 1 } })
    assert.equal("http://api.test/op?q=1&api%20key=a%26b", request.url)
  end)

  it("stand in the cookie, beside the parameters", function()
    local request = call({ { cookie = {} } }, { cookie = "a;b" },
      { parameters = { { name = "c", ["in"] = "cookie" } }, input = { c = 1 } })
    assert.equal("c=1; session=a%3Bb", request.headers.Cookie)
  end)

  it("stand in the cookie as a server once gave them, where they can", function()
    for value, sent in pairs({ ["s%3Aa.b+/=="] = "s%3Aa.b+/==", ["a b"] = "a%20b", ["a,b"] = "a%2Cb" }) do
      assert.equal("session=" .. sent, call({ { cookie = {} } }, { cookie = value }).headers.Cookie)
    end
  end)

  it("stand in the cookie beside the cookies of the program", function()
    local request = call({ { cookie = {} } }, { cookie = "k" }, { headers = { cookie = "a=1; b=2" } })
    assert.equal("a=1; b=2; session=k", request.headers.Cookie)
    assert.is_nil(request.headers.cookie)
  end)

  it("are a bearer token for bearer schemes and OAuth 2", function()
    for _, name in ipairs({ "bearer", "oauth" }) do
      assert.equal("Bearer t", call({ { [name] = {} } }, { [name] = "t" }).headers.Authorization)
      assert.equal("Bearer t", call({ { [name] = {} } }, { [name] = { token = "t" } }).headers.Authorization)
    end
  end)

  for plain, encoded in pairs({
    ["user:pass"] = "dXNlcjpwYXNz", ["a:"] = "YTo=", [":"] = "Og==", ["\195\188:\255"] = "w7w6/w==",
  }) do
    it("are encoded for basic: " .. encoded, function()
      assert.equal("Basic " .. encoded, call({ { basic = {} } }, { basic = plain }).headers.Authorization)
    end)
  end

  it("for basic come as user name and password", function()
    local request = call({ { basic = {} } }, { basic = { username = "user", password = "pass" } })
    assert.equal("Basic dXNlcjpwYXNz", request.headers.Authorization)
  end)

  it("for basic have no user name with a colon", function()
    local request, err = call({ { basic = {} } }, { basic = { username = "a:b", password = "s3cret" } })
    assert.is_nil(request)
    assert.equal("EXECUTION_ERROR", err.code)
  end)

  it("are all of one requirement", function()
    local request = call({ { key = {}, bearer = {} } }, { key = "k", bearer = "t" })
    assert.equal("k", request.headers["X-Key"])
    assert.equal("Bearer t", request.headers.Authorization)
  end)

  it("are not half of a requirement: the error names the missing ones, and nothing is sent", function()
    for _, case in ipairs({
      { { { key = {}, bearer = {} } }, { key = "k" }, "bearer", '"bearer" (HTTP bearer) is not' },
      { { { key = {}, oauth = {} } }, { oauth = "t" }, "key", '"key" (API key in header X-Key) is not' },
      { { { bearer = {}, query = {}, key = {} } }, { bearer = "t" }, "key",
        '"key" (API key in header X-Key) and "query" (API key in query api key) is not' },
      { { { basic = {} }, { key = {}, bearer = {} } }, { type = "bearer", token = "t" }, "key", '"key"' },
      { { { key = {}, odd = {} } }, { key = "k" }, "odd", '"odd" (HTTP hoba) is not' },
      { { { key = {}, tls = {} } }, { key = "k" }, nil },
    }) do
      local request, err = call(case[1], case[2])
      if case[3] then
        assert.is_nil(request)
        assert.same({ "EXECUTION_ERROR", "credential", case[3] }, { err.code, err.details.kind, err.details.scheme })
        assert.matches(case[4], err.message, 1, true)
        assert.is_false(err.mayHaveRun)
      else
        assert.equal("k", request.headers["X-Key"]) -- the program's own HTTP client may have a certificate
      end
    end
  end)

  it("that are half of a requirement are not asked for by a parameter either", function()
    local more = { parameters = { { name = "X-Key", ["in"] = "header", required = true } } }
    local _, err = call({ { key = {}, bearer = {} } }, { key = "k" }, more)
    assert.same({ "credential", "bearer" }, { err.details.kind, err.details.scheme })
  end)

  it("are another requirement's where only half of the first is configured", function()
    local request = call({ { key = {}, bearer = {} }, { key = {} } }, { key = "k" })
    assert.same({ "k" }, { request.headers["X-Key"], request.headers.Authorization })
    assert.is_nil(call({ { key = {}, bearer = {} }, {} }, { key = "k" }).headers["X-Key"])
  end)

  it("are whole with a header that is configured, a parameter, or a scheme that the document lacks", function()
    local request = call({ { key = {}, bearer = {} } }, { bearer = "t" }, { headers = { ["x-key"] = "k" } })
    assert.same({ "k", "Bearer t" }, { request.headers["x-key"], request.headers.Authorization })
    request = call({ { key = {}, bearer = {} } }, { key = "k" }, { headers = { Authorization = "Bearer t" } })
    assert.same({ "k", "Bearer t" }, { request.headers["X-Key"], request.headers.Authorization })
    request = call({ { key = {}, query = {} } }, { key = "k" },
      { parameters = { { name = "api key", ["in"] = "query", required = true } }, input = { ["api key"] = "q" } })
    assert.same({ "k", "http://api.test/op?api%20key=q" }, { request.headers["X-Key"], request.url })
    assert.equal("k", call({ { key = {}, gone = {} } }, { key = "k" }).headers["X-Key"])
  end)

  it("are not asked for again by a parameter", function()
    local places = { key = { "header", "x-kEY" }, query = { "query", "api key" }, cookie = { "cookie", "session" } }
    for name, place in pairs(places) do
      local parameters = { { name = place[2], ["in"] = place[1], required = true, schema = { type = "string" } },
        { name = "n", ["in"] = "query", required = true } }
      local more = { parameters = parameters, input = { n = 1 } }
      local request, err, api = call({ { [name] = {} } }, { [name] = "k" }, more)
      assert.is_nil(err)
      local schema = api.definitions[1].inputSchema
      assert.same({ "n" }, schema.required)
      assert.is_nil(schema.properties[place[2]])
      local sent = request.headers["X-Key"] or request.headers.Cookie or request.url
      assert.matches(({ key = "^k$", query = "?n=1&api%%20key=k$", cookie = "^session=k$" })[name], sent)
      assert.matches(place[2], api.report[1].message, 1, true)
      local _, missing = call({ { [name] = {} } }, nil, more)
      assert.equal("required", missing.details[1].keyword) -- without a credential it is a parameter as any other
    end
  end)

  it("or other headers that are configured do not make a parameter required", function()
    local version = { name = "X-Version", ["in"] = "header", required = true }
    local request, _, api = call(nil, nil, { parameters = { version }, headers = { ["x-version"] = "1" } })
    assert.equal("1", request.headers["x-version"])
    assert.is_nil(api.definitions[1].inputSchema.required)
    request = call(nil, nil, { parameters = { version }, headers = { ["x-version"] = "1" }, input = {
      ["X-Version"] = "2" } })
    assert.same({ "2" }, { request.headers["X-Version"], request.headers["x-version"] })
  end)

  it("are those of the first requirement that is configured", function()
    local request = call({ { key = {} }, { oauth = {} }, { basic = {} } }, { basic = "a:b", oauth = "t" })
    assert.equal("Bearer t", request.headers.Authorization)
    assert.is_nil(request.headers["X-Key"])
  end)

  it("are sent where they are optional", function()
    assert.equal("k", call({ {}, { key = {} } }, { key = "k" }).headers["X-Key"])
  end)

  it("are the document's where the operation says nothing", function()
    assert.equal("k", call(nil, { key = "k" }, { document = { { key = {} } } }).headers["X-Key"])
  end)

  it("are not sent to an operation that requires none", function()
    assert.is_nil(call({}, { key = "k" }, { document = { { key = {} } } }).headers["X-Key"])
    assert.is_nil(call({}, { type = "bearer", token = "t" }, { document = { { key = {} } } }).headers.Authorization)
  end)

  it("are not sent by an unknown scheme", function()
    local request, err = call({ { odd = {} } }, { odd = "x" })
    assert.is_nil(err)
    assert.is_nil(request.headers.Authorization)
  end)

  it("take the place of a configured header", function()
    local request = call({ { bearer = {} } }, { bearer = "t" }, { headers = { authorization = "old" } })
    assert.equal("Bearer t", request.headers.Authorization)
    assert.is_nil(request.headers.authorization)
  end)

  it("come from a function, asked for each request with its context", function()
    local count = 0
    local auth = { bearer = function(context)
      count = count + 1
      return context.name .. count
    end }
    local api = support.api(support.one({ security = { { bearer = {} } } },
      { doc = { components = { securitySchemes = schemes } } }), { auth = auth })
    api.definitions[1].handler({}, { name = "n" })
    api.definitions[1].handler({}, { name = "n" })
    assert.equal("Bearer n1", api.requests[1].headers.Authorization)
    assert.equal("Bearer n2", api.requests[2].headers.Authorization)
  end)

  it("that a function does not give fail the call, with the function's error", function()
    local refused = operations.error("ACCESS_DENIED", "log in first")
    local request, err = call({ { bearer = {} } }, { bearer = function()
      return nil, refused
    end })
    assert.is_nil(request)
    assert.equal(refused, err)
  end)

  it("name the headers that must not follow a redirect elsewhere", function()
    local request = call({ { key = {} } }, { key = "k" }, { headers = { ["X-Other"] = "o" } })
    table.sort(request.credentials)
    assert.same({ "X-Key", "X-Other" }, request.credentials)
  end)
end)

describe("a client certificate", function()
  it("is the connection's", function()
    local files = { cert_file = "/c.pem", key_file = "/c.key", key_password = "p4ssword" }
    local request = call({ { tls = {}, key = {} } }, { tls = files, key = "k" })
    assert.equal("/c.pem", request.cert_file)
    assert.equal("/c.key", request.key_file)
    assert.equal("p4ssword", request.key_password)
    assert.equal("k", request.headers["X-Key"])
  end)

  it("needs a file", function()
    local request, err = call({ { tls = {} } }, { tls = { key_file = "/c.key" } })
    assert.is_nil(request)
    assert.equal("credential", err.details.kind)
  end)
end)

describe("credentials of the query", function()
  it("are passed to the client, so that no redirect carries them elsewhere", function()
    assert.same({ "api key" }, call({ { query = {} } }, { query = "a" }).query_credentials)
    assert.is_nil(call({ { key = {} } }, { key = "a" }).query_credentials)
  end)
end)

describe("credentials without names of schemes", function()
  it("go where the document says", function()
    assert.equal("t", call({ { key = {} } }, { type = "apiKey", token = "t" }).headers["X-Key"])
    assert.equal("http://api.test/op?api%20key=t", call({ { query = {} } }, { type = "apiKey", token = "t" }).url)
    assert.equal("Bearer t", call({ { oauth = {} } }, { type = "bearer", token = "t" }).headers.Authorization)
    local request = call({ { basic = {} } }, { type = "basic", username = "a", password = "b" })
    assert.equal("Basic YTpi", request.headers.Authorization)
  end)

  it("are sent where the document says nothing", function()
    assert.equal("Bearer t", call(nil, { type = "bearer", token = "t" }).headers.Authorization)
    assert.equal("t", call(nil, { type = "apiKey", token = "t" }).headers["X-API-Key"])
    assert.equal("t", call(nil, { type = "apiKey", token = "t", name = "K" }).headers.K)
  end)

  it("are sent where the document names none of their kind, but not where it wants none", function()
    local bearer = { type = "bearer", token = "t" }
    assert.equal("Bearer t", call({ { key = {} } }, bearer).headers.Authorization)
    assert.equal("Bearer t", call({ {}, { key = {} } }, bearer).headers.Authorization)
    assert.is_nil(call({ {} }, bearer).headers.Authorization)
    assert.equal("Bearer t", call(7, bearer).headers.Authorization)
  end)

  it("are refused where the document wants two API keys, which the error names", function()
    local key = { type = "apiKey", token = "t" }
    local request, err = call({ { key = {}, query = {} } }, key)
    assert.is_nil(request)
    assert.matches('"key" (API key in header X-Key) and "query" (API key in query api key)', err.message, 1, true)
    assert.is_nil(err.message:find('"t"', 1, true))
    assert.equal("t", call({ { key = {}, query = {} }, { cookie = {} } }, key).headers.Cookie:match("=(.*)$"))
    request = call({ { key = {}, query = {} } }, { key = "a", query = "b" })
    assert.same({ "a", "http://api.test/op?api%20key=b" }, { request.headers["X-Key"], request.url })
  end)

  it("may be several, of different kinds, and beside those with names", function()
    local bearer, key = { type = "bearer", token = "t" }, { type = "apiKey", token = "k" }
    for _, auth in ipairs({ { bearer, key }, { key, bearer }, { bearer, key = "k" } }) do
      local request, _, api = call({ { key = {}, bearer = {} } }, auth)
      assert.same({ "k", "Bearer t" }, { request.headers["X-Key"], request.headers.Authorization })
      assert.same({}, api.report)
    end
  end)

  it("take their token from a function", function()
    assert.equal("Bearer t", call(nil, { type = "bearer", token = function()
      return "t"
    end }).headers.Authorization)
  end)
end)

describe("no error tells a credential:", function()
  for name, value in pairs({ key = "s3cret\r\nX: 1", bearer = "s3cret\n", cookie = "s3cret\0", query = "s3cret\27" }) do
    it("not when it holds control characters, as " .. name, function()
      local request, err = call({ { [name] = {} } }, { [name] = value })
      assert.is_nil(request)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.is_nil(operations.json.encode({ err.message, err.details }):find("s3cret"))
    end)
  end

  it("not when the exchange fails with its URL", function()
    local _, err = call({ { query = {} } }, { query = "s3 cret" }, nil, function(request)
      return nil, operations.error("EXECUTION_ERROR", "cannot reach " .. request.url,
        { url = request.url, raw = "s3 cret" })
    end)
    local text = operations.json.encode({ err.message, err.details })
    assert.is_nil(text:find("cret"))
    assert.matches("cannot reach http://api.test/op", text, 1, true)
  end)

  it("not when the server quotes it", function()
    local _, err = call({ { bearer = {} } }, { bearer = "s3cret" }, nil,
      { status = 401, headers = { ["content-type"] = "text/plain" }, body = "bad token: Bearer s3cret" })
    assert.equal("401 Unauthorized: bad token: ***", err.message)
    assert.equal("bad token: ***", err.details.body)
  end)

  for name, case in pairs({
    ["a token without its scheme"] = { "bearer", "s3cret", "s3cret" },
    ["a password"] = { "basic", "user:s3cret", "s3cret" },
    ["what basic makes of it"] = { "basic", "user:s3cret", "dXNlcjpzM2NyZXQ=" },
    ["a key of the query, encoded"] = { "query", "s3 cret", "s3%20cret" },
  }) do
    it("not in a server's body or headers: " .. name, function()
      local _, err = call({ { [case[1]] = {} } }, { [case[1]] = case[2] }, nil, {
        status = 403, headers = { ["content-type"] = "application/json", ["x-seen"] = "<" .. case[3] .. ">" },
        body = operations.json.encode({ seen = { "it was " .. case[3] }, none = operations.array({}) }),
      })
      assert.same({ "it was ***" }, err.details.body.seen)
      assert.equal("<***>", err.details.headers["x-seen"])
      assert.equal(operations.array_mt, getmetatable(err.details.body.none))
      assert.is_nil(err.message:find(case[3], 1, true))
    end)
  end

  it("not when a configured header holds them", function()
    for name, value in pairs({
      Authorization = "Bearer s3cret", cookie = "s3cret", ["X-Api-Key"] = "s3cret", ["X-Auth"] = "s3cret",
      ["X-Session-Id"] = "s3cret",
    }) do
      local _, err = call(nil, nil, { headers = { [name] = value, ["X-Version"] = "said" } },
        { status = 403, headers = { ["x-seen"] = value }, body = "he said s3cret" })
      assert.equal("403 Forbidden: he said ***", err.message)
      assert.equal("he said ***", err.details.body)
      assert.is_nil(err.details.headers["x-seen"]:find("s3cret", 1, true))
    end
  end)

  it("but a text that is too short for a secret stays", function()
    local _, err = call({ { key = {} } }, { key = "a" }, nil, { status = 404, headers = {}, body = "a small matter" })
    assert.equal("a small matter", err.details.body)
  end)
end)

describe("the configuration of credentials", function()
  it("is reported when it names a scheme that the document lacks", function()
    local _, _, api = call(nil, { kee = "k" })
    assert.equal("#/components/securitySchemes", api.report[1].pointer)
    assert.matches('"kee"', api.report[1].message, 1, true)
  end)

  it("is reported when its scheme does not say what is to be sent", function()
    local kept = schemes.key
    for _, scheme in ipairs({ { type = "apiKey", ["in"] = "header" }, { type = "apiKey", ["in"] = "body", name = "k" },
      { type = "apiKey", name = "k" } }) do
      schemes.key = scheme
      local request, _, api = call({ { key = {} } }, { key = "k" })
      assert.equal("#/components/securitySchemes/key", api.report[1].pointer)
      assert.is_nil(request.headers.k)
    end
    schemes.key = kept
  end)

  it("is reported when it is for a scheme that we cannot do", function()
    local _, _, api = call(nil, { odd = "k" })
    assert.equal("#/components/securitySchemes/odd", api.report[1].pointer)
    assert.matches("http hoba are not supported", api.report[1].message, 1, true)
  end)
end)

describe("the requirements of an operation in words", function()
  it("are alternatives of schemes with their scopes, or nothing", function()
    local names = require("operations.openapi.security").names
    local requirements = { { key = {} }, { oauth = { "a", 7, "b" }, basic = 7 }, { gone = {} }, {}, 7 }
    assert.same({ "key (API key in header X-Key)", "basic (HTTP basic) and oauth (OAuth 2: a b)",
      "gone (unknown scheme)", "nothing", "nothing" }, names(requirements, schemes))
    for _, none in ipairs({ {}, 7, false }) do
      assert.is_nil(names(none, schemes))
    end
  end)
end)
