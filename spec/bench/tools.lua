--- The 1,223 operations of GitHub's document as tools of language models: time to make the definitions of each format
--- and mode, beside a plain encode of what was made.
package.path = "./spec/bench/?.lua;" .. package.path
local json = require("operations.base.json")
local measure = require("measure")
local operations = require("operations")
local usage = require("spec.support.usage")

local path = assert(os.getenv("OPENAPI_DOCUMENT"), "OPENAPI_DOCUMENT is to name the document")
local REPETITIONS = 5

local registry = operations.registry({ on_warning = function() end })
assert(registry:register_all(assert(operations.from_openapi.file(path, { namespace = "github",
  accessControl = { requiredScopes = {} } }))))
local specs = registry:specs() -- their schemas are made once, whoever asks first

local function milliseconds(fn)
  local times = {}
  for i = 1, REPETITIONS do
    usage.collect()
    local start = os.clock()
    fn()
    times[i] = (os.clock() - start) * 1000
  end
  return measure.median(times)
end

for _, format in ipairs({ "openai", "openai-responses", "anthropic", "gemini" }) do
  for _, strict in ipairs({ false, true }) do
    local definitions
    local made = milliseconds(function()
      definitions = assert(operations.to_tools(registry, { format = format, strict = strict })).definitions
    end)
    local text
    local encoded = milliseconds(function()
      text = assert(json.encode(definitions))
    end)
    print(("%-17s %-6s %5d operations  %6.1f ms made  %5.1f ms encoded  ratio %5.1f  %5.2f MB"):format(format,
      strict and "strict" or "", #specs, made, encoded, made / encoded, #text / 1e6))
  end
end
