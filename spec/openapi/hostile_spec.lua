local json = require("operations.base.json")
local operations = require("operations")
local samples = require("spec.support.openapi_samples")

local strangers = {
  operations.null, 7, -1.5, "text", "", true, false, {}, operations.array(), operations.array({ 1, operations.null }),
  { a = 1 }, { ["$ref"] = "#/nowhere" }, { ["$ref"] = "#" }, { ["$ref"] = 5 }, { ["$ref"] = "gone.json#/a" },
}

--- Puts every stranger, and nothing, in the place of every node; calls `fn(document, pointer)` each time.
local function each_mutation(document, fn)
  local function visit(node, pointer)
    local keys = {}
    for key in pairs(node) do
      keys[#keys + 1] = key
    end
    for _, key in ipairs(keys) do
      local old, here = node[key], pointer .. "/" .. tostring(key):gsub("~", "~0"):gsub("/", "~1")
      for i = 0, #strangers do
        node[key] = strangers[i]
        fn(document, here)
      end
      node[key] = old
      if type(old) == "table" then
        visit(old, here)
      end
    end
  end
  visit(document, "")
end

--- What went wrong when a document was read: raised, refused by the registry, or met by a reader unprepared.
local function complaint(document)
  local ok, list, report = pcall(operations.from_openapi.document, document, { base_url = "http://x", eager = true })
  if not ok then
    return list
  elseif not list then
    return nil, {}
  end
  for _, problem in ipairs(report) do
    if problem.message:find("cannot be read", 1, true) then
      return problem.message
    end
  end
  local registry = operations.registry({ log = function() end })
  local ids, err = registry:register_all(list)
  return not ids and tostring(err) or nil, ids
end

describe("a document with something strange in any place", function()
  for name, source in pairs({ ["OpenAPI 3.1"] = samples.openapi, ["Swagger 2.0"] = samples.swagger }) do
    it("is read as far as it goes: " .. name, function()
      local wrong = {}
      each_mutation(assert(json.decode(source)), function(document, pointer)
        local message, ids = complaint(document)
        if not message and pointer:find("^/paths/~1[af]") and not table.concat(ids, " "):find("%.two") then
          message = "another operation is lost"
        end
        wrong[#wrong + 1] = message and pointer .. ": " .. message or nil
      end)
      assert.same({}, wrong)
    end)
  end
end)
