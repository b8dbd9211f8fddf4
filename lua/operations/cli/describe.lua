--- `operations describe`: shows one operation, for people or for programs.
local arguments = require("operations.cli.arguments")
local core = require("operations.core")
local description = require("operations.people.description")
local fields = require("operations.people.fields")
local input = require("operations.people.input")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")
local output = require("operations.cli.output")
local property_order = require("operations.base.property_order")
local sample = require("operations.people.sample")
local schema_place = require("operations.people.schema_place")
local shell = require("operations.base.shell")
local rules = require("operations.cli.rules")
local sources = require("operations.cli.sources")
local styles = require("operations.cli.style")

local describe = {
  usage = "operations describe OPERATION [OPTIONS]",
  summary = "Shows the input, output and errors of an operation, and a call to copy.",
  options = members.joined({
    { name = "--json", help = "the spec as JSON, for programs" },
    styles.option, rules.transform,
  }, arguments.identity_options),
}

-- An example call: the words of a command line that give an operation what it requires.

local DEEPEST = 4 -- names in one key; deeper values are JSON

local function escaped(name)
  return (name:gsub("[.%[%]\\]", "\\%0"))
end

-- Adds the words for a value at a key; `as_json` writes JSON for texts too.
local function add(words, key, value, depth, as_json)
  local text = not as_json and sample.text(value)
  if core.kind(value) == "object" and next(value) ~= nil and depth < DEEPEST and not as_json then
    for _, name in ipairs(property_order.names(value)) do
      add(words, key .. "." .. escaped(name), value[name], depth + 1)
    end
  else
    words[#words + 1] = text and key .. "=" .. text
      or key .. ":=" .. assert(json.encode(value, { sort_keys = true }))
  end
end

-- The parameters, then the fields of the body.
local function words_of(root, value, has_body, as_json)
  local words, body = {}, has_body and core.kind(value.body) == "object" and next(value.body) ~= nil and value.body
  local _, known = schema_place.names(root, {})
  for _, name in ipairs(property_order.names(value)) do
    if not (body and name == "body") then
      add(words, name, value[name], 1, as_json)
    end
  end
  for _, field in ipairs(body and property_order.names(body) or {}) do
    local is_text = field == "body" and sample.text(body[field])
    add(words, known[field] and not is_text and "body." .. escaped(field) or field, body[field], 2, as_json)
  end
  return words
end

-- Do these words give an input that the schema accepts?
local function fit(words, root, has_body, compiled)
  for _, word in ipairs(words) do
    if word:find("^%-") then -- an option
      return false
    end
  end
  local items = input.read(words)
  local value, texts
  if items then
    value, texts = fields.build(items, root, has_body)
  end
  return value ~= nil and (compiled:check(input.convert(value, texts, compiled)))
end

--- The words after the id that give what the operation requires, as the program reads them.
---@param root any  inputSchema
---@param is_http? boolean  fields of the body are keys of their own
---@return string[]
function describe.words(root, is_http)
  local value = type(root) == "table" and next(root) ~= nil and sample.of(root)
  local compiled = value and operations.schema.compile(root)
  if core.kind(value) ~= "object" then
    return {}
  end
  local _, known = schema_place.names(root, {})
  local has_body = is_http and known.body ~= nil
  local words = words_of(root, value, has_body)
  for _, other in ipairs({ words_of(root, value, has_body, true), { json.encode(value, { sort_keys = true }) } }) do
    if not compiled or fit(words, root, has_body, compiled) then
      break
    elseif fit(other, root, has_body, compiled) then
      return other
    end
  end
  return words
end

-- One word of the shell; what follows a key is quoted by itself, which reads better.
local function quoted(word)
  local key, value = word:match("^([^={]+=)(.*)$")
  return key and shell.word(key) .. shell.word(value) or shell.word(word)
end

--- A command that can be copied.
---@param spec operations.Spec
---@param is_http? boolean  an operation of an OpenAPI document
---@return string
function describe.command(spec, is_http)
  local words = describe.words(spec.inputSchema, is_http)
  for i, word in ipairs(words) do
    words[i] = quoted(word)
  end
  table.insert(words, 1, ("operations %s %s"):format(spec.type == "subscription" and "watch" or "call",
    shell.word(spec.namespace .. "." .. spec.name)))
  return table.concat(words, " ")
end

local LEVELS = 2 -- of the types of an answer

-- The types and the selection of a field of a GraphQL service, whose code is loaded on first use.
local function graphql_sections(registry, id)
  local plan = require("operations.graphql.operation").plan_of(registry:get_handler(id))
  local selection = plan and plan.selection and plan.selection() or "" -- a document's operation has its own
  if selection == "" then
    return nil
  end
  local sections = { { title = "Selection, to copy and change", text = "select=" .. shell.word(selection) } }
  if plan.type_text then
    table.insert(sections, 1, { title = "Types", text = plan.type_text(LEVELS) })
  end
  return sections
end

---@param parsed operations.cli.Arguments
---@return integer code
function describe.run(parsed)
  if #parsed.rest ~= 1 then
    return output.usage("describe: expected one OPERATION, got %d", #parsed.rest)
  end
  local style, problem = styles.of(parsed.options)
  local identity, message = arguments.identity(parsed.options)
  if message or not style then
    return output.usage("%s", message or problem)
  end
  local kinds = {}
  local registry, code = sources.registry(parsed, { identity = identity, id = parsed.rest[1], kinds = kinds })
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
    local id = spec.namespace .. "." .. spec.name
    local example = describe.command(spec, kinds[id] == "openapi")
    output.styled(description.of(output.readable(spec), { width = style.width, example = example,
      sections = kinds[id] == "graphql" and graphql_sections(registry, id) or nil,
      paint = function(colour, text) return style:paint(colour, text) end }))
  end
  return output.codes.OK
end

return describe
