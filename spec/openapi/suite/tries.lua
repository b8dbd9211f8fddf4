--- The calls that `operations describe` prints: each makes a request that its operation accepts.
local documents = require("spec.openapi.suite.documents")
local known = require("spec.openapi.suite.known_vendors")
local members = require("operations.base.members")
local tried = require("spec.support.tried")
local vendors = require("spec.openapi.suite.vendors")

local tries = {}

local LINE = "%-20s %4d examples of calls   refused: %2d"

local function check(name, path, untried, fail)
  local problems, count = tried.document(path)
  local refused = members.names(problems)
  print(LINE:format(name, count, #refused))
  for _, operation in ipairs(#refused > untried and refused or {}) do
    fail(name, operation, problems[operation])
  end
end

---@param places { packages: string, directory: string }
---@param fail fun(...: string)
function tries.run(places, fail)
  for _, document in ipairs(documents) do
    check(document.name, places.packages .. "/" .. document.file, 0, fail)
  end
  for _, name in ipairs(members.names(vendors.documents)) do
    check(name, vendors.path(places, name), known.untried[name] or 0, fail)
  end
end

return tries
