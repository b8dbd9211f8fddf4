--- `make suite`: prints counts per draft; fails when a test outside of suite_skips.lua fails, or one on it passes.
local suite = require("spec.support.suite")

local directory = suite.directory()
if not directory then
  io.stderr:write("the test suite is not there: set SUITE, or `make suite` with access to npm\n")
  os.exit(2)
end

local bad = 0
local function report(outcome, label, failure, reason)
  if outcome == "failed" then
    bad = bad + 1
    print("FAILED  " .. label .. ": " .. failure)
  elseif outcome == "passed" then
    bad = bad + 1
    print("ON THE SKIP LIST, YET PASSES  " .. label)
  else
    print("skipped " .. label .. ": " .. reason)
  end
end

local rows = {}
for _, draft in ipairs(suite.drafts) do
  local counts = suite.run(directory, draft, report)
  local row = { ("%-13s"):format(draft.name) }
  for _, kind in ipairs(suite.kinds) do
    local count = counts[kind]
    local total = count.passed + count.failed + count.skipped
    row[#row + 1] = ("%s %4d of %4d"):format(kind, count.passed, total)
  end
  rows[#rows + 1] = table.concat(row, "   ")
end
print(table.concat(rows, "\n"))
os.exit(bad == 0 and 0 or 1)
