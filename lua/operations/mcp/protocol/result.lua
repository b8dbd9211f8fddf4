--- Results of MCP's calls (`CallToolResult` and others, 2024-11-05 to 2026-07-28) as envelopes and errors.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")

local result = {}

-- Types of content that programs know how to read.
local known = { text = "text", image = "data", audio = "data", resource = "resource", resource_link = "uri" }

local function as_text(block)
  return { type = "text", text = assert(json.encode(block, { sort_keys = true })), _meta = { raw = block } }
end

-- The blocks as they came; one that nobody knows is text besides: its JSON.
local function blocks_of(content)
  local blocks = core.kind(content) == "array" and content or setmetatable({}, core.array_mt)
  for i = 1, #blocks do
    local block = blocks[i]
    local key = known[block.type]
    if not key or block[key] == nil then
      blocks[i] = as_text(block)
    end
  end
  return blocks
end

-- The first text, for people.
local function said(blocks)
  for _, block in ipairs(blocks) do
    if block.type == "text" and type(block.text) == "string" then
      return ": " .. block.text
    end
  end
  return ""
end

--- The envelope of a CallToolResult: `structuredContent`, whatever JSON it is, else the content blocks.
---@param value table  checked by `shape`
---@param options? { structured?: boolean }  structured: a result without structuredContent is a failure
---@return operations.Envelope?
---@return operations.Error? err  kind "output"
function result.of_tool(value, options)
  local blocks, structured, is_error = blocks_of(value.content), value.structuredContent, value.isError == true
  local data = structured
  if data == nil then
    if options and options.structured and not is_error then
      return nil, errors.new("EXECUTION_ERROR",
        "the tool declares an outputSchema and answered without structuredContent" .. said(blocks),
        { kind = "output", content = blocks })
    end
    data = blocks
  end
  return { data = data, meta = {
    source = "mcp", isError = is_error, content = blocks, structuredContent = structured,
    _meta = value._meta ~= core.null and value._meta or nil,
  } }
end

-- What the protocol adds to results.
local protocol = { _meta = true, resultType = true, ttlMs = true, cacheScope = true, nextCursor = true }

--- The envelope of any other result: the object without what is the protocol's.
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
    _meta = value._meta })
end

return result
