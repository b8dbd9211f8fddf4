-- Run by spec/nvim/log_spec.lua inside Neovim.
local editor = require("spec.support.editor")
local limits = require("operations.base.limits")
local log = require("operations.nvim.log")

local vim = rawget(_G, "vim")

describe("the log", function()
  before_each(editor.clear)

  it("notes all, and shows the first line of warnings and errors", function()
    for _, level in ipairs({ "debug", "info", "warn", "error" }) do
      log.write(level, level .. " one\ntwo")
    end
    local lines = log.lines()
    assert.matches("^%d%d:%d%d:%d%d debug debug one$", lines[#lines - 7])
    assert.equal("two", lines[#lines])
    assert.same({ { "operations: warn one", vim.log.levels.WARN }, { "operations: error one", vim.log.levels.ERROR } },
      editor.notified)
  end)

  it("counts the messages that it does not show, and says how many a second later", function()
    for i = 1, limits.nvim_notifications + 1 do
      log.write("warn", "trouble " .. i)
    end
    assert.equal(limits.nvim_notifications, #editor.notified)
    -- The one second that the specs of the log wait for.
    assert.equal("operations: 1 more message, see :Operations log", (editor.notice("more")))
    for i = 1, limits.nvim_notifications + 2 do
      log.write("warn", "trouble " .. i)
    end
    editor.skip()
    assert.equal("operations: 2 more messages, see :Operations log", (editor.notice("more")))
  end)

  it("shows from a fast context what happens there", function()
    local timer = vim.loop.new_timer()
    timer:start(1, 0, function()
      timer:close()
      log.write("error", "in a callback")
    end)
    editor.notice("^operations: in a callback$")
  end)

  it("calls its followers until they stop", function()
    local count = 0
    local stop = log.follow(function() count = count + 1 end)
    log.write("info", "a")
    stop()
    log.write("info", "b")
    assert.equal(1, count)
  end)

  it("keeps the last messages", function()
    for i = 1, limits.nvim_log + 5 do
      log.write("info", "entry " .. i)
    end
    local lines = log.lines()
    assert.equal(limits.nvim_log, #lines)
    assert.matches("entry 6$", lines[1])
  end)
end)
