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

  it("shows what steers or hides as escapes", function()
    local window = view.open("a\27[8m\226\128\174")
    assert.equal("a\\u{1b}[8m\\u{202e}", editor.title())
    window:set({ "b\226\128\174c\255", "d\194\155" })
    assert.equal("b\\u{202e}c\\xff\nd\\u{9b}", editor.text())
  end)

  it("is closed by q, and tells so once", function()
    local closed = 0
    local window = view.open("title", function() closed = closed + 1 end)
    assert.is_true(window:is_open())
    editor.press("q")
    assert.is_false(window:is_open())
    window:close()
    editor.wait(function() return closed > 0 end)
    assert.equal(1, closed)
    assert.is_false(window:is_open())
    window:title("late") -- whoever still works for it is not hurt
    window:set({ "late" })
    window:append("late")
    window:filetype("json")
    editor.skip()
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
    local map = vim.fn.maparg("<CR>", "n", false, true)
    assert.same({ 1, 1 }, { map.buffer, map.nowait }) -- its own key, which waits for no longer one
    window:close()
    assert.equal("", vim.fn.maparg("<CR>", "n"))
  end)

  it("is no file of the user's: not listed, without undo, and gone when it is closed", function()
    local wraps = vim.o.wrap
    vim.o.wrap = false
    local window = view.open("title")
    assert.same({ false, "nofile", "wipe", false, -1, true }, { vim.bo.buflisted, vim.bo.buftype, vim.bo.bufhidden,
      vim.bo.swapfile, vim.bo.undolevels, vim.wo.wrap })
    vim.o.wrap = wraps
    window:filetype("json")
    assert.equal("json", vim.bo.filetype)
    vim.cmd("close")
    assert.is_false(window:is_open())
  end)

  it("is in the middle of the screen, and as large as that allows", function()
    local columns, lines = vim.o.columns, vim.o.lines
    local function of(place) -- a table before 0.10
      return type(place) == "table" and place[false] or place
    end
    for _, case in ipairs({ { 100, 51, 80, 35, 9, 6 }, { 40, 11, 32, 7, 3, 0 }, { 22, 9, 20, 5, 0, 0 },
      { 22, 8, 20, 5, 0, 0 } }) do
      vim.o.columns, vim.o.lines = case[1], case[2]
      view.open("title")
      local config = vim.api.nvim_win_get_config(0)
      assert.same({ case[3], case[4], case[5], case[6] }, { vim.api.nvim_win_get_width(0),
        vim.api.nvim_win_get_height(0), of(config.col), of(config.row) })
      editor.clear()
    end
    vim.o.columns, vim.o.lines = columns, lines
  end)

  it("takes lines in place of all others, in steps between which the editor runs", function()
    local window = view.open("title")
    window:append("late")
    window:set({ "old" })
    editor.skip()
    assert.equal("old", editor.text())
    for _, case in ipairs({ { 0, 1 }, { 1, 1 }, { 2000, 1 }, { 2001, 2 }, { 4001, 3 } }) do
      local lines, rests = {}, 0
      for i = 1, case[1] do
        lines[i] = "line " .. i
      end
      window:set(lines, function() rests = rests + 1 end)
      assert.equal(table.concat(lines, "\n"), editor.text())
      assert.equal(case[2], rests)
    end
  end)

  it("takes no more lines once it is closed in between", function()
    local lines, rests = {}, 0
    for i = 1, 4001 do
      lines[i] = "line " .. i
    end
    local window = view.open("title")
    window:set(lines, function()
      rests = rests + 1
      window:close()
    end)
    assert.equal(1, rests)
  end)

  it("follows what is added, unless the user looks at lines before", function()
    local window = view.open("title")
    window:append("a")
    window:append("b\nc")
    assert.equal("a\nb\nc", editor.shows("c$"))
    assert.equal(vim.api.nvim_buf_line_count(0), vim.api.nvim_win_get_cursor(0)[1])
    editor.press("gg")
    window:append("d")
    assert.equal("a\nb\nc\nd", editor.shows("d$"))
    assert.equal(1, vim.api.nvim_win_get_cursor(0)[1])
  end)

  it("keeps the last lines of many", function()
    local window = view.open("title")
    for i = 1, 3 * limits.nvim_lines do
      window:append("line " .. i)
    end
    editor.shows("line " .. 3 * limits.nvim_lines .. "$")
    local text = editor.text()
    assert.equal("line " .. 2 * limits.nvim_lines + 1, text:match("^[^\n]*"))
    assert.equal(limits.nvim_lines - 1, select(2, text:gsub("\n", "")))
  end)
end)
