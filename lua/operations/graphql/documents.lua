--- Operations of `.graphql` documents: each operation of a document becomes one operation, with its variables as input
--- and the exact type of its answer as output. Fragments of all documents may be used by all of them.
local connection = require("operations.graphql.connection")
local errors = require("operations.base.error")
local files = require("operations.base.files")
local importing = require("operations.registry.importing")
local inputs = require("operations.graphql.inputs")
local lexer = require("operations.graphql.lexer")
local literals = require("operations.graphql.literals")
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

local COMMENT = 4096 -- bytes that are looked at for a comment

-- The comment whose lines end right above a byte; nil without one.
local function comment_above(text, at)
  local lines = {}
  for line in text:sub(math.max(1, at - COMMENT), at - 1):gmatch("([^\n]*)\n") do
    local words = line:match("^%s*#%s?(.*)$")
    if words then
      lines[#lines + 1] = words
    else
      lines = {}
    end
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
    if item.field and inner and connection.is(schema, item.of) then
      local keys = connection.keys(item.field.arguments, function(name)
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
      literals.check(schema, variable.type, variable.default, function(literal)
        lexer.fail("a default has no variables", literal.at)
      end)
    end
  end
  return by_name
end

local function resolve(service, node, fragments)
  local root = service.schema.roots[node.kind]
  local of = root and service.schema:type(root)
  if not of then
    lexer.fail("the service has no operations of the type " .. node.kind, node.at)
  end
  local self = { variables = variables_of(service.schema, node) }
  local build = { schema = service.schema, fragments = fragments, variable = function(...)
    check_variable(self, ...)
  end }
  selection.resolve_directives(build, node)
  local _, problem = parser.try(selection.resolve, build, of, node.selections)
  if problem then
    problem.text = build.inside and build.inside.text
    error(problem, 0)
  end
  for _, variable in ipairs(node.variables) do
    if not variable.is_used then
      lexer.fail(("the variable $%s is not used"):format(variable.name), variable.at)
    end
  end
  return of
end

-- The plan of an operation; raises what is wrong with it.
local function plan_of(service, node, fragments)
  local schema, options = service.schema, service.options
  local of = resolve(service, node, fragments)
  local input_schema = inputs.schema(schema, node.variables, options)
  local text, paged_text = print(node), nil
  local output_schema = outputs.answer(schema, of, node.selections, options)
  local page, paged = find_page(schema, node.kind == "query" and node.selections or {}, {})
  if page then
    connection.add_page_info(schema, paged.of, paged.selections)
    paged_text = print(node)
    table.remove(paged.selections) -- which may be those of a fragment that others use
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
local function add(service, list, document, node, fragments)
  local wanted = name_of(document, node)
  if not importing.wants(service.options, { name = wanted, type = node.kind }, { [wanted] = true }) then
    return
  end
  local plan, problem = parser.try(plan_of, service, node, fragments)
  if not plan then
    local at = problem.at and " (at " .. lexer.place(problem.text or document.text, problem.at) .. ")" or ""
    return service.report(document.path, ("%s: %s%s"):format(wanted, problem.message, at))
  end
  local definition = {
    namespace = service.options.namespace, name = service.name(node.kind, wanted, document.path), type = node.kind,
    description = node.description or comment_above(document.text, node.at) or node.kind .. " " .. wanted,
    _meta = operation.meta(service, node.kind, { operationName = node.name }),
  }
  list[#list + 1] = operation.finish(service, definition, {
    place = document.path, inputs = node.variables, make = function()
      return plan
    end,
  })
end

-- Reads the documents; one that cannot be read is reported.
local function read_all(service, found)
  local read, fragments = {}, {}
  for _, document in ipairs(found) do
    local parsed, problem = parser.document(document.text)
    if problem then
      service.report(document.path, lexer.place(document.text, problem.at) .. ": " .. problem.message)
    else
      document.parsed, read[#read + 1] = parsed, document
    end
    for _, fragment in ipairs(parsed and parsed.fragments or {}) do
      if fragments[fragment.name] then
        service.report(document.path, ("the fragment %q is defined twice; the first one counts"):format(fragment.name))
      end
      fragment.text = document.text
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
---@param service operations.graphql.Service
---@param list operations.Definition[]
---@param paths string[]
---@return true?
---@return operations.Error? err  a path cannot be read
function documents.add(service, list, paths)
  local found, err = documents.list(paths)
  if not found then
    return nil, err
  end
  local read, fragments = read_all(service, found)
  for _, document in ipairs(read) do
    for _, node in ipairs(document.parsed.operations) do
      add(service, list, document, node, fragments)
    end
  end
  return true
end

-- The operation of a document that is sent, by its name or the only one.
local function find_operation(list, name)
  for _, node in ipairs(list) do
    if node.name == name or name == nil and not list[2] then
      return node
    end
  end
  lexer.fail(name and ("there is no operation %q"):format(name) or "operationName must say which operation runs")
end

local function raw_request(input)
  local parsed, problem, node
  if type(input.query) == "string" then
    parsed, problem = parser.document(input.query)
  else
    return nil, operation.misfit("/query", { message = "expected a string" }, "")
  end
  if parsed then
    node, problem = parser.try(find_operation, parsed.operations, input.operationName)
  end
  if node and node.kind == "subscription" then
    problem = { message = "subscriptions are operations of their own; this one sends queries and mutations" }
  end
  if problem then
    return nil, operation.misfit("/query", problem, input.query)
  end
  return { query = input.query, variables = input.variables, operationName = input.operationName, type = node.kind }
end

--- The definition of the operation that takes any query or mutation.
---@param service operations.graphql.Service
---@return operations.Definition
function documents.any(service)
  local definition = {
    namespace = service.options.namespace, name = service.name("raw", "graphql", "graphql"), type = "mutation",
    description = "Sends a query or a mutation as it is.", _meta = operation.meta(service, "mutation", { raw = true }),
  }
  definition._meta.exposed = definition._meta.exposed and service.options.raw == true
  return operation.finish(service, definition, { place = "graphql", inputs = {}, make = function()
    return { type = "mutation", output_schema = true, request = raw_request, input_schema = {
      type = "object", required = { "query" }, additionalProperties = false, properties = {
        query = { type = "string", description = "A GraphQL document." }, variables = { type = "object" },
        operationName = { type = "string", description = "Which operation of the document runs." },
      },
    } }
  end })
end

return documents
