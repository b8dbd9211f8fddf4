--- Resources: readable things with a URI (`server:resource`), or with a URI template, queries, and those of MCP servers
--- behind this one.
local base64 = require("operations.base.base64")
local bytes = require("operations.mcp.server.bytes")
local content = require("operations.mcp.server.content")
local core = require("operations.core")
local interaction = require("operations.mcp.server.interaction")
local json = require("operations.base.json")
local listing = require("operations.mcp.server.listing")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")

local resources = { methods = {} }

local Content = content.Content

---@class operations.McpResource
---@field uri? string  its URI; or `uriTemplate`
---@field uriTemplate? string  RFC 6570: "notes://{id}", "file:///{+path}", "rows://all{?page,size}"
---@field name? string  default: the URI
---@field title? string
---@field description? string
---@field mimeType? string  of the content
---@field size? integer  bytes
---@field icons? table[]
---@field annotations? table
---@field _meta? table
---@field accessControl? operations.AccessControl  callers without access do not see it
---@field complete? table<string, string[]|fun(value: string, others: table): string[]>  completions of a template's
---  variables
---@field read fun(input: table, context: operations.Context): any, any  gets the `uri` and the template's variables.
---  Returns a text, or bytes according to `mimeType`; `{ text, mimeType }`, `{ bytes, mimeType }`, `{ contents = list
---  }` of such; any other value as JSON; nothing if there is no such resource

local kinds = { uri = "string", uriTemplate = "string", mimeType = "string", size = "number", complete = "table",
  read = "function" }

--- Offers a resource, or all that match a template.
---@param self operations.mcp.Content
---@param given operations.McpResource
function resources.add(self, given)
  local kept = content.checked(given, "resource", kinds, "read")
  if (kept.uri == nil) == (kept.uriTemplate == nil) then
    error("bad argument #1 to 'resource' (either uri or uriTemplate expected)", 3)
  end
  local compiled, problem
  if kept.uriTemplate then
    compiled, problem = require("operations.mcp.server.template").compile(kept.uriTemplate)
  end
  if problem then
    error(("bad option 'uriTemplate' to 'resource' (%s)"):format(problem), 3)
  elseif kept.uri and self._resources[kept.uri] then
    error(("bad option 'uri' to 'resource' (a resource %q exists already)"):format(kept.uri), 3)
  end
  kept.name, kept.template = kept.name or kept.uri or kept.uriTemplate, compiled
  kept.id = content.add(self, "resource", kept, { handler = kept.read, inputSchema = true })
  local list = compiled and self._templates or self._resources
  list[#list + 1] = kept
  if kept.uri then
    list[kept.uri] = kept
  end
end

local function told(kept)
  return members.merged(content.told(kept), { uri = kept.uri, uriTemplate = kept.uriTemplate,
    mimeType = kept.mimeType, size = kept.size })
end

local function visible(self, call, list)
  local found = {}
  for _, kept in ipairs(list) do
    found[#found + 1] = self:shows(call, kept.id) and told(kept) or nil
  end
  return found
end

function Content:resources(call)
  return visible(self, call, self._resources)
end

function Content:templates(call)
  return visible(self, call, self._templates)
end

-- One item of `contents`.
local function item_of(value, uri, mime_type)
  if type(value) == "string" then
    local text = bytes.is_text(mime_type, value)
    return { uri = uri, mimeType = mime_type, text = text and value or nil,
      blob = not text and base64.encode(value) or nil }
  elseif type(value) == "table" and (type(value.text) == "string" or type(value.blob) == "string") then
    return members.merged({ uri = uri, mimeType = mime_type }, value)
  elseif type(value) == "table" and type(value.bytes) == "string" then
    local item = members.merged({ uri = uri, mimeType = mime_type }, value)
    item.bytes, item.blob = nil, base64.encode(value.bytes)
    return item
  end
  return { uri = uri, mimeType = mime_type or "application/json", text = assert(json.encode(value)) }
end

--- The result of `resources/read` for a value.
---@param value any
---@param uri string
---@param mime_type? string
---@return table
function resources.result(value, uri, mime_type)
  if type(value) ~= "table" or core.kind(value.contents) ~= "array" then
    return { contents = marks.array({ item_of(value, uri, mime_type) }) }
  end
  local list = marks.array()
  for i, item in ipairs(value.contents) do
    list[i] = item_of(item, uri, mime_type)
  end
  return { contents = list, _meta = value._meta }
end

-- The resource of a URI, and the input of its function.
local function find(self, uri)
  if self._resources[uri] then
    return self._resources[uri], { uri = uri }
  end
  for _, kept in ipairs(self._templates) do
    local variables = kept.template:match(uri)
    if variables then
      return kept, members.merged(variables, { uri = uri })
    end
  end
end

function Content:read(call, uri)
  local kept, input = find(self, uri)
  if not kept then
    return nil
  end
  return interaction.run(call, function(context)
    local value, failure = self:run(call, context, kept.id, input)
    if value == nil then
      return nil, failure
    end
    return resources.result(value, uri, kept.mimeType)
  end)
end

--- Completes a variable of a template.
---@param self operations.mcp.Content
---@param call operations.mcp.ServerCall
---@param params table
---@return table?
function resources.complete(self, call, params)
  for _, kept in ipairs(self._templates) do
    if kept.uriTemplate == params.ref.uri and self:shows(call, kept.id) then
      return content.completion(kept.complete and kept.complete[params.argument.name], params)
    end
  end
end

resources.methods["resources/list"] = { cached = true, run = function(call)
  return listing.page(call, "resources", "uri", "resources")
end }

resources.methods["resources/templates/list"] = { cached = true, run = function(call)
  return listing.page(call, "templates", "uriTemplate", "resourceTemplates")
end }

resources.methods["resources/read"] = { named_by = "uri", asks = true, cached = true, run = function(call)
  local uri = call.params.uri
  if type(uri) ~= "string" then
    return nil, { code = message.codes.INVALID_PARAMS, message = "resources/read: uri: string expected" }
  end
  local result, failure = listing.first(call, "read", uri)
  if result or failure then
    return result, failure
  end
  return nil, { code = call.modern and message.codes.INVALID_PARAMS or -32002, message = "Resource not found",
    data = { uri = uri } }
end }

--- Declared if there are resources, or may be.
function resources.capabilities(server)
  return listing.has(server, "resources") and { resources = { listChanged = true, subscribe = true } } or {}
end

return resources
