--- `make test-release`: what users do with a release, in clean trees. Prints sizes and times.
local offline = require("spec.release.offline")

local runtimes = {
  { name = "lua5.4", version = "5.4", variables = "" },
  { name = "luajit", version = "5.1", variables = "LUA_INCDIR=/usr/include/luajit-2.1" },
}

describe("a release", function()
  local place

  setup(function()
    place = offline.new()
    place:must("luarocks_for 5.1 config lua_interpreter luajit")
    place:release("0.1.0")
  end)

  teardown(function()
    place:remove()
  end)

  -- Calls an operation of an OpenAPI document and one of an MCP server, both served by the same program.
  local function calls(program)
    local out = place:must(([[
      program=%s
      definitions=$here/operations-0.1.0/examples/definitions
      $program serve --lua "$definitions" --port 0 --no-auth >serve.log 2>&1 &
      server=$!
      trap 'kill $server' EXIT
      url=$(wait_for serve.log 'http://[0-9.:]*')
      $program call demo.greet --openapi $url/openapi.json name=Ada
      $program call mine.demo_greet --namespace mine --mcp "$program mcp --lua $definitions" name=Bob
    ]]):format(program))
    assert.equal('"Hello, Ada!"\n"Hello, Bob!"\n', out)
  end

  local function luarocks(runtime, tree, arguments)
    return ("luarocks_for %s --tree $here/%s %s"):format(runtime.version, tree, arguments)
  end

  local function make(runtime, tree, version)
    place:timed("luarocks make, " .. runtime.name, ("cd operations-%s; "):format(version)
      .. luarocks(runtime, tree, ("make operations-%s-1.rockspec %s"):format(version, runtime.variables)))
  end

  local function remove(runtime, tree)
    place:must(luarocks(runtime, tree, "remove operations"))
  end

  for _, runtime in ipairs(runtimes) do
    local tree = "tree-" .. runtime.name

    it("is installed from its tree and removed by LuaRocks, " .. runtime.name, function()
      make(runtime, tree, "0.1.0")
      local program = ("$here/%s/bin/operations"):format(tree)
      assert.equal("operations 0.1.0\n", place:timed("operations --version, " .. runtime.name, program .. " --version")
        :match("^[^\n]*\n"))
      calls(program)
      remove(runtime, tree)
      assert.equal("", (place:below(tree):gsub("[^\n]*/manifest\n", "")))
    end)
  end
end)
