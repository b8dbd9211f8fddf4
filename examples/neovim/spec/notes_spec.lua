--- Runs inside of Neovim: the plugin as its user has it.
local nvim = require("operations.nvim")

local function wait(test)
  local value
  assert(vim.wait(10000, function()
    value = test()
    return value
  end, 5))
  return value
end

describe("notes", function()
  local notes, path, answers, asked

  setup(function()
    vim.opt.runtimepath:prepend("examples/neovim")
    notes, path = require("notes"), vim.fn.tempname()
    vim.ui.select = function(items, options, done) -- luacheck: ignore 122
      local answer = table.remove(answers, 1)
      asked[#asked + 1] = options.prompt
      done(vim.tbl_filter(function(item) return options.format_item(item) == answer end, items)[1])
    end
    vim.ui.input = function(options, done) -- luacheck: ignore 122
      asked[#asked + 1] = options.prompt
      done(table.remove(answers, 1))
    end
    notes.setup({ path = path })
  end)

  before_each(function()
    answers, asked = {}, {}
  end)

  teardown(function()
    notes.remove()
    os.remove(path)
  end)

  it("adds what the form asks for, and says how many there are", function()
    answers = { "Something to do", "water the plants" }
    vim.cmd("NoteAdd")
    wait(function() return vim.api.nvim_win_get_config(0).relative ~= "" end)
    assert.matches('"count": 1', table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n"))
    assert.same({ { kind = "task", text = "water the plants" } }, nvim.registry():execute("notes.list").data)
    assert.same({ "Add a note: Kind, optional: ", "Add a note: Text, at least 1 character: " }, asked)
    vim.cmd("close")
  end)

  it("lets the user choose an operation", function()
    answers = { "notes.list  All notes" }
    vim.cmd("Notes")
    wait(function() return vim.api.nvim_win_get_config(0).relative ~= "" end)
    assert.matches("water the plants", table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n"))
    vim.cmd("close")
  end)

  it("may be set up again, and removed", function()
    notes.setup({ path = path })
    assert.equal(2, nvim.state()[1].operations)
    notes.remove()
    assert.is_nil(nvim.registry():get("notes.list"))
    notes.setup({ path = path })
  end)
end)
