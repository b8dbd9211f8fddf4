--- Results of MCP's methods (2024-11-05 to 2026-07-28): their minimal shape, and calls' results (`CallToolResult` and
--- others) as envelopes and errors. Only required members are checked, so that servers of every revision, and
--- extensions, are accepted.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local mcp_failure = require("operations.mcp.protocol.failure")
local schema = require("operations.schema")

local result = {}

local text = { type = "string" }
local objects = { type = "array", items = { type = "object" } }
local cursor = { type = { "string", "null" } }
-- null: some servers write it for absent members; an empty array: some languages do not tell it from an empty object.
local optional = { type = { "object", "array", "null" }, maxItems = 0 }

local function page(key, items)
  return { type = "object", required = { key }, properties = { [key] = items, nextCursor = cursor } }
end

local results = {
  ["initialize"] = {
    type = "object",
    required = { "protocolVersion", "capabilities" },
    properties = { protocolVersion = text, capabilities = { type = { "object", "array" }, maxItems = 0 },
      serverInfo = optional },
  },
  ["server/discover"] = {
    type = "object",
    required = { "supportedVersions" },
    properties = { supportedVersions = { type = "array", items = text }, capabilities = optional },
  },
  ["tools/list"] = page("tools", { type = "array" }), -- each tool is checked separately
  ["resources/list"] = page("resources", objects),
  ["resources/templates/list"] = page("resourceTemplates", objects),
  ["prompts/list"] = page("prompts", objects),
  ["tools/call"] = {
    type = "object",
    properties = {
      content = { type = { "array", "null" }, items = { type = "object" } }, isError = { type = { "boolean", "null" } },
      _meta = optional,
    },
  },
  ["resources/read"] = { type = "object", required = { "contents" }, properties = { contents = objects } },
  ["prompts/get"] = { type = "object", required = { "messages" }, properties = { messages = objects } },
  ["completion/complete"] = {
    type = "object",
    required = { "completion" },
    properties = {
      completion = { type = "object", required = { "values" }, properties = { values = { type = "array" } } },
    },
  },
}

local compiled = {}

--- Checks a result.
---@param method string
---@param value table
---@return operations.Error? err  kind "malformed"; `details.issues` by path
function result.problem(method, value)
  local checker = compiled[method]
  if checker == nil then
    checker = results[method] and assert(schema.compile(results[method])) or false
    compiled[method] = checker
  end
  local ok, issues = true, nil
  if checker then
    ok, issues = checker:check(value)
  end
  return not ok and mcp_failure.new("malformed",
    ("%s: malformed result: %s: %s"):format(method, issues[1].path, issues[1].message),
    { method = method, issues = issues }) or nil
end

-- Bytes that an item of a list counts for beside its text: small ones take more memory than text.
local ITEM = 64

--- All items of a list that comes in pages. A cursor is opaque, "" is one too; no cursor, or null, is the end. A server
--- that repeats a cursor or a page, or never ends, is asked no further; a repeated page counts once.
---@param key string  of the items
---@param ask fun(cursor: string?): table?, operations.Error?  requests one page
---@return any[]? items
---@return operations.Error? err
---@return string? problem  why there may be more items
function result.collect(key, ask)
  local items, seen, pages, size, position = setmetatable({}, core.array_mt), {}, {}, 0, nil
  for _ = 1, limits.mcp_pages do
    local one, err = ask(position)
    if not one then
      return nil, err
    end
    local bytes = json.encode(one[key], { sort_keys = true }) or ""
    local is_repeated = #one[key] > 0 and pages[bytes]
    for _, item in ipairs(is_repeated and {} or one[key]) do
      items[#items + 1] = item
    end
    local last = position
    position, pages[bytes] = one.nextCursor, true
    size = size + #bytes + ITEM * #one[key]
    if position == nil or position == core.null or is_repeated and last == "" then
      return items
    elseif is_repeated or seen[position] then
      return items, nil, "the list repeats itself: the cursor of one page leads back to it"
    elseif size >= limits.mcp_list then
      return items, nil, ("the list is larger than %d bytes"):format(limits.mcp_list)
    end
    seen[position] = true
  end
  return items, nil, ("the list has more than %d pages"):format(limits.mcp_pages)
end

-- Known types of content: the required members and their types, and the member with text.
local known = {
  text = { "text", "string" }, image = { "data", "string", "mimeType" }, audio = { "data", "string", "mimeType" },
  resource = { "resource", "object" }, resource_link = { "uri", "string", "name" },
}

local function is_readable(block)
  local needs = known[block.type]
  if not needs or core.kind(block[needs[1]]) ~= needs[2] then
    return false
  end
  local field = needs[3]
  if field and block[field] == core.null then
    block[field] = nil -- some servers write null for absent members
  end
  local value = field and block[field]
  return value == nil or type(value) == "string"
end

-- Which `_meta` were added here, with the original blocks.
local raws = setmetatable({}, { __mode = "k" })

local function as_text(block)
  local meta = { raw = block }
  raws[meta] = block
  return { type = "text", text = assert(json.encode(block, { sort_keys = true })), _meta = meta }
end

-- The blocks of a result; malformed or unknown ones become their JSON as text. Also: were there any such?
local function blocks_of(content)
  local blocks = core.kind(content) == "array" and content or setmetatable({}, core.array_mt)
  local changed = blocks ~= content
  for i = 1, #blocks do
    if not is_readable(blocks[i]) then
      blocks[i], changed = as_text(blocks[i]), true
    end
  end
  return blocks, changed
end

-- Results that their envelopes do not contain completely, by the envelopes' blocks.
local originals = setmetatable({}, { __mode = "k" })

-- Members of a result that are in its envelope, or concern only one hop.
local held = { content = true, structuredContent = true, _meta = true, isError = true, resultType = true, ttlMs = true,
  cacheScope = true }

local function meta_of(value)
  return core.kind(value._meta) == "object" and value._meta or nil
end

-- Keeps the parts that the envelope lacks.
local function keep_original(value, blocks, changed)
  local more = value.isError == false
  for key in pairs(value) do
    more = more or not held[key]
  end
  if not more and not changed then
    return
  end
  local copy, content = {}, nil
  for key, member in pairs(value) do
    copy[key] = member
  end
  if value.content ~= nil then
    content = setmetatable({}, core.array_mt)
    for i = 1, #blocks do
      local meta = blocks[i]._meta
      content[i] = type(meta) == "table" and raws[meta] or blocks[i]
    end
  end
  copy.content, copy.resultType, copy.ttlMs, copy.cacheScope = content, nil, nil, nil
  copy._meta = meta_of(value)
  if type(value.isError) ~= "boolean" then
    copy.isError = nil
  end
  originals[blocks] = copy
end

--- The result from which an envelope was made, if the envelope lacks parts of it: unknown members and blocks. For
--- proxies.
---@param envelope operations.Envelope
---@return table?  must not be changed
function result.original(envelope)
  return originals[envelope.meta.content]
end

-- The first text, for messages.
local function said(blocks)
  for _, block in ipairs(blocks) do
    if block.type == "text" then
      return ": " .. block.text
    end
  end
  return ""
end

-- The data of the only block, if that is a text of JSON that fits.
local function read_text(blocks, plan)
  local block = blocks[1]
  if #blocks ~= 1 or block.type ~= "text" then
    return nil
  end
  local data, err = json.decode(block.text)
  if err or not plan.output then
    return data
  end
  plan.compiled = plan.compiled or assert(schema.compile(plan.output))
  if plan.compiled:check(data) then
    return data
  end
end

-- The data of a result without structuredContent.
local function unstructured(blocks, is_error, plan, options)
  local data
  if options.text == "json" and not is_error then
    data = read_text(blocks, plan)
  end
  if data ~= nil then
    return data
  elseif is_error then
    return blocks
  elseif plan.output and options.on_mismatch == "fail" then
    local why = "the tool declares an outputSchema and answered without structuredContent" .. said(blocks)
    return nil, errors.new("OUTPUT_INVALID", why, { { path = "", keyword = "type", message = why } })
  end
  return blocks
end

--- The envelope of a CallToolResult: the data is `structuredContent` of any JSON type, else the content blocks, or the
--- JSON of the only one.
---@param value table  checked
---@param plan { tool: string, output?: table }  the tool and its outputSchema
---@param options { text?: "json", is_error?: "data"|"fail", on_mismatch?: "warn"|"fail" }
---@param modern? boolean  the server speaks 2026-07-28 or newer; before that, a structuredContent of null counts as
---  absent
---@return operations.Envelope?
---@return operations.Error? err  OUTPUT_INVALID: there is no structuredContent; EXECUTION_ERROR of kind "tool": the
---  tool failed
function result.of_tool(value, plan, options, modern)
  local blocks, changed = blocks_of(value.content)
  local structured, is_error = value.structuredContent, value.isError == true
  keep_original(value, blocks, changed)
  local meta = meta_of(value)
  if structured == core.null and not modern then
    structured = nil
  end
  local data = structured
  if is_error and options.is_error == "fail" then
    return nil, mcp_failure.new("tool", plan.tool .. " failed" .. said(blocks),
      { tool = plan.tool, content = blocks, structuredContent = structured, _meta = meta })
  elseif data == nil then
    local err
    data, err = unstructured(blocks, is_error, plan, options)
    if err then
      return nil, err
    end
  end
  return { data = data, meta = {
    source = "mcp", isError = is_error, content = blocks, structuredContent = structured, _meta = meta,
  } }
end

-- The members that the protocol adds to results.
local protocol = { _meta = true, resultType = true, ttlMs = true, cacheScope = true, nextCursor = true }

--- The envelope of any other result: the object without the protocol's members.
---@param value table
---@param content? table[]  blocks
---@return operations.Envelope
function result.of_object(value, content)
  local data = {}
  for key, item in pairs(value) do
    if not protocol[key] then
      data[key] = item
    end
  end
  return core.mcp_envelope(data, { isError = false, content = content or setmetatable({}, core.array_mt),
    _meta = meta_of(value) })
end

return result
