--- Tools that stand for resources and prompts, for clients that know tools only (the option `as_tools`).
local core = require("operations.core")
local json = require("operations.base.json")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local prompts = require("operations.mcp.server.prompts")
local resources = require("operations.mcp.server.resources")

local as_tools = {}

local text, cursor = { type = "string" }, { type = "string", description = "From the previous page" }
local read_only = { readOnlyHint = true }

local function tool(name, title, description, properties, required)
  return { name = name, title = title, description = description, annotations = read_only,
    inputSchema = { type = "object", properties = properties, required = required } }
end

-- The tools of each feature, in the order of their use.
local definitions = {
  resources = {
    tool("list_resources", "List resources", "Lists what can be read by read_resource: files, records, documents.",
      { cursor = cursor }),
    tool("list_resource_templates", "List resource templates",
      "Lists patterns of URIs (RFC 6570) that read_resource takes.", { cursor = cursor }),
    tool("read_resource", "Read a resource", "Reads a resource by its URI.", { uri = text }, { "uri" }),
  },
  prompts = {
    tool("list_prompts", "List prompts", "Lists prompts with their arguments.", { cursor = cursor }),
    tool("get_prompt", "Get a prompt", "Fills in a prompt: its messages.", { name = text,
      arguments = { type = "object", additionalProperties = text } }, { "name" }),
  },
}

local function told(result)
  return { content = marks.array({ { type = "text", text = assert(json.encode(result, { keep_order = true })) } }),
    structuredContent = result }
end

-- What was read as blocks: texts and bytes are resources, as a server embeds them.
local function blocks_of(result)
  local blocks = marks.array()
  for i, part in ipairs(result.contents) do
    blocks[i] = { type = "resource", resource = part }
  end
  return { content = blocks }
end

local places = {
  list_resources = { method = resources.methods["resources/list"], shown = told },
  list_resource_templates = { method = resources.methods["resources/templates/list"], shown = told },
  read_resource = { method = resources.methods["resources/read"], shown = blocks_of },
  list_prompts = { method = prompts.methods["prompts/list"], shown = told },
  get_prompt = { method = prompts.methods["prompts/get"], shown = told },
}

--- Their names, which no other tool gets.
---@type string[]
as_tools.names = members.names(places)

--- Adds the tools to a list, if the option is set: those of features that the server has.
---@param call operations.mcp.ServerCall
---@param list table[]
---@return table[]
function as_tools.add(call, list)
  if not call.server.options.as_tools then
    return list
  end
  for _, feature in ipairs({ resources, prompts }) do
    local name = feature == resources and "resources" or "prompts"
    for _, definition in ipairs(feature.capabilities(call.server)[name] and definitions[name] or {}) do
      list[#list + 1] = members.copy(definition)
    end
  end
  return list
end

--- Is this one of the tools, and are they offered?
---@param call operations.mcp.ServerCall
---@param name string
---@return boolean
function as_tools.has(call, name)
  return call.server.options.as_tools == true and places[name] ~= nil
end

local function failed(failure)
  return { content = marks.array({ { type = "text", text = failure.message } }), isError = true }
end

--- Runs one of the tools: the method that it stands for, with the tool's input as its params.
---@param call operations.mcp.ServerCall
---@param name string
---@param input table
---@return table? result
---@return operations.mcp.Failure?
function as_tools.run(call, name, input)
  local place = places[name]
  local params = members.merged(input, { _meta = call.params._meta, inputResponses = call.params.inputResponses,
    requestState = call.params.requestState })
  local result, failure = place.method.run(setmetatable({ params = params }, { __index = call, __newindex = call }))
  if not result then
    return failed(failure)
  elseif result.resultType == "input_required" or core.kind(result) ~= "object" and type(result) ~= "table" then
    return result
  end
  return place.shown(result)
end

return as_tools
