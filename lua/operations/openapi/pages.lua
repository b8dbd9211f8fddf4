--- Pages: follows an answer's link to the next one, for callers that iterate (`registry:pages`).
---
--- The next page is what `config.next_page`, a function or a rule, says; else the target of `Link: <...>; rel="next"`
--- (RFC 8288), else a link of the document called "next". On another origin it is fetched without credentials,
--- configured headers and cookies.
local call = require("operations.openapi.call")
local core = require("operations.core")
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local request = require("operations.openapi.request")
local style = require("operations.openapi.style")
local url = require("operations.base.url")

local pages = {}

-- OpenAPI's Link Objects that point to the next page: a link called "next" to the same operation.

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

-- "page" or "query.page", as in the input.
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
---@return table<string, operations.openapi.NextLink>? plans  nil without links
function pages.read_links(build, operation, id, parameters)
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

-- A value that may be an expression, or a text with expressions in braces; nil when one has no value.
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
    return style.value_text(found) or tostring(found)
  end)
  return not missing and text or nil
end

local function plan_of(plans, status)
  status = tostring(status)
  return plans[status] or plans[status:sub(1, 1) .. "XX"] or plans.DEFAULT
end

-- The input of the next page; nil without one. `exchange`: input, parameters, data, headers, status, method, url.
local function linked(plans, exchange)
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

-- Rules of the configuration.

---@class operations.openapi.PageRule  one of `from`, `page` and `offset`
---@field from? string  JSON Pointer into the data: the URL of the next page, or with `to` the value of a parameter
---@field to? string  the parameter
---@field page? string  a parameter that counts pages
---@field offset? string  a parameter that counts items
---@field items? string  JSON Pointer to the items; default: the data, or its only array

local rule_names = { from = "pointer", items = "pointer", to = "name", page = "name", offset = "name" }

--- Why a rule is wrong; nil: it is right.
---@param rule table
---@return string?
function pages.rule_problem(rule)
  for name, value in pairs(rule) do
    local kind = rule_names[name]
    if not kind then
      return ("there is no %q"):format(tostring(name))
    elseif type(value) ~= "string" or kind == "pointer" and not value:find("^/") then
      return ("%s: a %s expected"):format(name, kind == "pointer" and "JSON Pointer" or "parameter's name")
    end
  end
  local ways = (rule.from and 1 or 0) + (rule.page and 1 or 0) + (rule.offset and 1 or 0)
  if ways ~= 1 then
    return "one of from, page and offset expected"
  end
  return rule.to and not rule.from and "to needs from" or nil
end

-- The rows of a text of CSV below its names.
local function rows_of(text)
  local _, lines = text:gsub('"[^"]*"', ""):gsub("[^\r\n]+", "")
  return math.max(lines - 1, 0)
end

-- How many items a page has; nil: it is no list.
local function count_of(rule, envelope)
  local data = envelope.data
  if rule.items then
    data = json_pointer.get(data, rule.items)
  elseif type(data) == "string" and (envelope.meta.contentType or ""):find("^text/csv") then
    return rows_of(data)
  elseif core.kind(data) == "object" then
    local only
    for _, value in pairs(data) do
      if core.kind(value) == "array" then
        if only then
          return nil
        end
        only = value
      end
    end
    data = only
  end
  return core.kind(data) == "array" and #data or nil
end

local function with(input, key, value)
  return members.merged(input, { [key] = value })
end

-- Where a counted parameter begins.
local function first_of(plan, key, usual)
  local property = (plan.input_schema.properties or {})[key]
  return type(property) == "table" and tonumber(property.default) or usual
end

-- As a function of the program says it: a URL, an input, false after the last page, or nil.
local function ruled(rule, plan, input, envelope)
  local name = rule.to or rule.page or rule.offset
  local key = name and key_of(plan.parameters, name)
  if name and not key then
    return nil
  elseif rule.from then
    local value = json_pointer.get(envelope.data, rule.from)
    if value == core.null or value == "" or value == false then
      return false
    end
    return value ~= nil and (key and with(input, key, value) or type(value) == "string" and value) or nil
  end
  local count = count_of(rule, envelope)
  if not count then
    return nil
  elseif count == 0 then
    return false
  elseif rule.page then
    return with(input, key, (tonumber(input[key]) or first_of(plan, key, 1)) + 1)
  end
  return with(input, key, (tonumber(input[key]) or first_of(plan, key, 0)) + count)
end

local function failure(message, address)
  return errors.new("EXECUTION_ERROR", message, { kind = "pages", url = address and url.redact(address) })
end

local is_safe = { GET = true, HEAD = true, QUERY = true }

-- A URL or an input; nil at the last page. A function of the program that gives nil does not know this operation.
local function next_of(plan, input, envelope, reply)
  local asked
  if type(plan.next_page) == "table" then
    asked = ruled(plan.next_page, plan, input, envelope)
  elseif plan.next_page then
    asked = plan.next_page(envelope, input, plan.described)
  end
  if asked ~= nil then
    return asked or nil
  elseif not is_safe[plan.method] then
    return nil
  end
  local target = reply.headers.link and header_field.link_target(reply.headers.link, "next")
  if target or not plan.links then
    return target
  end
  return linked(plan.links, {
    input = input, parameters = plan.parameters, data = envelope.data, headers = reply.headers,
    status = reply.status, method = plan.method, url = reply.url,
  })
end

-- The plan for another origin: without anything meant for this one.
local function stranger(plan)
  local copy = members.copy(plan)
  copy.security, copy.parameters, copy.body, copy.sender = {}, {}, nil, nil
  copy.head, copy.options = request.head({ Accept = plan.accept }), members.copy(plan.options)
  copy.options.jar = nil
  return copy
end

-- The URL of the next page, and its plan.
local function resolved(plan, target, reply)
  local address = url.resolve(reply.url or plan.base, target)
  local parsed, base = address and url.parse(address), url.parse(plan.base)
  if not parsed or parsed.scheme ~= "https" and parsed.scheme ~= "http" or parsed.userinfo or address:find("[%c ]") then
    return nil, failure("the next page has no valid http or https URL")
  elseif base.scheme == "https" and parsed.scheme == "http" then
    return nil, failure("the next page has an http URL, but the API uses https", address)
  elseif url.origin(parsed) == url.origin(base) then
    return address, plan
  end
  -- A server may repeat the credentials of the query in its links.
  return url.without_query(address, plan.bound_query or {}), stranger(plan)
end

local function label_of(target)
  return type(target) == "table" and (json.encode(target, { sort_keys = true }) or tostring(target)) or target
end

-- The request of the next page as { plan, input, extra }; nil at the end, or nil and an error.
local function advance(plan, input, envelope, reply, seen)
  local target = next_of(plan, input, envelope, reply)
  if target == nil then
    return nil
  elseif type(target) == "table" then
    target = { plan = plan, input = target, label = label_of(target) }
  else
    local address, usable = resolved(plan, target, reply)
    if not address then
      return nil, usable
    end
    target = { plan = usable, input = input, extra = { address = address }, label = address }
  end
  if seen[target.label] then
    return nil, failure("the pages form a cycle", target.extra and target.extra.address)
  elseif seen.count >= limits.pages then
    return nil, failure(("there are more than %d pages"):format(limits.pages),
      target.extra and target.extra.address)
  end
  seen[target.label], seen.count = true, seen.count + 1
  return target
end

--- Calls a query or mutation whose context can emit: emits every page but the last, which it returns.
---@param plan operations.openapi.Plan
---@param input table
---@param context operations.Context
---@return operations.Envelope? envelope
---@return operations.Error? err
function pages.run(plan, input, context)
  local seen = { count = 1, [label_of(input)] = true }
  local current = { plan = plan, input = input }
  while true do
    local envelope, err, reply = call.run(current.plan, current.input, context, current.extra)
    if not envelope then
      return nil, err
    end
    local items = type(plan.next_page) == "table" and plan.next_page.items
    if items and core.kind(json_pointer.get(envelope.data, items)) == "array" then
      envelope.meta.items = items
    end
    local following, problem = advance(plan, current.input, envelope, reply, seen)
    if not following and not problem then
      return envelope
    end
    context.emit(envelope)
    if problem then
      return nil, problem
    end
    current = following
  end
end

return pages
