-- What becomes of child processes when the editor ends.
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local is_running = require("spec.support.running")

describe("at the end of Neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  local directory

  before_each(function()
    directory = inside.shell("mktemp -d").out:match("%S+")
  end)

  after_each(function()
    inside.shell("rm -r " .. directory)
  end)

  -- Starts a child in an editor that then ends by `ending`; what the child wrote into files, and how long the end took.
  local function run(script, ending)
    local path = directory .. "/run.lua"
    local file = assert(io.open(path, "w"))
    file:write(([[
      local directory = %q
      local operations = require("operations")
      child = assert(operations.process.spawn({ "sh", "-c", %q, cwd = directory, whole_group = true }))
      assert(child:read_line() == "ready")
      local began = vim.loop.hrtime()
      vim.api.nvim_create_autocmd("VimLeave", { callback = function()
        io.stdout:write(("%%d %%d"):format(child.pid, (vim.loop.hrtime() - began) / 1e6))
      end })
      %s
    ]]):format(directory, script, ending))
    file:close()
    local result = inside.nvim(path)
    local pid, ms = result.out:match("^(%d+) (%d+)$")
    assert(pid and result.code == 0, result.out)
    assert.is_true(eventually(function()
      return not is_running(tonumber(pid))
    end))
    return tonumber(ms), inside.shell("cat " .. directory .. "/saved 2>/dev/null").out
  end

  local quit = "vim.cmd('qa!')"

  it("a child whose stdin is closed has time to save", function()
    local _, saved = run("echo ready; cat >/dev/null; sleep 0.05; echo all >saved", quit)
    assert.equal("all\n", saved)
  end)

  it("one that waits for TERM gets it, and has time to save", function()
    local ms, saved = run("trap 'echo term >saved; exit' TERM; echo ready; while :; do sleep 0.01; done", quit)
    assert.equal("term\n", saved)
    assert.is_true(ms >= 190, ms)
  end)

  it("a process that ignores both is killed, with its children", function()
    local ms = run("trap '' TERM; sleep 60 & echo $! >saved; echo ready; while :; do sleep 1; done", quit)
    assert.is_true(ms >= 440, ms)
    assert.is_true(ms < 5000, ms) -- not as long as `close_grace` and `term_grace` take
  end)

  it("so, too, when a task ends the editor while calls run", function()
    local _, saved = run("echo ready; cat >/dev/null; echo all >saved", [[
      operations.spawn(function()
        operations.spawn(child.read_line, child)
        operations.sleep(0.01)
        vim.cmd("qa!")
      end)
      vim.wait(20000, function() return false end)
    ]])
    assert.equal("all\n", saved)
  end)
end)
