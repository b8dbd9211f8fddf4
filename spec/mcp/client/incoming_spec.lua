local operations = require("operations")
local support = require("spec.support.mcp")

describe("what a server sends as a request", function()
  local client

  after_each(function()
    client:close()
  end)

  -- Invalid requests, and why; false: it cannot be answered.
  local none = {
    ['{"jsonrpc":"2.0","id":"a","method":"ping","params":[1]}'] = "params are not an object",
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}'] = "neither a string nor an integer",
    ['{"id":"c","method":"ping"}'] = "JSON-RPC 2.0", ['{"jsonrpc":"1.0","id":4,"method":"ping"}'] = "JSON-RPC 2.0",
    ['{"jsonrpc":"2.0","id":"e","method":5}'] = "method is not a string",
    ['{"jsonrpc":"2.0","id":"f","method":null,"params":{}}'] = "method is not a string",
    ['{"jsonrpc":"2.0","id":null,"method":"ping","params":[1]}'] = false,
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}'] = false, ['{"jsonrpc":"2.0","id":true,"method":"ping"}'] = false,
    ['{"jsonrpc":"2.0","method":"ping","params":[1]}'] = false, ['{"method":5}'] = false,
    ['{"jsonrpc":"2.0","id":"l","method":null,"result":{}}'] = false,
    ['{"jsonrpc":"2.0","id":"m","method":null,"error":{"code":1,"message":"m"}}'] = false,
  }

  for _, era in ipairs({ "legacy", "modern" }) do
    it("is answered with what is wrong with it, where requests are answered: " .. era, function()
      client = support.connect(era)
      local known = 0
      for text, problem in pairs(none) do
        assert(client:call("say_raw", { text = text .. '\n{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}' }))
        local answers = support.heard(client, nil)
        if era == "legacy" and problem then
          known = known + 1
          assert.equal(operations.json.decode(text).id, answers[known].id)
          assert.equal(-32600, answers[known].error.code)
          assert.matches(problem, answers[known].error.message, 1, true)
        end
        assert.equal(known, #answers)
      end
    end)
  end
end)
