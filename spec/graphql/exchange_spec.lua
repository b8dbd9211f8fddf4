-- Requests to a GraphQL service as they are sent, and what is read of its answers.
local exchange = require("operations.graphql.exchange")
local json = require("operations.base.json")
local operations = require("operations")
local support = require("spec.support.graphql")

local QUERY = "query ($id: ID!) { user(id: $id) { name } }"

local function request_of(more)
  local request = { type = "query", query = QUERY, field = "user", variables = operations.object({ id = 1 }) }
  for name, value in pairs(more or {}) do
    request[name] = value
  end
  return request
end

local function endpoint_of(client, options)
  local all = { endpoint = "https://api.test/graphql", http = client }
  for name, value in pairs(options or {}) do
    all[name] = value
  end
  return exchange.new(all)
end

local function send(client, more, options, context)
  return exchange.send(endpoint_of(client, options), request_of(more), context or { log = function() end })
end

local good = { json = { data = { user = { name = "Ada" } } } }

describe("a request", function()
  it("is a POST of JSON that accepts the media type of GraphQL", function()
    local client = operations.testing.http({ ["*"] = { good } })
    local envelope = assert(send(client))
    local sent = client.requests[1]
    assert.same({ "POST", "https://api.test/graphql", "application/json" },
      { sent.method, sent.url, sent.headers["content-type"] })
    assert.equal("application/graphql-response+json, application/json;q=0.9", sent.headers.accept)
    assert.equal('{"query":' .. json.encode(QUERY) .. ',"variables":{"id":1}}', sent.body)
    assert.same({ name = "Ada" }, envelope.data)
    assert.same({ "http", 200 }, { envelope.meta.source, envelope.meta.statusCode })
  end)

  it("carries the credentials and headers of the configuration", function()
    local client = operations.testing.http({ ["*"] = { good } })
    assert(send(client, nil, { auth = { type = "bearer", token = "t" }, headers = { ["X-Own"] = "1" } }))
    assert.same({ "Bearer t", "1" }, { client.requests[1].headers.authorization, client.requests[1].headers["x-own"] })
  end)

  it("keeps the query and the path of the address", function()
    for address, sent in pairs({ ["https://api.test/v1/graphql/?key=a%20b"] = true, ["https://api.test/{x}"] =
      "https://api.test/%7Bx%7D", ["https://api.test"] = "https://api.test/" }) do
      local client = operations.testing.http({ ["*"] = { good } })
      assert(send(client, nil, { endpoint = address }))
      assert.equal(sent == true and address or sent, client.requests[1].url)
    end
  end)

  it("names the operation of a document", function()
    local client = operations.testing.http({ ["*"] = { good } })
    assert(send(client, { operationName = "One" }))
    assert.equal("One", client.requests[1].json.operationName)
  end)

  it("of a query may be repeated, that of a mutation not", function()
    local sent = {}
    local client = { request = function(message)
      sent[#sent + 1] = message
      return { status = 200, headers = { ["content-type"] = "application/json" }, body = '{"data":{"user":1}}' }
    end }
    assert(send(client))
    assert(send(client, { type = "mutation" }))
    assert.same({ true, nil }, { sent[1].idempotent, sent[2].idempotent })
  end)

  it("without an address fails with the option that gives one", function()
    local _, err = exchange.send(exchange.new({}), request_of())
    assert.truthy(err.message:find("config.endpoint", 1, true))
    assert.is_false(err.mayHaveRun)
  end)

  describe("by GET", function()
    it("has its parts as parameters", function()
      local client = operations.testing.http({ ["*"] = { good } })
      assert(send(client, { query = "{a}", operationName = "é" }, { method = "GET" }))
      local sent = client.requests[1]
      assert.same({ "GET", "https://api.test/graphql?query=%7Ba%7D&operationName=%C3%A9&variables=%7B%22id%22%3A1%7D" },
        { sent.method, sent.url })
      assert.is_nil(sent.body)
      assert.equal("true", sent.headers["apollo-require-preflight"])
    end)

    it("is a POST for mutations, and for queries too long for a URL", function()
      local client = operations.testing.http({ ["*"] = { good } })
      assert(send(client, { type = "mutation" }, { method = "GET" }))
      assert(send(client, { query = "{" .. ("a "):rep(2000) .. "}" }, { method = "GET" }))
      assert.same({ "POST", "POST" }, { client.requests[1].method, client.requests[2].method })
    end)
  end)
end)

describe("a value that cannot be sent", function()
  it("is named by its place in the input", function()
    local client = operations.testing.http({ ["*"] = good })
    local variables = operations.object({ note = { "x", "\255" }, file = 7 })
    local files = { { path = "variables.file", value = 7 } }
    for _, case in ipairs({
      { "/note/1", {}, {} }, { "/note/1", {}, { method = "GET" } },
      { "/note/1", { type = "mutation", files = files }, {} },
      { "/file", { type = "mutation", files = files, variables = operations.object({ file = 7 }) }, {} },
    }) do
      local more = { variables = variables }
      for name, value in pairs(case[2]) do
        more[name] = value
      end
      local _, err = send(client, more, case[3])
      assert.same({ "VALIDATION_ERROR", case[1], false }, { err.code, err.details[1].path, err.mayHaveRun })
      assert.equal(1, err.message:find(case[1] .. ": ", 1, true))
    end
    assert.equal(0, #client.requests)
  end)
end)

describe("a throttled request", function()
  local throttled = { json = { errors = { { message = "slow down", extensions = { code = "THROTTLED" } } } } }

  it("is sent again by the option `retry`, if it did not run or is a query", function()
    local retry = { attempts = 3, delay = 1 }
    for _, case in ipairs({ { {}, 3 }, { { type = "mutation" }, 3 }, { { type = "query" }, 1, false } }) do
      local client = operations.testing.http({ ["*"] = { throttled, throttled, good } })
      local envelope = send(client, case[1], { retry = case[3] == nil and retry or nil })
      assert.same({ case[2], case[2] == 3 }, { #client.requests, envelope ~= nil })
    end
    throttled.json.data = operations.object({ user = operations.null })
    local client = operations.testing.http({ ["*"] = { throttled, good } })
    local _, err = send(client, { type = "mutation" }, { retry = retry })
    assert.same({ 1, "THROTTLED", true }, { #client.requests, err.code, err.mayHaveRun })
  end)
end)

describe("a persisted query", function()
  local unknown = { json = { errors = { { message = "PersistedQueryNotFound",
    extensions = { code = "PERSISTED_QUERY_NOT_FOUND" } } } } }

  it("is sent by its hash, and whole where the service does not know it", function()
    local client = operations.testing.http({ ["*"] = { unknown, good, good } })
    local endpoint = endpoint_of(client, { persisted = true })
    assert(exchange.send(endpoint, request_of()))
    assert(exchange.send(endpoint, request_of()))
    local hashes, queries = {}, {}
    for i, message in ipairs(client.requests) do
      hashes[i], queries[i] = message.json.extensions.persistedQuery.sha256Hash, message.json.query or false
    end
    local hash = support.hash(QUERY)
    assert.same({ hash, hash, hash }, hashes)
    assert.same({ false, QUERY, false }, queries)
  end)

  it("is no longer tried where the service supports none", function()
    local refusal = { json = { errors = { { message = "PersistedQueryNotSupported" } } } }
    local client = operations.testing.http({ ["*"] = { refusal, good } })
    local endpoint = endpoint_of(client, { persisted = true })
    assert(exchange.send(endpoint, request_of()))
    assert(exchange.send(endpoint, request_of()))
    assert.is_nil(client.requests[2].json.extensions)
    assert.equal(3, #client.requests)
  end)
end)

describe("files", function()
  it("are sent by the multipart request specification, in its order", function()
    local client = operations.testing.http({ ["*"] = { good } })
    local variables = operations.object({ files = operations.array({ { data = "one", filename = "1.txt" }, "two" }),
      note = "x" })
    assert(send(client, { type = "mutation", variables = variables, files = {
      { path = "variables.files.0", value = variables.files[1] }, { path = "variables.files.1", value = "two" },
    } }))
    local sent, names = client.requests[1], {}
    for name in sent.body:gmatch('name="([^"]*)"') do
      names[#names + 1] = name
    end
    assert.same({ "operations", "map", "0", "1.txt", "1", "blob" }, names)
    assert.truthy(sent.body:find('"variables":{"files":[null,null],"note":"x"}', 1, true))
    assert.truthy(sent.body:find('{"0":["variables.files.0"],"1":["variables.files.1"]}', 1, true))
    assert.truthy(sent.headers["content-type"]:find("^multipart/form%-data; boundary="))
    assert.equal("true", sent.headers["apollo-require-preflight"])
    assert.equal("two", variables.files[2]) -- the caller's table is unchanged
  end)

  it("are described, with the path of one of this machine where it may be sent", function()
    for _, case in ipairs({ { {}, true }, { { accessControl = {} }, false }, { { files = false }, false },
      { { scalars = { Upload = { type = "integer" } } }, nil } }) do
      local definitions = assert(operations.from_graphql.document(
        "scalar Upload type Query { a(file: Upload!): Int }", case[1]))
      local either = definitions[1].inputSchema().properties.file.anyOf
      local has_path
      if either then
        has_path = either[2].properties.path ~= nil
      end
      assert.equal(case[2], has_path)
    end
  end)

  it("of this machine are not read for operations that others may call", function()
    local files = { { path = "variables.file", value = { path = "README.md" } } }
    local more = { type = "mutation", variables = operations.object({ file = { path = "README.md" } }), files = files }
    local client = operations.testing.http({ ["*"] = { good } })
    local _, err = send(client, more, { accessControl = {} })
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal(0, #client.requests)
    assert(send(client, more, { accessControl = {}, files = true }))
  end)
end)
