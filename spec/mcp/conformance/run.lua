--- Runs the client under the official conformance suite: `lua run.lua NODE SUITE [2025-11-25|2026-07-28]`, all that a
--- revision requires of a client. Fails when a scenario fails. With HOST in the environment (nvim, nginx) the client
--- runs inside of that program.
local interpreter = require("spec.support.command").interpreter()

local host = os.getenv("HOST") or ""
local client = interpreter .. " spec/mcp/conformance/" .. (host == "" and "client.lua" or "inside.lua " .. host)

local node, suite, only = arg[1], arg[2], arg[3]

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- What the suite says of a revision's requirement set, and did all of it pass?
local function run(revision)
  local out, results = os.tmpname(), os.tmpname()
  os.remove(results)
  local result = os.execute(("%s %s client --command %s --requirements %s -o %s >%s 2>&1"):format(quote(node),
    quote(suite), quote(client), revision, results, out))
  local file = assert(io.open(out))
  local text = file:read("*a")
  file:close()
  os.execute(("rm -rf %s %s"):format(out, results))
  return result == true or result == 0, text
end

-- The scenarios of a summary: how many of those that count passed. Others (extensions, later additions) are listed
-- after "Not scored".
local function count(text)
  local scored, unscored = text:match("=== SUITE SUMMARY ===(.-)Not scored(.*)$")
  local optional, passed, all = {}, 0, 0
  for name in (unscored or ""):gmatch("[✓✗]+ (%S+) %(") do
    optional[name] = true
  end
  for mark, name in (scored or ""):gmatch("\n(%S+) (%S+): %d+ passed") do
    if not optional[name] then
      passed, all = passed + (mark == "✓" and 1 or 0), all + 1
    end
  end
  return passed, all
end

local failed = false
for _, revision in ipairs({ "2025-11-25", "2026-07-28" }) do
  if not only or only == revision then
    local ok, text = run(revision)
    print((text:match("=== SUITE SUMMARY ===.*") or text))
    print(("%s: %d of %d required scenarios passed"):format(revision, count(text)))
    failed = failed or not ok
  end
end
os.exit(not failed)
