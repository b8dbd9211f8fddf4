local command = require("spec.support.command")

local describe_linked = command.linked() and describe or pending

describe_linked("the archive of all modules", function()
  it("is linked into a program, whose names are its own, and runs without a file of C", function()
    local directory = os.tmpname()
    os.remove(directory)
    finally(function()
      os.execute("rm -r " .. directory)
    end)
    local lua = require("operations.base.runtime").interpreter
    local program = [[
      package.cpath = ""
      local operations = require("operations")
      local registry = operations.registry()
      assert(registry:register({
        namespace = "a", name = "b", type = "query", handler = function() return { 1 } end,
      }))
      operations.run(function()
        local server = assert(operations.to_http(registry))
        local listener = assert(server:listen({ port = 0 }))
        print(assert(operations.http.request({ url = ("http://127.0.0.1:%d/a/b"):format(listener.port) })).body)
        listener:close()
      end)
    ]]
    -- The archive has what the libraries that were found need.
    local result = command.run(([[ set -e
      unset MAKEFLAGS MFLAGS MAKELEVEL
      mkdir %s && cat >%s/program.lua
      make -s --no-print-directory static LUA=%s >/dev/null
      cc -Wall -Wextra -Werror -o %s/program spec/native/static.c build/%s/liboperations.a \
        $(pkg-config --cflags --libs %s) -lpcre2-8 -lcurl -lssl -lcrypto -lwslay -lhiredis -lm -ldl -lpthread
      LUA_PATH='lua/?.lua;lua/?/init.lua' %s/program %s/program.lua
    ]]):format(directory, directory, lua, directory, lua, lua, directory, directory), program)
    assert.same({ out = "[1]\n", err = "", code = 0 }, { out = result.out, err = result.err, code = result.code })
  end)
end)
