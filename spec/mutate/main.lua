--- `make mutate`: changes one token of src/ or lua/ at a time and runs the specs of the part. Prints the changes that
--- none of them notices.
--- Usage: main.lua MUTANTS SEED c|lua [PART], PART being the beginning of the paths. Works in a copy below build/.
local mutations = require("spec.mutate.mutations")
local random = require("spec.support.random")
local sources = require("spec.support.sources")
local specs_of = require("spec.support.specs_of")

-- A change may have a process signal any other: each run has its own process ids, and ends with all of its processes.
local ISOLATED = "unshare --pid --fork --kill-child --mount-proc "

local wanted, seed, language, part = tonumber(arg[1]), tonumber(arg[2]), arg[3], arg[4] or ""

local function rooms_of(path)
  local rooms = specs_of.rooms(path)
  return #rooms > 0 and rooms or { specs_of.file(path) }
end

-- C runs with the sanitizers, which notice what is not freed. A change that the optimizer makes the same object of is
-- none: `object` is made without lines for debuggers and without sanitizers.
local languages = {
  c = {
    object = "rm -f %s && make -s %s LUA=lua5.4 BUILD=build/optimized CFLAGS=-O2",
    root = "src", builds = "build/lua5.4-asan", build = "make -s asan-lua5.4 GOAL=all",
    test = 'make -s asan-lua5.4 TESTS="--no-keep-going %s"',
    last = 'make -s oom TESTS="%s"', last_of = specs_of.exhausted, -- runs where the specs notice nothing
  },
  lua = {
    root = "lua", builds = "build/lua5.4 build/luajit",
    build = "make -s all && make -s all LUA=luajit", -- nginx and Neovim load the latter
    test = 'ulimit -v 16000000; make -s test TESTS="--no-keep-going %s"',
    last = 'make -s test LUA=luajit TESTS="--no-keep-going %s"', last_of = rooms_of, -- some lines are LuaJIT's
    users_of = specs_of.users,
  },
}
local make = assert(languages[language], "the language is c or lua")
local PLACE = "build/mutate/" .. language
local TREE, OUTPUT = PLACE .. "/tree", PLACE .. "/output"
local UNCHANGED = PLACE .. "/unchanged" -- another copy, in which nothing is ever changed

-- The specs of a file's rooms and those of others that use it, but for its own, which runs before them.
local function others_of(path)
  local list, known = {}, { [specs_of.file(path)] = true }
  local function add(spec)
    list[#list + 1] = not known[spec] and spec or nil
    known[spec] = true
  end
  local function add_all(places)
    for _, place in ipairs(places) do
      local folder = UNCHANGED .. "/" .. place
      for _, spec in ipairs(place:find("%.lua$") and { place } or sources.list(folder, "_spec.lua")) do
        spec = spec:sub(1, #UNCHANGED) == UNCHANGED and spec:sub(#UNCHANGED + 2) or spec
        if spec == place or spec:match("^(.*)/[^/]*$") == place then -- a folder in it is another room
          add(spec)
        end
      end
    end
  end
  add_all(specs_of.rooms(path))
  add_all(specs_of.elsewhere(path))
  add("spec/misuse_spec.lua")
  return list
end

-- Runs a command in a copy. True when it succeeds; its output is in OUTPUT.
local function run(command, seconds, tree)
  local line = "cd %s && timeout -k 5 %d %ssh -c '%s' >../output 2>&1 </dev/null"
  local ok = os.execute(line:format(tree or TREE, seconds, ISOLATED, command))
  return ok == true or ok == 0
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- Every possible change, in an order that the seed gives.
local function draw()
  local list = {}
  for _, path in ipairs(sources.list(make.root, "." .. language)) do
    local text = sources.read(path)
    for _, mutation in ipairs(path:sub(1, #part) == part and mutations.all(text, language) or {}) do
      list[#list + 1] = { path = path, text = text, mutation = mutation }
    end
  end
  random.seed(seed)
  for i = #list, 2, -1 do
    local j = random.upto(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- What may notice a change, nearest first: commands of the copy.
local function checks_of(path)
  local list = { make.test:format(specs_of.file(path)), make.test:format(table.concat(others_of(path), " ")) }
  local users = make.users_of and make.users_of(path) or {}
  if #users > 0 then
    list[#list + 1] = make.test:format(table.concat(users, " "))
  end
  list[#list + 1] = make.last:format(table.concat(make.last_of(path), " "))
  return list
end

local there = {} -- path -> its text in the copy, where that is changed

-- Gives a file of the copy a text. Can the copy be built with it?
local function put(candidate, text)
  if (there[candidate.path] or candidate.text) == text then
    return true
  end
  write(TREE .. "/" .. candidate.path, text)
  there[candidate.path] = text
  return run(make.build, 300)
end

local objects = {} -- path -> its object without a change

-- Is the object of a file the same with the change that is there?
local function is_same_object(path)
  local name = path:gsub("^src/(.*)%.c$", "build/optimized/%1.o")
  local function object(tree)
    assert(run(make.object:format(name, name), 300, tree), "no object of " .. path)
    return sources.read(tree .. "/" .. name)
  end
  objects[path] = objects[path] or object(UNCHANGED)
  return object(TREE) == objects[path]
end

local baseline = {} -- command -> seconds that it takes without a change; false when it fails

-- Tried twice: under load some wait in vain.
local function seconds_of(command)
  for _ = 1, baseline[command] == nil and 2 or 0 do
    local start = os.time()
    baseline[command] = run(command, 600, UNCHANGED) and os.time() - start
    if baseline[command] then
      break
    end
  end
  return baseline[command]
end

-- What a command gets, in seconds, while it is not known how long it takes without a change.
local PATIENCE = 60

local function patience_of(command)
  return baseline[command] and 3 * baseline[command] + 20
end

-- Does a command fail because of the change? nil where the change cannot be built. How the command does without it is
-- asked only after it failed: most changes are noticed by the first command, and a command that passes says enough.
local function notices(command, candidate, changed)
  if baseline[command] == false then
    return false
  elseif not put(candidate, changed) then
    return nil
  end
  local limit = patience_of(command) or PATIENCE
  if run(command, limit) then
    return false
  elseif baseline[command] then
    return true
  elseif not seconds_of(command) then
    io.write(sources.read(OUTPUT):sub(-2000), "\nfails without a change, is left out: ", command, "\n")
    return false
  end
  return patience_of(command) <= limit or not run(command, patience_of(command))
end

-- Is the change noticed by any of the specs? nil where it cannot be built, or is none.
local function judge(candidate)
  local changed = mutations.apply(candidate.text, candidate.mutation)
  local noticed
  for i, command in ipairs(checks_of(candidate.path)) do
    noticed = notices(command, candidate, changed)
    if noticed == false and i == 1 and make.object and is_same_object(candidate.path) then
      noticed = nil
    end
    if noticed ~= false then
      break
    end
  end
  assert(put(candidate, candidate.text), "the tree does not build")
  return noticed
end

local function describe(candidate)
  local mutation, text = candidate.mutation, candidate.text
  local old = text:sub(mutation.first, mutation.last)
  return ("%s:%d: %s: `%s` becomes `%s`"):format(candidate.path, mutation.line, mutation.kind, old,
    mutation.replacement)
end

for _, tree in ipairs({ TREE, UNCHANGED }) do
  assert(os.execute(("rm -rf %s && mkdir -p %s"):format(tree, tree)))
  assert(os.execute("tar -c --exclude=./build --exclude=./.git . | tar -x -C " .. tree))
  -- What is built already is not built again, but for the programs: they name their place.
  os.execute(("tar -c --exclude=bin %s 2>/dev/null | tar -x -C %s"):format(make.builds, tree))
  if not run(make.build, 3000, tree) then
    io.write(sources.read(OUTPUT), "cannot build in ", tree, " (as root, where unshare makes process ids?)\n")
    os.exit(2)
  end
end

local tried, noticed = 0, 0
for _, candidate in ipairs(draw()) do
  if tried == wanted then
    break
  end
  local start = os.time()
  local result = judge(candidate)
  if result ~= nil then
    tried = tried + 1
    noticed = noticed + (result and 1 or 0)
  end
  if result == false then
    print(describe(candidate))
    io.flush()
  elseif result then
    io.stderr:write(("%d of %d so far, %d s: %s\n"):format(noticed, tried, os.time() - start, describe(candidate)))
  end
end
print(("%d of %d noticed (%s, seed %d)"):format(noticed, tried, language, seed))
