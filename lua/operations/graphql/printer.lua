--- Prints what `parser.lua` reads. Names were read by the lexer, so the text has exactly the given structure.
local printer = {}

local concat = table.concat

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function quoted(text)
  return '"' .. text:gsub('[%c"\\]', function(char)
    return escapes[char] or ("\\u%04X"):format(char:byte())
  end) .. '"'
end

--- A type: `[Name!]!`.
---@param ref operations.graphql.TypeRef
---@return string
function printer.type(ref)
  return (ref.list and "[" .. printer.type(ref.list) .. "]" or ref.name) .. (ref.required and "!" or "")
end

local function joined(list, print)
  local texts = {}
  for i, item in ipairs(list) do
    texts[i] = print(item)
  end
  return concat(texts, ", ")
end

local function pair(item)
  return item.name .. ": " .. printer.value(item.value)
end

--- A value.
---@param value operations.graphql.Value
---@return string
function printer.value(value)
  local kind = value.kind
  if kind == "string" then
    return quoted(value.value)
  elseif kind == "list" then
    return "[" .. joined(value.value, printer.value) .. "]"
  elseif kind == "object" then
    return "{" .. joined(value.value, pair) .. "}"
  elseif kind == "variable" then
    return "$" .. value.value
  end
  return kind == "null" and "null" or tostring(value.value)
end

--- Arguments in parentheses; "" without any.
---@param arguments operations.graphql.Argument[]?
---@return string
function printer.arguments(arguments)
  return arguments and arguments[1] and "(" .. joined(arguments, pair) .. ")" or ""
end

--- Directives, each behind a blank.
---@param directives table[]?
---@return string
function printer.directives(directives)
  local text = ""
  for _, directive in ipairs(directives or {}) do
    text = text .. " @" .. directive.name .. printer.arguments(directive.arguments)
  end
  return text
end

local function add(selections, parts)
  for i, item in ipairs(selections) do
    parts[#parts + 1] = i > 1 and " " or nil
    if item.spread then
      parts[#parts + 1] = "..." .. item.spread
    elseif item.inline then
      parts[#parts + 1] = "..." .. (item.on and " on " .. item.on or "")
    else
      parts[#parts + 1] = (item.alias and item.alias .. ": " or "") .. item.name .. printer.arguments(item.arguments)
    end
    parts[#parts + 1] = item.directives and printer.directives(item.directives) or nil
    if item.selections then
      parts[#parts + 1] = " { "
      add(item.selections, parts)
      parts[#parts + 1] = " }"
    end
  end
end

--- Selections, without outer braces.
---@param selections operations.graphql.Selection[]
---@return string
function printer.selections(selections)
  local parts = {}
  add(selections, parts)
  return concat(parts)
end

local function variable(item)
  return "$" .. item.name .. ": " .. printer.type(item.type)
    .. (item.default and " = " .. printer.value(item.default) or "") .. printer.directives(item.directives)
end

--- An operation: `query name($id: ID!) { ... }`.
---@param operation { kind: string, name: string?, variables: table[], directives: table[]?, selections: table[] }
---@return string
function printer.operation(operation)
  return operation.kind .. (operation.name and " " .. operation.name or "")
    .. (operation.variables[1] and "(" .. joined(operation.variables, variable) .. ")" or "")
    .. printer.directives(operation.directives) .. " { " .. printer.selections(operation.selections) .. " }"
end

--- A fragment.
---@param fragment { name: string, on: string, directives: table[]?, selections: table[] }
---@return string
function printer.fragment(fragment)
  return "fragment " .. fragment.name .. " on " .. fragment.on .. printer.directives(fragment.directives) .. " { "
    .. printer.selections(fragment.selections) .. " }"
end

return printer
