local json = require("operations.base.json")
local message = require("operations.mcp.protocol.message")

describe("a message", function()
  it("is a request, a notification or an answer", function()
    assert.equal("request", message.kind({ jsonrpc = "2.0", id = 1, method = "ping" }))
    assert.equal("request", message.kind({ jsonrpc = "2.0", id = "a", method = "ping", params = {} }))
    assert.equal("notification", message.kind(message.notification("notifications/x", { a = 1 })))
    assert.equal("answer", message.kind(message.result(0, {})))
    assert.equal("answer", message.kind(message.failure(1, -32000, "no")))
  end)

  for text, problem in pairs({
    ['[]'] = "JSON object", ['7'] = "JSON object", ['{"id":1,"result":{}}'] = "JSON%-RPC 2.0",
    ['{"jsonrpc":"1.0","id":1,"result":{}}'] = "JSON%-RPC 2.0",
    ['{"jsonrpc":"2.0","id":1}'] = "neither a result nor an error",
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}'] = "both a result and an error",
    ['{"jsonrpc":"2.0","id":1,"error":"x"}'] = "error is not an object",
    ['{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"x"}}'] = "code is not an integer",
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}'] = "code is not an integer",
    ['{"jsonrpc":"2.0","id":1,"error":{"code":9007199254740992,"message":"x"}}'] = "code is not an integer",
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1}}'] = "no message",
    ['{"jsonrpc":"2.0","id":1,"result":null}'] = "result is not an object",
    ['{"jsonrpc":"2.0","id":1,"result":5}'] = "result is not an object",
    ['{"jsonrpc":"2.0","id":true,"method":"x"}'] = "neither a string nor an integer",
    ['{"jsonrpc":"2.0","id":1,"method":5}'] = "method is not a string",
    ['{"jsonrpc":"2.0","method":"x","params":[1]}'] = "params are not an object",
  }) do
    it("is invalid when it reads " .. text, function()
      local kind, why = message.kind((json.decode(text)))
      assert.is_nil(kind)
      assert.matches(problem, why)
    end)
  end

  it("is an error whose code is the largest exact integer", function()
    assert.equal("answer", message.kind(message.failure(1, 2 ^ 53 - 1, "no")))
  end)

  it("may come in a batch", function()
    local function kinds(text)
      local list = {}
      message.each(message.decode(text), function(subject, value)
        subject[#subject + 1] = message.kind(value) or "none"
      end, list)
      return list
    end
    assert.same({ "answer", "notification" },
      kinds('[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"x"}]'))
    assert.same({ "notification" }, kinds('{"jsonrpc":"2.0","method":"x"}'))
    assert.same({}, kinds("[]"))
    assert.same({ "none" }, kinds("null"))
    assert.same({ "none" }, kinds("{}"))
  end)

  it("keeps an id however the peer spells it", function()
    assert.equal(2, message.id_of("2"))
    assert.equal(2, message.id_of(2.0))
    assert.equal("a2", message.id_of("a2"))
    assert.is_nil(message.id_of(true))
    assert.is_nil(message.id_of(1.5))
  end)

  it("that is invalid is refused under its own id", function()
    for _, id in ipairs({ "2", "a", "", 2, -1, 0 }) do
      assert.equal(id, message.id_in({ id = id }))
    end
    for _, value in ipairs({ 7, "a", json.null, { id = 1.5 }, { id = true }, { id = json.null }, { { id = 1 } } }) do
      assert.is_nil(message.id_in(value))
    end
  end)

  it("that is invalid is refused where the sender waits for an answer", function()
    for text, id in pairs({
      ['{"id":1,"method":"x"}'] = 1, ['{"id":"a","method":7,"jsonrpc":"2.0"}'] = "a",
      ['{"id":1.5,"method":"x","jsonrpc":"2.0"}'] = 1.5,
      ['{"id":1,"method":"x","result":null,"error":null}'] = 1,
      ['{"id":true,"method":"x","jsonrpc":"2.0"}'] = false, ['{"method":"x","jsonrpc":"2.0"}'] = false,
      ['{"id":1,"jsonrpc":"2.0"}'] = false, ['{"id":1,"method":"x","result":{}}'] = false,
      ['{"id":1,"method":"x","error":{}}'] = false, ['{"id":1,"method":"x","level":"info"}'] = false,
    }) do
      local refusal = message.refusal(json.decode(text), "it is wrong")
      assert.same(id and message.failure(id, -32600, "Invalid Request: it is wrong") or nil, refusal, text)
    end
  end)

  it("has the error codes of JSON-RPC and MCP", function()
    assert.same({ INVALID_REQUEST = -32600, METHOD_NOT_FOUND = -32601, INVALID_PARAMS = -32602,
      INTERNAL_ERROR = -32603, HEADER_MISMATCH = -32020, MISSING_CAPABILITY = -32021, UNSUPPORTED_VERSION = -32022 },
      message.codes)
  end)

  for text, is_noise in pairs({
    ["[]"] = true, ["7"] = true, ["null"] = true, ["{}"] = true, ['{"level":"info"}'] = true, ['{"id":1}'] = true,
    ['{"id":1,"method":"x","level":2}'] = true, ['{"method":"x"}'] = true, ['{"result":{}}'] = true,
    ['{"id":1,"method":"x"}'] = false, ['{"id":1,"result":{}}'] = false, ['{"id":1,"error":{}}'] = false,
    ['{"id":1,"method":"x","params":{}}'] = false, ['{"jsonrpc":"1.0","level":2}'] = false, ['{"jsonrpc":2}'] = false,
  }) do
    it((is_noise and "was not meant by " or "was meant by ") .. text, function()
      assert.equal(is_noise, message.is_noise((json.decode(text))))
    end)
  end

  it("is one line", function()
    assert.is_nil(assert(message.request_text(1, "x", { text = "a\nb\r\n" })):find("[\r\n]"))
  end)
end)

describe("a message with members that are null", function()
  it("counts as one without them where they say nothing", function()
    local read = message.decode
    for text, kind in pairs({
      ['{"jsonrpc":"2.0","id":1,"result":{},"error":null}'] = "answer",
      ['{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}'] = "answer",
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}'] = "request",
      ['{"jsonrpc":"2.0","method":"x","params":null}'] = "notification",
    }) do
      local value = read(text)
      assert.equal(kind, message.kind(value))
      assert.is_nil(value.params)
      assert.equal(nil, value.error and value.result)
    end
    assert.is_nil((message.kind(read('{"jsonrpc":"2.0","id":1,"result":null}'))))
    assert.is_nil((message.kind(read('{"jsonrpc":"2.0","id":1,"result":null,"error":null}'))))
  end)
end)

describe("the text of a message", function()
  local core = require("operations.core")

  -- Names that a table of Lua has in an order of its own, of which none is the sorted one for all lists.
  local function of(member)
    local item = {}
    for i = 1, 40 do
      item[("n%02d"):format(i * 7 % 40)] = i
    end
    return message.encode(message.result(1, { [member] = { item } })), item
  end

  local function sorted_text(item)
    return require("operations.base.json").encode(item, { sort_keys = true })
  end

  it("is the same each time for lists", function()
    for _, member in ipairs({ "tools", "prompts", "resources", "resourceTemplates" }) do
      local text, item = of(member)
      assert.truthy(text:find(sorted_text(item), 1, true))
    end
  end)

  it("is of any message, also one without a result", function()
    assert.is_string(message.encode(message.notification("x")))
    assert.is_string(message.encode({ jsonrpc = "2.0", id = 1, result = "x" }))
    assert.equal(core.null, message.failure(nil, 1, "x").id)
    assert.equal(7, message.failure(7, 1, "x").id)
  end)
end)

describe("the line of a message", function()
  it("has no separators of lines beside its end", function()
    local text = "a\226\128\168b\226\128\169c"
    for _, line in ipairs({ message.encode(message.result(1, { text = text })),
      (message.request_text(1, "x", { text = text })) }) do
      assert.matches("a\\u2028b\\u2029c", line, 1, true)
      assert.equal(text, (json.decode(line).result or json.decode(line).params).text)
    end
  end)
end)
