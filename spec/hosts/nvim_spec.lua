local inside = require("spec.support.inside")

describe("Neovim", function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  -- What a program prints in it.
  local function run(program)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(program)
    file:close()
    local result = inside.nvim(path)
    os.remove(path)
    return result
  end

  it("fulfils the contract of a host", function()
    local result = inside.nvim("spec/support/run_busted.lua", "BUSTED_ARGS='-o TAP spec/hosts/inside/nvim.lua'")
    local tap = inside.tap(result.out)
    assert.equal("", tap.failures)
    assert.equal(0, result.code)
    assert.equal(tap.planned, tap.passed)
    assert.is_true(tap.passed > 80)
  end)

  it("ends while requests and tasks are pending", function()
    local result = run([[
      local http = require("operations.net.http")
      local task = require("operations.task")
      local server = require("spec.support.server").start()
      for _ = 1, 5 do
        task.spawn(http.request, { url = server.url .. "/slow?head=60" })
      end
      task.sleep(0.02)
      vim.api.nvim_create_autocmd("VimLeave", { callback = function()
        server:stop()
        io.stdout:write("left")
      end })
      vim.cmd("qa!")
    ]])
    assert.same({ out = "left", code = 0 }, result)
  end)

  it("ends a wait outside of any task at Ctrl-C", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(([[
      local function note(text)
        local file = io.open(%q, "w")
        file:write(text)
        file:close()
      end
      local operations = require("operations")
      vim.defer_fn(function()
        note("waiting")
      end, 0)
      local _, raised = pcall(operations.sleep, 60)
      note(tostring(raised))
      vim.cmd("qa!")
    ]]):format(path .. ".note"))
    file:close()
    local result = inside.shell(([[
      %s
      wait_for() { for _ in $(seq 200); do grep -qs $1 %s.note && break; sleep 0.05; done; }
      { wait_for waiting; printf '\003'; wait_for interrupted; } |
        TERM=xterm timeout 30 script -qec "nvim -u NONE -i NONE -n -c 'luafile %s'" /dev/null >/dev/null
      cat %s.note; rm %s %s.note
    ]]):format(inside.modules, path, path, path, path, path))
    assert.matches("^ABORTED: interrupted!.*operations%.spawn", result.out)
  end)

  it("loads without a descriptor or a thread", function()
    local result = run([[
      local function count(what)
        return #vim.fn.readdir("/proc/self/" .. what)
      end
      local fds, threads = count("fd"), count("task")
      local operations = require("operations")
      require("operations.net.http")
      operations.use_host("nvim")
      operations.registry()
      io.stdout:write(count("fd") - fds, " ", count("task") - threads)
      vim.cmd("qa!")
    ]])
    assert.same({ out = "0 0", code = 0 }, result)
  end)

  it("leaves threads to wait for themselves", function()
    local result = run([[
      local uv = vim.uv or vim.loop
      local path = os.tmpname()
      local thread = uv.new_thread(function(result, lua, c)
        package.path, package.cpath = lua, c
        local ok, text = pcall(function()
          local operations = require("operations")
          local registry = operations.registry()
          registry:register({ namespace = "a", name = "b", handler = function()
            operations.sleep(0.01)
            return "waited"
          end })
          local _, refused = operations.http.request({ url = "http://127.0.0.1:1/" })
          local _, raised = pcall(require("operations.nvim").setup)
          return table.concat({ assert(registry:execute("a.b")).data, refused.details.kind,
            raised:match("[^:]*$") }, " ")
        end)
        local file = io.open(result, "w")
        file:write(tostring(text))
        file:close()
      end, path, package.path, package.cpath)
      thread:join()
      io.stdout:write(io.open(path):read("*a"))
      os.remove(path)
      vim.cmd("qa!")
    ]])
    assert.same({ code = 0,
      out = "waited connect operations.nvim.setup works inside of Neovim only, on its main thread" }, result)
  end)

  it("continues tasks that take more than a turn without any other event", function()
    local result = run([[
      local operations = require("operations")
      local count = 0
      for _ = 1, 20 do
        operations.spawn(function()
          local stop = vim.loop.hrtime() + 1e6
          while vim.loop.hrtime() < stop do end
          count = count + 1
        end)
      end
      vim.wait(10000, function()
        return count == 20
      end)
      io.stdout:write(count)
      vim.cmd("qa!")
    ]])
    assert.same({ out = "20", code = 0 }, result)
  end)
end)
