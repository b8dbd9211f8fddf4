-- Run by spec/nvim/call_spec.lua inside Neovim: what windows show of calls, and what forms ask.
local editor = require("spec.support.editor")
local nvim = require("operations.nvim")
local operations = require("operations")

describe("a call", function()
  local asked, answers

  setup(function()
    vim.ui.input = function(options, respond) -- luacheck: ignore 122
      asked[#asked + 1] = options.prompt .. "[" .. tostring(options.default) .. "]"
      respond(table.remove(answers, 1))
    end
    vim.ui.select = function(items, options, respond) -- luacheck: ignore 122
      local names = vim.tbl_map(options.format_item, items)
      asked[#asked + 1] = options.prompt .. table.concat(names, "/")
      local answer = table.remove(answers, 1)
      for i, name in ipairs(names) do
        if name == answer then
          return respond(items[i])
        end
      end
      respond(nil)
    end
    local registry = operations.registry()
    local function add(name, handler, more)
      local definition = { namespace = "own", name = name, handler = handler }
      for key, value in pairs(more or {}) do
        definition[key] = value
      end
      assert(registry:register(definition))
    end
    local function mcp(meta, data)
      return function()
        return operations.mcp_envelope(data, meta)
      end
    end
    add("blocks", mcp({ isError = false, content = { { type = "text", text = "one\ntwo" },
      { type = "image", mimeType = "image/png", data = "QUJD" }, { type = "audio", data = "QUJDRA==" },
      { type = "resource", resource = { uri = "x://a", text = "inside" } },
      { type = "resource", resource = { uri = "x://b", blob = "QUJD" } },
      { type = "resource_link", uri = "x://c", name = "n" }, { type = "resource_link", name = "n" } } }))
    add("failed", mcp({ isError = true, content = { { type = "text", text = "no" } } }))
    add("structured", mcp({ isError = false, structuredContent = { a = 1 }, content = { { type = "text",
      text = "words" } } }, { a = 1 }))
    add("bare", mcp({ isError = false, content = {} }, { a = 1 }))
    add("deep", function()
      return { b = { { c = { d = 1, b = 2, a = 3 } }, operations.array({}), "x" }, a = operations.null,
        e = operations.object({}) }
    end)
    add("text", function()
      return "one\ntwo"
    end)
    add("issues", function()
      error(operations.error("VALIDATION_ERROR", "bad", { { path = "", message = "all of it" }, { path = "/a",
        message = "that" }, { path = "/b" }, 7 }))
    end)
    add("steps", function(_, context)
      context.progress(1, nil, "first")
      operations.sleep(0.3)
      context.progress(2, 4)
      operations.sleep(0.3)
      return "done"
    end)
    add("stream", function(_, context)
      context.emit({ b = 1, a = 2 })
      error(operations.error("GONE", "no more"))
    end, { type = "subscription" })
    add("ask", function(input)
      return input
    end, { inputSchema = { type = "object", required = { "choice", "list", "any", "number" }, properties = {
      choice = { enum = { "x", 7 }, title = "Which" }, list = { type = "array", description = "Some.\nMore.",
        default = operations.array({ 1 }) }, any = {}, number = { type = "number", default = 2 },
      optional = { type = "string" } } } })
    add("nested", function(input)
      return input
    end, { inputSchema = { type = "object", required = { "body", "id" }, properties = { id = { type = "integer" },
      body = { ["$ref"] = "#/$defs/Body" } }, ["$defs"] = { Body = { type = "object", required = { "kind", "size" },
      properties = { kind = { enum = { "x", "y" } }, size = { type = "string" } } } } } })
    nvim.setup({ registry = registry, servers = { mcpServers = {} } })
  end)

  before_each(function()
    asked, answers = {}, {}
  end)
  after_each(editor.clear)

  local function shown(words, pattern)
    vim.cmd("Operations " .. words)
    return editor.shows(pattern), editor.title()
  end

  it("shows the content of a tool's result", function()
    assert.equal("one\ntwo\n[image, image/png, 3 bytes]\n[audio, ?, 6 bytes]\ninside\n[resource x://b]\n"
      .. "[resource_link x://c]\n[resource_link n]", (shown("call own.blocks", "^own%.blocks\n.*resource_link n")))
    assert.equal("markdown", vim.bo.filetype)
  end)

  it("says that a tool failed", function()
    local text, title = shown("call own.failed", "the tool failed\n.*no")
    assert.same({ "no", "own.failed: the tool failed" }, { text, title })
  end)

  it("shows the data of a result that has some", function()
    assert.equal('{\n  "a": 1\n}', (shown("call own.structured", '^own%.structured\n.*"a"')))
    assert.equal("json", vim.bo.filetype)
    editor.press("q")
    assert.equal('{\n  "a": 1\n}', (shown("call own.bare", '"a"')))
  end)

  it("shows data as JSON, two levels with a line for each member, then as it is written", function()
    assert.equal('{\n  "a": null,\n  "b": [\n    {\n      "c": {\n        "a": 3,\n        "b": 2,\n        "d": 1\n'
      .. '      }\n    },\n    [],\n    "x"\n  ],\n  "e": {}\n}', (shown("call own.deep", '"e"')))
    editor.press("q")
    assert.equal('"one\\ntwo"', (shown("call own.text", "two")))
  end)

  it("shows the issues of a failure", function()
    local text, title = shown("call own.issues", "issues: failed\n.*that")
    assert.same({ "VALIDATION_ERROR: bad\n  /: all of it\n  /a: that", "own.issues: failed" }, { text, title })
  end)

  it("shows how far it is", function()
    vim.cmd("Operations call own.steps")
    editor.shows("own%.steps: 1, first")
    editor.shows("own%.steps: 2 of 4")
    editor.shows('"done"')
    assert.equal("own.steps", editor.title())
  end)

  it("that is a subscription shows its events and why it ended", function()
    local text, title = shown("call own.stream", "ended after.*\n.*\"b\"")
    assert.same({ '{"a":2,"b":1}', "own.stream: ended after 1 events: GONE: no more" }, { text, title })
    assert.equal("own.stream: GONE: no more", (editor.notice("own%.stream")):gsub("^operations: ", ""))
  end)

  it("cannot read standard input", function()
    for _, argument in ipairs({ "-", "@-", "a=@-", "a:=@-" }) do
      shown("call own.ask " .. argument, "VALIDATION_ERROR: input: standard input is not available here")
      editor.press("q")
    end
  end)

  it("asks for what is required by choices, defaults and JSON", function()
    answers = { '{"k":1}', "x", "[2,3]", "4.5" }
    local text = shown("call own.ask", '"number"')
    assert.same({ any = { k = 1 }, choice = "x", list = { 2, 3 }, number = 4.5 }, vim.json.decode(text))
    table.sort(asked)
    assert.same({ "own.ask: Which: x/7", "own.ask: any: [nil]", "own.ask: list (Some.), any[]: [[1]]",
      "own.ask: number, number: [2]" }, asked)
  end)

  it("asks only for what was not given, in the objects within its input too", function()
    answers = { "x", "abc" }
    local text = shown("call own.nested id=7", '"size"')
    assert.same({ id = 7, body = { size = "abc", kind = "x" } }, vim.json.decode(text))
    assert.same({ "own.nested: kind: x/y", "own.nested: size: [nil]" }, asked)
    editor.press("q")
    assert.same({ id = 7, body = { size = "abc", kind = "x" } }, vim.json.decode((shown(
      "call own.nested id=7 body.size=abc body.kind=x", '"size"'))))
    assert.equal(2, #asked)
  end)

  it("asks again where an answer does not fit", function()
    answers = { "text", "7", "nope", "[]", "", "5" }
    local text = shown("call own.ask", '"number"')
    local input = vim.json.decode(text)
    assert.same({ 7, "text", 5 }, { input.choice, input.any, input.number })
    local again = 0
    for _, prompt in ipairs(asked) do
      again = again + (prompt:find("expected") and 1 or 0)
    end
    assert.equal(2, again)
  end)

  it("is not made where a choice is left out that is required", function()
    answers = {}
    vim.cmd("Operations call own.ask")
    editor.wait(function()
      return #asked == 1 and vim.api.nvim_win_get_config(0).relative == ""
    end)
  end)
end)
