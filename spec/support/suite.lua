--- Runs the JSON-Schema-Test-Suite: `lua5.4 spec/support/suite.lua DIRECTORY [DRAFT...] [-v] [--optional]`.
local json = require("operations.json")
local schema = require("operations.schema")

local suite = {}

local drafts = {
  ["draft2020-12"] = "2020-12",
  ["draft2019-09"] = "2019-09",
  draft7 = "7",
  draft6 = "6",
  draft4 = "4",
}

local function read(path)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local text = file:read("*a")
  file:close()
  return text
end

local function list(pattern)
  local files = {}
  local pipe = assert(io.popen("ls " .. pattern .. " 2>/dev/null"))
  for path in pipe:lines() do
    files[#files + 1] = path
  end
  pipe:close()
  return files
end

--- The documents of the suite's remote server, by URI.
local function resolver(directory)
  return function(uri)
    local path = uri:match("^http://localhost:1234/(.+)$")
    local text = path and read(directory .. "/remotes/" .. path)
    return text and assert(json.decode(text))
  end
end

--- An unmarked empty table would pass as an array too; decoding marks every array, so what is left is an object.
local function mark_objects(value)
  if type(value) == "table" then
    if next(value) == nil and getmetatable(value) == nil then
      return setmetatable(value, json.object_mt)
    end
    for _, member in pairs(value) do
      mark_objects(member)
    end
  end
  return value
end

--- Runs one file of the suite.
---@param path string
---@param options table  of schema.compile
---@param report fun(group: table, test: table, ok: boolean, problem: string?)
function suite.run_file(path, options, report)
  local groups = mark_objects(assert(json.decode(assert(read(path)))))
  for _, group in ipairs(groups) do
    local done, compiled, err = pcall(schema.compile, group.schema, options)
    if not done then
      compiled, err = nil, compiled
    end
    for _, test in ipairs(group.tests) do
      if not compiled then
        report(group, test, false, tostring(err))
      else
        local ran, valid, issues = pcall(compiled.check, compiled, test.data)
        local consistent = ran and (valid or #issues > 0)
        report(group, test, ran and consistent and valid == test.valid, ran and tostring(valid) or valid)
      end
    end
  end
end

--- Runs the tests of one draft; returns how many passed and how many there are.
---@param directory string
---@param draft string  the name of its directory
---@param kind string  "", "optional/" or "optional/format/"
---@param report fun(path: string, group: table, test: table, ok: boolean, problem: string?)
function suite.run(directory, draft, kind, report)
  local passed, total = 0, 0
  local options = { draft = drafts[draft], formats = kind == "optional/format/", resolve = resolver(directory) }
  for _, path in ipairs(list(directory .. "/tests/" .. draft .. "/" .. kind .. "*.json")) do
    suite.run_file(path, options, function(group, test, ok, problem)
      total = total + 1
      passed = passed + (ok and 1 or 0)
      report(path, group, test, ok, problem)
    end)
  end
  return passed, total
end

local function main(arguments)
  local directory, verbose, kinds, chosen = nil, false, { "" }, {}
  for _, argument in ipairs(arguments) do
    if argument == "-v" then
      verbose = true
    elseif argument == "--optional" then
      kinds = { "", "optional/", "optional/format/" }
    elseif directory then
      chosen[#chosen + 1] = argument
    else
      directory = argument
    end
  end
  if #chosen == 0 then
    chosen = { "draft2020-12", "draft2019-09", "draft7", "draft6", "draft4" }
  end
  local failed = 0
  for _, draft in ipairs(chosen) do
    for _, kind in ipairs(kinds) do
      local passed, total = suite.run(directory, draft, kind, function(path, group, test, ok, problem)
        if verbose and not ok then
          print(("%s: %s: %s: %s"):format(path:match("tests/(.*)"), group.description, test.description, problem))
        end
      end)
      print(("%-12s %-16s %d/%d"):format(draft, kind == "" and "required" or kind:sub(1, -2), passed, total))
      failed = failed + total - passed
    end
  end
  os.exit(failed == 0 and 0 or 1)
end

if arg and arg[0] and arg[0]:find("suite%.lua$") then
  main(arg)
end

return suite
