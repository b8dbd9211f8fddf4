-- Run by spec/nvim/command_spec.lua inside Neovim: servers and files that are broken.
local editor = require("spec.support.editor")
local nvim = require("operations.nvim")

local function write(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

describe("the plugin with broken servers and files", function()
  local directory = vim.fn.getcwd()

  after_each(function()
    editor.clear()
    vim.cmd("cd " .. directory)
    nvim.setup({})
  end)

  it("reports a file that is not JSON, and reads it again when it has changed", function()
    local function rewrite(path, servers)
      local file = io.open(path, "w")
      file:write(require("operations").json.encode({ mcpServers = servers }))
      file:close()
    end
    local path = write("{ \"mcpServers\": { oops")
    nvim.setup({ servers = path })
    vim.cmd("Operations servers")
    editor.notice(path:match("[^/]+$"))
    editor.shows("VALIDATION_ERROR")
    rewrite(path, { spec = editor.server() })
    vim.cmd("Operations servers reload")
    editor.shows("spec  connected")
    assert.is_table(nvim.registry():get("spec.echo"))
    rewrite(path, require("operations").object({}))
    vim.cmd("Operations servers reload")
    editor.wait(function() return not nvim.registry():get("spec.echo") end)
    os.remove(path)
  end)

  it("names a missing file", function()
    nvim.setup({ servers = "no-such-mcp.json" })
    vim.cmd("Operations list")
    editor.notice("no%-such%-mcp%.json")
    editor.shows("no operations")
  end)

  it("reports a document that cannot be fetched, and no longer waits for it", function()
    nvim.setup({ apis = { gone = { url = "http://127.0.0.1:1/api.json" } } })
    vim.cmd("Operations list")
    editor.notice("api gone")
    editor.wait(function() return not editor.title():find("starting") end, "it is still waited for")
  end)

  it("uses the other servers when one has unknown keys or its program is missing", function()
    local entry = editor.server()
    entry.colour = "red"
    nvim.setup({ servers = { mcpServers = { good = entry, bad = { command = "/no/such/program" } } },
      apis = { gone = { file = "/no/such/file.json" }, odd = { document = { openapi = "9" } } } })
    vim.cmd("Operations call good.echo message=hi")
    editor.shows("\nhi$")
    vim.cmd("Operations log")
    editor.shows("/no/such/program")
    for _, text in ipairs({ "colour", "api gone", "api odd" }) do
      assert.matches(text, editor.text(), 1, true)
    end
  end)

  it("names in order what is starting", function()
    local apis = {}
    for name in ("hbfadgce"):gmatch(".") do
      apis[name] = { url = "http://127.0.0.1:1/openapi.json" }
    end
    nvim.setup({ apis = apis })
    vim.cmd("Operations list")
    assert.matches("starting a, b, c, d, e, f, g, h", editor.title(), 1, true)
    editor.shows("no operations")
  end)

  it("keeps the editor usable while servers flood, print garbage, answer late or never, or die", function()
    nvim.setup({ mcp = { timeout = 1000 },
      servers = { mcpServers = { hostile = editor.server("hostile.lua", "all"), good = editor.server() } } })
    for _, id in ipairs({ "flooding", "chatting", "complaining", "logging", "nul", "deep", "numbers" }) do
      vim.cmd("Operations call hostile." .. id)
      editor.wait(function()
        return not editor.title():find("running") and not editor.title():find("starting")
      end)
      editor.press("q")
    end
    vim.cmd("Operations call hostile.mute")
    editor.shows("TIMEOUT")
    editor.press("q")
    vim.cmd("Operations call good.exit")
    editor.shows("failed")
    assert.matches("ended", editor.text())
    vim.cmd("Operations servers restart good")
    vim.cmd("Operations servers")
    editor.shows("good  connected")
    vim.cmd("Operations call good.echo message=hi") -- waits for the restart
    editor.shows("\nhi$")
    for _, entry in ipairs(editor.notified) do
      assert.is_nil(entry[1]:find("\n"))
    end
  end)

  it("runs commands from a fast context and from vim.schedule", function()
    nvim.setup({ servers = { mcpServers = { spec = editor.server() } } })
    local operations = require("operations")
    local registry, refused, done = nvim.registry(), nil, nil
    editor.wait(function() return registry:get("spec.echo") end)
    local timer = vim.loop.new_timer()
    timer:start(1, 0, function()
      timer:close()
      refused = select(3, pcall(registry.execute, registry, "spec.echo", { message = "x" }))
      operations.spawn(function()
        done = registry:execute("spec.echo", { message = "fast" }).data[1].text
      end)
    end)
    editor.wait(function() return done end)
    assert.equal("fast", done)
    assert.matches("operations%.spawn", tostring(refused))
    vim.schedule(function() vim.cmd("Operations call spec.echo message=scheduled") end)
    editor.shows("\nscheduled$")
  end)
end)
