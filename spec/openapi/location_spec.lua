local support = require("spec.support.openapi")

describe("a path parameter", function()
  local document = function()
    return support.one(
      { parameters = { { name = "id", ["in"] = "path", required = true, schema = { type = "string" } } } },
      { path = "/files/{id}" }
    )
  end

  local function call(value, config)
    local api = support.api(document(), config)
    local envelope, err = api.definitions[1].handler({ id = value })
    return api.requests[1] and api.requests[1].url, err, envelope
  end

  it("cannot leave its segment", function()
    for value, expected in pairs({
      ["../admin"] = "..%2Fadmin", ["a/b"] = "a%2Fb", ["a?b#c"] = "a%3Fb%23c", ["..\\x"] = "..%5Cx",
      ["%2e%2e"] = "%252e%252e", ["a;b"] = "a%3Bb", ["a\r\nb"] = "a%0D%0Ab",
    }) do
      assert.equal("http://api.test/files/" .. expected, (call(value)))
    end
  end)

  it("cannot be a segment that means another", function()
    for _, value in ipairs({ ".", "..", "" }) do
      local url, err = call(value)
      assert.is_nil(url)
      assert.equal("VALIDATION_ERROR", err.code)
    end
  end)

  it("has no slash where the server might decode it", function()
    local strict = { encoded_slashes = false }
    for _, value in ipairs({ "../admin", "a/b", "a\\b" }) do
      local url, err = call(value, strict)
      assert.is_nil(url)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal("/id", err.details[1].path)
    end
    assert.equal("http://api.test/files/a.b", (call("a.b", strict)))
  end)
end)

describe("the location of a document", function()
  local location = require("operations.openapi.location")

  it("is a URL with a scheme of the web and a host", function()
    assert.is_true(location.is_url("http://a"))
    assert.is_true(location.is_url("https://a/b"))
    for _, text in ipairs({ "ftp://a/b", "/a/b", "a.json", "http:a", "file:///a", "http://" }) do
      assert.is_false(location.is_url(text))
    end
  end)

  it("resolves references against URLs and paths", function()
    assert.equal("http://a/c", location.resolve("http://a/b", "c"))
    assert.equal("https://x/y", location.resolve("/d/a.json", "https://x/y"))
    assert.equal("/d/c.json", location.resolve("/d/e/a.json", "../c.json"))
    assert.equal("/c.json", location.resolve("/d/e/a.json", "/x/../c.json"))
    assert.equal("d/c.json", location.resolve("d/a.json", "./c.json"))
    assert.equal("c.json", location.resolve("a.json", "c.json"))
    assert.equal("../c.json", location.resolve("a.json", "../c.json"))
    assert.equal("../../c.json", location.resolve("a.json", "../../c.json"))
    assert.equal("c.json", location.resolve("d/a.json", "../c.json"))
    assert.equal("/d/a b.json", location.resolve("/d/a.json", "a%20b.json"))
    assert.equal("/e/a b.json", location.resolve("/d/a.json", "file:///e/a%20b.json"))
    assert.equal("http://a/a%20b", location.resolve("http://a/b", "a%20b"))
    assert.equal("file:///e", location.resolve("http://a/b", "file:///e"))
  end)
end)

describe("a base URL", function()
  local location = require("operations.openapi.location")

  it("has no query, fragment or slash at its end", function()
    assert.equal("http://a/b", location.base("http://a/b//?q#f"))
    assert.equal("http://a", location.base("http://a/"))
    assert.equal("http://a", location.base("http://a#f"))
  end)

  it("is refused with the reason", function()
    assert.same({ nil, "is not an absolute http or https URL" }, { location.base("/a") })
    assert.same({ nil, "must not contain a user name or password" }, { location.base("http://u:p@a/") })
    local base, message = location.base("http://a/b c")
    assert.is_nil(base)
    assert.is_string(message)
  end)
end)

describe("the server of an operation", function()
  local location = require("operations.openapi.location")

  local function of(levels, options, from)
    return location.of_server(levels, from, options or {})
  end

  local servers = { { url = "http://one/", name = "first" }, { url = "http://two", description = "second" } }

  it("is the first of the innermost level that names one", function()
    assert.equal("http://one", of({ nil, nil, servers }))
    assert.equal("http://in", of({ { { url = "http://in" } }, servers, servers }))
    assert.equal("http://in", of({ {}, { { url = "http://in" } }, servers }))
    assert.equal("http://one", of({ "x", { 1, { url = 1 } }, servers }))
  end)

  it("is the one asked for by place, name, description or URL", function()
    assert.equal("http://two", of({ nil, nil, servers }, { server = 2 }))
    assert.equal("http://one", of({ nil, nil, servers }, { server = "first" }))
    assert.equal("http://two", of({ nil, nil, servers }, { server = "second" }))
    assert.equal("http://two", of({ nil, nil, servers }, { server = "http://two" }))
  end)

  it("is refused where the document has none like that", function()
    assert.same({ nil, "the document has no server 3; give config.base_url" },
      { of({ nil, nil, servers }, { server = 3 }) })
    assert.equal("http://in", of({ { { url = "http://in" } }, nil, servers }, { server = 2 }))
    assert.equal("http://in", of({ nil, { { url = "http://in" } }, servers }, { server = "second" }))
  end)

  it("is where the document came from where none is named", function()
    assert.equal("http://a", of({}, nil, "http://a/b/openapi.json"))
    assert.same({ nil, "the document names no server; give config.base_url" }, { of({}, nil, "/a/openapi.json") })
    assert.same({ nil, "the document names no server; give config.base_url" }, { of({}) })
  end)

  it("may be relative to where the document came from", function()
    assert.equal("http://a/v1", of({ { { url = "/v1" } } }, nil, "http://a/b/openapi.json"))
    assert.equal("http://a/b/v1", of({ { { url = "v1" } } }, nil, "http://a/b/openapi.json"))
    assert.same({ nil, 'the server URL "/v1" is not an absolute http or https URL; give config.base_url' },
      { of({ { { url = "/v1" } } }, nil, "/a/openapi.json") })
    assert.same({ nil, 'the server URL "/v1" is not an absolute http or https URL; give config.base_url' },
      { of({ { { url = "/v1" } } }) })
  end)

  it("has variables: given ones, else their defaults", function()
    local templated = { { url = "http://{h}/{v}", variables = { h = { default = "a", enum = { "a", "b" } },
      v = { default = 1 } } } }
    assert.equal("http://a/1", of({ templated }))
    assert.equal("http://b/1", of({ templated }, { server_variables = { h = "b" } }))
    assert.equal("http://a/2", of({ templated }, { server_variables = { v = 2 } }))
    assert.same({ nil, 'the server variable "h" must be one of a, b; give config.server_variables or config.base_url' },
      { of({ templated }, { server_variables = { h = "c" } }) })
    assert.same({ nil, 'the server URL "http://a/{w}" has a variable without a value; give config.server_variables or '
      .. "config.base_url" }, { of({ { { url = "http://a/{w}" } } }) })
    assert.equal("http://x", of({ { { url = "http://{h}", variables = { h = { enum = {} } } } } },
      { server_variables = { h = "x" } }))
    assert.equal("http://x", of({ { { url = "http://{h}", variables = 1 } } }, { server_variables = { h = "x" } }))
  end)
end)

describe("a path template", function()
  local location = require("operations.openapi.location")

  it("has segments of texts and names", function()
    local segments, names, query = location.read_path("/a b/{x}.{y}/{x}/")
    assert.same({ { "a%20b" }, { "", { name = "x" }, ".", { name = "y" }, "" }, { "", { name = "x" }, "" }, { "" } },
      segments)
    assert.same({ "x", "y", x = true, y = true }, names)
    assert.is_nil(query)
  end)

  it("keeps the characters that a path may hold", function()
    assert.same({ { "-._~!$&'()*+,;=:@%20" }, { "%5B%22" } }, (location.read_path("/-._~!$&'()*+,;=:@%20/[\"")))
  end)

  it("has a query without templates, and no fragment", function()
    assert.same({ { name = "a[b]", text = "a%5Bb%5D=1" }, { name = "b", text = "b" } },
      select(3, location.read_path("/x?a%5Bb%5D=1&q={q}&b#f")))
    assert.is_nil((select(3, location.read_path("/x?q={q}"))))
    assert.same({ { "x" } }, (location.read_path("/x#{y}")))
  end)

  local function filled(path, texts, plan)
    plan = plan or {}
    plan.segments = location.read_path(path)
    local keys = {}
    for name in pairs(texts) do
      keys[name] = "key " .. name
    end
    return location.fill_path(plan, texts, keys)
  end

  it("is filled in", function()
    assert.equal("/a/1.2/", filled("/a/{x}.{y}/", { x = "1", y = "2" }))
    assert.equal("/", filled("/", {}))
    assert.equal("/../.", filled("/../.", {}))
  end)

  it("is not left by a value", function()
    for _, text in ipairs({ "", ".", "..", "%2e", "%2E.", "..;x", ".;x" }) do
      assert.same({ nil, "key x", "must not be empty, '.' or '..' in the path" }, { filled("/{x}/a", { x = text }) })
    end
    for _, text in ipairs({ "...", "..a", ".a", "a;.." }) do
      assert.equal("/" .. text, filled("/{x}", { x = text }))
    end
  end)

  it("has no slashes of values where they are not to be encoded", function()
    for _, text in ipairs({ "a%2Fb", "a%2fb", "a%5Cb", "a%5cb" }) do
      assert.same({ nil, "key x", "must not contain a slash or backslash" },
        { filled("/{x}", { x = text }, { encoded_slashes = false }) })
      assert.equal("/" .. text, filled("/{x}", { x = text }))
      assert.equal("/" .. text, filled("/" .. text, {}, { encoded_slashes = false }))
    end
  end)
end)
