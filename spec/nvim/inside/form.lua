-- Run by spec/nvim/form_spec.lua inside Neovim: questions to the user.
local editor = require("spec.support.editor")
local nvim = require("operations.nvim")
local operations = require("operations")

describe("questions", function()
  local asked, answers, offered, open_at_once

  -- What a user would answer, in order; a function is called for it.
  local function answer(prompt, respond)
    asked[#asked + 1] = prompt
    open_at_once = open_at_once + 1
    assert(open_at_once == 1, "two questions at once")
    local value = table.remove(answers, 1)
    vim.defer_fn(function()
      open_at_once = open_at_once - 1
      respond(value ~= vim.NIL and value or nil)
    end, 20)
  end

  setup(function()
    vim.ui.input = function(options, respond) -- luacheck: ignore 122
      answer(options.prompt, respond)
    end
    vim.ui.select = function(items, options, respond) -- luacheck: ignore 122
      offered = vim.tbl_map(options.format_item, items)
      answer(options.prompt, function(label)
        respond(vim.tbl_filter(function(item) return options.format_item(item) == label end, items)[1])
      end)
    end
    local registry = operations.registry()
    assert(registry:register({ namespace = "own", name = "make", inputSchema = { type = "object",
      required = { "title", "size", "loud" }, properties = { title = { type = "string", minLength = 2 },
        size = { type = "integer", maximum = 5 }, loud = { type = "boolean" }, note = { type = "string" } } },
      handler = function(input) return input end }))
    nvim.setup({ registry = registry, servers = { mcpServers = { spec = editor.server() } } })
    editor.wait(function() return nvim.registry():get("spec.ask_user") end)
  end)

  before_each(function()
    asked, answers, open_at_once = {}, {}, 0
  end)
  after_each(editor.clear)

  local function ask(params)
    local result
    operations.spawn(function()
      result = assert(nvim.registry():execute("spec.ask_user", { params = params })).meta.structuredContent.result
    end)
    return function()
      return editor.wait(function() return result end)
    end
  end

  local request = { mode = "form", message = "Who?", requestedSchema = { type = "object", required = { "name" },
    properties = { name = { type = "string" } } } }

  it("ask for what a call requires and was not given, again where it does not fit", function()
    answers = { "yes", "9", "5", "x", "long" }
    vim.cmd("Operations call own.make")
    assert.same({ title = "long", size = 5, loud = true }, vim.json.decode(editor.shows('"title"')))
    assert.same({ "own.make: loud: ", "own.make: size, integer, at most 5: " }, { asked[1], asked[2] })
    assert.matches("^size: .*5.*: $", asked[3])
  end)

  it("that are cancelled make no call", function()
    answers = { vim.NIL }
    vim.cmd("Operations call own.make")
    editor.wait(function() return #asked == 1 and vim.api.nvim_win_get_config(0).relative == "" end)
    assert.same({}, editor.notified)
  end)

  it("of servers are answered, declined and cancelled", function()
    answers = { "answer", "Ada" }
    assert.same({ action = "accept", content = { name = "Ada" } }, ask(request)())
    assert.same({ "spec: Who?", "spec: name: " }, asked)
    answers = { "decline" }
    assert.equal("decline", ask(request)().action)
    answers = { vim.NIL }
    assert.equal("cancel", ask(request)().action)
  end)

  -- What a function that asks returns, with these answers.
  local function asking(fn, params, context, ...)
    local result
    answers = { ... }
    operations.spawn(function()
      result = fn(params, context)
    end)
    return editor.wait(function() return result end)
  end

  it("of servers ask for what is optional too, which may be left out", function()
    local elicit = require("operations.nvim.form").elicit
    local params = { message = "Which?", requestedSchema = { type = "object", required = { "c" }, properties = {
      a = { type = "string" }, b = { type = "boolean", title = "B", description = "One.\nTwo." },
      c = { type = "integer" } } } }
    assert.same({ action = "accept", content = { c = 7 } },
      asking(elicit, params, {}, "answer", "", "leave it out", "7"))
    assert.same({ "a server: Which?", "a server: a, optional: ", "a server: B (One.), optional: ",
      "a server: c, integer: " }, asked)
    assert.same({ action = "accept", content = { a = "x", b = true, c = 7 } },
      asking(elicit, params, {}, "answer", "x", "yes", "7"))
    assert.same({ action = "cancel" }, asking(elicit, params, {}, "answer", "x", "yes", vim.NIL))
    assert.same({ action = "accept", content = {} }, asking(elicit, { message = "Go?" }, {}, "answer"))
  end)

  it("of servers offer every kind of value by the words for people", function()
    local elicit = require("operations.nvim.form").elicit
    local list = operations.array
    local params = { message = "Which?", requestedSchema = { type = "object",
      required = list({ "colour", "old", "tags" }), properties = {
        colour = { type = "string", default = "#0f0", oneOf = list({ { const = "#f00", title = "Red" },
          { const = "#0f0", title = "Green" } }) },
        mail = { type = "string", format = "email" },
        old = { type = "string", enum = list({ "o1", "o2" }), enumNames = list({ "First", "Second" }) },
        tags = { type = "array", minItems = 1, items = { anyOf = list({ { const = "a", title = "Alpha" },
          { const = "b", title = "Beta" } }) } } } } }
    assert.same({ action = "accept", content = { colour = "#f00", mail = "a@b.test", old = "o2", tags = { "b" } } },
      asking(elicit, params, {}, "answer", "Red", "a", "a@b.test", "Second", "done", "[ ] Alpha", "[ ] Beta",
        "[x] Alpha", "done"))
    assert.same({ "done", "[ ] Alpha", "[x] Beta" }, offered)
    assert.same({ "a server: colour: ", "a server: mail, email, optional: ",
      'mail: expected a string of format email, got "a": ', "a server: old: ", "a server: tags, at least 1 item: ",
      "tags: expected at least 1 item, got 0: " }, vim.list_slice(asked, 2, 7))
    answers = { "Green" }
    asking(elicit, params, {}, "answer", vim.NIL)
    assert.same({ "Green", "Red" }, offered)
  end)

  it("of servers that name a page open it, or say where it is", function()
    local visit, open, opened = require("operations.nvim.form").visit, vim.ui.open, {}
    local function action(url, answered, name)
      return asking(visit, { message = "Sign in:", url = url }, { client = name and { name = name } }, answered).action
    end
    vim.ui.open = nil -- luacheck: ignore 122
    assert.equal("accept", action("https://a.test/x", "open", "spec"))
    assert.equal("operations: spec: open in a browser: https://a.test/x", (editor.notice("open in a browser")))
    vim.ui.open = function(url) -- luacheck: ignore 122
      opened[#opened + 1] = url
    end
    assert.equal("accept", action("http://a.test/y", "open"))
    assert.equal("accept", action("file:///a", "open"))
    assert.equal("operations: a server: open in a browser: file:///a", (editor.notice("open in a browser")))
    assert.same({ "decline", "cancel" }, { action("https://a.test", "decline"), action("https://a.test", vim.NIL) })
    vim.ui.open = open -- luacheck: ignore 122
    assert.same({ "http://a.test/y" }, opened)
    assert.same({ "spec: Sign in: https://a.test/x", "a server: Sign in: http://a.test/y" }, { asked[1], asked[2] })
  end)

  it("wait for each other", function()
    answers = { "answer", "Ada", "yes", "3", "ok" }
    local result = ask(request)
    editor.wait(function() return #asked == 1 end)
    vim.cmd("Operations call own.make")
    assert.equal("Ada", result().content.name)
    editor.shows('"ok"')
  end)

  it("wait while the user writes or a prompt is open", function()
    answers = { "decline" }
    local result, before = nil, nil
    vim.defer_fn(function()
      result = ask(request)
    end, 50)
    vim.defer_fn(function()
      before = #asked
      vim.api.nvim_input("typed<CR>")
    end, 300)
    assert.equal("typed", vim.fn.input("Prompt: "))
    assert.equal(0, before)
    assert.equal("decline", result().action)
  end)
end)
