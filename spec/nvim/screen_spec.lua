-- The plugin as a person sees it: Neovim in tmux.
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local is_running = require("spec.support.running")

describe("on the screen", function()
  local missing = inside.missing("nvim") or not inside.has("tmux") and "tmux is not installed"
  if missing then
    pending(missing)
    return
  end

  local directory, socket

  setup(function()
    directory = inside.shell("mktemp -d").out:match("%S+")
    socket = directory .. "/tmux"
    local file = assert(io.open(directory .. "/init.lua", "w"))
    file:write([[
      vim.o.shortmess = vim.o.shortmess .. "I"
      local server = { command = "luajit", args = { "spec/support/mcp/server.lua", "legacy" },
        env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }
      require("operations.nvim").setup({ servers = { mcpServers = { spec = server,
        bad = { command = "no-such-program-" .. ("x"):rep(300) } } } })
      vim.api.nvim_create_user_command("Form", function()
        require("operations.nvim").form({ title = "Form", all = true, schema = { required = { "b" },
          properties = { a = {}, b = {} } } }, function(values)
          print("gives " .. (values and vim.json.encode(require("operations.nvim").to_vim(values)) or "nothing"))
        end)
      end, {})
    ]])
    file:close()
  end)

  teardown(function()
    inside.shell(("tmux -S %s kill-server; rm -r %s"):format(socket, directory))
  end)

  local function tmux(text, ...)
    return inside.shell(("tmux -S %s "):format(socket) .. text:format(...)).out
  end

  local function start(name)
    inside.shell(("%s tmux -S %s -f /dev/null new-session -d -s %s -x 90 -y 24 "
      .. "'timeout --foreground 120 nvim -u %s/init.lua -i NONE -n; echo left; sleep 60'"):format(
      inside.modules, socket, name, directory))
  end

  local function keys(name, text)
    tmux("send-keys -t %s -- '%s' Enter", name, text)
  end

  local function shows(name, pattern)
    local screen
    assert.is_true(eventually(function()
      screen = tmux("capture-pane -p -t %s", name)
      return screen:find(pattern) ~= nil
    end), ("%q is not shown, but:\n%s"):format(pattern, screen))
    assert.is_nil(screen:find("Press ENTER"), screen)
    return screen
  end

  -- The processes below that of a session's editor.
  local function servers_of(name)
    local pids = {}
    local pane = tmux("display-message -p -t %s '#{pane_pid}'", name):match("%d+")
    local tree = inside.shell(("for a in $(pgrep -P %s); do for b in $(pgrep -P $a) $a; do "
      .. "for c in $(pgrep -P $b) $b; do pgrep -P $c; done; done; done | sort -u"):format(pane)).out
    for pid in tree:gmatch("%d+") do
      if inside.shell("tr '\\0' ' ' < /proc/" .. pid .. "/cmdline").out:find("mcp/server.lua", 1, true) then
        pids[#pids + 1] = pid
      end
    end
    return pids
  end

  it("two editors list, call and answer, each by servers of its own, without a prompt to press Enter", function()
    start("one")
    start("two")
    for _, name in ipairs({ "one", "two" }) do
      keys(name, ":Operations list")
      shows(name, "spec%.echo +Echo")
      keys(name, "q:Operations call spec.echo message=hello")
      shows(name, "│hello ")
    end
    assert.equal(1, #servers_of("one"))
    assert.not_same(servers_of("one"), servers_of("two"))
  end)

  it("an empty text leaves a field of a form out, Escape cancels the form", function()
    keys("two", ":Form")
    shows("two", "Form: a, optional:")
    keys("two", "")
    shows("two", "Form: b:")
    keys("two", "text")
    shows("two", 'gives {"b": ?"text"}')
    keys("two", ":Form")
    shows("two", "Form: a, optional:")
    tmux("send-keys -t two Escape")
    shows("two", "gives nothing")
  end)

  it("progress is shown, a call continues when its window is left, and :qa ends all while calls run", function()
    keys("one", 'q:Operations call spec.steps {"count": 100, "pause": 0.3}')
    shows("one", "spec%.steps: %d+ of 100")
    local pids = servers_of("one")
    assert.equal(1, #pids)
    keys("one", ":qa!")
    shows("one", "left")
    assert.is_true(eventually(function()
      return not is_running(pids[1])
    end))
    assert.equal(1, #servers_of("two"))
    keys("two", "q:qa!")
    shows("two", "left")
  end)
end)
