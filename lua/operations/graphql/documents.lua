--- Operations of `.graphql` documents: each operation of a document becomes one operation, with its variables as input
--- and the exact type of its answer as output. Fragments of all documents may be used by all of them.
local default = require("operations.graphql.default")
local errors = require("operations.base.error")
local files = require("operations.base.files")
local importing = require("operations.registry.importing")
local inputs = require("operations.graphql.inputs")
local lexer = require("operations.graphql.lexer")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local operation = require("operations.graphql.operation")
local outputs = require("operations.graphql.outputs")
local parser = require("operations.graphql.parser")
local printer = require("operations.graphql.printer")
local selection = require("operations.graphql.selection")
local system = require("operations.system")

local documents = {}

local DEPTH = 16 -- of folders in folders

-- Adds the documents at a path; returns nil and the reason where a path cannot be read.
local function find(path, list, depth)
  local names = depth < DEPTH and system.list(path)
  if not names then
    local text, message = files.read(path)
    list[#list + 1] = text and { path = path, text = text } or nil
    return text and true or nil, message
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local inner = path:gsub("/$", "") .. "/" .. name
    if name:find("%.graphql$") or name:find("%.gql$") or system.list(inner) then
      local ok, message = find(inner, list, depth + 1)
      if not ok then
        return nil, message
      end
    end
  end
  return true
end

-- The comment right above a byte; nil without one.
local function comment_above(text, at)
  local above = text:sub(1, at - 1):match("#[^\n]*\n[%s,]*$") and text:sub(1, at - 1)
  local lines = {}
  while above do
    local before, line = above:match("^(.-)([^\n]*)\n[ \t]*$")
    local words = line and line:match("^%s*#%s?(.*)$")
    if not words then
      break
    end
    table.insert(lines, 1, words)
    above = before
  end
  return lines[1] and table.concat(lines, "\n") or nil
end

-- Can a variable of one type stand where another type is expected?
local function fits(variable, expected, has_default)
  if expected.required and not variable.required and not has_default then
    return false
  elseif expected.list or variable.list then
    return expected.list ~= nil and variable.list ~= nil and fits(variable.list, expected.list, false)
  end
  return variable.name == expected.name
end

local function check_variable(self, literal, ref, place_has_default)
  local found = self.variables[literal.value]
  if not found then
    lexer.fail(("the variable $%s is not defined"):format(literal.value), literal.at)
  end
  found.is_used = true
  local has_default = place_has_default or found.default ~= nil and found.default.kind ~= "null"
  if ref and not fits(found.type, ref, has_default) then
    lexer.fail(("the variable $%s is of the type %s, expected %s"):format(literal.value, printer.type(found.type),
      printer.type(ref)), literal.at)
  end
end

-- Adds the fragments that selections use to a list, each once.
local function add_fragments(selections, list, seen)
  for _, item in ipairs(selections) do
    local fragment = item.fragment
    if fragment and not seen[fragment] then
      seen[fragment], list[#list + 1] = true, fragment
      add_fragments(fragment.selections, list, seen)
    elseif item.selections then
      add_fragments(item.selections, list, seen)
    end
  end
  return list
end

-- The first connection that variables move: its keys with its path, and the field.
local function find_page(schema, selections, path)
  for _, item in ipairs(selections) do
    local inner = item.selections or item.fragment and item.fragment.selections
    local here = item.key and members.joined(path, { item.key }) or path
    if item.field and inner and default.is_connection(schema, item.of) then
      local keys = operation.page_keys(item.field.arguments, function(name)
        for _, argument in ipairs(item.arguments or {}) do
          if argument.name == name and argument.value.kind == "variable" then
            return argument.value.value
          end
        end
      end)
      if keys then
        keys.path = here
        return keys, item
      end
    elseif inner and not (item.field and item.field.type.list) then
      local keys, found = find_page(schema, inner, here)
      if keys then
        return keys, found
      end
    end
  end
end

local function print(node)
  local parts = { printer.operation(node) }
  for _, fragment in ipairs(add_fragments(node.selections, {}, {})) do
    parts[#parts + 1] = printer.fragment(fragment)
  end
  return table.concat(parts, " ")
end

-- The variables of an operation by name; raises what is wrong with them.
local function variables_of(schema, node)
  local by_name = {}
  for _, variable in ipairs(node.variables) do
    if by_name[variable.name] then
      lexer.fail(("the variable $%s is defined twice"):format(variable.name), variable.at)
    end
    by_name[variable.name] = variable
    if variable.default then
      inputs.check(schema, variable.type, variable.default, function(literal)
        lexer.fail("a default has no variables", literal.at)
      end)
    end
  end
  return by_name
end

local function resolve(shared, node, fragments)
  local root = shared.schema.roots[node.kind]
  local of = root and shared.schema:type(root)
  if not of then
    lexer.fail("the service has no operations of the type " .. node.kind, node.at)
  end
  local self = { variables = variables_of(shared.schema, node) }
  local build = { schema = shared.schema, fragments = fragments, variable = function(...)
    check_variable(self, ...)
  end }
  selection.resolve_directives(build, node)
  selection.resolve(build, of, node.selections)
  for _, variable in ipairs(node.variables) do
    if not variable.is_used then
      lexer.fail(("the variable $%s is not used"):format(variable.name), variable.at)
    end
  end
  return of
end

-- The plan of an operation; raises what is wrong with it.
local function plan_of(shared, node, fragments)
  local schema, options = shared.schema, shared.options
  local of = resolve(shared, node, fragments)
  local input_schema = inputs.schema(schema, node.variables, options)
  local text, paged_text = print(node), nil
  local output_schema = outputs.answer(schema, of, node.selections, options)
  local page, connection = find_page(schema, node.kind == "query" and node.selections or {}, {})
  if page then
    operation.add_page_info(schema, connection.of, connection.selections)
    paged_text = print(node)
  end
  return {
    type = node.kind, name = node.name, input_schema = input_schema, output_schema = output_schema, page = page,
    request = function(input, pages)
      local variables = marked.object()
      for _, variable in ipairs(node.variables) do
        variables[variable.name] = input[variable.name]
      end
      return {
        query = pages and paged_text or text, type = node.kind, operationName = node.name,
        variables = next(variables) ~= nil and marked.value(variables, input_schema, input_schema) or nil,
        files = inputs.files(schema, node.variables, variables, options.uploads),
      }
    end,
  }
end

local function name_of(document, node)
  return node.name or document.path:match("([^/]+)%.[^.]*$") or document.path
end

-- Adds the definition of an operation, unless something is wrong with it.
local function add(shared, list, document, node, fragments)
  local wanted = name_of(document, node)
  if not importing.wants(shared.options, { name = wanted, type = node.kind }, { [wanted] = true }) then
    return
  end
  local plan, problem = parser.try(plan_of, shared, node, fragments)
  if not plan then
    local at = problem.at and " (at " .. lexer.place(document.text, problem.at) .. ")" or ""
    return shared.report(document.path, ("%s: %s%s"):format(wanted, problem.message, at))
  end
  local definition = {
    namespace = shared.options.namespace, name = shared.name(node.kind, wanted, document.path), type = node.kind,
    description = node.description or comment_above(document.text, node.at) or node.kind .. " " .. wanted,
    _meta = operation.meta(shared, node.kind, { operationName = node.name }),
  }
  list[#list + 1] = operation.finish(shared, definition, {
    place = document.path, inputs = node.variables, make = function()
      return plan
    end,
  })
end

-- Reads the documents; one that cannot be read is reported.
local function read_all(shared, found)
  local read, fragments = {}, {}
  for _, document in ipairs(found) do
    local parsed, problem = parser.document(document.text)
    if problem then
      shared.report(document.path, lexer.place(document.text, problem.at) .. ": " .. problem.message)
    else
      document.parsed, read[#read + 1] = parsed, document
    end
    for _, fragment in ipairs(parsed and parsed.fragments or {}) do
      if fragments[fragment.name] then
        shared.report(document.path, ("the fragment %q is defined twice; the first one counts"):format(fragment.name))
      end
      fragments[fragment.name] = fragments[fragment.name] or fragment
    end
  end
  return read, fragments
end

--- The documents at paths: files, and those of folders whose names end in `.graphql` or `.gql`.
---@param paths string[]
---@return { path: string, text: string }[]?
---@return operations.Error? err  a path cannot be read
function documents.list(paths)
  local found = {}
  for _, path in ipairs(paths) do
    local ok, message = find(path, found, 0)
    if not ok then
      return nil, errors.new("EXECUTION_ERROR", message, { kind = "file", location = path })
    end
  end
  return found
end

--- Adds the operations of the documents at paths.
---@param shared table  see init.lua
---@param list operations.Definition[]
---@param paths string[]
---@return true?
---@return operations.Error? err  a path cannot be read
function documents.add(shared, list, paths)
  local found, err = documents.list(paths)
  if not found then
    return nil, err
  end
  local read, fragments = read_all(shared, found)
  for _, document in ipairs(read) do
    for _, node in ipairs(document.parsed.operations) do
      add(shared, list, document, node, fragments)
    end
  end
  return true
end

return documents
