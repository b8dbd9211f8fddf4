--- The official TypeScript client uses an editor through the bridge. `make test-neovim` runs this.
local command = require("spec.support.command")
local editor = require("spec.support.serving_editor")
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local json = require("operations.base.json")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the SDK")

describe("the TypeScript client", function()
  after_each(editor.stop_all)

  it("uses an editor through the bridge, and leaves no process behind", function()
    local nvim = editor.start([[ served = assert(require('operations.nvim').serve({ allow = { '*' },
      confirm = function(call)
      if call.operationId == 'quickfix.set' then return false, 'not today' end return true end }))
      vim.api.nvim_buf_set_lines(0, 0, -1, true, {'by hand'}) ]])
    local result = command.run(("XDG_RUNTIME_DIR=%s LUA_PATH='%s' LUA_CPATH='%s' node spec/nvim/serve/client.mjs %s %s "
      .. "lua/operations/cli/main.lua mcp --nvim %s"):format(nvim.runtime, package.path, package.cpath,
      modules .. "/@modelcontextprotocol/sdk", command.interpreter(), nvim.address))
    local seen = assert(json.decode(result.out), result.err)
    assert.equal("nvim", seen.server)
    assert.same({ "buffers_edit", "buffers_list", "buffers_read", "buffers_save", "diagnostics_list", "editor_command",
      "editor_open", "editor_selection", "editor_state", "quickfix_list", "quickfix_set", "search_text", "symbols_find",
      "symbols_list", "windows_list" }, seen.tools)
    assert.same({ "by hand", "by hand" }, { seen.text, seen.resource })
    assert.same({ "nvim://buffer/{buffer}" }, seen.templates)
    assert.equal("nvim://buffer/1", seen.updated)
    assert.equal("notifications/tools/list_changed", seen.changed)
    assert.is_true(seen.later)
    assert.equal(50, seen.calls)
    assert.matches("not approved: not today", seen.refused)
    assert.equal("from TypeScript", nvim:lua("vim.fn.getline(1)"))
    nvim:wait_for("served.server.links[next(served.server.links) or 0] == nil", "true")
    eventually(function()
      return inside.shell("pgrep -f '[m]cp --nvim " .. nvim.address .. "'").code == 1
    end)
  end)
end)
