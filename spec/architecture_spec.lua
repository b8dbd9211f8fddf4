local sources = require("spec.support.sources")

-- The rooms of the house (one word each) and which ones each may use. "core" is what others share: registry,
-- pipeline and data; it knows no HTTP, MCP, socket or loop.
local rooms = {
  { "cli", "^operations%.cli" },
  { "oauth", "^operations%.oauth" },
  { "openapi", "^operations%.openapi" },
  { "mcp.client", "^operations%.mcp%.client" },
  { "mcp.protocol", "^operations%.mcp%.protocol" },
  { "calls", "^operations%.calls" },
  { "hosts", "^operations%.hosts" },
  { "net", "^operations%.net" },
  { "reactor", "^operations%.reactor$" },
  { "transfer", "^operations%.transfer$" },
  { "task", "^operations%.task" },
  { "registry", "^operations%.registry" },
  { "schema", "^operations%.schema" },
  { "base", "^operations%.base" },
  { "c", "^operations%.%w+$" },
  { "operations", "^operations$" },
}

local arrows = {
  base = { c = true },
  schema = { base = true, c = true },
  hosts = { base = true, reactor = true, transfer = true, c = true },
  reactor = {},
  task = { base = true, hosts = true, c = true },
  registry = { base = true, schema = true, task = true, c = true },
  net = { base = true, task = true, reactor = true, c = true },
  oauth = { base = true, task = true, net = true, c = true },
  openapi = { base = true, schema = true, task = true, registry = true, net = true, oauth = true, c = true },
  ["mcp.protocol"] = { base = true, schema = true, c = true }, -- messages in, messages out
  ["mcp.client"] = {
    base = true, schema = true, task = true, net = true, oauth = true, ["mcp.protocol"] = true, c = true,
  },
  calls = { base = true, schema = true, task = true, registry = true, net = true, c = true },
  operations = { base = true, schema = true, registry = true, c = true },
  cli = {
    operations = true, base = true, task = true, hosts = true, net = true, oauth = true, openapi = true,
    ["mcp.client"] = true, calls = true, registry = true, c = true,
  },
}

-- Only hosts know what runs them; `marks` reads the marks that Neovim puts on data.
local host_globals = { "ngx", "vim" }
local knows_hosts = { ["lua/operations/base/marks.lua"] = true }

-- Where a require is inside a function, and why.
local lazy = {
  ["lua/operations/mcp/client/init.lua"] = "each transport is loaded when first needed",
  ["lua/operations/mcp/client/config.lua"] = "what logs users in is loaded where somebody does",
  ["lua/operations/init.lua"] = "parts of the library are loaded when first named",
  ["lua/operations/calls/websocket/handshake.lua"] = "the C module is optional",
  ["lua/operations/calls/transports.lua"] = "each transport is loaded when first named",
  ["lua/operations/cli/sources.lua"] = "what talks to MCP servers is loaded when one is named",
  ["lua/operations/cli/init.lua"] = "a command loads what it needs, so that --help starts fast",
  ["lua/operations/schema/init.lua"] = "metaschemas are loaded when a schema refers to one",
}

local function room(module)
  for _, entry in ipairs(rooms) do
    if module:find(entry[2]) then
      return entry[1]
    end
  end
end

-- Each require of our own modules in a file: its module and whether its line is indented.
local function requires(path)
  local list = {}
  for line in sources.read(path):gmatch("[^\n]+") do
    local code = line:gsub("%-%-.*$", "")
    for module in code:gmatch("require%s*%(?%s*[\"'](operations[%w_.]*)[\"']") do
      list[#list + 1] = { module = module, lazy = code:find("^%s") ~= nil }
    end
  end
  return list
end

local function includes(path)
  local own, system = {}, {}
  for line in sources.read(path):gmatch("[^\n]+") do
    local name = line:match("^%s*#%s*include%s+\"([^\"]+)\"")
    own[#own + 1] = name
    system[#system + 1] = line:match("^%s*#%s*include%s+<([^>]+)>")
  end
  return own, system
end

-- Parsers and formats: pure whatever their headers say.
local pure = {
  "^src/base/", "^src/format/", "^src/http/", "^src/json/", "^src/regex/", "^src/sse/",
}

--- Is a C file pure: in the list above, or with a header that says "no Lua" in its first lines?
local function is_pure(path)
  if path:find("_lua%.[ch]$") then
    return false
  end
  for _, pattern in ipairs(pure) do
    if path:find(pattern) then
      return true
    end
  end
  local header = io.open((path:gsub("%.c$", ".h")))
  local first = header and header:read(600) or ""
  if header then
    header:close()
  end
  return (first:match("^/%*.-%*/") or ""):lower():find("no%s+lua%f[^%w_]") ~= nil
end

--- A cycle in graph (name -> list of names) as "a -> b -> a", or nil.
local function find_cycle(graph)
  local state, trail = {}, {}
  local function visit(name)
    if state[name] == "done" then
      return nil
    elseif state[name] == "open" then
      return table.concat(trail, " -> ") .. " -> " .. name
    end
    state[name] = "open"
    trail[#trail + 1] = name
    for _, other in ipairs(graph[name] or {}) do
      local cycle = visit(other)
      if cycle then
        return cycle
      end
    end
    trail[#trail] = nil
    state[name] = "done"
  end
  for name in pairs(graph) do
    local cycle = visit(name)
    if cycle then
      return cycle
    end
  end
end

local lua_files = sources.list("lua", ".lua")
local c_files = sources.list("src", ".c")
for _, path in ipairs(sources.list("src", ".h")) do
  c_files[#c_files + 1] = path
end

describe("the architecture", function()
  it("finds a cycle when there is one", function()
    assert.equal("a -> a", find_cycle({ a = { "a" } }))
    assert.is_nil(find_cycle({ a = { "b", "c" }, b = { "c" } }))
  end)

  it("names no class in annotations that is defined nowhere", function()
    local defined, named = {}, {}
    for _, path in ipairs(lua_files) do
      for line in io.lines(path) do
        local annotation = line:gsub("(%S)  .*", "%1"):match("^%s*%-%-%-%s?(@.*)$") -- two blanks begin a description
        local class = annotation and annotation:match("^@%l+%s+(operations[%w_.]*)")
        if class and (annotation:find("^@class") or annotation:find("^@alias")) then
          defined[class] = true
        end
        for name in (annotation or ""):gmatch("%f[%w]operations%.[%w_.]*[%w_]") do
          named[#named + 1] = { name, path }
        end
      end
    end
    local missing = {}
    for _, use in ipairs(named) do
      if not defined[use[1]] then
        missing[#missing + 1] = use[2] .. ": " .. use[1]
      end
    end
    assert.same({}, missing)
  end)

  it("has no Lua module that requires against the arrows", function()
    local wrong = {}
    for _, path in ipairs(lua_files) do
      local from = room(sources.module(path))
      for _, required in ipairs(requires(path)) do
        local to = room(required.module)
        local is_part = path == "lua/operations/init.lua" and required.lazy
        if to ~= from and not arrows[from][to] and not is_part then
          wrong[#wrong + 1] = path .. " requires " .. required.module
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("has no cycle of requires", function()
    local graph = {}
    for _, path in ipairs(lua_files) do
      local module = sources.module(path)
      graph[module] = {}
      for _, required in ipairs(requires(path)) do
        if not required.lazy then
          table.insert(graph[module], required.module)
        end
      end
    end
    assert.is_nil(find_cycle(graph))
  end)

  it("requires at the top of a file, with the exceptions listed here", function()
    local wrong = {}
    for _, path in ipairs(lua_files) do
      for line in sources.read(path):gmatch("[^\n]+") do
        if line:find("^%s+[^-]*%f[%w_]require%s*%(") and not lazy[path] and not path:find("^lua/operations/hosts/") then
          wrong[#wrong + 1] = path .. ": " .. line
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("names the globals of a host in its own file only", function()
    local wrong = {}
    for _, path in ipairs(lua_files) do
      if not path:find("^lua/operations/hosts/") and not knows_hosts[path] then
        for line in sources.read(path):gmatch("[^\n]+") do
          for _, name in ipairs(host_globals) do
            if line:gsub("%-%-.*$", ""):gsub("\"[^\"]*\"", ""):find("%f[%w_.]" .. name .. "%.%a") then
              wrong[#wrong + 1] = path .. ": " .. line
            end
          end
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("has no cycle of includes", function()
    local graph = {}
    for _, path in ipairs(c_files) do
      graph[path:match("^src/(.+)$")] = includes(path)
    end
    assert.is_nil(find_cycle(graph))
  end)

  it("keeps lua.h out of pure C files, also through headers", function()
    local wrong = {}
    local function reaches_lua(name, seen)
      local own, system = includes("src/" .. name)
      for _, header in ipairs(system) do
        if header == "lua.h" or header == "lauxlib.h" or header == "lualib.h" then
          return true
        end
      end
      seen[name] = true
      for _, header in ipairs(own) do
        if not seen[header] and reaches_lua(header, seen) then
          return true
        end
      end
    end
    for _, path in ipairs(c_files) do
      local name = path:match("^src/(.+)$")
      if is_pure(path) and reaches_lua(name, {}) then
        wrong[#wrong + 1] = name
      end
    end
    assert.same({}, wrong)
  end)

  it("keeps the core free of sockets and loops, all but transfers of libcurl, and both of the core's data", function()
    local wrong = {}
    for _, path in ipairs(c_files) do
      local is_transfer = path:find("^src/transfer/") ~= nil
      local is_reactor = is_transfer or path:find("^src/reactor/") ~= nil
      local own, system = includes(path)
      for _, header in ipairs(system) do
        if not is_transfer and header:find("^curl/") or not is_reactor and (header:find("^sys/socket")
            or header:find("^sys/epoll") or header:find("^netinet/") or header == "poll.h"
            or header == "pthread.h") then
          wrong[#wrong + 1] = path .. " includes " .. header
        end
      end
      for _, header in ipairs(own) do
        if header:find("^reactor") and not is_reactor or is_reactor and header:find("^schema")
            or header:find("^transfer") and not is_transfer then
          wrong[#wrong + 1] = path .. " includes " .. header
        end
      end
    end
    assert.same({}, wrong)
  end)
end)
