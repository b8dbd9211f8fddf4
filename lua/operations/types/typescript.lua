--- Prints types as TypeScript: an interface for each object, and `Operations`, which has the input, the output and the
--- declared errors of each id.
local json = require("operations.base.json")
local prose = require("operations.people.prose")
local words = require("operations.types.words")

local printer = {}

local plain = { null = "null", any = "unknown", never = "never", boolean = "boolean", string = "string",
  number = "number", integer = "number" }

local function name_of(named)
  local parts = {}
  for i, part in ipairs(named.parts) do
    parts[i] = part:gsub("[^%w]+", "_"):gsub("^_*(.)", string.upper):gsub("_+(.?)", string.upper)
  end
  return (table.concat(parts):gsub("^%d", "_%0"))
end

local own = words.of({ plain = plain, map = "Record<string, %s>", bar = " | ", ref = name_of })

local function of_type(of)
  return words.written(of, own)
end

local Page = {}
Page.__index = Page

function Page:add(format, ...)
  self.lines[#self.lines + 1] = format:format(...)
end

function Page:describe(margin, text, is_deprecated)
  local lines = {}
  for line in (text and text ~= "" and prose.wrap(prose.unmarked(text), 110) or ""):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line:gsub("%*/", "* /")
  end
  lines[#lines + 1] = is_deprecated and "@deprecated" or nil
  if #lines == 1 then
    return self:add("%s/** %s */", margin, lines[1])
  elseif #lines > 0 then
    self:add("%s/**", margin)
    for _, line in ipairs(lines) do
      self:add("%s *%s", margin, line ~= "" and " " .. line or "")
    end
    self:add("%s */", margin)
  end
end

local function field_name(name)
  return name:find("^[%a_][%w_]*$") and name or assert(json.encode(name))
end

function Page:named(named)
  self:add("")
  self:describe("", named.description)
  if named.type then
    return self:add("export type %s = %s;", name_of(named), of_type(named.type))
  end
  self:add("export interface %s {", name_of(named))
  for _, field in ipairs(named.fields) do
    self:describe("  ", field.description, field.deprecated)
    self:add("  %s%s: %s;", field_name(field.name), field.required and "" or "?", of_type(field.type))
  end
  if named.extra then
    self:add("  [name: string]: unknown;")
  end
  self:add("}")
end

function Page:operation(operation)
  self:describe("  ", operation.title or operation.description, operation.deprecated)
  self:add("  %s: {", assert(json.encode(operation.id)))
  self:add("    type: %s;", assert(json.encode(operation.kind)))
  self:add("    input: %s%s;", of_type(operation.input), operation.optional_input and " | undefined" or "")
  self:add("    output: %s;", of_type(operation.output))
  self:add("    error: %s;", of_type(operation.error))
  self:add("  };")
end

--- Prints a tree.
---@param types operations.types.Tree
---@return string
function printer.text(types)
  local self = setmetatable({ lines = {} }, Page)
  self:add("// Made by `operations export --types typescript`.")
  for _, named in ipairs(types.named) do
    self:named(named)
  end
  self:add("\n/** The operations, by id. */\nexport interface Operations {")
  for _, operation in ipairs(types.operations) do
    self:operation(operation)
  end
  self:add("}")
  return table.concat(self.lines, "\n") .. "\n"
end

return printer
