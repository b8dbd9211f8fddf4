--- `make test-release`: what users do with a release, in clean trees. Prints sizes and times.
local command = require("spec.support.command")
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
    place:must(("cp '%s/spec/release/calls.lua' ."):format(command.directory()))
  end)

  teardown(function()
    place:remove()
  end)

  local serve = [[
    definitions=$here/operations-0.1.0/examples/definitions
    rm -f serve.log # that of a server before says nothing
    $program serve --lua "$definitions" --mcp-server --port 8090 --no-auth >serve.log 2>&1 &
    server=$!
    trap '{ kill $server; wait $server; } 2>/dev/null || true' EXIT
    wait_for serve.log 'http://[0-9.:]*' >url
  ]]

  -- Calls an operation of an OpenAPI document and one of an MCP server, both served by the same program.
  local function calls(program)
    local out = place:must(("program=%s\n"):format(program) .. serve .. [[
      start=$(date +%s%N)
      $program call demo.greet --openapi "$(cat url)/openapi.json" name=Ada
      echo "$((($(date +%s%N) - start) / 1000000))" >first
      $program call mine.demo_greet --namespace mine --mcp "$program mcp --lua $definitions" name=Bob
    ]])
    assert.equal('"Hello, Ada!"\n"Hello, Bob!"\n', out)
    print(("%-48s %6d ms"):format("first call", tonumber(place:must("cat first"))))
  end

  local function luarocks(runtime, tree, arguments)
    return ("luarocks_for %s --tree $here/%s %s"):format(runtime.version, tree, arguments)
  end

  local function make(runtime, tree, version)
    place:timed("luarocks make, " .. runtime.name, ("cd operations-%s; "):format(version)
      .. luarocks(runtime, tree, ("make operations-%s-1.rockspec %s"):format(version, runtime.variables)))
  end

  local function install(runtime, tree, rock)
    place:timed(("luarocks install %s, %s"):format(rock:match("[^.]*%.rock$"), runtime.name),
      luarocks(runtime, tree, ("install %s %s"):format(rock, runtime.variables)))
  end

  local function version_of(runtime, tree)
    return place:timed("operations --version, " .. runtime.name, ("%s/bin/operations --version"):format(tree))
      :match("^[^\n]*")
  end

  -- LuaRocks leaves the list of what its tree has.
  local function remove(runtime, tree)
    place:must(luarocks(runtime, tree, "remove operations"))
    assert.equal("", (place:below(tree):gsub("[^\n]*/manifest[^\n]*\n", "")))
  end

  for _, runtime in ipairs(runtimes) do
    local tree = "tree-" .. runtime.name
    local program = ("$here/%s/bin/operations"):format(tree)

    it("is installed from its tree, packed, installed from that and removed by LuaRocks, " .. runtime.name, function()
      make(runtime, tree, "0.1.0")
      assert.equal("operations 0.1.0", version_of(runtime, tree))
      calls(program)
      local packed = ("packed-%s"):format(runtime.name)
      place:must(("mkdir %s; cd %s; "):format(packed, packed) .. luarocks(runtime, tree, "pack operations"))
      remove(runtime, tree)
      local rock = place:must(("ls %s/*.rock"):format(packed)):match("[^\n]+")
      print(place:must("wc -c " .. rock):match("[^\n]+"))
      install(runtime, tree, rock)
      calls(program)
      remove(runtime, tree)
    end)
  end

  -- Its source is where the archive is now.
  local function pack_source(version)
    place:must((([[cd release-VERSION
      sed "s|url = .*|url = \"file://$PWD/operations-VERSION.tar.gz\",|" operations-VERSION-1.rockspec >../edited
      mkdir source; cp ../edited source/operations-VERSION-1.rockspec; cd source
      luarocks_for 5.4 pack operations-VERSION-1.rockspec]]):gsub("VERSION", version)))
    return ("release-%s/source/operations-%s-1.src.rock"):format(version, version)
  end

  it("is upgraded from a source rock, and both runtimes have room in one tree", function()
    local old, new = runtimes[1], runtimes[2]
    make(old, "tree", "0.1.0")
    place:release("0.1.1")
    local rock = pack_source("0.1.1")
    print(place:must("wc -c " .. rock):match("[^\n]+"))
    install(old, "tree", rock)
    assert.equal("operations 0.1.1", version_of(old, "tree"))
    assert.is_nil(place:below("tree"):find("0.1.0", 1, true))
    install(new, "tree", rock)
    calls("$here/tree/bin/operations")
    for _, runtime in ipairs(runtimes) do
      local out = place:must(('eval "$(luarocks_for %s --tree $here/tree path)"; '):format(runtime.version)
        .. runtime.name .. " -e 'print((require(\"operations.base.version\")))'")
      assert.equal("0.1.1\n", out)
    end
  end)

  describe("serves and calls", function()
    setup(function()
      make(runtimes[2], "hosts", "0.1.0")
    end)

    it("in Neovim after make nvim", function()
      place:timed("make nvim", "make -s -C operations-0.1.0 nvim")
      local out = place:must("program=$here/hosts/bin/operations\n" .. serve .. [[
        echo 'io.write(dofile("calls.lua").handler())' >editor.lua
        nvim --headless -n -i NONE -u NONE --cmd "set runtimepath+=$here/operations-0.1.0" \
          -c 'luafile editor.lua' -c 'qa!' 2>&1
      ]])
      assert.equal("Hello, Ada! Hello, Bob!", out)
    end)

    it("in nginx, with examples/nginx/nginx.conf", function()
      local out = place:must("program=$here/hosts/bin/operations\n" .. serve .. [[
        mkdir nginx api; cp calls.lua api
        sed -e "s|/srv/api/definitions|$here/api|" -e 's|"api.example"|"127.0.0.1"|' \
          operations-0.1.0/examples/nginx/nginx.conf >nginx/nginx.conf
        eval "$(luarocks_for 5.1 --tree $here/hosts path)"
        export API_TOKEN=secret
        nginx -p "$here/nginx" -c nginx.conf -e error.log -g 'user root; daemon off;' >nginx/start.log 2>&1 &
        nginx=$!
        trap '{ kill $server $nginx; wait; } 2>/dev/null || true' EXIT
        tries=0
        until $program call release.calls --openapi http://127.0.0.1:8080/openapi.json --bearer secret \
          --document-header 'Authorization: Bearer secret' >out 2>err; do
          tries=$((tries + 1))
          [ $tries -lt 50 ] || { cat err nginx/start.log nginx/error.log; exit 1; }
          sleep 0.2
        done
        cat out
      ]])
      assert.equal('"Hello, Ada! Hello, Bob!"\n', out)
    end)
  end)
end)
