--- `operations describe`: shows one operation, for people or for programs.
local arguments = require("operations.cli.arguments")
local description = require("operations.people.description")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local sample = require("operations.cli.sample")
local sources = require("operations.cli.sources")

local describe = {
  usage = "operations describe OPERATION [OPTIONS]",
  summary = "Shows the input, output and errors of an operation, and a call to copy.",
  options = members.joined({
    { name = "--json", help = "the spec as JSON, for programs" },
    output.colour_option,
  }, arguments.identity_options),
}

---@param parsed operations.cli.Arguments
---@return integer code
function describe.run(parsed)
  if #parsed.rest ~= 1 then
    return output.usage("describe: expected one OPERATION, got %d", #parsed.rest)
  end
  local style, problem = output.style(parsed.options)
  local identity, message = arguments.identity(parsed.options)
  if message or not style then
    return output.usage("%s", message or problem)
  end
  local registry, code = sources.registry(parsed, { identity = identity, id = parsed.rest[1] })
  if not registry then
    return code
  end
  local spec
  spec, code = sources.find(registry, parsed.rest[1])
  if not spec then
    return code
  elseif parsed.options.json then
    output.data(spec)
  else
    output.styled(description.of(output.readable(spec), { width = style.width, example = sample.command(spec),
      paint = function(colour, text) return style:paint(colour, text) end }))
  end
  return output.codes.OK
end

return describe
