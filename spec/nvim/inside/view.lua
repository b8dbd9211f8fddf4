-- Run by spec/nvim/view_spec.lua inside Neovim.
local editor = require("spec.support.editor")
local limits = require("operations.base.limits")
local view = require("operations.nvim.view")

local vim = rawget(_G, "vim")

describe("a view", function()
  after_each(editor.clear)

  it("splits texts into lines that a buffer can have", function()
    assert.same({ "a", "b", "", "c\\0d" }, view.split("a\r\nb\n\nc\0d"))
    assert.same({ "" }, view.split(""))
  end)

  it("has a title, of which it shows the first line, and lines that cannot be changed", function()
    local window = view.open("first\nsecond")
    assert.equal("first", editor.title())
    window:set({ "one", "two" })
    assert.equal("one\ntwo", editor.text())
    window:title("other")
    assert.equal("other", editor.title())
    assert.equal("one\ntwo", editor.text())
    assert.is_false(vim.bo.modifiable)
  end)

  it("is closed by q, and tells so once", function()
    local closed = 0
    local window = view.open("title", function() closed = closed + 1 end)
    assert.is_true(window:is_open())
    editor.press("q")
    window:close()
    editor.wait(function() return closed > 0 end)
    assert.equal(1, closed)
    assert.is_false(window:is_open())
    window:title("late") -- whoever still works for it is not hurt
    window:set({ "late" })
    window:append("late")
    window:filetype("json")
    vim.wait(200, function() return false end, 20)
    assert.same({}, editor.notified)
  end)

  it("calls for its keys with the line under the cursor", function()
    local got
    local window = view.open("title")
    window:set({ "one", "two" })
    window:on_key("<CR>", function(line) got = line end)
    vim.fn.search("two")
    editor.press("<CR>")
    assert.equal("two", got)
  end)

  it("follows what is added, unless the user looks at lines before", function()
    local window = view.open("title")
    window:append("a")
    window:append("b\nc")
    assert.equal("a\nb\nc", editor.shows("c$"))
    assert.equal(vim.api.nvim_buf_line_count(0), vim.api.nvim_win_get_cursor(0)[1])
    editor.press("gg")
    window:append("d")
    editor.shows("d$")
    assert.equal(1, vim.api.nvim_win_get_cursor(0)[1])
  end)

  it("keeps the last lines of many", function()
    local window = view.open("title")
    for i = 1, 3 * limits.nvim_lines do
      window:append("line " .. i)
    end
    editor.shows("line " .. 3 * limits.nvim_lines .. "$")
    assert.is_true(vim.api.nvim_buf_line_count(0) <= limits.nvim_lines + 1)
  end)
end)
