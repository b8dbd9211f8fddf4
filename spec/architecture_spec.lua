local lfs = require("lfs")
local sources = require("spec.support.sources")
local specs_of = require("spec.support.specs_of")

-- Only hosts know what runs them; `marked` reads the marks that Neovim puts on data, `nvim` is the editor's.
local host_globals = { "ngx", "vim" }
local knows_hosts = { ["lua/operations/base/marked.lua"] = true, ["lua/operations/nvim"] = true,
  ["lua/operations/nvim/serve"] = true }

-- Where a require is inside a function, and why.
local lazy = {
  ["lua/operations/mcp/client/init.lua"] = "each transport is loaded when first needed",
  ["lua/operations/cli/describe.lua"] = "the code for GraphQL is loaded for its operations",
  ["lua/operations/mcp/server/init.lua"] = "a server on stdio, which an assistant starts, needs nothing of HTTP; other "
    .. "sources of resources are loaded where there are some",
  ["lua/operations/mcp/server/content.lua"] = "what refuses and fails is loaded by the first that does",
  ["lua/operations/mcp/server/dispatch.lua"] = "headers are loaded for requests over HTTP",
  ["lua/operations/mcp/server/interaction.lua"] = "questions to the client are loaded by the first call",
  ["lua/operations/mcp/server/many.lua"] = "the search is loaded by the first one",
  ["lua/operations/net/http/init.lua"] = "what few requests need is loaded with the first",
  ["lua/operations/mcp/server/resources.lua"] = "templates are loaded with the first",
  ["lua/operations/mcp/server/session.lua"] = "streams of events are loaded with the first",
  ["lua/operations/mcp/server/tasks.lua"] = "results are loaded with the first",
  ["lua/operations/mcp/server/tools.lua"] = "what calls need is loaded by the first, not by a list",
  ["lua/operations/tools/searching.lua"] = "the sandbox is loaded where models write programs",
  ["lua/operations/mcp/client/config.lua"] = "what logs users in is loaded where somebody does",
  ["lua/operations/nvim/init.lua"] = "what the plugin is made of is loaded when first used: the editor starts fast",
  ["lua/operations/init.lua"] = "parts of the library are loaded when first named",
  ["lua/operations/calls/transport.lua"] = "each transport is loaded when first named",
  ["lua/operations/policy/rules.lua"] = "every program loads policies, few read one from a file",
  ["lua/operations/registry/init.lua"] = "few programs start jobs",
  ["lua/operations/registry/spec.lua"] = "few schemas have no type: what tells mistakes is loaded for those",
  ["lua/operations/policy/init.lua"] = "what asks a person is loaded by the first rule that asks: every program loads "
    .. "policies",
  ["lua/operations/sources/loader.lua"] = "what reads documents and talks to servers is loaded for a source "
    .. "of that kind",
  ["lua/operations/sources/remembered.lua"] = "few commands wait for another that writes the file of sources",
  ["lua/operations/cli/rules.lua"] = "every command reads the options, few have rules",
  ["lua/operations/cli/sources.lua"] = "what logs users in is loaded where a server wants it, what reads remembered "
    .. "sources where none is given, the registry where the cache does not suffice",
  ["lua/operations/sources/cache.lua"] = "few commands write it: what makes specs of definitions is loaded by those",
  ["lua/operations/sources/options.lua"] = "readers of documents are loaded where a patch is named",
  ["lua/operations/base/argument.lua"] = "few programs misspell an option",
  ["lua/operations/base/url.lua"] = "few hosts have other characters than ASCII",
  ["lua/operations/sources/project.lua"] = "few directories have a project's file: what reads and compares what it "
    .. "would run is loaded for one",
  ["lua/operations/cli/answer.lua"] = "what writes other formats than JSON is loaded where one is wanted",
  ["lua/operations/cli/exchange.lua"] = "calls that are not over HTTP need no client of it",
  ["lua/operations/cli/init.lua"] = "its version alone needs the library, help at a terminal what wraps it",
  ["lua/operations/cli/invocation.lua"] = "what shows requests is loaded where none is sent, what asks a person, "
    .. "prints a program or makes many calls, where that is wanted",
  ["lua/operations/cli/request.lua"] = "what asks a person is loaded where somebody is asked",
  ["lua/operations/cli/source_commands.lua"] = "what other programs have configured is read where that is wanted",
  ["lua/operations/cli/commands.lua"] = "a command loads what it needs, so that --help starts fast",
  ["lua/operations/middleware/init.lua"] = "each middleware is loaded when first named",
  ["lua/operations/schema/init.lua"] = "metaschemas are loaded when a schema refers to one",
}

-- The rooms below `root` as the map has them: folder -> set of folders that its files may use.
local function read_rooms(root)
  local text = sources.read("doc/development.md")
  local _, start = text:find("### `" .. root .. "`\n", 1, true)
  local rooms = {}
  for name, uses in text:sub(start + 1):match("^[^#]*"):gmatch("\n| `([^`]+)` |[^|]*|([^|\n]*)|") do
    rooms[name] = { [name] = true }
    for other in uses:gmatch("`([^`]+)`") do
      rooms[name][other] = true
    end
  end
  return rooms
end

local c_rooms, lua_rooms = read_rooms("src/"), read_rooms("lua/operations/")

-- The room that a file is in: "src/schema/check/check.c" -> "schema/check"; a folder that is no room is its parent's.
local function room_of(path, root, rooms)
  local folder = path:sub(#root + 1):match("^(.*)/[^/]*$") or "."
  while not rooms[folder] do
    folder = folder:match("^(.*)/[^/]*$") or error(path .. " stands in no room of doc/development.md")
  end
  return folder
end

-- The Lua file of one of our modules; nil for a C module.
local function file_of(module)
  local base = "lua/" .. module:gsub("%.", "/")
  for _, path in ipairs({ base .. ".lua", base .. "/init.lua" }) do
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
  end
end

local function run(command)
  local pipe = assert(io.popen(command))
  local output = pipe:read("*a")
  pipe:close()
  return output
end

-- Where the objects of the modules in use are: "build/lua5.4".
local function build_directory()
  return package.cpath:match("([^;]*build/[^/;]+)/%?%.so")
end

-- What each object of the build needs of others: "schema/check/ops" -> list of such names; and which object defines
-- each exported symbol that no object needs.
local function symbol_graph()
  local defined, needed, graph, unused, objects = {}, {}, {}, {}, {}
  for i, path in ipairs(sources.list("src", ".c")) do
    local name = path:match("^src/(.*)%.c$")
    needed[name], graph[name] = {}, {}
    objects[i] = name .. ".o"
  end
  local listing = run("cd " .. build_directory() .. " && nm -A " .. table.concat(objects, " "))
  for name, kind, symbol in listing:gmatch("([^\n]*)%.o:[%x ]* (%a) ([%w_]+)\n") do
    if kind:find("[TDRBC]") then
      defined[symbol], unused[symbol] = name, name
    elseif kind == "U" then
      table.insert(needed[name], symbol)
    end
  end
  for name, symbols in pairs(needed) do
    for _, symbol in ipairs(symbols) do
      table.insert(graph[name], defined[symbol])
      unused[symbol] = nil
    end
  end
  return graph, unused
end

-- The files that a header's line "Machine: check.c instruction.c" makes one: each name -> that of the machine.
local function machines()
  local machine_of = {}
  for _, path in ipairs(sources.list("src", ".h")) do
    local folder, name = path:match("^src/(.*/)([^/]*)%.h$")
    local files = sources.read(path):match("Machine:%s*([^.].-%.c)[^%w_. *\n/]*%.?\n")
    for file in (files or ""):gmatch("([%w_]+)%.c") do
      machine_of[folder .. file] = folder .. name .. ".h"
    end
  end
  return machine_of
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

  it("has a spec for each source file", function()
    local wrong = {}
    for _, list in ipairs({ lua_files, sources.list("src", ".c") }) do
      for _, path in ipairs(list) do
        if not specs_of.file(path) then
          wrong[#wrong + 1] = path .. " has no spec"
        end
        for _, named in ipairs(specs_of.elsewhere(path)) do
          if not lfs.attributes(named) then
            wrong[#wrong + 1] = named .. " does not exist"
          end
        end
      end
    end
    for path, spec in pairs(specs_of.covered) do
      for _, named in ipairs({ path, spec }) do
        if not lfs.attributes(named) then
          wrong[#wrong + 1] = named .. " does not exist"
        end
      end
    end
    assert.same({}, wrong)
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
      local from = room_of(path, "lua/operations/", lua_rooms)
      for _, required in ipairs(requires(path)) do
        local file = file_of(required.module)
        local to = file and room_of(file, "lua/operations/", lua_rooms)
        local is_part = path == "lua/operations/init.lua" and required.lazy
        or path == "lua/operations/health.lua" -- :checkhealth looks for it there
        if to and not lua_rooms[from][to] and not is_part then
          wrong[#wrong + 1] = path .. " requires " .. required.module
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("uses the private fields of other rooms nowhere", function()
    local fields, wrong = {}, {}
    for _, path in ipairs(lua_files) do
      local room = room_of(path, "lua/operations/", lua_rooms)
      fields[room] = fields[room] or {}
      for line in io.lines(path) do
        local made = line:match("^(.-)[^=~<>]=[^=]") or line:match("function ([^(]*)") or line:match("@field ([%w_]+)")
        for name in (made or ""):gmatch("%f[%w_]_%l[%w_]*") do
          fields[room][name] = true
        end
        local set = line:gsub("rawset%(%w+, \"(_%l[%w_]*)\"", "%1 = ")
        for name in set:gmatch("%f[%w_](_%l[%w_]*)%s*=[^=]") do
          fields[room][name] = true
        end
      end
    end
    for _, path in ipairs(lua_files) do
      local room = room_of(path, "lua/operations/", lua_rooms)
      for name in sources.read(path):gsub("%-%-[^\n]*", ""):gmatch("[%w_%])][.:](_%l[%w_]*)") do
        if not fields[room][name] and name ~= "_meta" then
          wrong[#wrong + 1] = path .. " uses " .. name
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

  -- members.mark says why.
  it("gives a table the metatable of another by members.mark only", function()
    local wrong = {}
    for _, path in ipairs(lua_files) do
      local text = sources.read(path)
      if path ~= "lua/operations/base/members.lua" and text:find("setmetatable%([^\n]*getmetatable%(") then
        wrong[#wrong + 1] = path
      end
    end
    assert.same({}, wrong)
  end)

  it("names the globals of a host in its own file only", function()
    local wrong = {}
    for _, path in ipairs(lua_files) do
      local knows = knows_hosts[path] or knows_hosts[path:match("^(.*)/")]
      if not path:find("^lua/operations/hosts/") and not knows then
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

  it("has no cycle of includes, and no include against the arrows", function()
    local graph, wrong = {}, {}
    for _, path in ipairs(c_files) do
      local name = path:match("^src/(.+)$")
      graph[name] = includes(path)
      local from = room_of(path, "src/", c_rooms)
      for _, header in ipairs(graph[name]) do
        if not c_rooms[from][room_of("src/" .. header, "src/", c_rooms)] then
          wrong[#wrong + 1] = path .. " includes " .. header
        end
      end
    end
    assert.same({}, wrong)
    assert.is_nil(find_cycle(graph))
  end)

  it("has no symbol that is used against the arrows, and no cycle but within a machine", function()
    local machine_of, joined, wrong = machines(), {}, {}
    for name, others in pairs((symbol_graph())) do
      local from = room_of("src/" .. name .. ".c", "src/", c_rooms)
      local node = machine_of[name] or name
      joined[node] = joined[node] or {}
      for _, other in ipairs(others) do
        if not c_rooms[from][room_of("src/" .. other .. ".c", "src/", c_rooms)] then
          wrong[#wrong + 1] = name .. ".c uses " .. other .. ".c"
        end
        if (machine_of[other] or other) ~= node then
          table.insert(joined[node], machine_of[other] or other)
        end
      end
    end
    assert.same({}, wrong)
    assert.is_nil(find_cycle(joined))
  end)

  it("exports no symbol that its own file alone uses", function()
    local wrong = {}
    for symbol, name in pairs(select(2, symbol_graph())) do
      if not symbol:find("^luaopen_") then
        wrong[#wrong + 1] = name .. ".c exports " .. symbol
      end
    end
    assert.same({}, wrong)
  end)

  it("shows of each module the function that opens it, and nothing else", function()
    local shown = {}
    for line in run("cd " .. build_directory() .. " && nm -D --defined-only operations/*.so"):gmatch("[^\n]+") do
      shown[#shown + 1] = line:match("^%x+ %a (.+)$")
    end
    assert.is_true(#shown >= 5)
    for _, symbol in ipairs(shown) do
      assert.matches("^luaopen_operations_%l", symbol)
    end
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
        or path:find("^src/platform/") ~= nil
      local own, system = includes(path)
      for _, header in ipairs(system) do
        if not is_transfer and header:find("^curl/") or not is_reactor and (header:find("^sys/socket")
            or header:find("^sys/epoll") or header:find("^netinet/") or header == "poll.h"
            or header == "pthread.h" and not path:find("^src/system/")) then
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
