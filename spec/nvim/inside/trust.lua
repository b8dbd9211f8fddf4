-- Run by spec/nvim/command_spec.lua inside Neovim: files that the current directory brought.
local editor = require("spec.support.editor")
local json = require("operations").json
local nvim = require("operations.nvim")

describe("files of the current directory", function()
  local directory = vim.fn.getcwd()
  local select = vim.ui.select
  local columns = vim.o.columns
  local home, asked

  local function write(name, value)
    local path = home .. "/" .. name
    vim.fn.mkdir(vim.fn.fnamemodify(path, ":h"), "p")
    local file = assert(io.open(path, "w"))
    file:write(type(value) == "table" and json.encode(value) or value)
    file:close()
  end

  -- A server that leaves a mark when it is started.
  local function marking(mark)
    local entry = editor.server()
    return { command = "sh", args = { "./start.sh", entry.command, directory .. "/" .. entry.args[1], entry.args[2] },
      env = vim.tbl_extend("force", entry.env, { MARK = home .. "/" .. mark, DIRECTORY = directory }) }
  end

  local function is_marked(mark)
    return vim.fn.filereadable(home .. "/" .. mark) == 1
  end

  -- What the user answers from now on: the beginning of an item, or nil.
  local function answer(wanted)
    asked = {}
    vim.ui.select = function(items, options, done) -- luacheck: ignore 122
      local window = editor.text()
      table.insert(asked, { prompt = options.prompt, items = items, text = window })
      vim.schedule(function()
        for _, item in ipairs(wanted and items or {}) do
          if item:sub(1, #wanted) == wanted then
            return done(item)
          end
        end
        done(nil)
      end)
    end
  end

  before_each(function()
    home = vim.loop.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ":h")) .. "/home"
    vim.env.XDG_STATE_HOME, vim.env.XDG_CONFIG_HOME = home .. "/state", home .. "/config" -- luacheck: ignore 122
    write("project/start.sh", 'touch "$MARK"; cd "$DIRECTORY"; exec "$@"')
    write("project/mcp.json", { mcpServers = { near = marking("near") } })
    vim.cmd("cd " .. home .. "/project")
    vim.o.columns = 300 -- luacheck: ignore 122 (notifications are cut to the width)
    answer(nil)
  end)

  after_each(function()
    nvim.setup({})
    editor.clear()
    vim.ui.select, vim.o.columns = select, columns -- luacheck: ignore 122
    vim.cmd("cd " .. directory)
    vim.fn.delete(home, "rf")
  end)

  it("are not meant by a relative name, which is beside init.lua", function()
    nvim.setup({ servers = "mcp.json", apis = { shop = { file = "api.json" } } })
    vim.fn.getcompletion("Operations call ", "cmdline")
    vim.cmd("Operations list")
    editor.notice(vim.pesc(home .. "/config/nvim/mcp.json"))
    editor.shows("no operations")
    assert.same({}, asked)
    assert.is_false(is_marked("near"))
    write("config/nvim/mcp.json", { mcpServers = { own = editor.server() } })
    vim.cmd("cd " .. directory)
    vim.cmd("Operations servers reload")
    editor.shows("own%.echo")
    assert.same({}, asked)
  end)

  it("are neither started nor asked for by completion, and start after a question that shows what runs", function()
    nvim.setup({ servers = "./mcp.json" })
    assert.same({}, vim.fn.getcompletion("Operations call n", "cmdline"))
    vim.wait(100)
    assert.same({}, asked)
    vim.cmd("Operations list")
    editor.notice("not trusted, left out: operations trust " .. vim.pesc(home) .. "/project/mcp.json")
    assert.equal(1, #asked)
    for _, text in ipairs({ asked[1].prompt, asked[1].text }) do
      assert.matches("near runs: sh ./start.sh lua", text, 1, true)
    end
    assert.matches(home .. "/project/start.sh", asked[1].text, 1, true)
    assert.is_false(is_marked("near"))
  end)

  it("are remembered by their content, for the command line, too", function()
    answer("trust")
    nvim.setup({ servers = "./mcp.json" })
    vim.cmd("Operations call near.echo message=hi")
    editor.shows("\nhi$")
    assert.is_true(is_marked("near"))
    local store = table.concat(vim.fn.readfile(home .. "/state/operations/trust.json"), "\n")
    assert.matches(home .. "/project/start.sh", store, 1, true)
    os.remove(home .. "/near")
    editor.clear()
    answer(nil)
    nvim.setup({ servers = "./mcp.json" })
    assert.same({}, vim.fn.getcompletion("Operations call near.", "cmdline"))
    assert.is_false(is_marked("near"))
    vim.cmd("Operations list")
    editor.shows("near%.echo")
    assert.same({}, asked)
    os.remove(home .. "/near")
    write("project/start.sh", 'touch "$MARK"')
    vim.cmd("Operations servers reload")
    editor.notice("not trusted, left out")
    assert.matches("new or changed: " .. home .. "/project/start.sh", asked[1].text, 1, true)
    assert.is_false(is_marked("near"))
  end)

  it("are shown whole before they can be trusted", function()
    local servers = {}
    for i = 1, 100 do
      servers["s" .. i] = { command = "false", args = { ("x"):rep(100) }, disabled = true }
    end
    write("project/mcp.json", { mcpServers = servers })
    answer("trust")
    nvim.setup({ servers = "./mcp.json" })
    vim.cmd("Operations list")
    editor.notice("not trusted, left out")
    assert.is_nil(table.concat(asked[1].items, " "):find("trust", 1, true))
    answer("read")
    vim.cmd("Operations servers reload")
    editor.wait(function() return #asked == 1 and editor.title() == "came with the directory" end)
    answer("trust")
    vim.wait(200)
    editor.press("q")
    editor.wait(function() return #asked == 1 end)
    assert.matches("trust", table.concat(asked[1].items, " "), 1, true)
  end)

  it("are asked for as documents of APIs, too", function()
    write("project/api.json", { openapi = "3.1.0", info = { title = "A", version = "1" },
      servers = { { url = "http://127.0.0.1:9" } }, paths = { ["/a"] = { get = { operationId = "a",
        parameters = { { ["$ref"] = "parts/p.json" } } } } } })
    write("project/parts/p.json", { name = "q", ["in"] = "query", schema = { type = "string" } })
    nvim.setup({ apis = { shop = { file = "./api.json" } } })
    assert.same({}, vim.fn.getcompletion("Operations describe shop", "cmdline"))
    vim.cmd("Operations list")
    editor.notice("trust .*/project/api.json")
    assert.matches(home .. "/project/parts/p.json", asked[1].text, 1, true)
    answer("trust")
    nvim.setup({ apis = { shop = { file = "./api.json" } } })
    vim.cmd("Operations list")
    editor.shows("shop%.a")
  end)
end)
