local command = require("spec.support.command")
local operations = require("operations")

describe("transports", function()
  it("whose C module was not built name the package to install", function()
    -- As where neither library is installed; a second try says the same.
    local result = command.run("lua - websocket websocket_hub redis redis", [[
      local operations = require("operations")
      assert(operations.call_map)
      package.cpath = ""
      for _, name in ipairs(arg) do
        local ok, message = pcall(function()
          local connect = operations.transports[name]
          return connect
        end)
        print(ok, (message:gsub(":\n.*", "")))
      end
    ]])
    local function refusal(name, library)
      return ("false\tstdin:6: transports.%s needs %s: install it (Debian: lib%s-dev) and build this library again")
        :format(name, library, library)
    end
    assert.equal(table.concat({ refusal("websocket", "wslay"), refusal("websocket_hub", "wslay"),
      refusal("redis", "hiredis"), refusal("redis", "hiredis") }, "\n") .. "\n", result.out)
  end)

  it("are functions where it was, and nothing else is one", function()
    assert.equal("function", type(operations.transports.pair))
    assert.equal("function", type(operations.transports.websocket))
    assert.equal("function", type(operations.transports.redis))
    assert.is_nil(operations.transports.carrier_pigeon)
  end)
end)
