-- Run by spec/nvim/command_spec.lua inside Neovim.
local editor = require("spec.support.editor")
local nvim = require("operations.nvim")
local operations = require("operations")

local api = { openapi = "3.1.0", info = { title = "T", version = "1" }, servers = { { url = "http://127.0.0.1:9" } },
  paths = { ["/pets"] = { get = { operationId = "pets", summary = "All pets", parameters = { {
    name = "kind", ["in"] = "query", schema = { type = "string", enum = { "cat", "dog" } } } },
    responses = { ["200"] = { description = "" } } },
    post = { operationId = "add", requestBody = { content = { ["application/json"] = { schema = { type = "object",
      properties = { name = { type = "string", minLength = 3 } } } } } },
      responses = { ["200"] = { description = "" } } } } } }

describe(":Operations", function()
  local own, cleaned

  setup(function()
    own = operations.registry()
    assert(own:register({ namespace = "own", name = "count", type = "subscription",
      inputSchema = { type = "object", properties = { to = { type = "integer" }, slow = { type = "boolean" } } },
      handler = function(input, context)
        context.defer(function() cleaned = true end)
        for i = 1, input.to or math.huge do
          coroutine.yield({ number = i })
        end
      end }))
    assert(own:register({ namespace = "own", name = "wait", handler = function()
      local _, raised = pcall(operations.sleep, 60)
      cleaned = true
      error(raised, 0)
    end }))
    assert(own:register({ namespace = "own", name = "big", type = "query", handler = function()
      local list = {}
      for i = 1, 30000 do list[i] = "line " .. i end
      return list
    end }))
    nvim.setup({ registry = own, servers = { mcpServers = { spec = editor.server() } }, apis = { shop = {
      document = api } } })
  end)

  before_each(function() cleaned = false end)
  after_each(editor.clear)

  it("lists what there is and what comes, by a text, and describes what is under the cursor", function()
    vim.cmd("Operations list")
    editor.shows("spec%.echo +Echo")
    assert.matches("own%.count\n", editor.text())
    assert.matches("shop%.pets +All pets", editor.text())
    vim.fn.search("shop.pets")
    editor.press("<CR>")
    assert.matches("GET /pets.*\n  kind +\"cat\" | \"dog\"", editor.shows("Input:"))
    editor.press("q")
    editor.press("q")
    vim.cmd("Operations list ECHO")
    assert.matches("^spec%.echo[^\n]*$", editor.text())
  end)

  it("tells servers of no directory that they may use", function()
    vim.cmd("Operations call spec.ask_roots")
    editor.shows("the client has no roots/list")
  end)

  it("calls with words, cast to the schema, and with JSON, and shows text and data", function()
    vim.cmd("Operations call spec.echo message=hello\\ you")
    assert.equal("hello you", editor.shows("hello"))
    editor.press("q")
    vim.cmd('Operations call spec.add {"a": 1, "b": 2}')
    assert.equal('{\n  "sum": 3\n}', editor.shows("sum"))
    editor.shows("^spec%.add\n")
    vim.cmd("let v:errmsg = ''")
    editor.press("<C-c>") -- there is nothing to end any more
    assert.equal("", vim.v.errmsg)
    editor.press("q")
    vim.cmd("Operations call spec.value value=x")
    editor.shows("\n.*x")
  end)

  it("notes in the log what servers say, texts as they are and other data as JSON", function()
    for _, data in ipairs({ '"plain words"', '{"a":[1]}' }) do
      vim.cmd('Operations call spec.say {"data":' .. data .. "}")
      editor.shows("^spec%.say\nsaid")
      editor.press("q")
    end
    vim.cmd("Operations log")
    local text = editor.shows('info +spec: {"a":%[1%]}')
    assert.matches("info +spec: plain words\n", text)
  end)

  it("shows progress", function()
    vim.cmd('Operations call spec.steps {"count": 3, "pause": 0.05}')
    editor.shows("spec%.steps: %d of 3")
    assert.equal("done", editor.shows("^spec%.steps\ndone"))
  end)

  it("ends a call by Ctrl-C in its window, and by closing it, and stays quiet about that", function()
    for _, keys in ipairs({ "<C-c>", "q", ":bwipeout!<CR>" }) do
      cleaned = false
      vim.cmd("Operations call own.wait")
      editor.shows("running")
      editor.press(keys)
      editor.wait(function() return cleaned end)
      editor.clear()
    end
    vim.cmd("Operations call own.wait")
    editor.shows("running")
    editor.press("<C-c>")
    editor.shows("own%.wait: failed\nABORTED: cancelled")
    assert.same({}, editor.notified)
  end)

  it("shows why a call fails, in its window and by a notification of one line", function()
    vim.cmd("Operations call spec.echo message:=3")
    assert.matches("VALIDATION_ERROR.*\n  /message: expected string, got 3", editor.shows("failed"))
    local text, level = editor.notice("spec%.echo")
    assert.equal(vim.log.levels.ERROR, level)
    assert.is_nil(text:find("\n"))
    editor.press("q")
    vim.cmd("Operations call spec.nothing")
    editor.shows("OPERATION_NOT_FOUND: no operation 'spec.nothing'")
    editor.press("q")
    vim.cmd("Operations call spec.echo {\"message\"")
    editor.shows("VALIDATION_ERROR: input: ")
    editor.press("q")
    vim.cmd("Operations call spec.echo -")
    editor.shows("standard input is not available here")
  end)

  it("watches until the end, and keeps the last lines", function()
    vim.cmd("Operations watch own.count to=3")
    assert.equal('{"number":1}\n{"number":2}\n{"number":3}', editor.shows("3 events.*number\":3"))
    editor.press("q")
    vim.cmd("Operations watch own.count to=25000")
    editor.shows('ended after 25000 events\n.*"number":25000}$')
    local limits = require("operations.base.limits")
    assert.is_true(vim.api.nvim_buf_line_count(0) <= limits.nvim_lines + 1)
    assert.equal(vim.api.nvim_buf_line_count(0), vim.api.nvim_win_get_cursor(0)[1])
  end)

  it("ends a stream when its buffer is wiped while it writes", function()
    vim.cmd("Operations watch own.count")
    editor.shows("%d events")
    vim.cmd("bwipeout!")
    editor.wait(function() return cleaned end)
    editor.skip() -- to the next time that it draws
    assert.same({}, editor.notified)
  end)

  it("says that a query is no subscription", function()
    vim.cmd("Operations watch own.big")
    editor.shows("own.big is a query: use :Operations call")
  end)

  it("shows long results whole", function()
    vim.cmd("Operations call own.big")
    editor.shows('^own%.big\n.*"line 30000"\n%]$')
    assert.is_true(vim.api.nvim_buf_line_count(0) >= 30002)
  end)

  it("shows servers, and restarts, disables and enables them", function()
    vim.cmd("Operations servers")
    editor.shows("spec  connected  %d+ tools")
    vim.cmd("Operations servers disable spec")
    editor.shows("spec  disabled")
    assert.is_nil(own:get("spec.echo"))
    vim.cmd("Operations servers enable spec")
    editor.shows("spec  connected")
    vim.cmd("Operations servers restart spec")
    editor.shows("spec  connected")
    editor.skip()
    vim.cmd("Operations servers restart none")
    editor.notice("there is no server or API 'none'")
    vim.cmd("Operations servers stop spec")
    editor.notice("servers: restart, enable, disable or reload expected")
    vim.cmd("Operations servers reload")
    editor.shows("connecting")
    editor.shows("spec  connected")
  end)

  it("completes commands, ids, inputs and servers", function()
    local function completed(text)
      return table.concat(vim.fn.getcompletion("Operations " .. text, "cmdline"), " ")
    end
    assert.equal("list describe call start watch jobs servers policy log", completed(""))
    assert.equal("call", completed("ca"))
    assert.equal("spec.echo", completed("call spec.ec"))
    assert.equal("own.count", completed("watch "))
    assert.equal("", completed("call own.cou"))
    assert.equal("own.count", completed("describe own.cou"))
    assert.equal("kind=", completed("call shop.pets "))
    assert.equal("kind=dog", completed("call shop.pets kind=d"))
    assert.equal("slow=true slow=false", completed("watch own.count slow="))
    assert.equal("", completed("watch own.count to="))
    assert.equal("spec shop", completed("servers restart "))
    assert.equal("", completed("list x y"))
  end)

  it("refuses what it does not know", function()
    vim.cmd("Operations dance")
    editor.notice(":Operations: list, describe, call, start")
    vim.cmd("Operations call")
    editor.notice("the id of an operation expected")
    vim.cmd("Operations describe no.such")
    editor.notice("no operation 'no.such'")
  end)

  it("keeps what happened in its log, cuts what it shows, and says how many more there were", function()
    local log = require("operations.nvim.log")
    for i = 1, 50 do
      log.write("warn", ("trouble %d "):format(i) .. ("x"):rep(500) .. "\nmore")
    end
    editor.skip()
    editor.notice("47 more messages, see :Operations log")
    assert.equal(3, #editor.notified)
    for _, entry in ipairs(editor.notified) do
      assert.is_true(#entry[1] < vim.o.columns, entry[1])
    end
    vim.cmd("Operations log")
    assert.matches("warn  trouble 50 x+\nmore$", editor.text())
  end)

  it("takes fields other than parameters for the request's body, and reads no standard input", function()
    vim.cmd("Operations call shop.add name=ab")
    assert.matches("VALIDATION_ERROR.*\n  /body/name: ", editor.shows("failed"))
    editor.press("q")
    vim.cmd("Operations call spec.echo message=@-")
    editor.shows("standard input is not available here")
  end)
end)

describe("operations.nvim.setup", function()
  it("refuses options that it does not know, and says where", function()
    for _, case in ipairs({ { { server = 1 }, "bad option 'server' to 'setup' %(unknown; did you mean servers%?%)" },
      { { servers = 1 }, "string or table expected" }, { { apis = { x = {} } }, "apis%.x" } }) do
      local ok, raised = pcall(function()
        nvim.setup(case[1])
      end)
      assert.is_false(ok)
      assert.matches(case[2], raised)
      assert.matches("^spec/nvim/inside/command%.lua", raised)
    end
  end)

  it("replaces what it named before", function()
    nvim.setup({ servers = { mcpServers = { other = editor.server() } } })
    local registry = nvim.registry()
    editor.wait(function() return registry:get("other.echo") end)
    assert.is_nil(registry:get("spec.echo"))
  end)
end)
