local duplex = require("operations.mcp.client.duplex")
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local json = require("operations.base.json")
local task = require("operations.task")

describe("a connection on which messages go both ways", function()
  local host, link, said

  before_each(function()
    host, said = fake_host.new(1000), {}
    hosts.use(host)
    link = duplex.init(setmetatable({
      _offer = function()
        return true
      end,
    }, { __index = duplex.methods }), {
      noise = function(what)
        said[#said + 1] = what
      end,
      closed = function() end,
      refused = function(answer)
        said[#said + 1] = answer
      end,
    })
  end)

  after_each(function()
    hosts.use("plain")
  end)

  -- Asks, while the server reports progress after each of the pauses, and answers after the last when told to.
  -- What came of it, and after how many ms.
  local function ask(timeout, max, pauses, answers)
    local began, reports = host.now(), 0
    return task.run(function()
      task.spawn(function()
        for _, pause in ipairs(pauses) do
          task.sleep(pause / 1000)
          link:progress(1, { progress = 1 })
        end
        if answers then
          link:take({ jsonrpc = "2.0", id = 1, result = {} })
        end
      end)
      local answer, err = link:exchange(1, "x", nil, timeout, max, { on_progress = function()
        reports = reports + 1
      end })
      return answer and "answer" or err.code, host.now() - began, reports
    end)
  end

  it("gives a request its time", function()
    assert.same({ "TIMEOUT", 500, 0 }, { ask(500, 9000, {}) })
    assert.equal(0, host.timers)
    link:take({ jsonrpc = "2.0", id = 1, result = {} })
    assert.same({ "an answer without a waiting request" }, said)
  end)

  it("restarts the timeout with progress, up to the longest", function()
    assert.same({ "answer", 1600, 4 }, { ask(500, 9000, { 400, 400, 400, 400 }, true) })
    assert.same({ "TIMEOUT", 900, 1 }, { ask(500, 9000, { 400 }) })
    assert.same({ "TIMEOUT", 1000, 2 }, { ask(500, 1000, { 400, 400, 400, 400 }) })
  end)

  it("leaves a caller no more time than it has", function()
    task.run(function()
      task.deadline(host.now() + 300)
      local began = host.now()
      local _, err = link:exchange(1, "x", nil, 500, 9000, {})
      assert.equal("TIMEOUT", err.code)
      assert.equal(300, host.now() - began)
    end)
  end)

  it("takes nothing once it is closed, and nothing that is not JSON", function()
    local written = {}
    function link._post(_, text)
      written[#written + 1] = "post " .. text
      return true
    end
    function link._write(_, text)
      written[#written + 1] = "write " .. text
      return true
    end
    task.run(function()
      assert.is_true(link:send({ method = "a" }))
      assert.is_true(link:deliver({ method = "b" }))
      for _, method in ipairs({ "send", "deliver" }) do
        local sent, err = link[method](link, { f = print })
        assert.same({ nil, "VALIDATION_ERROR" }, { sent, err.code })
      end
      local answer, err = link:exchange(1, "x", { f = print }, 500, 9000, {})
      assert.same({ nil, "VALIDATION_ERROR" }, { answer, err.code })
      assert.equal(0, link.pending:count())
      local over = errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" })
      over.mayHaveRun = true
      local asking = task.spawn(function()
        return link:exchange(7, "x", nil, 500, 9000, {})
      end)
      task.sleep(0.001)
      link:lost(over)
      assert.equal(0, host.timers)
      assert.equal(over, select(2, asking:wait()))
      link:lost(errors.new("EXECUTION_ERROR", "again"))
      assert.equal(over, link.closed)
      for _, method in ipairs({ "send", "deliver" }) do
        assert.same({ nil, over }, { link[method](link, { method = "c" }) })
      end
      answer, err = link:exchange(1, "x", nil, 500, 9000, {})
      assert.same({ nil, "it ended", false }, { answer, err.message, err.mayHaveRun })
      assert.same({ 'post {"method":"a"}', 'write {"method":"b"}' }, written)
    end)
  end)

  it("waits where a request cannot be sent at once", function()
    link._offer = duplex.methods._offer
    local failure
    function link._write()
      task.sleep(0.1)
      return not failure or nil, failure
    end
    task.run(function()
      local began = host.now()
      task.spawn(function()
        task.sleep(0.2)
        link:progress("none", {})
        link:progress(1, { progress = 1 })
        link:take({ jsonrpc = "2.0", id = 1, result = {} })
      end)
      assert.is_table((link:exchange(1, "x", nil, 500, 9000, {})))
      assert.equal(200, host.now() - began)
      failure = errors.new("EXECUTION_ERROR", "broken pipe")
      assert.same({ nil, failure }, { link:exchange(2, "x", nil, 500, 9000, {}) })
      failure = nil
      local _, err = link:exchange(3, "x", nil, 50, 9000, {})
      assert.equal("TIMEOUT", err.code)
    end)
  end)

  -- What comes of a request with the id 1 when this comes, and then its answer; and whether something was sent back.
  local function hear(text)
    return task.run(function()
      task.spawn(function()
        local value, err = json.decode(text)
        link:take(value, err, text)
        link:take({ jsonrpc = "2.0", id = 1, result = {} })
      end)
      local _, err = link:exchange(1, "x", nil, 500, 9000, {})
      return err and err.message or "answered", type(said[1]) == "table" or type(said[2]) == "table"
    end)
  end

  for text, why in pairs({
    ['{"level":30,"msg":"x"}'] = "JSON-RPC 2.0", ['{"level":30,"id":1}'] = "JSON-RPC 2.0",
    ['{"id":1}'] = "JSON-RPC 2.0", ['{"error":"x"}'] = "JSON-RPC 2.0",
    ['{"result":{}}'] = "JSON-RPC 2.0", ['{"method":"GET"}'] = "JSON-RPC 2.0",
    ['{"level":30,"id":1,"method":"x"}'] = "JSON-RPC 2.0", ['[{"level":30,"id":1},1]'] = "JSON-RPC 2.0",
    ['{"level":50,"id":1,"result":{},"error":{"code":1,"message":"x"}}'] = "JSON-RPC 2.0",
    ['{"id":1,"load":NaN}'] = "column 16 ", ['{"load":NaN,"id":1}'] = "column 9 ", x = "column 1 ",
    ["1"] = "a message is a JSON object", ['"x"'] = "a message is a JSON object", null = "a message is a JSON object",
  }) do
    it("skips invalid messages: " .. text, function()
      assert.same({ "answered", false }, { hear(text) })
      assert.matches(why, said[1], 1, true)
    end)
  end

  for text, problem in pairs({
    ['{"id":1,"result":{}}'] = "JSON-RPC 2.0", ['{"id":1,"error":{"code":1,"message":"x"}}'] = "JSON-RPC 2.0",
    ['{"jsonrpc":"1.0","id":1}'] = "JSON-RPC 2.0", ['{"jsonrpc":"2.0","id":1}'] = "neither a result nor an error",
    ['{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}'] = "expected", ['{"jsonrpc":"2.0","result":1}'] = "not an object",
  }) do
    it("fails the request whose answer is malformed: " .. text, function()
      assert.matches("malformed response: .*" .. problem:gsub("%p", "%%%0"), (hear(text)))
    end)
  end
end)
