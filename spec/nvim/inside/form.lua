-- Run by spec/nvim/command_spec.lua inside Neovim: questions to the user.
local editor = require("spec.support.editor")
local nvim = require("operations.nvim")
local operations = require("operations")

describe("questions", function()
  local asked, answers, open_at_once

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
    vim.ui.select = function(_, options, respond) -- luacheck: ignore 122
      answer(options.prompt, respond)
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
    answers = { true, "9", "5", "x", "long" }
    vim.cmd("Operations call own.make")
    assert.same({ title = "long", size = 5, loud = true }, vim.json.decode(editor.shows('"title"')))
    assert.same({ "loud: ", "size: " }, { asked[1], asked[2] })
    assert.matches("^size: .*5.*: $", asked[3])
  end)

  it("that are called off make no call", function()
    answers = { vim.NIL }
    vim.cmd("Operations call own.make")
    editor.wait(function() return #asked == 1 and vim.api.nvim_win_get_config(0).relative == "" end)
    assert.same({}, editor.notified)
  end)

  it("of servers are answered, declined and called off", function()
    answers = { "answer", "Ada" }
    assert.same({ action = "accept", content = { name = "Ada" } }, ask(request)())
    assert.same({ "spec: Who?", "name: " }, asked)
    answers = { "decline" }
    assert.equal("decline", ask(request)().action)
    answers = { vim.NIL }
    assert.equal("cancel", ask(request)().action)
  end)

  it("wait for each other", function()
    answers = { "answer", "Ada", true, "3", "ok" }
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
    end, 1000)
    assert.equal("typed", vim.fn.input("Prompt: "))
    assert.equal(0, before)
    assert.equal("decline", result().action)
  end)
end)
