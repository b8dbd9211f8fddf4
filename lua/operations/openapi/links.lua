--- OpenAPI's Link Objects as far as they lead to the next page: a link called "next" to the same operation.
local core = require("operations.core")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local members = require("operations.base.members")

local links = {}

---@class operations.openapi.NextLink
---@field parameters table<string, any>  by key of the input: a constant or a runtime expression
---@field body? any

local function leads_here(build, link, operation, id)
  local reference = link.operationRef
  if type(reference) == "string" then
    local place = build.source:lookup(reference, operation.file)
    return place ~= nil and place.node == operation.node
  end
  return id ~= nil and link.operationId == id
end

-- "page" or "query.page", as the input calls it.
local function key_of(parameters, wanted)
  for _, param in ipairs(parameters) do
    if wanted == param.location .. "." .. param.name or wanted == param.name then
      return param.key
    end
  end
end

local function read_link(link, parameters)
  local plan = { parameters = {}, body = link.requestBody }
  for name, value in pairs(type(link.parameters) == "table" and link.parameters or {}) do
    local key = key_of(parameters, name)
    if not key then
      return nil
    end
    plan.parameters[key] = value
  end
  return plan
end

--- Reads the links to the next page, by status code ("200", "2XX", "DEFAULT").
---@param build table
---@param operation operations.openapi.Place
---@param id? string  its operationId
---@param parameters operations.openapi.Parameter[]
---@return table<string, operations.openapi.NextLink>? plans  nil when there are none
function links.read(build, operation, id, parameters)
  local responses, plans = build.source:child(operation, "responses"), nil
  for status in pairs(responses and responses.node or {}) do
    local response = build.source:child(responses, status)
    local all = response and build.source:child(response, "links")
    for name in pairs(all and all.node or {}) do
      local link = tostring(name):lower():find("^next") and build.source:child(all, name)
      if link and leads_here(build, link.node, operation, id) then
        plans = plans or {}
        plans[tostring(status):upper()] = read_link(link.node, parameters)
      end
    end
  end
  return plans
end

-- Runtime expressions (OpenAPI 3.2.0, 4.20.4).
local sources = {}

function sources.response(rest, exchange)
  local name = rest:match("^header%.(.+)$")
  if name then
    return exchange.headers[name:lower()]
  end
  local pointer = rest:match("^body#?(.*)$")
  return pointer and json_pointer.get(exchange.data, pointer)
end

function sources.request(rest, exchange)
  local pointer = rest:match("^body#?(.*)$")
  if pointer then
    return json_pointer.get(exchange.input.body, pointer)
  end
  local key = key_of(exchange.parameters, rest)
  return key and exchange.input[key]
end

local function expression(text, exchange)
  if text == "$statusCode" then
    return exchange.status
  elseif text == "$method" then
    return exchange.method
  elseif text == "$url" then
    return exchange.url
  end
  local source, rest = text:match("^%$(%a+)%.(.+)$")
  return sources[source] and sources[source](rest, exchange)
end

-- A value that may be an expression, or a text with expressions in braces; nil when one of them gives nothing.
local function evaluate(value, exchange)
  if type(value) ~= "string" then
    return value
  elseif value:find("^%$") then
    return expression(value, exchange)
  end
  local missing = false
  local text = value:gsub("{(%$[^}]*)}", function(inner)
    local found = expression(inner, exchange)
    missing = missing or found == nil or found == core.null
    return type(found) == "table" and json.encode(found) or tostring(found)
  end)
  return not missing and text or nil
end

local function plan_of(plans, status)
  status = tostring(status)
  return plans[status] or plans[status:sub(1, 1) .. "XX"] or plans.DEFAULT
end

--- The input of the next page; nil when the answer names none.
---@param plans table<string, operations.openapi.NextLink>
---@param exchange { input: table, parameters: table, data: any, headers: table, status: integer, method: string,
---  url: string }
---@return table? input
function links.next(plans, exchange)
  local plan = plan_of(plans, exchange.status)
  if not plan then
    return nil
  end
  local input = members.merged(exchange.input)
  for key, value in pairs(plan.parameters) do
    local found = evaluate(value, exchange)
    if found == nil or found == core.null or found == "" then
      return nil
    end
    input[key] = found
  end
  if plan.body ~= nil then
    input.body = evaluate(plan.body, exchange)
  end
  return input
end

return links
