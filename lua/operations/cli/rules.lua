--- The options of commands that call or serve operations by rules, and record calls. What they need is loaded when they
--- are given: most calls have none of them.
local output = require("operations.cli.output")
local system = require("operations.system")

local rules = {}

--- Options of commands that call or serve operations.
rules.policy = { name = "--policy", value = "FILE", help = "rules: what runs, is asked about, never runs" }
rules.read_only = { name = "--read-only", help = "block mutations" }
rules.audit = { name = "--audit", value = "FILE", help = "append a line of JSON for each call" }
rules.transform = { name = "--transform", value = "FILE", help = "changes of operations: names, fields, answers" }

-- Asks at the terminal.
local function at_terminal(call)
  return require("operations.people.asking").approve(require("operations.cli.person"), call)
end

--- The options of a registry that `--policy`, `--read-only` and `--audit` give.
---@param given table<string, any>  of parsed arguments
---@param log fun(level: string, message: string)
---@param asks? boolean  the person at the terminal is asked, not the user of a client
---@return { policy: operations.Policy?, middleware: operations.Middleware[]? }?
---@return string? message
function rules.read(given, log, asks)
  local made = {}
  if given.policy or given["read-only"] then
    local ask = asks and output.can_ask() and at_terminal or nil
    local policy, err = require("operations").policy(given.policy or {}, { read_only = given["read-only"], ask = ask,
      face = ask and "terminal" })
    if not policy then
      return nil, "--policy: " .. err.message
    end
    made.policy = policy
  end
  if given.transform then
    local changes, message = require("operations.base.data_file").read(given.transform)
    if type(changes) ~= "table" then
      return nil, "--transform: " .. (message or given.transform .. ": an object of changes by id expected")
    end
    made.changes = changes
  end
  if given.audit then
    local kind = system.kind(given.audit)
    if kind and kind ~= "file" then
      return nil, ("--audit: %s is no regular file"):format(given.audit)
    end
    made.middleware = { require("operations").middleware.audit({ path = given.audit, log = log }) }
  end
  return made
end

return rules
