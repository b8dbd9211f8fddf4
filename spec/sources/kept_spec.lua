local command = require("spec.support.command")
local cache = require("operations.sources.cache")

describe("the cached operations of a source", function()
  it("are those of its kind, place and namespace", function()
    assert.equal("lua\n/a\n", cache.key({ kind = "lua", place = "/a" }))
    assert.equal("openapi\n/a\nn", cache.key({ kind = "openapi", place = "/a", config = { namespace = "n" } }))
    assert.equal("openapi\nhttp://a/\n\n/a.sock", cache.key({ kind = "openapi", place = "http://a/",
      config = { connection = { unix_socket = "/a.sock" } } }))
    assert.equal("mcp\nx\n", cache.key({ kind = "mcp", place = "x", config = {} }))
  end)

  it("are listed without their keys, which are read by the place of the operation", function()
    local program = os.tmpname()
    local file = assert(io.open(program, "w"))
    file:write([[
local json, cache = require("operations.base.json"), require("operations.sources.cache")
local source = { kind = "openapi", place = "/a", config = {} }
local function show(value)
  print(value == nil and "nil" or json.encode(value, { sort_keys = true }))
end
show(cache.entries(source))
show(#cache.keys(source, 1))
cache.write(source, { { id = "a.b", keys = { { name = "x", required = true } } }, { id = "a.c", keys = {} } },
  { etag = "e" }, { { name = "more", bytes = "text" } })
show(cache.entries(source))
show(cache.keys(source, 1))
show(#cache.keys(source, 2))
show(#cache.keys(source, 3))
local held = cache.open(cache.key(source))
show(held.meta)
show(held:read("more"))
cache.write(source, {})
show(#cache.entries(source))
]])
    file:close()
    local result = command.run("lua " .. program)
    os.remove(program)
    assert.same({ err = "", code = 0, out = 'nil\n0\n[{"id":"a.b"},{"id":"a.c"}]\n[{"name":"x","required":true}]\n'
      .. '0\n0\n{"count":2,"etag":"e"}\n"text"\n0\n' }, result)
  end)
end)
