local operations = require("operations")
local raises = require("spec.support.raises")

describe("the methods of a registry", function()
  local registry = operations.registry()
  local other = operations.registry()
  assert(registry:register({ namespace = "a", name = "b", handler = function() end }))

  -- A call of a method in a line of this file.
  local function call(name, ...)
    local self, first, second, third = registry, ...
    return function()
      local result = self[name](self, first, second, third)
      return result
    end
  end

  it("name an argument that they cannot use, and the line that gives it", function()
    local cases = {}
    local function expect(name, position, kind, got, ...)
      cases[("bad argument #%d to '%s' (%s expected, got %s)"):format(position, name, kind, got)] = call(name, ...)
    end
    for _, name in ipairs({ "get", "get_spec", "type_of", "parameters", "get_handler", "unregister", "admit", "pages",
      "execute", "start", "subscribe" }) do
      expect(name, 1, "string", "number", 7)
    end
    expect("get_by_name", 1, "string", "nil")
    expect("get_by_name", 2, "string", "number", "a", 7)
    expect("list", 1, "table", "string", "a")
    expect("specs", 1, "table", "string", "a")
    expect("visible", 1, "table", "number", 7)
    expect("visible", 2, "table", "string", "a.b", "x")
    expect("visible", 3, "table", "string", "a.b", nil, "x")
    expect("register", 1, "table", "string", "a.b")
    expect("register", 2, "table", "string", {}, "replace")
    expect("register_all", 1, "table", "string", "a.b")
    expect("register_all", 2, "table", "string", {}, "replace")
    expect("register_spec", 1, "table", "string", "a.b")
    expect("register_spec", 2, "table", "string", {}, "replace")
    expect("register_handler", 1, "string", "number", 7)
    expect("register_handler", 2, "function", "nil", "a.b")
    expect("on_revision", 1, "function", "nil")
    expect("mount", 1, "registry", "table", {})
    expect("mount", 2, "table", "nil", other)
    expect("route", 1, "call map", "table", {})
    expect("env", 1, "table", "string", "x")
    expect("env", 2, "table", "string", nil, "x")
    cases["bad option 'x' to 'list' (unknown)"] = call("list", { x = 1 })
    cases["bad option 'tag' to 'specs' (string expected, got number)"] = call("specs", { tag = 1 })
    cases["bad option 'x' to 'visible' (unknown)"] = call("visible", "a.b", nil, { x = 1 })
    cases["bad option 'x' to 'mount' (unknown)"] = call("mount", other, { x = 1 })
    cases["bad option 'x' to 'env' (unknown)"] = call("env", nil, { x = 1 })
    cases["bad argument #1 to 'register_spec' (a spec has no handler; use register)"] =
      call("register_spec", { handler = print })
    raises(cases, "registry/misuse_spec.lua:")
  end)

  it("name an option of the registry that they cannot use, and the line that gives it", function()
    local function new(options)
      return function()
        local result = operations.registry(options)
        return result
      end
    end
    raises({
      ["bad argument #1 to 'registry' (table expected, got string)"] = new("cast"),
      ["bad option 'x' to 'registry' (unknown)"] = new({ x = 1 }),
      ["bad option 'log' to 'registry' (function expected, got string)"] = new({ log = "stderr" }),
      ["bad option 'normalize' to 'registry' (\"cast\", \"force\" or \"off\" expected)"] = new({ normalize = "no" }),
      ["bad option 'on_mismatch' to 'registry' (\"warn\" or \"fail\" expected)"] = new({ on_mismatch = "no" }),
    }, "registry/misuse_spec.lua:")
  end)

  it("name themselves where they are not called on a registry", function()
    local cases = {}
    for _, name in ipairs({ "get", "get_spec", "type_of", "revision", "parameters", "get_handler", "get_by_name",
      "list", "specs", "visible", "register", "register_all", "register_spec", "register_handler", "unregister",
      "on_revision", "mount", "route", "admit", "execute", "start", "jobs", "subscribe", "pages", "env" }) do
      cases[("calling '%s' on bad self (registry expected, got table)"):format(name)] = function()
        local result = registry[name]({})
        return result
      end
    end
    raises(cases, "registry/misuse_spec.lua:")
  end)
end)
