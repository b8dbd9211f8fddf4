local editor = require("spec.support.serving_editor")
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local lfs = require("lfs")
local task = require("operations.task")

local SERVE = "assert(require('operations.nvim').serve())"

-- How the program ends that is told nothing more.
local function ending_of(client)
  client.child:close_stdin()
  local code = client.child:wait().code
  return code, client.child:stderr()
end

describe("operations mcp --nvim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  after_each(editor.stop_all)

  it("says that no editor serves, or not the one that is asked for", function()
    local runtime = editor.runtime()
    local code, text = ending_of(editor.program(runtime, {}, "mcp", "--nvim"))
    assert.not_equal(0, code)
    assert.matches("no editor serves: in Neovim, call serve%(%) of operations.nvim", text)
    text = select(2, ending_of(editor.program(runtime, { NVIM = "/no/such" }, "mcp", "--nvim")))
    assert.matches("the editor at /no/such does not serve", text)
    text = select(2, ending_of(editor.program(runtime, {}, "mcp", "--nvim", "--openapi", "x.json")))
    assert.matches("%-%-nvim goes without other options", text)
  end)

  it("finds the only editor, the one of $NVIM, and the one that it is told", function()
    local one = editor.start(SERVE)
    local client = editor.program(one.runtime, {}, "mcp", "--nvim", "")
    assert.equal("nvim", client:initialize().result.serverInfo.name)
    local two = editor.start(SERVE, one.runtime)
    local text = select(2, ending_of(editor.program(one.runtime, {}, "mcp", "--nvim")))
    assert.matches("2 editors serve: give %-%-nvim ADDRESS", text)
    local path = text:match("\n[%s|]+(/%S+%.sock)")
    for _, nvim in ipairs({ one, two }) do
      assert.matches(("%%.sock  process %d in %s"):format(nvim.child.pid, lfs.currentdir():gsub("%p", "%%%0")), text)
    end
    assert.truthy(editor.program(one.runtime, {}, "mcp", "--nvim=" .. path):initialize().result)
    client = editor.program(one.runtime, { NVIM = two.address }, "mcp", "--nvim")
    client:initialize()
    local state = client:call("editor_state").result.structuredContent
    assert.equal(two.child.pid, state.pid)
  end)

  it("names editors that do not respond", function()
    local one = editor.start(SERVE)
    editor.start(SERVE, one.runtime)
    inside.shell("kill -STOP " .. one.child.pid)
    local text = select(2, ending_of(editor.program(one.runtime, {}, "mcp", "--nvim")))
    inside.shell("kill -CONT " .. one.child.pid)
    assert.matches("%.sock  does not respond", text)
    assert.matches("%.sock  process %d+ in", text)
  end)

  it("ends with its client, and with the editor, which it does not start again", function()
    local nvim = editor.start(SERVE)
    local one, two = nvim:client(), nvim:client()
    assert.same({ 0, "" }, { ending_of(one) })
    assert.truthy(two:call("buffers_list").result)
    nvim:kill()
    assert.is_nil(two:receive())
    assert.equal(0, two.child:wait().code)
  end)

  it("ends when its client is killed, though the editor is stopped", function()
    local nvim = editor.start(SERVE)
    local client = nvim:client()
    inside.shell("kill -STOP " .. nvim.child.pid)
    local code = ending_of(client)
    inside.shell("kill -CONT " .. nvim.child.pid)
    assert.equal(0, code)
  end)

  it("says so while the editor waits for a key, and passes on what comes later", function()
    local nvim = editor.start(SERVE)
    local client = nvim:client()
    inside.shell(("nvim --server %s --remote-send '\"'"):format(nvim.address)) -- waits for a register
    client:call("editor_state") -- the editor answered until now, so this one may reach it
    local answer = client:call("editor_state")
    assert.matches("does not respond: it waits for a key.*; nothing was called$", answer.error.message)
    assert.same({ -32000, "UNAVAILABLE", true },
      { answer.error.code, answer.error.data.code, answer.error.data.retryable })
    assert.matches("does not respond", editor.program(nvim.runtime, {}, "mcp", "--nvim"):initialize().error.message)
    inside.shell(("nvim --server %s --remote-send '<Esc>'"):format(nvim.address))
    local later
    eventually(function() -- the editor has to take the key first
      later = client:call("editor_state").result
      return later
    end)
    assert.equal(nvim.child.pid, later.structuredContent.pid)
  end)

  it("says so of a call that holds the editor, and leaves its answer out", function()
    local nvim = editor.start(SERVE:gsub("serve%(%)", "serve({ allow = { 'editor.command' }, confirm = function() "
      .. "return true, 'once' end })"))
    local client = nvim:client()
    client:send({ id = "slow", method = "tools/call", params = { name = "editor_command", arguments = {
      command = "call system('sleep 6')" } } })
    local answer = client:receive()
    assert.same({ "slow", "the editor does not respond: it waits for a key of its user (Press ENTER, a prompt), or is "
      .. "busy; the call may have begun" }, { answer.id, answer.error.message })
    nvim:wait_for("1", "1")
    assert.equal(nvim.child.pid, client:call("editor_state").result.structuredContent.pid)
  end)

  it("leaves a call that waits for the user's approval alone while the user pauses at a prompt", function()
    local nvim = editor.start(SERVE:gsub("serve%(%)", "serve({ allow = { 'buffers.edit' } })"))
    local client = nvim:client()
    client:send({ id = "edit", method = "tools/call", params = { name = "buffers_edit", arguments = { buffer = 1,
      from = 1, to = 1, lines = { "new" } } } })
    task.sleep(2.5) -- a sign of life after the call
    inside.shell(("nvim --server %s --remote-send '\"'"):format(nvim.address))
    assert.matches("does not respond", client:call("editor_state").error.message)
    inside.shell(("nvim --server %s --remote-send '<Esc>'"):format(nvim.address))
    nvim:eval("execute('OperationsAnswer once')")
    local answer = client:receive()
    assert.same({ "edit", 1 }, { answer.id, answer.result.structuredContent.lines })
  end)

  it("carries long messages whole, also to a slow reader", function()
    local nvim = editor.start(SERVE .. [[ vim.api.nvim_buf_set_lines(0, 0, -1, true, {('x'):rep(200000)}) ]])
    local client = nvim:client()
    for i = 1, 60 do
      client:send({ id = i, method = "resources/read", params = { uri = "nvim://buffer/1" } })
    end
    for _ = 1, 60 do
      assert.equal(200000, #client:receive().result.contents[1].text)
    end
    client:write(('{"jsonrpc":"2.0","id":"long","method":"ping","params":{"x":"%s"}}\n'):format(("y"):rep(3000000)))
    assert.same({}, client:receive().result)
  end)
end)
