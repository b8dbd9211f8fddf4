local editor = require("spec.support.serving_editor")
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")

local SERVE = "served = assert(require('operations.nvim').serve({ %s }))"

-- What a tool gives: its data, or the text of its failure.
local function call(client, name, arguments)
  local answer = client:call(name, arguments)
  if answer.error then
    return nil, answer.error.message
  elseif answer.result.isError then
    return nil, answer.result.content[1].text
  end
  return answer.result.structuredContent
end

-- Asks for a call, whose answer comes later.
local function ask(client, id, name, arguments)
  client:send({ id = id, method = "tools/call", params = { name = name, arguments = arguments } })
end

local function answer_of(client, id)
  local message = client:receive()
  while message and message.id ~= id do
    message = client:receive()
  end
  return assert(message, "the connection has ended").result
end

local function names_of(client)
  local names = {}
  for _, tool in ipairs(client:request("tools/list").result.tools) do
    names[tool.name] = tool
  end
  return names
end

-- How many questions are shown.
local QUESTIONS = "#vim.tbl_filter(function(w) return vim.api.nvim_win_get_config(w).relative ~= '''' end, "
  .. "vim.api.nvim_list_wins())"
QUESTIONS = QUESTIONS:gsub("''''", "\"\"")

describe("an editor that is an MCP server", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  after_each(editor.stop_all)

  it("offers its buffers for reading, and nothing that changes them", function()
    local nvim = editor.start(SERVE:format("") .. [[ vim.api.nvim_buf_set_lines(0, 0, -1, true, {'one', 'two', 'drei'})
      vim.api.nvim_buf_set_name(0, '/tmp/some file.txt') vim.fn.setqflist({{filename='a.c', lnum=3, text='no'}})
      vim.diagnostic.set(vim.api.nvim_create_namespace('x'), 0, {{lnum=1, col=0, message='odd', severity=2}}) ]])
    local client = nvim:client()
    local tools = names_of(client)
    for _, name in ipairs({ "buffers_list", "buffers_read", "editor_state", "windows_list", "diagnostics_list",
      "quickfix_list", "symbols_list", "symbols_find", "search_text" }) do
      assert.is_true(tools[name].annotations.readOnlyHint, name)
    end
    for _, name in ipairs({ "buffers_edit", "buffers_save", "editor_command", "editor_open", "quickfix_set" }) do
      assert.is_nil(tools[name])
      assert.matches("unknown tool", select(2, call(client, name, { command = "qa!", buffer = 1 })))
    end
    assert.equal("/tmp/some file.txt", call(client, "editor_state").buffer.name)
    local read = call(client, "buffers_read", { buffer = "/tmp/some file.txt", from = 2 })
    assert.same({ "two\ndrei", 2, 3, 3, true }, { read.text, read.from, read.to, read.lines, read.modified })
    assert.equal("one\ntwo\ndrei", call(client, "buffers_read", { buffer = "1" }).text)
    assert.same({ line = 1, column = 1 }, call(client, "windows_list").windows[1].cursor)
    local found = call(client, "diagnostics_list", { severity = "warning" }).diagnostics
    assert.same({ "odd", "warning", 2 }, { found[1].message, found[1].severity, found[1].line })
    assert.same({}, call(client, "diagnostics_list", { severity = "error" }).diagnostics)
    assert.equal(3, call(client, "quickfix_list").items[1].line)
    local matches = call(client, "search_text", { pattern = "\\v^(t|d)\\w+$", regex = true }).matches
    assert.same({ "two", "drei" }, { matches[1].text, matches[2].text })
    local match = call(client, "search_text", { pattern = "ne", buffer = 1 }).matches[1]
    assert.same({ "one", 1, 2, 1 }, { match.text, match.line, match.column, match.buffer })
    assert.same({}, call(client, "search_text", { pattern = "^(t|d)" }).matches)
    for pattern, count in pairs({ ["T."] = { 0, 0, 0, 1 }, ["ON"] = { 0, 1, 0, 1 }, ["o"] = { 2, 2, 2, 2 } }) do
      local got = {}
      for i = 1, 4 do
        got[i] = #call(client, "search_text", { pattern = pattern, regex = i > 2, ignore_case = i % 2 == 0 }).matches
      end
      assert.same(count, got, pattern)
    end
    for _, name in ipairs({ "buffers_read", "diagnostics_list", "symbols_list" }) do
      assert.matches("NOT_FOUND: there is no buffer 99", select(2, call(client, name, { buffer = 99 })), 1, true)
    end
    assert.matches("no language server", select(2, call(client, "symbols_list")))
  end)

  it("gives the text that is selected, or was last: characters, lines or a block", function()
    local nvim = editor.start(SERVE:format("") .. [[ function choose(keys)
        vim.cmd('normal! gg0' .. keys:gsub('BLOCK', '\22') .. '\27') end
      vim.api.nvim_buf_set_lines(0, 0, -1, true, {'one', 'zw\195\182lf', 'three'}) ]])
    local client = nvim:client()
    assert.matches("NOT_FOUND: nothing is selected", select(2, call(client, "editor_selection")))
    for keys, text in pairs({ lv = "n", vl = "on", jlvl = "w\195\182", jlvlh = "w", lvj = "ne\nzw",
      Vj = "one\nzw\195\182lf", llvh = "ne", lBLOCKjh = "on\nzw" }) do
      nvim:lua(("choose('%s')"):format(keys))
      assert.equal(text, call(client, "editor_selection").text, keys)
    end
    nvim:lua("choose('lvj')")
    local selected = call(client, "editor_selection")
    assert.same({ 1, { line = 1, column = 2 }, { line = 2, column = 2 }, false },
      { selected.buffer, selected.from, selected.to, selected.truncated })
  end)

  it("tells clients of its texts as resources, and when they change", function()
    local nvim = editor.start(SERVE:format("") .. [[ vim.api.nvim_buf_set_lines(0, 0, -1, true, {'one'}) ]])
    local client = nvim:client()
    assert.equal("one", client:request("resources/read", { uri = "nvim://buffer/1" }).result.contents[1].text)
    assert.equal(-32002, client:request("resources/read", { uri = "nvim://buffer/99" }).error.code)
    assert.matches('"lines":1', client:request("resources/read", { uri = "nvim://buffers" }).result.contents[1].text)
    client:request("resources/subscribe", { uri = "nvim://buffer/1" })
    nvim:lua("vim.api.nvim_feedkeys('ihallo', 'x', true)")
    nvim:eval("execute('doautocmd TextChanged')")
    assert.equal("nvim://buffer/1", client:receive().params.uri)
  end)

  it("has its diagnostics and quickfix list as resources, and completes the numbers of buffers", function()
    local nvim = editor.start(SERVE:format("") .. [[ vim.fn.setqflist({{filename='a.c', lnum=3, text='no'}})
      vim.diagnostic.set(vim.api.nvim_create_namespace('x'), 0, {{lnum=1, col=0, message='odd'}})
      vim.api.nvim_buf_set_lines(0, 0, -1, true, {'a\255b'}) vim.api.nvim_create_buf(false, true) ]])
    local client = nvim:client()
    local function read(uri)
      return client:request("resources/read", { uri = uri }).result.contents[1]
    end
    assert.matches('"message":"odd"', read("nvim://diagnostics").text)
    assert.matches('"text":"no"', read("nvim://quickfix").text)
    local bytes = read("nvim://buffer/1")
    assert.same({ "Yf9i", "application/octet-stream" }, { bytes.blob:sub(1, 4), bytes.mimeType })
    for typed, numbers in pairs({ [""] = { "1" }, ["1"] = { "1" }, ["2"] = {} }) do -- 2 is not listed
      assert.same(numbers, client:request("completion/complete", { argument = { name = "buffer", value = typed },
        ref = { type = "ref/resource", uri = "nvim://buffer/{buffer}" } }).result.completion.values, typed)
    end
    client:request("resources/subscribe", { uri = "nvim://quickfix" })
    nvim:eval("execute('doautocmd QuickFixCmdPost')")
    assert.equal("nvim://quickfix", client:receive().params.uri)
  end)

  it("asks language servers for symbols, and calls that off", function()
    local nvim = editor.start(SERVE:format("") .. [[ vim.api.nvim_buf_set_name(0, '/tmp/a.lua')
      server = { name = 'spec', cmd = { 'luajit', 'spec/support/language_server.lua' },
        cmd_env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }
      if vim.lsp.start then vim.lsp.start(server) else vim.lsp.buf_attach_client(0, vim.lsp.start_client(server)) end
      function clients() if vim.lsp.get_clients then return vim.lsp.get_clients({ bufnr = 1 }) end
        return vim.tbl_values(vim.lsp.buf_get_clients(1)) end ]])
    local client = nvim:client()
    nvim:wait_for("#clients()", "1")
    assert.same({ { name = "Outer", kind = "Class", line = 1, end_line = 10 },
      { name = "inner", kind = "Function", line = 3, end_line = 4, container = "Outer" },
      { name = "next", kind = "Function", line = 6, end_line = 7, container = "Outer" } },
      call(client, "symbols_list").symbols)
    assert.same({ { name = "found", kind = "Variable", line = 7, end_line = 7, path = "/some/where.lua" } },
      call(client, "symbols_find", { query = "f" }).symbols)
    ask(client, "hang", "symbols_find", { query = "hang" })
    assert.equal("found", call(client, "symbols_find", { query = "f" }).symbols[1].name) -- it was sent behind that
    client:send({ method = "notifications/cancelled", params = { requestId = "hang" } })
    eventually(function()
      return call(client, "symbols_find", { query = "f" }).symbols[1].name == "cancelled"
    end)
  end)

  it("searches a large text while the editor continues, also in a buffer that is wiped meanwhile", function()
    local nvim = editor.start(SERVE:format("") .. [[ local lines = {} for i = 1, 300000 do lines[i] = 'line ' .. i end
      vim.api.nvim_buf_set_lines(vim.api.nvim_create_buf(true, false), 0, -1, true, lines) ticks = 0
      vim.loop.new_timer():start(1, 1, vim.schedule_wrap(function() ticks = ticks + 1
        if wipe then wipe = nil pcall(vim.cmd, 'bwipeout! 2') end end)) ]])
    local client = nvim:client()
    local before = tonumber(nvim:lua("ticks"))
    local found = call(client, "search_text", { pattern = "LINE 299999", ignore_case = true })
    assert.same({ 299999, "line 299999", false }, { found.matches[1].line, found.matches[1].text, found.more })
    assert.is_true(tonumber(nvim:lua("ticks")) - before > 5)
    assert.is_true(call(client, "search_text", { pattern = "line", limit = 10 }).more)
    nvim:lua("(function() wipe = true end)()")
    assert.same({}, call(client, "search_text", { pattern = "nothing like it" }).matches)
    assert.equal(1, #call(client, "buffers_list").buffers)
    assert.matches("VALIDATION_ERROR: /pattern", select(2, call(client, "search_text", { pattern = "\\%(",
      regex = true })))
  end)

  it("gives a long text in pieces, and bytes that are no text as base64", function()
    local nvim = editor.start(SERVE:format("") .. [[ local lines = {} for i = 1, 40000 do
      lines[i] = ('line %06d'):format(i) end lines[40001] = ('\195\164'):rep(300000)
      vim.api.nvim_buf_set_lines(0, 0, -1, true, lines)
      vim.api.nvim_buf_set_lines(vim.api.nvim_create_buf(true, false), 0, -1, true, {'a\255b', 'c'}) ]])
    local client, pieces, place = nvim:client(), {}, {}
    repeat
      local read = call(client, "buffers_read", { buffer = 1, from = place.from, byte = place.byte })
      assert.is_true(#read.text <= 256 * 1024 and #read.text > 0)
      local goes_on = read.next and read.next.from == read.to
      table.insert(pieces, read.text .. (goes_on and "" or "\n"))
      place = read.next
    until not place
    local whole = table.concat(pieces)
    assert.equal(40000 * 12 + 600001, #whole)
    assert.equal("line 000001\nline 000002\n", whole:sub(1, 24))
    assert.equal(("\195\164"):rep(300000) .. "\n", whole:sub(-600001))
    assert.equal("Yf9iCmM=", call(client, "buffers_read", { buffer = 2 }).base64)
  end)

  it("tells clients which of its changes destroy something, and which may be repeated", function()
    local nvim = editor.start(SERVE:format("allow = {'buffers.*', 'quickfix.*', 'editor.*'}"))
    local hints = {}
    for name, tool in pairs(names_of(nvim:client())) do
      local given = tool.annotations
      hints[#hints + 1] = not given.readOnlyHint and
        ("%s %s %s"):format(name, tostring(given.destructiveHint), tostring(given.idempotentHint)) or nil
    end
    table.sort(hints)
    assert.same({ "buffers_edit nil nil", "buffers_save true nil", "editor_command true nil", "editor_open false true",
      "quickfix_set false true" }, hints)
  end)

  it("asks its user before each change, as `allow` names it", function()
    local nvim = editor.start(SERVE:format("allow = {'buffers.edit', 'quickfix.*'}"))
    local client = nvim:client()
    local edit = { buffer = 1, from = 1, to = 1, lines = { "by the model" } }
    assert.is_nil(names_of(client).buffers_save)
    assert.truthy(names_of(client).quickfix_set)
    ask(client, "a", "buffers_edit", edit)
    nvim:wait_for(QUESTIONS, "1")
    assert.equal("", nvim:lua("vim.fn.getline(1)"))
    assert.matches("spec wants to call buffers.edit.*by the model", nvim:lua([[table.concat(vim.tbl_map(function(w)
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 0, -1, true), "\n") end,
      vim.api.nvim_list_wins()), "\n")]]))
    nvim:eval("execute('OperationsAnswer once')")
    assert.is_nil(answer_of(client, "a").isError)
    assert.equal("by the model", nvim:lua("vim.fn.getline(1)"))
    nvim:wait_for(QUESTIONS, "0")
    ask(client, "b", "buffers_edit", edit)
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer no')")
    assert.matches("ACCESS_DENIED: the call was not approved: the user said no", answer_of(client, "b").content[1].text)
  end)

  it("remembers what was approved for these arguments, or always", function()
    local nvim = editor.start(SERVE:format("allow = {'quickfix.set', 'editor.command'}"))
    local client = nvim:client()
    local items = { items = { { name = "a.c", line = 1 } } }
    ask(client, "a", "quickfix_set", items)
    ask(client, "b", "quickfix_set", items) -- asked for while the question is open
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer arguments')")
    assert.is_nil(answer_of(client, "a").isError)
    assert.is_nil(answer_of(client, "b").isError)
    ask(client, "c", "quickfix_set", { items = { { name = "a.c", line = 2 } } })
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer always')")
    assert.is_nil(answer_of(client, "c").isError)
    assert.equal(1, call(client, "quickfix_set", { items = { { name = "a.c", line = 3 } } }).total)
    assert.equal("3", nvim:lua("vim.fn.getqflist()[1].lnum"))
    ask(client, "d", "editor_command", { command = "echo 6 * 7" }) -- another operation
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer once')")
    assert.equal("42", answer_of(client, "d").structuredContent.output)
  end)

  it("keeps what was approved for each client, or in a stored memory for each name", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}"))
    local client, other = nvim:client(), nvim:client()
    ask(client, "a", "editor_command", { command = "let g:ran = 1" })
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer always')")
    assert.is_nil(answer_of(client, "a").isError)
    ask(other, "b", "editor_command", { command = "let g:ran = 2" })
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer no')")
    assert.is_true(answer_of(other, "b").isError)
    ask(client, "c", "editor_command", { command = "let g:ran = 3" })
    assert.is_nil(answer_of(client, "c").isError)
    nvim:lua("assert(require('operations.nvim').serve({ allow = {'editor.command'}, "
      .. "approvals = require('operations').approvals({ { operationId = 'editor.command' } }) }))")
    local third = nvim:client()
    ask(third, "d", "editor_command", { command = "let g:ran = 4" }) -- stored for nobody in particular
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer always')")
    assert.is_nil(answer_of(third, "d").isError)
    third = nvim:client()
    ask(third, "e", "editor_command", { command = "let g:ran = 5" })
    assert.is_nil(answer_of(third, "e").isError)
  end)

  it("takes a yes only after the whole was shown, with everything that hides as escapes", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}")
      .. [[ vim.notify = function(text) told = text end ]])
    local client = nvim:client()
    local page = [[(function() for _, w in ipairs(vim.api.nvim_list_wins()) do local b = vim.api.nvim_win_get_buf(w)
      if vim.api.nvim_win_get_config(w).relative ~= "" then local lines = vim.api.nvim_buf_get_lines(b, 0, -1, true)
        return table.concat(lines, "\n") .. "\n" .. tostring(#lines <= vim.api.nvim_win_get_height(w)
          and vim.api.nvim_win_get_height(w) <= vim.o.lines - 3) end end end)()]]
    page = page:gsub("%s*\n%s*", " ")
    for _, last in ipairs({ "more", "last" }) do
      ask(client, last, "editor_command", { command = ("echo 1 "):rep(300) .. "\226\128\174\194\155 | let g:harm = 1" })
      nvim:wait_for(QUESTIONS, "1")
      local seen = {}
      for i = 1, 20 do
        local text = nvim:lua(page)
        assert.matches("OperationsAnswer always%)%c+true", text)
        seen[i] = text
        if not text:find(":OperationsAnswer more", 1, true) then
          break
        end
        nvim:eval("execute('OperationsAnswer always')")
        nvim:wait_for("told", "operations: the question continues: :OperationsAnswer more, or last, shows the rest")
        nvim:eval("execute('OperationsAnswer " .. last .. "')")
      end
      assert.is_true(#seen > 1)
      local all = table.concat(seen):gsub("%-%- page.-true", ""):gsub("%c", "")
      assert.matches(last == "more" and "1 \\u202e\\u009b | let" or "let g:harm = 1", all, 1, true)
      nvim:wait_for(QUESTIONS, "1")
      nvim:eval("execute('OperationsAnswer no')")
      assert.is_true(answer_of(client, last).isError)
    end
  end)

  it("shows a change of a buffer as the lines that go and those that come", function()
    local nvim = editor.start(SERVE:format("allow = {'buffers.edit'}")
      .. [[ vim.api.nvim_buf_set_lines(0, 0, -1, true, {"one", "two", "three"}) vim.cmd("file /tmp/notes.txt") ]])
    local client = nvim:client()
    local function change(id, from, to, lines)
      ask(client, id, "buffers_edit", { buffer = 1, from = from, to = to, lines = lines })
    end
    change("a", 2, 2, { "zwei", "\tdrei\27[2J" })
    nvim:wait_for(QUESTIONS, "1")
    local shown = nvim:lua([[table.concat(vim.tbl_map(function(w) return table.concat(vim.api.nvim_buf_get_lines(
      vim.api.nvim_win_get_buf(w), 0, -1, true), "|") end, vim.api.nvim_list_wins()), " ")]])
    shown = shown:gsub("\t", "^I") -- as older versions print it
    assert.matches("notes.txt, lines 2 to 2|-two|+zwei|+^Idrei\\u{1b}[2J|", shown, 1, true)
    nvim:eval("setline(2, 'TWO')") -- what was shown is no longer there
    nvim:eval("execute('OperationsAnswer once')")
    assert.matches("CONFLICT", answer_of(client, "a").content[1].text)
    assert.equal("one,TWO,three", nvim:lua("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), ',')"))
    change("b", 9, 9, { "x" }) -- would fail, so the user is not asked
    assert.matches("lines 9 to 9: buffer 1 has 3 lines", answer_of(client, "b").content[1].text)
    change("c", 3, 3, { "drei" })
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('OperationsAnswer once')")
    assert.is_nil(answer_of(client, "c").isError)
    assert.equal("one,TWO,drei", nvim:lua("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), ',')"))
  end)

  it("shows a long question in its window where a menu would cut it", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}") .. [[ vim.ui.select = function(items, o, done)
      prompt = o.prompt end ]])
    local client = nvim:client()
    ask(client, "a", "editor_command", { command = "echo 1" .. (" "):rep(100) .. "| let g:harm = 1" })
    nvim:wait_for(QUESTIONS, "1")
    assert.equal("nil", nvim:lua("tostring(prompt)"))
    nvim:eval("execute('OperationsAnswer no')")
    assert.is_true(answer_of(client, "a").isError)
  end)

  it("never takes the keys for a question; closing it, or another answer than yes, is a no", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}"))
    local client = nvim:client()
    local before = nvim:lua("vim.api.nvim_get_current_win()")
    ask(client, "a", "editor_command", { command = "let g:ran = 1" })
    nvim:wait_for(QUESTIONS, "1")
    assert.equal(before, nvim:lua("vim.api.nvim_get_current_win()"))
    nvim:eval("execute('OperationsAnswer perhaps')")
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('wincmd w | close')")
    assert.matches("the question was closed", answer_of(client, "a").content[1].text)
    ask(client, "b", "editor_command", { command = "let g:ran = 1" })
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("execute('wincmd w')")
    nvim:eval([[execute("normal G\<CR>")]]) -- the last line: always
    assert.is_nil(answer_of(client, "b").isError)
    assert.equal("1", nvim:eval("g:ran"))
  end)

  it("asks by vim.ui.select where a plugin has replaced it", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}") .. [[ vim.ui.select = function(items, o, done)
      prompt = o.prompt choose = function(i) done(items[i], i) end end ]])
    local client = nvim:client()
    ask(client, "a", "editor_command", { command = "let g:ran = 1" })
    nvim:wait_for("choose ~= nil", "true")
    assert.matches("spec wants to call editor.command .*let g:ran = 1", nvim:lua("prompt"))
    assert.equal("0", nvim:lua(QUESTIONS))
    nvim:lua("choose(2)")
    assert.is_nil(answer_of(client, "a").isError)
    ask(client, "b", "editor_command", { command = "let g:ran = 2" })
    nvim:wait_for("prompt:find(\"g:ran = 2\", 1, true) ~= nil", "true")
    nvim:lua("choose()")
    assert.is_true(answer_of(client, "b").isError)
  end)

  it("takes the question away when the client cancels or vanishes", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}"))
    local client, other = nvim:client(), nvim:client()
    ask(client, "a", "editor_command", { command = "let g:ran = 1" })
    nvim:wait_for(QUESTIONS, "1")
    ask(other, "b", "editor_command", { command = "let g:ran = 2" })
    client:send({ method = "notifications/cancelled", params = { requestId = "a" } })
    nvim:wait_for(("vim.fn.getbufline(vim.api.nvim_win_get_buf(vim.api.nvim_list_wins()[2] or 0), 1, 4)[3]"),
      '  "command": "let g:ran = 2"')
    other.child:abort()
    nvim:wait_for(QUESTIONS, "0")
    assert.equal("0", nvim:eval("exists('g:ran')"))
    assert.equal(1, #call(client, "buffers_list").buffers)
  end)

  it("takes no answer for a question that has just taken the place of another", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}")
      .. [[ vim.notify = function(text) told = text end ]])
    local client = nvim:client()
    ask(client, "a", "editor_command", { command = "let g:harmless = 1" })
    ask(client, "b", "editor_command", { command = "let g:harmful = 1" })
    nvim:wait_for(QUESTIONS, "1")
    nvim:lua([[(function() local first = vim.api.nvim_list_wins()[2]
      local timer = vim.loop.new_timer() timer:start(1, 1, vim.schedule_wrap(function()
        local now = vim.api.nvim_list_wins()[2]
        if now and now ~= first and not told then vim.cmd("OperationsAnswer once") timer:stop() end end)) end)()]])
    client:send({ method = "notifications/cancelled", params = { requestId = "a" } })
    nvim:wait_for("told", "operations: another question is shown now: look at it, then answer")
    assert.equal("1", nvim:lua(QUESTIONS))
    assert.equal("0", nvim:eval("exists('g:harmful')"))
    -- waits: the editor, by its own clock, takes no answer in the first second of a question that replaced another
    require("operations").sleep(1.1)
    nvim:eval("execute('OperationsAnswer no')")
    assert.is_true(answer_of(client, "b").isError)
  end)

  it("refuses a change of a buffer that was wiped or changed meanwhile, or cannot be changed", function()
    local nvim = editor.start(SERVE:format("allow = {'buffers.*'}, confirm = function() asked = true "
      .. "require('operations').await(function(wake) go = wake end) return true end")
      .. " vim.cmd('new') vim.api.nvim_buf_set_lines(2, 0, -1, true, {'x'})")
    local client = nvim:client()
    local function asked(id, arguments, meanwhile)
      arguments.from, arguments.to, arguments.lines = 1, 1, { "y" }
      ask(client, id, "buffers_edit", arguments)
      nvim:wait_for("go ~= nil", "true")
      nvim:eval("execute('" .. meanwhile .. "')")
      nvim:lua("(function() local g = go go = nil g() end)()")
      return answer_of(client, id)
    end
    local tick = call(client, "buffers_read", { buffer = 2 }).tick
    assert.matches("CONFLICT: buffer 2 has changed since tick", asked("a", { buffer = 2, tick = tick },
      "call setline(1, \"z\")").content[1].text)
    assert.matches("CONFLICT: buffer 2 was not changed: .*modifiable", asked("b", { buffer = 2 },
      "set nomodifiable").content[1].text)
    nvim:eval("execute('set modifiable')")
    assert.matches("NOT_FOUND: there is no buffer 2", asked("c", { buffer = 2 }, "bwipeout! 2").content[1].text)
  end)

  it("saves what its user did not lose sight of: no file that another program has changed", function()
    local path = os.tmpname()
    local nvim = editor.start(SERVE:format("allow = {'*'}, confirm = function() return true end"), nil, path)
    local client = nvim:client()
    call(client, "buffers_edit", { buffer = path, from = 1, to = 1, lines = { "ours" } })
    assert.is_false(call(client, "buffers_save", { buffer = path }).modified)
    assert.equal("ours", io.lines(path)())
    call(client, "buffers_edit", { buffer = path, from = 1, to = 1, lines = { "ours, again" } })
    inside.shell("echo theirs >" .. path .. "; touch -d '+1 minute' " .. path)
    for _ = 1, 2 do
      assert.matches("changed by another program", select(2, call(client, "buffers_save", { buffer = path })))
    end
    assert.equal("theirs", io.lines(path)())
    nvim:eval("execute('edit!')")
    call(client, "buffers_edit", { buffer = path, from = 1, to = 0, lines = { "more" } })
    assert.is_false(call(client, "buffers_save", { buffer = path }).modified)
    assert.matches("NOT_FOUND", select(2, call(client, "buffers_save", { buffer = "/no/such" })))
    local edit = { buffer = "/no/such", from = 1, to = 1, lines = { "x" } }
    assert.matches("NOT_FOUND", select(2, call(client, "buffers_edit", edit)))
    os.remove(path)
  end)

  it("opens files, also those that another editor has open", function()
    local path = os.tmpname()
    inside.shell("printf 'a\\nb\\nc\\n' >" .. path)
    local nvim = editor.start(SERVE:format("allow = {'*'}, confirm = function() return true end"))
    local client = nvim:client()
    local opened = call(client, "editor_open", { path = path, line = 2 })
    assert.same({ path, 2 }, { opened.buffer.name, opened.cursor.line })
    assert.equal("false", nvim:lua("tostring(pcall(vim.api.nvim_get_autocmds, { group = 'operations_serve_open' }))"))
    assert.matches("COMMAND_FAILED.*E492", select(2, call(client, "editor_command", { command = "nosuchcommand" })))
    os.remove(path)
  end)

  it("offers what plugins do, and tells clients when that comes and goes", function()
    local nvim = editor.start([[ withdraw = assert(require('operations.nvim').offer({
      { namespace = 'git', name = 'branch', type = 'query', handler = function() return { branch = 'main' } end },
      { namespace = 'git', name = 'commit', handler = function() return { done = true } end },
      { namespace = 'git', name = 'push', handler = function() end } })) ]]
      .. SERVE:format("allow = {'git.commit'}, confirm = function() return true, 'always' end"))
    local client = nvim:client()
    assert.equal("main", call(client, "git_branch").branch)
    assert.is_true(call(client, "git_commit").done)
    assert.matches("unknown tool", select(2, call(client, "git_push")))
    nvim:lua([[(function() require("operations.nvim").offer({ namespace = "git", name = "branch", type = "query",
      handler = function() return { branch = "reloaded" } end }) end)()]])
    assert.equal("notifications/tools/list_changed", client:receive().method)
    assert.equal("reloaded", call(client, "git_branch").branch)
    nvim:lua("withdraw()") -- takes what is still of the first offer
    assert.equal("notifications/tools/list_changed", client:receive().method)
    local names = names_of(client)
    assert.is_nil(names.git_commit)
    assert.truthy(names.git_branch)
    for _, wrong in ipairs({ '{ namespace = "buffers", name = "x", type = "query" }', '{ { namespace = "a" } }',
      '{ namespace = "a", name = "b", type = "other" }' }) do
      assert.matches("VALIDATION_ERROR", nvim:lua(('tostring(select(2, require("operations.nvim").offer(%s)))'):format(
        wrong)))
    end
  end)

  it("stands beside another editor, and takes its own place when it is set up or loaded again", function()
    local one = editor.start(SERVE:format("name = 'one'"))
    local two = editor.start(SERVE:format("name = 'two'"), one.runtime)
    assert.equal(2, #editor.sockets(one.runtime))
    assert.equal("one", one:bridge():initialize().result.serverInfo.name)
    local client = two:bridge()
    assert.equal("two", client:initialize().result.serverInfo.name)
    two:lua("(function() require(\"operations.nvim\").serve({ name = \"again\" }) end)()")
    assert.is_nil(client:receive())
    assert.equal("again", two:bridge():initialize().result.serverInfo.name)
    two:lua([[(function() for name in pairs(package.loaded) do if name:find("^operations") then
      package.loaded[name] = nil end end require("operations.nvim").serve({ name = "reloaded" }) end)()]])
    client = two:bridge()
    assert.equal("reloaded", client:initialize().result.serverInfo.name)
    assert.equal(1, #call(client, "buffers_list").buffers)
    assert.equal(2, #editor.sockets(one.runtime))
  end)

  it("leaves nothing behind when it is left while calls run", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}")
      .. [[ require('operations.nvim').offer({ namespace = 'slow', name = 'down', type = 'query', handler = function()
        require('operations').sleep(1000) end }) ]])
    local client = nvim:client()
    for i = 1, 20 do
      ask(client, "s" .. i, "slow_down")
    end
    ask(client, "q", "editor_command", { command = "qa" })
    nvim:wait_for(QUESTIONS, "1")
    nvim:eval("timer_start(0, {-> execute('qa!')})")
    assert.equal(0, nvim.child:wait().code)
    assert.is_nil(client:receive())
    assert.equal(0, client.child:wait().code)
    assert.same({}, editor.sockets(nvim.runtime))
  end)

  it("has the socket of an editor that was killed removed by the next one", function()
    local killed = editor.start(SERVE:format(""))
    local client = killed:client()
    killed:kill()
    assert.is_nil(client:receive())
    assert.equal(0, client.child:wait().code)
    assert.equal(1, #editor.sockets(killed.runtime))
    local nvim = editor.start(SERVE:format(""), killed.runtime)
    eventually(function()
      return #editor.sockets(killed.runtime) == 1
    end)
    assert.truthy(nvim:client())
  end)

  it("answers each of a flood of requests, and draws meanwhile", function()
    local nvim = editor.start(SERVE:format("max_requests = 16") .. [[ ticks = 0
      vim.loop.new_timer():start(5, 5, function() ticks = ticks + 1 end) ]])
    local client, results, busy = nvim:client(), 0, 0
    local lines = {}
    for i = 1, 2000 do
      lines[i] = ('{"jsonrpc":"2.0","id":"f%d","method":"tools/call","params":{"name":"editor_state"}}\n'):format(i)
    end
    client:write(table.concat(lines))
    for _ = 1, 2000 do
      local message = client:receive()
      results = results + (message.result and 1 or 0)
      busy = busy + (message.error and message.error.data.code == "BUSY" and 1 or 0)
    end
    assert.equal(2000, results + busy)
    assert.is_true(results >= 16)
    assert.is_true(tonumber(nvim:lua("ticks")) > 0)
  end)

  it("lists a thousand items of a kind, and tells that there are more", function()
    local nvim = editor.start(SERVE:format("") .. [[ local many, entries = {}, {}
      for i = 1, 1001 do vim.bo[vim.fn.bufadd('/tmp/spec-' .. i)].buflisted = true
        many[i] = { lnum = 0, col = 0, message = 'm' .. i } entries[i] = { filename = 'a.c', lnum = i, text = 't' } end
      vim.diagnostic.set(vim.api.nvim_create_namespace('x'), 0, many) vim.fn.setqflist(entries) ]])
    local client = nvim:client()
    local buffers = call(client, "buffers_list", {})
    assert.same({ 1000, true }, { #buffers.buffers, buffers.more })
    local diagnostics, quickfix = call(client, "diagnostics_list", {}), call(client, "quickfix_list", {})
    assert.same({ 1000, 1001 }, { #diagnostics.diagnostics, diagnostics.total })
    assert.same({ 1000, 1001 }, { #quickfix.items, quickfix.total })
    nvim:lua("vim.cmd('%bwipeout')")
    buffers = call(client, "buffers_list", {})
    assert.same({ 1, false }, { #buffers.buffers, buffers.more })
  end)

  it("asks no more questions than a user can answer", function()
    local nvim = editor.start(SERVE:format("allow = {'editor.command'}"))
    local client = nvim:client()
    for i = 1, 20 do
      ask(client, i, "editor_command", { command = "let g:ran" .. i .. " = 1" })
    end
    local refused = {}
    for i = 1, 4 do
      refused[i] = client:receive().result.content[1].text
    end
    assert.matches("16 questions wait for the user", refused[1])
    assert.matches("16 questions wait for the user", refused[4])
    for i = 1, 16 do
      nvim:wait_for(QUESTIONS, "1")
      nvim:eval("execute('OperationsAnswer once')")
      assert.is_nil(client:receive().result.isError)
      assert.equal("1", nvim:eval("exists('g:ran" .. i .. "')"))
    end
    nvim:wait_for(QUESTIONS, "0")
  end)

  it("says where it cannot serve", function()
    local nvim = editor.start("vim.loop.new_timer():start(1, 0, function() "
      .. "raised = select(2, pcall(require('operations.nvim').serve)) end)"
      .. " require('operations.nvim.serve')")
    nvim:wait_for("raised ~= nil", "true")
    assert.matches("serve cannot be called in a fast context", nvim:lua("raised"))
    inside.shell(("mkdir -p %s/operations-nvim; chmod 755 %s/operations-nvim"):format(nvim.runtime, nvim.runtime))
    assert.matches("ACCESS_DENIED: .* has to belong to its user alone", nvim:lua(
      "tostring(select(2, require(\"operations.nvim\").serve()))"))
    for options, problem in pairs({ ["{ allow = { 1 } }"] = "string expected at [1], got number",
      ["{ confirm = \"never\" }"] = "\"float\", \"select\" or a function expected", ["{ port = 1 }"] = "unknown",
      ["1"] = "table expected, got number" }) do
      local raised = nvim:lua(("tostring(select(2, pcall(require(\"operations.nvim\").serve, %s)))"):format(options))
      assert.truthy(raised:find(problem, 1, true), raised)
    end
  end)
end)
