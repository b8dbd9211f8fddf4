--- Runs the official JSON-Schema-Test-Suite: where its files are, what they expect, and a list of what fails.
local json = require("operations.base.json")
local schema = require("operations.schema")
local skips = require("spec.support.suite_skips")
local sources = require("spec.support.sources")

local suite = {}

suite.drafts = {
  { name = "draft2020-12", draft = "2020-12" },
  { name = "draft2019-09", draft = "2019-09" },
  { name = "draft7", draft = "7" },
  { name = "draft6", draft = "6" },
  { name = "draft4", draft = "4" },
}

suite.kinds = { "required", "optional", "format" }

local REMOTE = "http://localhost:1234/"

local function exists(path)
  local file = io.open(path .. "/tests/draft7/type.json", "rb")
  if file then
    file:close()
  end
  return file ~= nil
end

--- The suite's directory: $SUITE, else beside this repository, else what npm installed; nil when there is none.
function suite.directory()
  local given = os.getenv("SUITE")
  local places = { "../shared/json-schema-test-suite", "build/npm-suite/node_modules/json-schema-test-suite" }
  if given and given ~= "" then
    assert(exists(given), "SUITE=" .. given .. " has no tests/draft7")
    return given
  end
  for _, place in ipairs(places) do
    if exists(place) then
      return place
    end
  end
end

local function decode(path)
  local value, err = json.decode(sources.read(path))
  if err then
    error(path .. ": " .. tostring(err))
  end
  return value
end

--- A resolver of the documents that the suite serves on localhost.
local function resolver(directory)
  local documents = {}
  for _, path in ipairs(sources.list(directory .. "/remotes", ".json")) do
    documents[REMOTE .. path:sub(#directory + #"/remotes/" + 1)] = decode(path)
  end
  return function(uri)
    return documents[uri]
  end
end

local function kind_of(name)
  return name:find("^optional/format/") and "format" or name:find("^optional/") and "optional" or "required"
end

local function run_test(compiled, err, test)
  if not compiled then
    return "does not compile: " .. tostring(err)
  end
  local ok, valid, issues = pcall(compiled.check, compiled, test.data)
  if not ok then
    return "raises " .. tostring(valid)
  elseif not valid and #issues == 0 then
    return "is invalid without an issue"
  elseif valid ~= test.valid then
    local issue = issues and issues[1]
    return valid and "is valid" or "is invalid: " .. tostring(issue and issue.message)
  end
end

local function compile(group, options)
  local ok, compiled, err = pcall(schema.compile, group.schema, options)
  if not ok then
    return nil, "raises " .. tostring(compiled)
  end
  return compiled, err
end

local function new_count()
  return { passed = 0, failed = 0, skipped = 0 }
end

local function run_file(path, name, draft, options, count, report)
  for _, group in ipairs(decode(path)) do
    local compiled, err = compile(group, options)
    for _, test in ipairs(group.tests) do
      local failure = run_test(compiled, err, test)
      local label = ("%s/%s: %s: %s"):format(draft, name, group.description, test.description)
      local reason = skips.reason(label)
      local outcome = not failure and "passed" or reason and "skipped" or "failed"
      count[outcome] = count[outcome] + 1
      if outcome ~= "passed" or reason then
        report(outcome, label, failure, reason)
      end
    end
  end
end

--- Runs one draft. Returns { required = { passed =, failed =, skipped = }, optional = ..., format = ... }; `report` is
--- called with what fails, what is skipped, and what is on the skip list though it passes.
---@param directory string
---@param draft { name: string, draft: string }
---@param report fun(outcome: string, label: string, failure: string?, reason: string?)
function suite.run(directory, draft, report)
  local counts = { required = new_count(), optional = new_count(), format = new_count() }
  local root = directory .. "/tests/" .. draft.name
  local resolve = resolver(directory)
  for _, path in ipairs(sources.list(root, ".json")) do
    local name = path:sub(#root + 2, -6)
    local kind = kind_of(name)
    local options = { draft = draft.draft, formats = kind == "format", resolve = resolve }
    run_file(path, name, draft.name, options, counts[kind], report)
  end
  return counts
end

return suite
