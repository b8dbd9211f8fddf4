--- Operations of an HTTP API from its OpenAPI document (3.0, 3.1, 3.2; JSON).
---
--- `document`, `file` and `url` return a list of definitions for `registry:register_all`, and a report: what of the
--- document could not be taken over, each `{ pointer, message, operation? }`. A broken one never costs the others.
---
--- * The input is one flat object: parameters by name, and `body`. A name that is used twice is told apart as
---   `query.id`, `header.id`. What no parameter is called is refused.
--- * GET, HEAD and QUERY are queries, other methods mutations; responses of `text/event-stream`, NDJSON or JSON lines
---   make subscriptions. Where an operation answers either way, the subscription is called `<name>_stream`.
--- * The result is the body; an HTTP error status is an error object `HTTP_<status>` with
---   `details = { statusCode, headers, body }`.
--- * Without `config.accessControl`, `_meta.exposed` is false: the program itself may call the operation, servers do
---   not offer it to others.
local argument = require("operations.argument")
local config = require("operations.from_openapi.config")
local document = require("operations.from_openapi.document")
local errors = require("operations.error")
local fetch = require("operations.from_openapi.fetch")
local loader = require("operations.from_openapi.loader")
local location = require("operations.from_openapi.location")

local from_openapi = {}

local function read_file(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, message
  end
  local text, reason = file:read("*a")
  file:close()
  return text, reason and ("%s: %s"):format(path, reason)
end

--- Makes definitions of a parsed document. The document is not changed, and must not be afterwards.
---@param doc table
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function from_openapi.document(doc, options)
  argument.expect(doc, "table", 1, "document")
  return loader.load(doc, config.check(options))
end

--- Reads a document from a file; `$ref`s may lead to files beside it.
---@param path string
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function from_openapi.file(path, options)
  argument.expect(path, "string", 1, "file")
  local checked = config.check(options)
  local text, message = read_file(path)
  if not text then
    return nil, errors.new("EXECUTION_ERROR", message, { kind = "file", location = path })
  end
  local root, err = document.parse(text, path)
  if not root then
    return nil, err
  end
  return loader.load(root, checked, path, read_file)
end

--- Fetches a document; relative server URLs are resolved against its URL. `$ref`s to other documents are not fetched.
---@param address string  http or https
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function from_openapi.url(address, options)
  if type(address) ~= "string" or not location.is_url(address) then
    error("bad argument #1 to 'url' (an http or https URL expected)", 2)
  end
  local checked = config.check(options)
  local root, err = fetch.document(address, checked)
  if not root then
    return nil, err
  end
  return loader.load(root, checked, address)
end

return from_openapi
