--- Operations of a GraphQL service: its root fields, and the operations of documents.
---
--- `document`, `file` and `url` return a list of definitions for `registry:register_all`, and a report of what could
--- not be imported, each `{ pointer, message }`; the pointer is a schema coordinate, such as "Query.repository".
---
--- * The input has the arguments of the field, and `select`: the fields to return. It is parsed, checked against the
---   types and printed again, so a call never leaves the field that was called.
--- * Types are read and schemas made on first use.
--- * Without `config.accessControl`, `_meta.exposed` is false: the program itself may call the operation, but servers
---   do not offer it to others.
local argument = require("operations.base.argument")
local config = require("operations.graphql.config")
local documents = require("operations.graphql.documents")
local errors = require("operations.base.error")
local exchange = require("operations.graphql.exchange")
local files = require("operations.base.files")
local importing = require("operations.registry.importing")
local introspection = require("operations.graphql.introspection")
local json = require("operations.base.json")
local lexer = require("operations.graphql.lexer")
local locations = require("operations.openapi.location")
local lru = require("operations.base.lru")
local parser = require("operations.graphql.parser")
local result = require("operations.graphql.result")
local root_field = require("operations.graphql.root_field")
local schemas = require("operations.graphql.schema")
local sdl = require("operations.graphql.sdl")
local url = require("operations.base.url")

---@class operations.from_graphql
local from_graphql = {}

local kinds = { "query", "mutation", "subscription" }

-- Gives each operation a name of its own: a mutation with the name of a query gets "_mutation".
local function namer(report)
  local taken = {}
  return function(kind, wanted, place)
    local name = wanted
    while taken[name] do
      name = name .. "_" .. kind
    end
    if name ~= wanted then
      report(place, ("the name %q is taken; this operation is called %q"):format(wanted, name))
    end
    taken[name] = true
    return name
  end
end

local QUERIES, QUERY_BYTES = 1000, 1024 * 1024 -- texts of queries that are kept for a service

-- What all operations of a service share.
local function new_shared(schema, options)
  local report, endpoint = {}, nil
  local function add(pointer, message)
    report[#report + 1] = { pointer = pointer, message = message }
  end
  return {
    schema = schema, options = options, problems = report, report = add, name = namer(add),
    texts = lru.new(QUERIES, QUERY_BYTES),
    endpoint = function()
      endpoint = endpoint or exchange.new(options)
      return endpoint
    end,
  }
end

local function add_fields(service, list, kind)
  local root = service.schema.roots[kind]
  local of = root and service.schema:type(root)
  for _, message in ipairs(of and of.problems or {}) do
    service.report(root, message)
  end
  for _, field in ipairs(of and of.fields or {}) do
    local place = root .. "." .. field.name
    if importing.wants(service.options, { name = field.name, type = kind, deprecated = field.deprecated ~= nil },
        { [field.name] = true, [place] = true }) then
      list[#list + 1] = root_field.definition(service, kind, place, field)
    end
  end
end

local function load(reader, options)
  local service, list = new_shared(schemas.new(reader), options), {}
  local ok, err = documents.add(service, list, options.documents)
  if not ok then
    return nil, err
  end
  for _, kind in ipairs(options.fields ~= false and kinds or {}) do
    local _, problem = parser.try(add_fields, service, list, kind)
    if problem then
      service.report(service.schema.roots[kind], problem.message)
    end
  end
  if not next(service.schema.roots) then
    service.report("Query", "there are no types Query, Mutation and Subscription")
  end
  local raw = { name = "graphql", type = "mutation" }
  if options.raw ~= false and importing.wants(options, raw, { graphql = true }) then
    list[#list + 1] = documents.any(service)
  end
  for _, definition in ipairs(options.eager and list or {}) do
    pcall(definition.inputSchema) -- what is wrong is in the report
  end
  return list, service.problems
end

-- The reader of SDL or of the JSON of an introspection answer; or nil and the error.
local function reader_of(source, where)
  local reader, problem
  if type(source) == "table" then
    reader, problem = result.reader(source)
  else
    reader, problem = sdl.reader(source)
  end
  if reader then
    return reader
  end
  local place = problem.at and lexer.place(source, problem.at) .. ": " or ""
  return nil, errors.new("EXECUTION_ERROR", ("%s: %s%s"):format(where, place, problem.message),
    { kind = "document", location = where })
end

--- Makes definitions of a service's types.
---@param source string|table  SDL, or the answer to an introspection query
---@param options? operations.graphql.Config
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string }[]|operations.Error report
function from_graphql.document(source, options)
  if type(source) ~= "string" then
    argument.expect(source, "table", 1, "document")
  end
  local checked = config.check(options)
  local reader, err = reader_of(source, "document")
  if not reader then
    return nil, err
  end
  return load(reader, checked)
end

--- Reads the types of a service from a file: SDL, or the JSON of an introspection answer.
---@param path string  the name of JSON ends in ".json"
---@param options? operations.graphql.Config
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string }[]|operations.Error report
function from_graphql.file(path, options)
  argument.expect(path, "string", 1, "file")
  local checked = config.check(options)
  local source, message = files.read(path)
  if source and path:find("%.json$") then
    source, message = json.decode(source)
    message = not source and path .. ": " .. message.message or nil
  end
  if type(source) ~= "string" and type(source) ~= "table" then
    return nil, errors.new("EXECUTION_ERROR", message or path .. ": expected an object",
      { kind = "file", location = path })
  end
  local reader, err = reader_of(source, path)
  if not reader then
    return nil, err
  end
  return load(reader, checked)
end

--- Asks a service for its types (introspection). A service that refuses to tell them needs `file`, or the URL of a file
--- (`.graphql`, `.graphqls`, `.gql`).
---@param address string  http or https
---@param options? operations.graphql.Config
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string }[]|operations.Error report
function from_graphql.url(address, options)
  if type(address) ~= "string" or not locations.base(address) then
    error("bad argument #1 to 'url' (an http or https URL expected)", 2)
  end
  local checked = config.check(options)
  checked.endpoint = checked.endpoint or not introspection.is_file(address) and address or nil
  local answer, err = introspection.fetch(address, checked)
  local reader
  if answer then
    reader, err = reader_of(answer, url.redact(address))
  end
  if not reader then
    return nil, err
  end
  return load(reader, checked)
end

return from_graphql
