-- Run by spec/hosts/nvim_spec.lua inside Neovim.
local cancellation = require("spec.task.cancellation_contract")
local contract = require("spec.hosts.contract")
local faults = require("spec.net.http.fault_contract")
local hosts = require("operations.hosts")
local http = require("operations.net.http")
local task = require("operations.task")
local test_server = require("spec.support.server")

local uv = vim.loop
local detected = hosts.current().name
local busted = { describe = describe, it = it, setup = setup, teardown = teardown, assert = assert }

contract("nvim", busted)
cancellation(busted)
faults(busted)

local function wait_for(condition)
  assert.is_true(vim.wait(20000, condition, 5))
end

describe("the Neovim host", function()
  local server = test_server.around(setup, teardown)

  it("is found by itself", function()
    assert.equal("nvim", detected)
  end)

  it("runs tasks from the editor's loop, where its functions may be called", function()
    local line
    task.spawn(function()
      local status = http.request({ url = server.url .. "/echo" }).status
      vim.api.nvim_buf_set_lines(0, 0, -1, true, { "status " .. status })
      line = vim.api.nvim_get_current_line()
    end)
    wait_for(function()
      return line
    end)
    assert.equal("status 200", line)
  end)

  it("shows the failure of a task that is not awaited by vim.notify, soon, and once", function()
    local notify, told = vim.notify, {}
    vim.notify = function(message, level) -- luacheck: ignore 122
      told[#told + 1] = { message:match("^[^\n]*"), level, vim.in_fast_event() }
    end
    local kept = task.spawn(error, "lost", 0)
    wait_for(function()
      return told[1]
    end)
    assert.equal("lost", select(2, kept:wait()).message)
    local timer = uv.new_timer()
    timer:start(1, 0, function()
      timer:close()
      hosts.current().log("warn", "from a fast context")
    end)
    hosts.current().log("info", "not shown")
    wait_for(function()
      return told[2]
    end)
    vim.notify = notify -- luacheck: ignore 122
    assert.same({
      { "operations: lost", vim.log.levels.ERROR, false },
      { "operations: from a fast context", vim.log.levels.WARN, false },
    }, told)
  end)

  it("starts tasks from a callback of the loop, and refuses to wait there", function()
    local refused, status
    local timer = uv.new_timer()
    timer:start(1, 0, function()
      timer:close()
      refused = select(2, pcall(task.sleep, 0.01))
      task.spawn(function()
        status = http.request({ url = server.url .. "/echo" }).status
      end)
    end)
    wait_for(function()
      return status
    end)
    assert.equal(200, status)
    assert.matches("fast context", refused)
  end)

  it("runs other tasks while one waits in the editor itself", function()
    local done
    task.run(function()
      local other = task.spawn(function()
        assert(http.request({ url = server.url .. "/slow?head=0.02" }))
        done = true
      end)
      task.sleep(0)
      wait_for(function()
        return done
      end)
      other:wait()
    end)
    assert.is_true(done)
  end)

  it("returns to the editor when tasks never wait for long", function()
    local turns, ticks = 0, 0
    local busy = task.spawn(function()
      while turns < 20000 do
        turns = turns + 1
        task.sleep(0)
      end
    end)
    local timer = uv.new_timer()
    timer:start(1, 1, function()
      ticks = ticks + 1
    end)
    busy:wait()
    timer:close()
    assert.is_true(ticks >= 5, ticks .. " ticks")
  end)

  it("starts again after it was closed", function()
    hosts.current().close()
    assert.equal(200, http.request({ url = server.url .. "/echo" }).status)
  end)
end)
