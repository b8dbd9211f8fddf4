--- What results of MCP's methods must look like to be used: what is not needed is not asked for, so that servers of
--- every revision, and those that add to it, pass.
local errors = require("operations.base.error")
local schema = require("operations.schema")

local shape = {}

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
---@param result table
---@return boolean ok
---@return operations.Error? err  kind "malformed"; `details.issues` by path
function shape.check(method, result)
  local checker = compiled[method]
  if checker == nil then
    checker = results[method] and assert(schema.compile(results[method])) or false
    compiled[method] = checker
  end
  if not checker then
    return true
  end
  local ok, issues = checker:check(result)
  if ok then
    return true
  end
  return false, errors.new("EXECUTION_ERROR",
    ("%s: malformed result: %s: %s"):format(method, issues[1].path, issues[1].message),
    { kind = "malformed", method = method, issues = issues })
end

return shape
