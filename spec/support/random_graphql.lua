--- Random schemas (SDL), selections, and values of input types, for the specs that compare with graphql-js.
local random = require("spec.support.random")
local schemas = require("operations.graphql.schema")

local random_graphql = {}

local upto, chance, pick = random.upto, random.chance, random.pick
local words = { "end", "id", "name", "title", "ok", "type", "query", "on", "fragment", "input", "_x", "A1", "self",
  "nodes", "function", "nil", "select", "true_", "implements", "extend" }

local aliases = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "id" }

local function wrapped(name)
  local text = name .. (chance(40) and "!" or "")
  while chance(20) do
    text = "[" .. text .. "]" .. (chance(40) and "!" or "")
  end
  return text
end

local function name_list(prefix, count)
  local list = {}
  for i = 1, count do
    list[i] = prefix .. i
  end
  return list
end

local literal_of
-- Values of variables: no item stands for its list.
local is_exact = false

-- A random literal of a type in the generated schemas, or of any schema by `by_name`.
local function object_literal(by_name, of, depth)
  if of.one_of then
    local input = pick(of.inputs)
    return ("{%s: %s}"):format(input.name, literal_of(by_name, { name = input.type.name, list = input.type.list,
      required = true }, depth + 1))
  end
  local parts = {}
  for _, input in ipairs(of.inputs) do
    if input.type.required and not input.default or depth < 2 and chance(30) then
      parts[#parts + 1] = input.name .. ": " .. literal_of(by_name, input.type, depth + 1)
    end
  end
  return "{" .. table.concat(parts, chance(50) and ", " or " ") .. "}"
end

local scalar_literals = {
  Int = { "0", "-7", "2147483647" }, Float = { "1.5", "-2e3", "4" }, Boolean = { "true", "false" },
  String = { '"a"', '"}{ \\" # \\u00e9 \\u{1F600}"', '""', '"""block "quoted" }"""' }, ID = { '"x"', "12" },
}

function literal_of(by_name, ref, depth)
  if not ref.required and chance(15) then
    return "null"
  elseif ref.list then
    if not is_exact and chance(20) then
      return literal_of(by_name, { name = ref.list.name, list = ref.list.list, required = true }, depth)
    end
    local items = {}
    for i = 1, depth > 4 and 0 or upto(3) - 1 do
      items[i] = literal_of(by_name, ref.list, depth + 1)
    end
    return "[" .. table.concat(items, " ") .. "]"
  end
  local of = by_name:type(ref.name)
  if of.kind == "ENUM" then
    return pick(of.values).name
  elseif of.kind == "INPUT_OBJECT" then
    return object_literal(by_name, of, depth)
  end
  return pick(scalar_literals[of.name] or { '"any"', is_exact and "{a: [1]}" or "{a: [1 B]}", "7", "true" })
end

--- A literal of a type, as GraphQL text; `exact`: one that is valid as JSON, too.
function random_graphql.literal(schema, ref, exact)
  is_exact = exact or false
  return literal_of(schema, ref, 0)
end

local function arguments_text(inputs, scalar_names, count)
  local parts, seen = {}, {}
  for _ = 1, count do
    local name = pick(words)
    if not seen[name] then
      seen[name] = true
      local type_name = chance(70) and pick(scalar_names) or pick(inputs)
      parts[#parts + 1] = ("%s: %s"):format(name, wrapped(type_name))
    end
  end
  return parts[1] and "(" .. table.concat(parts, ", ") .. ")" or ""
end

local function fields_text(outputs, inputs, scalar_names, prefix)
  local lines, seen = {}, {}
  for i = 1, 1 + upto(5) do
    local name = chance(70) and pick(words) or prefix .. i
    if not seen[name] then
      seen[name] = true
      lines[#lines + 1] = ("  %s%s%s: %s%s"):format(chance(20) and '"text }{" ' or "", name,
        chance(40) and arguments_text(inputs, scalar_names, upto(3)) or "",
        wrapped(chance(55) and pick(scalar_names) or pick(outputs)), chance(8) and ' @deprecated(reason: "old")' or "")
    end
  end
  return lines
end

--- A valid schema, as SDL.
function random_graphql.sdl()
  local objects, interfaces = name_list("Obj", 2 + upto(6)), name_list("Face", upto(3))
  local unions = name_list("Uni", upto(2))
  local inputs, enums = name_list("In", upto(4)), name_list("Enum", upto(3))
  local leaves = { "Int", "Float", "String", "Boolean", "ID", "Date", enums[1], enums[#enums] }
  local outputs = {}
  for _, list in ipairs({ objects, interfaces, unions }) do
    for _, name in ipairs(list) do
      outputs[#outputs + 1] = name
    end
  end
  local text, face_fields = { "# a comment with }\nscalar Date @specifiedBy(url: \"http://x.test\")" }, {}
  for _, name in ipairs(enums) do
    text[#text + 1] = ("enum %s { %s_A, %s_B @deprecated %s_C }"):format(name, name, name, name)
  end
  for _, name in ipairs(inputs) do
    local one_of = chance(30)
    local lines = {}
    for i = 1, upto(4) do
      local required = not one_of and chance(30)
      lines[i] = ("  f%d: %s%s%s"):format(i, pick(leaves), required and "!" or "", "")
    end
    lines[#lines + 1] = "  again: " .. (one_of and "[" .. pick(inputs) .. "!]" or pick(inputs))
    text[#text + 1] = ("input %s%s {\n%s\n}"):format(name, one_of and " @oneOf" or "", table.concat(lines, "\n"))
  end
  for i, name in ipairs(interfaces) do
    face_fields[name] = { ("  own%d: String"):format(i), ("  link%d(a: Int = 3): %s"):format(i, pick(objects)) }
    text[#text + 1] = ('"""\nA face "}"\n"""\ninterface %s {\n%s\n}'):format(name,
      table.concat(face_fields[name], "\n"))
  end
  for i, name in ipairs(objects) do
    local lines, list = fields_text(outputs, inputs, leaves, "p"), {}
    for j, face in ipairs(interfaces) do
      if chance(50) or i == j then
        list[#list + 1] = face
        for _, line in ipairs(face_fields[face]) do
          lines[#lines + 1] = line:gsub(": String$", chance(50) and ": String!" or ": String")
        end
      end
    end
    text[#text + 1] = ("type %s%s {\n%s\n}"):format(name, list[1] and " implements " .. table.concat(list, " & ") or "",
      table.concat(lines, "\n"))
  end
  for i, name in ipairs(unions) do
    text[#text + 1] = ("union %s = | %s | %s"):format(name, objects[i], objects[i + 1])
  end
  for _, root in ipairs({ "Query", "Mutation" }) do
    text[#text + 1] = ("type %s {\n%s\n}"):format(root, table.concat(fields_text(outputs, inputs, leaves, "r"), "\n"))
  end
  return table.concat(text, "\n")
end

local mistakes = 0 -- percent of the places where one can be

local function is_wrong()
  return chance(mistakes)
end

local selections_of

local function arguments_of(schema, field)
  local parts = {}
  for _, argument in ipairs(field.arguments) do
    if (argument.type.required and not argument.default or chance(25)) and not is_wrong() then
      parts[#parts + 1] = ("%s: %s"):format(argument.name, random_graphql.literal(schema, argument.type))
    end
  end
  if is_wrong() then
    parts[#parts + 1] = "other: 1"
  end
  return parts[1] and "(" .. table.concat(parts, ", ") .. ")" or ""
end

local function field_text(schema, of, depth)
  local field = chance(6) and schemas.field(of, "__typename") or of.fields and of.fields[1] and pick(of.fields)
    or schemas.field(of, "__typename")
  local inner, has_fields = "", schemas.has_fields(schema:named(field.type))
  if has_fields and depth > 4 then -- a field without a selection gets one here
    return "__typename"
  elseif has_fields or is_wrong() then
    inner = " " .. selections_of(schema, has_fields and schema:named(field.type) or of, depth + 1)
  end
  local directive = chance(5) and pick({ " @include(if: true)", " @skip(if: false)" }) or ""
  directive = is_wrong() and pick({ " @skip", " @other" }) or directive
  -- graphql-js does not look at the type of `__typename` under an alias; the specification does.
  local alias = field.name ~= "__typename" and chance(25) and pick(aliases) .. ": " or ""
  return alias .. (is_wrong() and "x" or "") .. field.name
    .. arguments_of(schema, field) .. directive .. inner
end

local function fragment_text(schema, of, depth)
  local possible = schema:possible(of)
  local name = chance(90) and possible[1] and pick(possible) or of.name
  local inner = schema:find(name) and schemas.has_fields(schema:type(name)) and schema:type(name) or of
  return "..." .. (chance(85) and " on " .. name or "") .. " " .. selections_of(schema, inner, depth + 1)
end

function selections_of(schema, of, depth)
  local parts = {}
  for i = 1, upto(depth == 0 and 5 or 3) do
    parts[i] = depth < 4 and chance(of.kind == "OBJECT" and 10 or 50) and fragment_text(schema, of, depth)
      or field_text(schema, of, depth)
  end
  return "{ " .. table.concat(parts, chance(50) and " " or ",\n") .. " }"
end

--- Selections of a type in braces, as text; a third of them has mistakes.
function random_graphql.selections(schema, of)
  mistakes = chance(67) and 0 or 3
  return selections_of(schema, of, 0)
end

return random_graphql
