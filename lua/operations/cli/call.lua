--- `operations call`: one query or mutation.
local input = require("operations.cli.input")
local invocation = require("operations.cli.invocation")
local output = require("operations.cli.output")

local call = {
  usage = "operations call OPERATION [INPUT...] [OPTIONS]",
  summary = "Calls a query or mutation and prints its data as JSON.",
  options = invocation.options,
  notes = input.help,
}

---@param parsed operations.cli.Arguments
---@return integer code
function call.run(parsed)
  local asked, code = invocation.read(parsed)
  if not asked then
    return code
  elseif asked.spec.type == "subscription" then
    output.complain("%s is a subscription: use operations watch", asked.id)
    return output.codes.USAGE
  end
  output.progress("calling " .. asked.id)
  local envelope, err = asked.registry:execute(asked.id, asked.input, asked.context)
  if not envelope then
    return output.fail(err)
  end
  return invocation.print(envelope, parsed, nil)
end

return call
