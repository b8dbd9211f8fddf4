-- The real program.
local command = require("spec.support.command")
local json = require("operations.base.json")
local operations = require("operations")

local definitions = [[
  local operations = require("operations")
  local T = operations.type
  return {
    { namespace = "t", name = "echo", type = "query", inputSchema = T.object({ text = T.string() }),
      handler = function(input) return input end },
    { namespace = "t", name = "secret", accessControl = { requiredScopes = { "a" } }, handler = function() end },
    { namespace = "t", name = "own", _meta = { exposed = false }, handler = function() end },
  }
]]

describe("operations export", function()
  local path = os.tmpname()

  setup(function()
    local file = assert(io.open(path, "w"))
    file:write(definitions)
    file:close()
  end)

  teardown(function()
    os.remove(path)
  end)

  local function export(words)
    return command.run(("operations export --lua %s %s"):format(path, words or ""))
  end

  it("prints no document when a file of a directory gives no definition", function()
    local result = command.run(([[d=$(mktemp -d); cp %s $d/good.lua; echo 'return 7' >$d/bad.lua
      operations export --lua $d 2>&1; echo "code $?"; operations list --lua $d 2>/dev/null | head -1; rm -r $d]])
      :format(path))
    assert.matches("^operations: /%S+/bad.lua: expected a definition, got number\ncode 12\nt.echo ", result.out)
  end)

  it("prints nothing of files outside of a document's directory", function()
    local result = command.run([[
      mkdir -p $XDG_CACHE_HOME/api && cd $XDG_CACHE_HOME
      echo '{ "name": "q", "in": "query", "schema": { "default": "s3cret" } }' >secret.json
      echo '{ "openapi": "3.1.0", "info": { "title": "A", "version": "1" },
        "servers": [ { "url": "http://127.0.0.1:9" } ],
        "paths": { "/a": { "get": { "operationId": "a",
          "parameters": [ { "$ref": "../secret.json" } ] } } } }' >api/a.json
      export="operations export --openapi $PWD/api/a.json --expose * --verbose"; set -f; cd "$OLDPWD"
      $export; $export --ref-root $XDG_CACHE_HOME | grep -c s3cret]])
    assert.matches("outside of [^\n]*/api/; config.ref_root %(%-%-ref%-root%) names", result.err)
    assert.is_nil(result.out:find("s3cret", 1, true))
    assert.matches("\n1\n$", result.out)
  end)

  it("prints the document of what would be served", function()
    local result = export()
    assert.equal(0, result.code, result.err)
    local document = assert(json.decode(result.out))
    assert.equal("3.1.1", document.openapi)
    assert.same({ title = "Operations", version = "1.0.0" }, document.info)
    assert.same({ { url = "/" } }, document.servers)
    assert.is_table(document.paths["/t/echo"].get)
    assert.is_table(document.paths["/t/secret"].post)
    assert.is_nil(document.paths["/t/own"])
    assert.equal(result.out, export().out)
    assert.is_truthy(result.err:find("serving 2 of 3 operations", 1, true), result.err)
  end)

  it("takes version, title and servers", function()
    local document = assert(json.decode(export("--version 3.2 --title Mine --api-version 7 --server https://a.example"
      .. " --server https://b.example").out))
    assert.equal("3.2.0", document.openapi)
    assert.same({ title = "Mine", version = "7" }, document.info)
    assert.same({ { url = "https://a.example" }, { url = "https://b.example" } }, document.servers)
    assert.same({ { url = "/api" } }, json.decode(export("--prefix /api").out).servers)
  end)

  it("opens imported operations by --expose, and what it prints can be a source", function()
    local exported = os.tmpname()
    local file = assert(io.open(exported, "w"))
    file:write(export().out)
    file:close()
    local back = command.run("operations export --openapi " .. exported .. " --base-url http://localhost")
    assert.same({}, json.decode(back.out).paths)
    back = command.run("operations export --openapi " .. exported .. " --base-url http://localhost"
      .. " --expose '*.echo'")
    os.remove(exported)
    local operation = json.decode(back.out).paths["/t/echo"].get
    assert.equal("t.echo", operation["x-operation"].id)
    assert.is_true(operations.json.encode(operation.parameters):find('"text"', 1, true) ~= nil)
  end)

  it("says which operations cannot be served, and prints nothing", function()
    local same = os.tmpname()
    local file = assert(io.open(same, "w"))
    file:write([[
      local function at(name)
        return { namespace = "t", name = name, type = "query", _meta = { http = { path = "/same" } },
          handler = function() end }
      end
      return { at("a"), at("b") }
    ]])
    file:close()
    local result = command.run("operations export --lua " .. same)
    os.remove(same)
    assert.same({ 5, "" }, { result.code, result.out })
    assert.matches("t.b: the path /same is that of t.a already", result.err, 1, true)
  end)

  it("says what is wrong with the command line", function()
    for words, message in pairs({ ["--version 2.0"] = '--version: expected 3.0, 3.1 or 3.2, got "2.0"',
      ["more"] = 'no source "more"; operations sources lists them',
      ["--prefix api"] = '--prefix: expected a path such as /api, got "api"' }) do
      local result = export(words)
      assert.equal(2, result.code)
      assert.equal("operations: " .. message .. "\n", result.err)
    end
  end)

  it("prints types, and tells a file of them that is out of date", function()
    local result = command.run([[d=$(mktemp -d); document=examples/tasks.openapi.json
      types() { operations export --openapi $document --types lua -o $d/types.lua "$@"; echo $?; }
      types --check; types; types --check; cp $d/types.lua $d/old.lua; echo >>$d/types.lua; types --check; types
      cmp $d/types.lua $d/old.lua; head -1 $d/types.lua; operations export --openapi $document --types c
      operations export --openapi $document --types lua --check; rm -r $d]])
    assert.equal("1\n0\n0\n1\n0\n---@meta\n", result.out)
    assert.matches("^operations: /%S+/types.lua is not there: run the command without %-%-check\n"
      .. "operations: /%S+/types.lua is out of date: run the command without %-%-check\n"
      .. 'operations: %-%-types: format: expected lua, typescript or json%-schema, got "c"\n'
      .. "operations: %-%-check needs the file: %-o FILE\n$", result.err)
  end)

  it("prints the types of each namespace to a file of its own", function()
    local result = command.run([[d=$(mktemp -d)
      echo 'local function of(n) return { namespace = n, name = "x", handler = print } end' >$d/defs.lua
      echo 'return { of("a"), of("b") }' >>$d/defs.lua
      types() { operations export --lua $d/defs.lua --types lua -o "$d/{namespace}.types.lua" "$@"; echo $?; }
      types; types --check; grep -h '^---@class .*client' $d/*.types.lua; rm $d/b.types.lua; types --check; rm -r $d]])
    assert.equal("0\n0\n---@class a.client\n---@class b.client\n1\n", result.out)
    assert.matches("^operations: /%S+/b.types.lua is not there: run the command without %-%-check\n$", result.err)
  end)
end)
