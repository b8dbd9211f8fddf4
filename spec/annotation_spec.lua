-- The functions of `require("operations")`, and the methods of the objects that they make: each has a docstring and an
-- annotation of every parameter.
local operations = require("operations")
local sources = require("spec.support.sources")

-- The fields of the library that are loaded when first named are in its annotation.
local function field_names()
  local names = {}
  for name in sources.read("lua/operations/init.lua"):gmatch("%-%-%-@field ([%w_]+)") do
    names[name] = true
  end
  for name in pairs(operations) do
    names[name] = true
  end
  return names
end

local found = {} -- function -> its public name

local function add(name, value)
  if type(value) == "function" and debug.getinfo(value, "S").what == "Lua" then
    found[value] = found[value] or name
  end
end

-- The functions of a table or, for an object, of its class: an object's own fields are its state.
local function add_members(name, value, separator)
  for key, member in pairs(value) do
    local is_method = separator == "." or not getmetatable(value) or getmetatable(value).__index == nil
      or rawequal(getmetatable(value).__index, value)
    if is_method and type(key) == "string" and not key:find("^_") then
      add(name .. separator .. key, member)
    end
  end
  local class = (getmetatable(value) or {}).__index
  if type(class) == "table" and class ~= value then
    add_members(name, class, ":")
  end
end

-- Names of parts that are loaded when first named, as the annotation of their class lists them.
local function load_parts(part, path)
  for name in sources.read(path):gmatch("%-%-%-@field ([%w_]+) fun") do
    local _ = part[name]
  end
end

local function quiet() end

local function collect()
  load_parts(operations.middleware, "lua/operations/middleware/init.lua")
  load_parts(operations.transports, "lua/operations/calls/transport.lua")
  for name in pairs(field_names()) do
    local value = operations[name]
    add("operations." .. name, value)
    if type(value) == "table" and name ~= "array_mt" and name ~= "object_mt" then
      add_members("operations." .. name, value, ".")
    end
  end
  local registry = operations.registry({ log = quiet })
  assert(registry:register({ namespace = "a", name = "b", type = "subscription", handler = quiet }))
  local map = operations.call_map(nil, { log = quiet })
  local objects = {
    registry = registry, map = map, handler = operations.call_handler(registry, map),
    server = operations.to_http(registry),
    mcp_server = operations.to_mcp(registry), tools = operations.to_tools(registry, { format = "openai" }),
    approvals = operations.approvals(), parser = operations.sse_parser(quiet), task = operations.spawn(quiet),
    cache = operations.middleware.cache(), metrics = operations.middleware.metrics(), err = operations.error("A", "b"),
  }
  for name, object in pairs(objects) do
    if type(object) == "table" then
      add_members(name, object, ":")
    end
  end
  map:close()
end

local lines_of = {}

local function read_lines(path)
  if not lines_of[path] then
    local list = {}
    for line in io.lines(path) do
      list[#list + 1] = line
    end
    lines_of[path] = list
  end
  return lines_of[path]
end

--- What the comment above a function lacks; nil: nothing.
local function lack(lines, first)
  local parameters = lines[first]:match("function[%s%w_.:]*%(([^)]*)%)")
  local documented, has_text, i = {}, false, first - 1
  while lines[i] and lines[i]:find("^%s*%-%-%-") do
    local name = lines[i]:match("@param ([%w_.]+)")
    if name then
      documented[name] = true
    elseif not lines[i]:find("^%s*%-%-%-%s*@") then
      has_text = true
    end
    i = i - 1
  end
  if not has_text then
    return "a sentence"
  end
  for name in (parameters or ""):gmatch("[%w_.]+") do
    if not name:find("^_") and name ~= "self" and not documented[name] then
      return "@param " .. name
    end
  end
end

describe("public functions", function()
  it("lack a sentence or a parameter when they do", function()
    assert.equal("a sentence", lack({ "---@param a any", "function f.g(a)" }, 2))
    assert.equal("@param b", lack({ "--- Does.", "---@param a any", "function f.g(a, b)" }, 3))
    assert.is_nil(lack({ "--- Does.", "---@param a any", "---@param ... any", "function f:g(a, ...)" }, 4))
  end)

  it("have a sentence and an annotation of each parameter", function()
    collect()
    local wrong, count = {}, 0
    for fn, name in pairs(found) do
      local info = debug.getinfo(fn, "S")
      local path = info.source:match("lua/operations/.*$")
      if path then
        local missing = lack(read_lines(path), info.linedefined)
        count = count + 1
        wrong[#wrong + 1] = missing and ("%s (%s:%d) lacks %s"):format(name, path, info.linedefined, missing)
      end
    end
    table.sort(wrong)
    assert.equal("", table.concat(wrong, "\n"))
    assert.is_true(count > 100, count)
  end)
end)
