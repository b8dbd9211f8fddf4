--- `operations describe`: shows one operation, for people or for programs.
local arguments = require("operations.cli.arguments")
local core = require("operations.core")
local description = require("operations.people.description")
local entry = require("operations.sources.entry")
local json = require("operations.base.json")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local output = require("operations.cli.output")
local schema = require("operations.schema")
local shell = require("operations.base.shell")
local sources = require("operations.cli.sources")

local describe = {
  usage = "operations describe OPERATION [OPTIONS]",
  summary = "Shows the input, output and errors of an operation, and a call to copy.",
  options = members.joined({
    { name = "--json", help = "the spec as JSON, for programs" },
    output.colour_option,
  }, arguments.identity_options),
}

-- An example call: the command line words of an operation, with the examples of its schemas, or placeholders.

local DEEPEST = 3

local function example_of(node)
  local examples = type(node.examples) == "table" and node.examples or {}
  for _, name in ipairs({ "example", "const", "default" }) do
    if node[name] ~= nil then
      return node[name]
    end
  end
  return examples[1]
end

-- The placeholder for an unknown value.
local function placeholder(name, node)
  if node.type == "integer" or node.type == "number" then
    return number_text.of(type(node.minimum) == "number" and node.minimum or 1)
  elseif node.type == "boolean" then
    return "true"
  end
  return (name:gsub("^.*[.%]]", ""):upper())
end

local add

local function is_required(target, name)
  return type(target.properties) == "table" and target.properties[name] ~= nil
    and members.contains(target.required, name)
end

local function add_required(words, root, node, prefix, depth, but)
  local target = entry.target(root, node)
  for _, name in ipairs(schema.properties(target)) do
    if name ~= but and is_required(target, name) then
      add(words, root, target.properties[name], prefix .. name, depth)
    end
  end
end

-- Adds the word for one key, or for its required parts.
function add(words, root, node, name, depth)
  local target = entry.target(root, node)
  local value = example_of(target)
  if value == nil and type(target.enum) == "table" then
    value = target.enum[1]
  end
  local kind = core.kind(value)
  if kind == "object" or kind == "array" then
    words[#words + 1] = shell.word(name .. ":=") .. shell.word(json.encode(value, { sort_keys = true }) or "null")
  elseif value ~= nil and value ~= json.null then
    words[#words + 1] = shell.word(name .. "=") .. shell.word(number_text.of(value))
  elseif target.properties and depth < DEEPEST then
    local before = #words
    add_required(words, root, target, name .. ".", depth + 1)
    words[#words + 1] = #words == before and shell.word(name .. ":=") .. "'{}'" or nil
  elseif target.type == "object" then
    words[#words + 1] = shell.word(name .. ":=") .. "'{}'"
  else
    words[#words + 1] = shell.word(name .. "=" .. placeholder(name, target))
  end
end

--- The words after the id.
---@param input any  inputSchema
---@return string[]
function describe.words(input)
  local words = {}
  if type(input) ~= "table" then
    return words
  end
  local target = entry.target(input, input)
  add_required(words, input, target, "", 0, "body")
  if is_required(target, "body") then
    local before = #words
    add_required(words, input, target.properties.body, "", 1)
    if #words == before then
      add(words, input, target.properties.body, "body", 0)
    end
  end
  return words
end

--- A command that can be copied.
---@param spec operations.Spec
---@return string
function describe.command(spec)
  local words = describe.words(spec.inputSchema)
  table.insert(words, 1, ("operations %s %s"):format(spec.type == "subscription" and "watch" or "call",
    shell.word(spec.namespace .. "." .. spec.name)))
  return table.concat(words, " ")
end

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
    output.styled(description.of(output.readable(spec), { width = style.width, example = describe.command(spec),
      paint = function(colour, text) return style:paint(colour, text) end }))
  end
  return output.codes.OK
end

return describe
