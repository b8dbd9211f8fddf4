-- The schema of a service, by whichever introspection query it knows.
local introspection = require("operations.graphql.introspection")
local operations = require("operations")

local schema = { __schema = { queryType = { name = "Query" }, types = {} } }
local unknown = { status = 400, json = { errors = { { message = 'Cannot query field "isOneOf" on type "__Type".' } } } }
local URL = "https://api.test/graphql"

describe("a service is asked for its schema", function()
  it("by the query of 2025", function()
    local client = operations.testing.http({ ["*"] = { { json = { data = schema } } } })
    assert.same(schema, introspection.fetch(URL, { http = client }))
    local query = client.requests[1].json.query
    for _, name in ipairs({ "isOneOf", "specifiedByURL", "args(includeDeprecated: true)" }) do
      assert.truthy(query:find(name, 1, true))
    end
    assert.is_nil(query:find("%f[%w]%u%u%u+%f[%W]")) -- every placeholder is filled in
  end)

  it("by that of 2018 where it refuses the newer one", function()
    local client = operations.testing.http({ ["*"] = { unknown, { json = { data = schema } } } })
    assert.same(schema, introspection.fetch(URL, { http = client }))
    local query = client.requests[2].json.query
    assert.is_nil(query:find("isOneOf", 1, true) or query:find("specifiedBy", 1, true) or query:find("args(", 1, true))
    assert.is_nil(query:find("%f[%w]%u%u%u+%f[%W]"))
  end)

  it("by POST, whatever sends the other queries", function()
    local client = operations.testing.http({ ["*"] = { { json = { data = schema } } } })
    assert(introspection.fetch(URL, { http = client, method = "GET", persisted = true }))
    assert.equal("POST", client.requests[1].method)
    assert.is_nil(client.requests[1].json.extensions)
  end)

  it("and says that a file is needed where it refuses", function()
    local off = { json = { errors = { { message = "introspection is off" } } } }
    local client = operations.testing.http({ ["*"] = off })
    local result, err = introspection.fetch(URL, { http = client })
    assert.is_nil(result)
    assert.equal("introspection", err.details.kind)
    for _, text in ipairs({ "introspection is off", "from_graphql.file", "--graphql FILE --base-url URL" }) do
      assert.truthy(err.message:find(text, 1, true))
    end
    assert.equal(2, #client.requests)
  end)

  it("but not where it only asks to wait", function()
    local client = operations.testing.http({ ["*"] = { status = 429, headers = { ["retry-after"] = "3" },
      json = { errors = { { message = "slow down" } } } } })
    local _, err = introspection.fetch(URL, { http = client })
    assert.same({ "slow down", true, 3000 }, { err.message, err.retryable, err.retryAfter })
    assert.equal(1, #client.requests)
  end)

  it("only once where it does not answer as a GraphQL service", function()
    local client = operations.testing.http({ ["*"] = { { status = 401, json = { message = "Bad credentials" } } } })
    local _, err = introspection.fetch(URL, { http = client })
    assert.equal("HTTP_401", err.code)
    assert.equal(1, #client.requests)
  end)

  it("except where the address is that of a file, which gets no credentials", function()
    local client = operations.testing.http({ ["GET /schema.graphqls"] = { body = "type Query { a: String }" },
      ["POST /graphql"] = { json = { data = { a = "x" } } } })
    local registry = operations.registry()
    assert(registry:register_all(assert(operations.from_graphql.url("https://docs.test/schema.graphqls?v=1", {
      http = client, endpoint = URL, auth = { type = "bearer", token = "t" } }))))
    assert.equal("x", registry:execute("graphql.a").data)
    assert.same({}, { client.requests[1].headers.authorization })
    local _, err = operations.from_graphql.url("https://docs.test/none.gql", { http =
      operations.testing.http({ ["*"] = { status = 404 } }) })
    assert.equal("HTTP_404", err.code)
  end)

  it("and must answer with one", function()
    for _, data in ipairs({ { other = 1 }, { __schema = 1 } }) do
      local client = operations.testing.http({ ["*"] = { json = { data = data } } })
      local _, err = introspection.fetch(URL, { http = client })
      assert.equal("introspection", err.details.kind)
    end
  end)
end)
