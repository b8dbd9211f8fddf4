--- The output of an operation: the schemas of its result and errors, and the `Accept` header.
local media = require("operations.openapi.media")

local outputs = {}

--- The responses by status code, in order, with references followed.
local function responses_of(build, operation)
  local all = build.source:child(operation, "responses")
  local list = {}
  for status in pairs(all and all.node or {}) do
    local code = tostring(status):upper()
    if code:find("^[1-5]%d%d$") or code:find("^[1-5]XX$") or code == "DEFAULT" then
      local place, message = build.source:child(all, status)
      if place then
        list[#list + 1] = { status = code, place = place }
      elseif message then
        build.report(all.pointer .. "/" .. status, message)
      end
    end
  end
  table.sort(list, function(a, b)
    return a.status < b.status
  end)
  return list
end

--- The successful ones: 2xx and 2XX, else the default.
local function successes(list)
  local found, default = {}, nil
  for _, response in ipairs(list) do
    if response.status:sub(1, 1) == "2" then
      found[#found + 1] = response
    elseif response.status == "DEFAULT" then
      default = response
    end
  end
  return #found > 0 and found or { default }
end

local function content_of(build, response)
  return build.source:child(response.place, "content")
end

--- The place of a media type's schema; `itemSchema` (3.2) describes one item of a stream.
local function schema_place(build, content, name, key)
  local kind = build.source:child(content, name)
  return kind and build.source:member(kind, key)
end

--- Sorts the media types of the successful responses: JSON, streams, others.
local function survey(build, list)
  local found = { json = {}, stream = {}, other = {}, schemas = {} }
  for _, response in ipairs(list) do
    local content = content_of(build, response)
    for _, name in ipairs(media.names(content and content.node)) do
      local essence = media.essence(name)
      local group = media.is_json(essence) and "json" or media.stream_kind(essence) and "stream" or "other"
      if not found[group][name] then
        found[group][name] = true
        table.insert(found[group], { name = name, content = content })
      end
      if group == "json" then
        found.schemas[#found.schemas + 1] = schema_place(build, content, name, "schema") or false
      end
    end
  end
  return found
end

local function unique(build, places)
  local list, seen = {}, {}
  for _, place in ipairs(places) do
    local target = place and build.source:follow(place)
    if not target then
      return {} -- one response that may be anything
    elseif not seen[target.node] then
      seen[target.node] = true
      list[#list + 1] = place
    end
  end
  return list
end

-- The media type of bodies other than JSON: the document's, else that of any bytes.
local function body_media(group)
  local name = group[1].name
  return group[2] == nil and not name:find("*", 1, true) and name or "application/octet-stream"
end

--- The schema of a result: of the only JSON response, or any of several.
local function result_schema(build, found)
  local places = unique(build, found.schemas)
  if #places == 1 then
    return build.converter:whole(places[1], "output")
  elseif places[1] then
    local used, any = {}, {}
    for i, place in ipairs(places) do
      any[i] = build.converter:convert(place, "output", used)
    end
    return build.converter:complete({ anyOf = any }, used, "output")
  end
  if #found.json == 0 and #found.other > 0 then
    return { type = "string", contentMediaType = body_media(found.other) }
  end
  return true
end

local function names_of(group)
  local names = {}
  for i, entry in ipairs(group) do
    names[i] = entry.name
  end
  return names
end

local function is_plain_string(node)
  if type(node) ~= "table" then
    return true -- nothing says that it is JSON
  elseif type(node.type) == "table" then
    return #node.type == 1 and node.type[1] == "string"
  end
  return node.type == "string"
end

--- 3.2: an item of an event stream is { data, event, id, retry }; its data is passed on.
local function event_place(build, place)
  local target = build.source:follow(place)
  local properties = target and build.source:child(target, "properties")
  return properties and build.source:child(properties, "data")
end

--- The schema of one item of a stream: `itemSchema` (`x-itemSchema` before 3.2), else `schema`. Since 3.2 `schema`
--- describes the array of all items; before, one item.
local function item_place(build, entry)
  local item = schema_place(build, entry.content, entry.name, "itemSchema")
    or schema_place(build, entry.content, entry.name, "x-itemSchema")
  local place = item or schema_place(build, entry.content, entry.name, "schema")
  local target = not item and place and build.source:follow(place)
  if target and build.sequential and type(target.node) == "table" and target.node.type == "array" then
    return build.source:member(target, "items"), true
  end
  return place, item ~= nil
end

--- The schema of one event, and whether its data is JSON: if its schema is not a string, or has `contentMediaType:
--- application/json`. Without a schema data is a string.
local function event_schema(build, entry)
  local is_events = media.stream_kind(media.essence(entry.name)) == "events"
  local place, is_item = item_place(build, entry)
  if place and is_item and is_events then
    place = event_place(build, place)
  end
  local target = place and build.source:follow(place)
  local node = target and target.node
  if is_events and type(node) == "table" and media.is_json(media.essence(node.contentMediaType)) then
    local inner = build.source:member(target, "contentSchema")
    return inner and build.converter:whole(inner, "output") or true, true
  elseif not target then
    return is_events and { type = "string" } or true, not is_events
  end
  return build.converter:whole(place, "output"), not is_events or not is_plain_string(target.node)
end

--- The schema of an error's details, `{ statusCode, headers, body }`; made once per body schema.
local function details_schema(build, place)
  local target = place and build.source:follow(place)
  local cached = target and build.error_details[target.node]
  if cached then
    return cached
  end
  local used = {}
  local schema = {
    type = "object",
    properties = {
      statusCode = { type = "integer" },
      headers = { type = "object" },
      body = target and build.converter:convert(place, "output", used) or nil,
    },
    required = { "statusCode" }, -- what remote callers read has no headers
  }
  schema = build.converter:complete(schema, used, "output")
  if target then
    build.error_details[target.node] = schema
  end
  return schema
end

local function json_place(build, response)
  local content = content_of(build, response)
  local name = media.names(content and content.node)[1]
  return name and media.is_json(media.essence(name)) and schema_place(build, content, name, "schema") or nil
end

-- The codes of a range, or of statuses that the document does not list.
local function pattern_of(status)
  if status == "DEFAULT" then
    return "^HTTP_[0-9]{3}$"
  end
  return status:find("XX$") and ("^HTTP_%s[0-9]{2}$"):format(status:sub(1, 1)) or nil
end

local function error_schemas(build, list, successful)
  local schemas = {}
  for _, response in ipairs(list) do
    if response.status:find("^[45]") or response.status == "DEFAULT" and successful[1] ~= response then
      local description = response.place.node.description
      schemas[#schemas + 1] = {
        code = "HTTP_" .. response.status,
        pattern = pattern_of(response.status),
        description = type(description) == "string" and description or "",
        schema = details_schema(build, json_place(build, response)),
      }
    end
  end
  return #schemas > 0 and schemas or nil
end

local function declared_redirects(list)
  local declared
  for _, response in ipairs(list) do
    if response.status:sub(1, 1) == "3" then
      declared = declared or {}
      declared[response.status] = true
    end
  end
  return declared
end

-- By status code: are all its media types JSON? Without those that declare none.
local function declared_json(build, list)
  local declared = {}
  for _, response in ipairs(list) do
    local content = content_of(build, response)
    for _, name in ipairs(media.names(content and content.node)) do
      declared[response.status] = declared[response.status] ~= false and media.is_json(media.essence(name))
    end
  end
  return declared
end

-- The header fields that the responses declare, in lower case.
local function declared_headers(build, list)
  local names = {}
  for _, response in ipairs(list) do
    local headers = build.source:child(response.place, "headers")
    for name in pairs(headers and type(headers.node) == "table" and headers.node or {}) do
      names[tostring(name):lower()] = true
    end
  end
  return names
end

--- Is this the name of a stream's type? Cached: documents repeat a few.
local function is_stream(build, name)
  local known = build.stream_names
  if known[name] == nil then
    known[name] = media.stream_kind(media.essence(name)) ~= nil
  end
  return known[name]
end

local function has_stream(shared, response)
  local content = response.content
  for name in pairs(type(content) == "table" and content or {}) do
    if is_stream(shared, name) then
      return true
    end
  end
  return false
end

-- As `has_stream`, references followed. Those are cached: documents repeat those of errors.
local function answers_stream(shared, response, file)
  local ref = response["$ref"]
  local place = type(ref) == "string" and shared.source:lookup(ref, file) or nil
  local known = place and shared.streams[place]
  local target = place and known == nil and shared.source:follow(place)
  if target and type(target.node) == "table" then
    known = has_stream(shared, target.node)
    shared.streams[place] = known
  end
  if known == nil then
    return has_stream(shared, response)
  end
  return known
end

--- Has any response a stream, whatever its status? Fast, as it is called for every operation and rarely true.
---@param shared table
---@param operation operations.openapi.Place
---@return boolean
function outputs.may_stream(shared, operation)
  local responses = operation.node.responses
  for _, response in pairs(type(responses) == "table" and responses or {}) do
    if type(response) == "table" and answers_stream(shared, response, operation.file) then
      return true
    end
  end
  return false
end

--- The kind of answer: a value, a stream of values, or either. Reads media types only.
---@param build table
---@param operation operations.openapi.Place
---@return boolean has_value
---@return boolean has_stream
function outputs.kinds(build, operation)
  local found = survey(build, successes(responses_of(build, operation)))
  return #found.stream == 0 or #found.json > 0, #found.stream > 0
end

--- Reads the responses of an operation.
---@param build table
---@param operation operations.openapi.Place
---@return table  { value = { accept, schema }?, stream = { accept, schema, json }?, errors, redirects, json }
function outputs.read(build, operation)
  local list = responses_of(build, operation)
  local successful = successes(list)
  local found = survey(build, successful)
  local result = { errors = error_schemas(build, list, successful), redirects = declared_redirects(list),
    json = declared_json(build, list), headers = declared_headers(build, list) }
  local stream = found.stream[1]
  if stream then
    local schema, is_json = event_schema(build, stream)
    result.stream = { accept = stream.name, schema = schema, json = is_json }
  end
  if not stream or #found.json > 0 then
    local names = names_of(#found.json > 0 and found.json or found.other)
    local accept = #names > 0 and table.concat(names, ", ") or "application/json, */*;q=0.8"
    result.value = { accept = accept, schema = result_schema(build, found) }
  end
  return result
end

return outputs
