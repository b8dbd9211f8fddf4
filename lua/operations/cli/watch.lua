--- `operations watch`: the events of a subscription, one line of JSON each, as they come.
local input = require("operations.cli.input")
local invocation = require("operations.cli.invocation")
local output = require("operations.cli.output")

local watch = {
  usage = "operations watch OPERATION [INPUT...] [OPTIONS]",
  summary = "Follows a subscription: one line of JSON per event, until it ends or Ctrl-C.",
  options = {
    { name = "--limit", value = "N", help = "stop after N events" },
  },
  notes = input.help,
}

for _, option in ipairs(invocation.options) do
  watch.options[#watch.options + 1] = option
end

--- Prints events until there are no more, or `limit`; returns the exit code, that of the last one which is no success.
local function follow(subscription, parsed, limit)
  local count, code = 0, output.codes.OK
  while count < limit do
    local envelope, err = subscription:next()
    if envelope == nil then
      return err and output.fail(err) or code
    end
    local printed = invocation.print(envelope, parsed, false)
    code = printed ~= output.codes.OK and printed or code
    count = count + 1
  end
  return code
end

local function limit_of(parsed)
  local text = parsed.options.limit
  local limit = text and tonumber(text) or math.huge
  if text and not text:find("^%d+$") then
    output.complain("--limit: expected a whole number, got %q", text)
    return nil
  end
  return limit
end

---@param parsed operations.cli.Arguments
---@return integer code
function watch.run(parsed)
  local limit = limit_of(parsed)
  if not limit then
    return output.codes.USAGE
  end
  local asked, code = invocation.read(parsed)
  if not asked then
    return code
  elseif asked.spec.type ~= "subscription" then
    output.complain("%s is a %s: use operations call", asked.id, asked.spec.type)
    return output.codes.USAGE
  end
  local subscription, err = asked.registry:subscribe(asked.id, asked.input, asked.context)
  if not subscription then
    return output.fail(err)
  end
  output.progress("watching " .. asked.id .. " (Ctrl-C ends)")
  local ok, result = pcall(follow, subscription, parsed, limit)
  subscription:close() -- whatever happened, the handler's cleanup runs
  if not ok then
    error(result, 0)
  end
  return result
end

return watch
