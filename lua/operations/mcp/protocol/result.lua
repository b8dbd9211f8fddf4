--- Results of MCP's methods (2024-11-05 to 2026-07-28): what they must look like to be used, and calls' results
--- (`CallToolResult` and others) as envelopes and errors. What is not needed is not asked for, so that servers of every
--- revision, and those that add to it, pass.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local mcp_failure = require("operations.mcp.protocol.failure")
local schema = require("operations.schema")

local result = {}

local text = { type = "string" }
local objects = { type = "array", items = { type = "object" } }
local cursor = { type = { "string", "null" } }
local optional = { type = { "object", "null" } } -- null, as some servers write what they leave out, is harmless

local function page(key, items)
  return { type = "object", required = { key }, properties = { [key] = items, nextCursor = cursor } }
end

local results = {
  ["initialize"] = {
    type = "object",
    required = { "protocolVersion", "capabilities" },
    properties = { protocolVersion = text, capabilities = { type = "object" }, serverInfo = optional },
  },
  ["server/discover"] = {
    type = "object",
    required = { "supportedVersions" },
    properties = { supportedVersions = { type = "array", items = text }, capabilities = optional },
  },
  ["tools/list"] = page("tools", { type = "array" }), -- each tool is judged by itself
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

-- Types of content that programs know how to read: what each must have, of which kind, and the text that it may have.
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
    block[field] = nil -- some servers write null for what they leave out
  end
  local value = field and block[field]
  return value == nil or type(value) == "string"
end

local function as_text(block)
  return { type = "text", text = assert(json.encode(block, { sort_keys = true })), _meta = { raw = block } }
end

-- The blocks as they came; of one that is malformed or that nobody knows, its JSON as text.
local function blocks_of(content)
  local blocks = core.kind(content) == "array" and content or setmetatable({}, core.array_mt)
  for i = 1, #blocks do
    if not is_readable(blocks[i]) then
      blocks[i] = as_text(blocks[i])
    end
  end
  return blocks
end

local function meta_of(value)
  return core.kind(value._meta) == "object" and value._meta or nil
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

-- The data of the only block, when that is a text of JSON that fits.
local function read_text(blocks, plan)
  local block = blocks[1]
  if #blocks ~= 1 or block.type ~= "text" or type(block.text) ~= "string" then
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

--- The envelope of a CallToolResult: `structuredContent`, whatever JSON it is, else the content blocks, or what the
--- only one says.
---@param value table  checked
---@param plan { tool: string, output?: table }  the tool and its outputSchema
---@param options { text?: "json", is_error?: "data"|"fail", on_mismatch?: "warn"|"fail" }
---@param modern? boolean  the server speaks 2026-07-28 or newer; before, a structuredContent of null is none
---@return operations.Envelope?
---@return operations.Error? err  OUTPUT_INVALID: there is no structuredContent; EXECUTION_ERROR of kind "tool": the
---  tool failed
function result.of_tool(value, plan, options, modern)
  local blocks, structured, is_error = blocks_of(value.content), value.structuredContent, value.isError == true
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
    _meta = meta_of(value) })
end

return result
