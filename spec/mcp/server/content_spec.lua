-- Resources, prompts and completions of a server in the process, asked over HTTP as clients of 2026-07-28 do.
local content = require("operations.mcp.server.content")
local http_request = require("spec.support.http_request")
local members = require("operations.base.members")
local operations = require("operations")

local PREFIX = "io.modelcontextprotocol/"

local function server_of(options)
  local kept = members.merged({ log = function() end }, options)
  kept.registry = nil
  return operations.to_mcp(options and options.registry or operations.registry(), kept)
end

-- The result of a method, else its error.
local function ask(server, method, params)
  params = params or {}
  params._meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
    [PREFIX .. "clientCapabilities"] = operations.object() }
  local answer = http_request.send(server, "POST", "/mcp", { accept = "application/json, text/event-stream",
    ["content-type"] = "application/json", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = method,
    ["mcp-name"] = params.name or params.uri }, { jsonrpc = "2.0", id = 1, method = method, params = params })
  return answer.json.result, answer.json.error, answer.status
end

local function read(server, uri)
  local result, err = ask(server, "resources/read", { uri = uri })
  return result and result.contents, err
end

describe("what is read of a resource", function()
  local function of(value, mime_type)
    local server = server_of()
    server:resource({ uri = "x:a", mimeType = mime_type, read = function()
      return value
    end })
    return read(server, "x:a")
  end

  it("is a text where its type and its bytes are", function()
    for _, mime_type in ipairs({ "text/plain", "application/json", "a/b+xml", "application/yaml",
      "application/javascript" }) do
      assert.same({ { uri = "x:a", mimeType = mime_type, text = "abc" } }, (of("abc", mime_type)))
    end
    assert.same({ { uri = "x:a", text = "abc" } }, (of("abc")))
  end)

  it("is base64 otherwise", function()
    assert.same({ { uri = "x:a", mimeType = "image/png", blob = "YWJj" } }, (of("abc", "image/png")))
    assert.same({ { uri = "x:a", mimeType = "text/plain", blob = "/w==" } }, (of("\255", "text/plain")))
    assert.same({ { uri = "x:a", mimeType = "x/text/y", blob = "YWJj" } }, (of("abc", "x/text/y")))
  end)

  it("is a text or bytes with a type of their own", function()
    assert.same({ { uri = "x:a", mimeType = "c/d", text = "t" } }, (of({ text = "t", mimeType = "c/d" }, "a/b")))
    assert.same({ { uri = "x:b", mimeType = "a/b", blob = "eA==" } }, (of({ blob = "eA==", uri = "x:b" }, "a/b")))
    assert.same({ { uri = "x:a", mimeType = "c/d", blob = "YWJj" } }, (of({ bytes = "abc", mimeType = "c/d" })))
  end)

  it("is any other value as JSON", function()
    assert.same({ { uri = "x:a", mimeType = "application/json", text = '{"a":1}' } }, (of({ a = 1 })))
    assert.same({ { uri = "x:a", mimeType = "c/d", text = "7" } }, (of(7, "c/d")))
    assert.same({ { uri = "x:a", mimeType = "application/json", text = '{"text":7}' } }, (of({ text = 7 })))
    assert.same({ { uri = "x:a", mimeType = "application/json", text = '{"contents":7}' } }, (of({ contents = 7 })))
  end)

  it("is nothing where its function gives nothing", function()
    local contents, err = of(nil)
    assert.is_nil(contents)
    assert.same({ -32602, "Resource not found", { uri = "x:a" } }, { err.code, err.message, err.data })
  end)
end)

describe("a resource", function()
  it("is known by its URI, else its template, where it has no name", function()
    local server = server_of()
    server:resource({ uri = "x:a", title = "T", description = "D", size = 3, annotations = { priority = 1 },
      _meta = { m = 1 }, icons = { { src = "i" } }, read = print })
    server:resource({ uriTemplate = "x:b/{id}", name = "n", read = print })
    server:resource({ uriTemplate = "x:c/{id}", read = print })
    assert.same({ { uri = "x:a", name = "x:a", title = "T", description = "D", size = 3, annotations = { priority = 1 },
      _meta = { m = 1 }, icons = { { src = "i" } } } }, ask(server, "resources/list").resources)
    assert.same({ { uriTemplate = "x:b/{id}", name = "n" }, { uriTemplate = "x:c/{id}", name = "x:c/{id}" } },
      ask(server, "resources/templates/list").resourceTemplates)
  end)

  it("gets its variables and its URI", function()
    local server, got = server_of(), nil
    server:resource({ uriTemplate = "x:b/{id}", read = function(input)
      got = input
      return "t"
    end })
    read(server, "x:b/7")
    assert.same({ id = "7", uri = "x:b/7" }, got)
    local contents, err = read(server, "x:c/7")
    assert.is_nil(contents)
    assert.equal("Resource not found", err.message)
    assert.equal("resources/read: uri: string expected", select(2, ask(server, "resources/read", { uri = 7 })).message)
  end)

  it("is refused where it is misused", function()
    local server = server_of()
    server:resource({ uri = "x:a", read = print })
    for message, given in pairs({
      ["bad argument #1 to 'resource' (either uri or uriTemplate expected)"] = { read = print },
      ["bad option 'uriTemplate' to 'resource' (\"{\": unbalanced braces)"] = { uriTemplate = "{",
        read = print },
      ["bad option 'uri' to 'resource' (a resource \"x:a\" exists already)"] = { uri = "x:a", read = print },
      ["bad option 'read' to 'resource' (function expected, got nil)"] = { uri = "x:b" },
      ["bad option 'other' to 'resource' (unknown)"] = { uri = "x:b", read = print, other = 1 },
      ["bad option 'title' to 'resource' (string expected, got number)"] = { uri = "x:b", read = print, title = 1 },
    }) do
      local ok, raised = pcall(function()
        server:resource(given)
      end)
      assert.is_false(ok)
      assert.matches("content_spec.lua:%d+: ", raised)
      assert.equal(message, raised:match("^[^ ]*content_spec.lua:%d+: (.*)$"))
    end
    assert.error_matches(function()
      server:resource({ uri = "x:b", uriTemplate = "x:c", read = print })
    end, "either uri or uriTemplate expected", 1, true)
    assert.error_matches(function()
      server:resource("x:b")
    end, "bad argument #1 to 'resource' (table expected, got string)", 1, true)
    assert.error_matches(function()
      server:resource({ uri = "x:b", read = print, accessControl = { requiredScopes = 7 } })
    end, "bad argument #1 to 'resource' (", 1, true)
  end)
end)

describe("the callers that may read a resource", function()
  local function guarded(options)
    options.authorize = function(request)
      return { id = "a", scopes = request.headers.authorization and { "s" } or {} }
    end
    local server = server_of(options)
    server:resource({ uri = "x:a", accessControl = { requiredScopes = { "s" } }, read = function()
      return "t"
    end })
    return server
  end

  it("sees it in lists; a caller without a scope is shown what is missing", function()
    local server = guarded({})
    assert.same({}, ask(server, "resources/list").resources)
    local result, err, status = ask(server, "resources/read", { uri = "x:a" })
    assert.is_nil(result)
    assert.equal(403, status)
    assert.equal(-32600, err.code)
  end)

  it("is alone in knowing of it, where what is denied is hidden", function()
    local _, err = read(guarded({ hide_denied = true }), "x:a")
    assert.equal("Resource not found", err.message)
  end)
end)

describe("a resource that fails", function()
  local function failing(failure, options)
    local server = server_of(options)
    server:resource({ uri = "x:a", read = function()
      error(failure, 0)
    end })
    local _, err = read(server, "x:a")
    return { err.code, err.message, err.data }
  end

  it("says what went wrong where that may be told", function()
    assert.same({ -32603, "the operation failed" }, failing("boom"))
    assert.same({ -32603, "EXECUTION_ERROR: boom" }, failing("boom", { expose_errors = true }))
    assert.same({ -32602, "VALIDATION_ERROR: bad", { { path = "/a" } } },
      failing(operations.error("VALIDATION_ERROR", "bad", { { path = "/a" } })))
    assert.same({ -32602, "VALIDATION_ERROR: bad" }, failing(operations.error("VALIDATION_ERROR", "bad")))
    assert.same({ -32602, "VALIDATION_ERROR: bad" }, failing(operations.error("VALIDATION_ERROR", "bad", { print })))
    assert.same({ -32603, "the operation failed" }, failing(operations.error("UNAVAILABLE", "gone", { 1 })))
  end)
end)

describe("a prompt", function()
  local function got(value, arguments, given)
    local server = server_of()
    server:prompt({ name = "p", description = "D", arguments = arguments, get = function()
      return value
    end })
    return ask(server, "prompts/get", { name = "p", arguments = given })
  end

  local function text(words, role)
    return { role = role or "user", content = { type = "text", text = words } }
  end

  it("is a text of the user, a list of messages, or both with a description", function()
    assert.same({ { text("a") }, "D" }, { got("a").messages, got("a").description })
    assert.same({ text("a", "assistant"), text("b"), text("c") },
      got({ { role = "assistant", content = "a" }, { content = { type = "text", text = "b" } }, "c" }).messages)
    local whole = got({ description = "E", _meta = { m = 1 }, messages = { "a" } })
    assert.same({ { text("a") }, "E", 1 }, { whole.messages, whole.description, whole._meta.m })
    assert.equal("D", got({ messages = { "a" } }).description)
    assert.same({ text('{"a":1}') }, got({ a = 1 }).messages)
    assert.same({ { role = "user", content = { type = "image", data = "x" } } },
      got({ content = { type = "image", data = "x" } }).messages)
    assert.same({ text("7") }, got(7).messages)
    assert.same({ text('{"messages":7}') }, got({ messages = 7 }).messages)
  end)

  it("is missing where its function returns nothing, or the name is unknown", function()
    local result, err = got(nil)
    assert.is_nil(result)
    assert.same({ -32602, "unknown prompt: p" }, { err.code, err.message })
    assert.equal("unknown prompt: q", select(2, ask(server_of(), "prompts/get", { name = "q" })).message)
    assert.equal("prompts/get: name: string expected",
      select(2, ask(server_of(), "prompts/get", { name = 7 })).message)
    assert.equal("prompts/get: arguments: object expected",
      select(2, ask(server_of(), "prompts/get", { name = "q", arguments = { 1 } })).message)
  end)

  it("has arguments: texts, required by name, one of some, or one alone", function()
    local arguments = { "a", { name = "b", enum = { "x", "y" } }, { name = "c", const = "z", title = "C",
      description = "the c", required = false } }
    assert.is_not_nil(got("t", arguments, { a = "1", b = "x", c = "z", other = "o" }))
    for path, given in pairs({ ["/a"] = { b = "x" }, ["/b"] = { a = "1", b = "z" }, ["/c"] = { a = "1", c = "x" } }) do
      local _, err = got("t", arguments, given)
      assert.same({ -32602, path }, { err.code, err.data[1].path })
    end
    local server = server_of()
    server:prompt({ name = "p", arguments = arguments, get = print })
    server:prompt({ name = "q", get = print })
    assert.same({ { name = "p", arguments = { { name = "a", required = true }, { name = "b" },
      { name = "c", title = "C", description = "the c", required = false } } }, { name = "q" } },
      ask(server, "prompts/list").prompts)
  end)

  it("is refused where it is misused", function()
    local server = server_of()
    server:prompt({ name = "p", get = print })
    for message, given in pairs({
      ["bad option 'name' to 'prompt' (a name expected)"] = { get = print },
      ["bad option 'name' to 'prompt' (a prompt \"p\" exists already)"] = { name = "p", get = print },
      ["bad option 'get' to 'prompt' (function expected, got nil)"] = { name = "q" },
      ["bad option 'arguments' to 'prompt' ([1]: a name, or a table with one, expected)"] = { name = "q", get = print,
        arguments = { 7 } },
      ["bad option 'arguments' to 'prompt' ([2]: a name, or a table with one, expected)"] = { name = "q", get = print,
        arguments = { "a", {} } },
      ["bad option 'arguments' to 'prompt' ([1].required: boolean expected, got number)"] = { name = "q", get = print,
        arguments = { { name = "a", required = 1 } } },
      ["bad option 'arguments' to 'prompt' ([1].other: unknown)"] = { name = "q", get = print,
        arguments = { { name = "a", other = 1 } } },
      ["bad option 'arguments' to 'prompt' ([1].complete: table or function expected, got string)"] = { name = "q",
        get = print, arguments = { { name = "a", complete = "x" } } },
    }) do
      local ok, raised = pcall(function()
        server:prompt(given)
      end)
      assert.is_false(ok)
      assert.equal(message, raised:match("^[^ ]*content_spec.lua:%d+: (.*)$"))
    end
    assert.error_matches(function()
      server:prompt({ name = "", get = print })
    end, "a name expected", 1, true)
  end)
end)

describe("a completion", function()
  local server

  before_each(function()
    server = server_of()
    server:prompt({ name = "p", get = print, arguments = { { name = "list", complete = { "Alpha", "beta", 7, "alps" } },
      { name = "fn", complete = function(value, others)
        return { value .. "!", others.list or "none" }
      end }, { name = "enum", enum = { "x", "y" } }, { name = "const", const = "z" }, { name = "free" },
      { name = "nothing", complete = function() end } } })
    server:resource({ uriTemplate = "x:{id}/{other}", complete = { id = { "one", "two" } }, read = print })
  end)

  local function complete(name, value, context, ref)
    local result, err = ask(server, "completion/complete", { ref = ref or { type = "ref/prompt", name = "p" },
      argument = { name = name, value = value }, context = context })
    return result and result.completion.values or err.message, result and result.completion
  end

  it("is of the values that begin so, in any case", function()
    assert.same({ "Alpha", "alps" }, (complete("list", "AL")))
    assert.same({ "Alpha", "beta", "7", "alps" }, (complete("list", "")))
    assert.same({}, (complete("list", "lp")))
    assert.same({ "x", "y" }, (complete("enum", "")))
    assert.same({ "z" }, (complete("const", "z")))
    assert.same({}, (complete("free", "a")))
    assert.same({}, (complete("unknown", "a")))
  end)

  it("is the result of a function, which gets the other arguments", function()
    assert.same({ "a!", "none" }, (complete("fn", "a")))
    assert.same({ "a!", "b" }, (complete("fn", "a", { arguments = { list = "b" } })))
    assert.same({ "a!", "none" }, (complete("fn", "a", { arguments = 7 })))
    assert.same({}, (complete("nothing", "a")))
  end)

  it("is of a variable of a template", function()
    local ref = { type = "ref/resource", uri = "x:{id}/{other}" }
    assert.same({ "two" }, (complete("id", "t", nil, ref)))
    assert.same({}, (complete("other", "", nil, ref)))
    assert.equal("completion/complete: there is no x:{id}",
      (complete("id", "t", nil, { type = "ref/resource", uri = "x:{id}" })))
  end)

  it("has 100 values at most, and says how many there are", function()
    local function of(count)
      local list = {}
      for i = 1, count do
        list[i] = "v" .. i
      end
      local made = content.completion(list, { argument = { value = "v" } }).completion
      return { #made.values, made.total, made.hasMore }
    end
    assert.same({ 100, 100, false }, of(100))
    assert.same({ 100, 101, true }, of(101))
    assert.same({ values = {}, total = 0, hasMore = false }, (select(2, complete("free", ""))))
  end)

  it("is refused for other references and arguments", function()
    for _, ref in ipairs({ { type = "ref/prompt" }, { type = "ref/resource", name = "p" }, { type = "x", name = "p" },
      { 1 } }) do
      assert.equal("completion/complete: ref: a ref/prompt with a name or a ref/resource with a uri expected",
        (complete("list", "", nil, ref)))
    end
    assert.equal("completion/complete: argument: { name, value } expected", (complete("list", 7)))
    assert.equal("completion/complete: argument: { name, value } expected", (complete(7, "")))
    assert.equal("completion/complete: there is no q", (complete("a", "", nil, { type = "ref/prompt", name = "q" })))
  end)
end)

describe("what a server tells that it can do", function()
  local function capabilities(server)
    return ask(server, "server/discover").capabilities
  end

  it("names resources and prompts where there are any", function()
    local server = server_of()
    assert.is_nil(capabilities(server).resources)
    assert.is_nil(capabilities(server).prompts)
    assert.is_nil(capabilities(server).completions)
    server:resource({ uriTemplate = "x:{id}", read = print })
    assert.same({ listChanged = true, subscribe = true }, capabilities(server).resources)
    assert.is_nil(capabilities(server).prompts)
    assert.same({}, capabilities(server).completions)
    server = server_of()
    server:prompt({ name = "p", get = print })
    assert.same({ listChanged = true }, capabilities(server).prompts)
    assert.is_nil(capabilities(server).resources)
    assert.same({}, capabilities(server).completions)
    server = server_of()
    server:resource({ uri = "x:a", read = print })
    assert.same({ listChanged = true, subscribe = true }, capabilities(server).resources)
  end)
end)

describe("queries as resources", function()
  local registry, got

  before_each(function()
    got = nil
    registry = operations.registry()
    local function handler(input)
      got = input
      return input
    end
    local limited = { type = "object", properties = { n = { type = "integer" }, word = { type = "string" },
      ["not-a-name"] = { type = "string" } } }
    assert(registry:register_all({ { namespace = "a", name = "page", type = "query", title = "T", description = "D",
      inputSchema = limited, handler = handler }, { namespace = "a", name = "all", type = "query",
      inputSchema = { type = "object", additionalProperties = false }, handler = handler },
      { namespace = "a", name = "secret", type = "query", accessControl = { requiredScopes = { "s" } },
        handler = handler }, { namespace = "a", name = "change", handler = handler },
      { namespace = "b", name = "other", type = "query", handler = handler } }))
  end)

  it("are the queries that the option selects", function()
    local function uris(resources)
      local found = {}
      local server = server_of({ registry = registry, resources = resources })
      for i, each in ipairs(ask(server, "resources/list").resources) do
        found[i] = each.uri
      end
      for _, each in ipairs(ask(server, "resources/templates/list").resourceTemplates) do
        found[#found + 1] = each.uriTemplate
      end
      return found
    end
    assert.same({ "operation:a.all", "operation:b.other", "operation:a.page{?n,word}" }, uris(true))
    assert.same({ "operation:a.all", "operation:a.page{?n,word}" }, uris({ namespace = "a" }))
    assert.same({ "operation:b.other" }, uris(function(spec)
      return spec.name == "other"
    end))
  end)

  it("are read with their parameters, which become what the schema says", function()
    local server = server_of({ registry = registry, resources = true })
    local item = read(server, "operation:a.page?n=7&word=8")[1]
    assert.same({ "operation:a.page?n=7&word=8", "application/json", { n = 7, word = "8" } },
      { item.uri, item.mimeType, operations.json.decode(item.text) })
    assert.same({ n = 7, word = "8" }, got)
    assert.is_not_nil((read(server, "operation:a.all")))
    local _, err = read(server, "operation:a.page?n=x")
    assert.same({ -32602, "/n" }, { err.code, err.data[1].path })
    for _, uri in ipairs({ "operation:a.page?other=1", "operation:a.all?n=1", "operation:a.change", "operation:a.none",
      "operation:", "operation:?n=1", "xoperation:a.all" }) do
      assert.equal("Resource not found", select(2, read(server, uri)).message)
    end
  end)

  it("are refused to callers without access", function()
    local server = server_of({ registry = registry, resources = true, authorize = function()
      return { id = "a", scopes = {} }
    end })
    local result, err, status = ask(server, "resources/read", { uri = "operation:a.secret" })
    assert.is_nil(result)
    assert.same({ 403, -32600 }, { status, err.code })
    server = server_of({ registry = registry, resources = true, hide_denied = true, authorize = function()
      return { id = "a", scopes = {} }
    end })
    assert.equal("Resource not found", select(2, read(server, "operation:a.secret")).message)
    server = server_of({ registry = registry, resources = { namespace = "a" } })
    assert.equal("Resource not found", select(2, read(server, "operation:b.other")).message)
    server = server_of({ registry = registry, resources = true, filter = { namespace = "b" } })
    assert.equal("Resource not found", select(2, read(server, "operation:a.all")).message)
  end)
end)

describe("bytes", function()
  local server

  before_each(function()
    local registry = operations.registry({ log = function() end })
    assert(registry:register({ namespace = "a", name = "picture", type = "query",
      outputSchema = { type = "string", contentMediaType = "image/png" }, handler = function() return "\137PNG" end }))
    server = server_of({ registry = registry, resources = true })
    server:prompt({ name = "p", get = function()
      return { "text", "\255\0" }
    end })
  end)

  it("of an operation are an image block, and bytes of a resource", function()
    assert.same({ { type = "image", mimeType = "image/png", data = "iVBORw==" } },
      ask(server, "tools/call", { name = "a_picture" }).content)
    assert.same({ { uri = "operation:a.picture", mimeType = "image/png", blob = "iVBORw==" } },
      (read(server, "operation:a.picture")))
  end)

  it("of a prompt are a resource block", function()
    local messages = ask(server, "prompts/get", { name = "p" }).messages
    assert.equal("text", messages[1].content.text)
    assert.same({ type = "resource", resource = { uri = "prompt:p", mimeType = "application/octet-stream",
      blob = "/wA=" } }, messages[2].content)
  end)
end)

describe("the env of a resource or prompt", function()
  local registry, server, kept

  before_each(function()
    registry = operations.registry({ log = function() end })
    assert(registry:register({ namespace = "vault", name = "open", accessControl = { requiredScopes = { "vault" } },
      handler = function() return "gold" end }))
    server = server_of({ registry = registry })
    server:resource({ uri = "x:a", read = function(_, context)
      kept = context
      local _, err = registry:env(context).vault.open()
      return { assert(context.env.vault.open()).data, err.code }
    end })
    server:prompt({ name = "p", get = function(_, context)
      return assert(context.env.vault.open()).data
    end })
  end)

  it("calls operations of the served registry with the trust of the call, which other envs do not have", function()
    assert.equal('["gold","ACCESS_DENIED"]', (read(server, "x:a"))[1].text)
    assert.equal("gold", ask(server, "prompts/get", { name = "p" }).messages[1].content.text)
  end)

  it("is not trusted after the call", function()
    read(server, "x:a")
    assert.equal("ACCESS_DENIED", select(2, kept.env.vault.open()).code)
  end)
end)
