--- Pages: an answer that says where it goes on is followed, for callers that iterate (`registry:pages`).
---
--- The next page is what `config.next_page` says, else the target of `Link: <...>; rel="next"` (RFC 8288), else a link
--- of the document called "next". At another origin it is fetched without credentials, configured headers and cookies.
local call = require("operations.openapi.call")
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local links = require("operations.openapi.links")
local members = require("operations.base.members")
local url = require("operations.base.url")

local pages = {}

local function failure(message, address)
  return errors.new("EXECUTION_ERROR", message, { kind = "pages", url = address and url.redact(address) })
end

local is_safe = { GET = true, HEAD = true, QUERY = true }

-- A URL or an input; nil at the last page.
local function next_of(plan, input, envelope, reply)
  if plan.next_page then
    return plan.next_page(envelope, input)
  elseif not is_safe[plan.method] then
    return nil
  end
  local target = reply.headers.link and header_field.link_target(reply.headers.link, "next")
  if target or not plan.links then
    return target
  end
  return links.next(plan.links, {
    input = input, parameters = plan.parameters, data = envelope.data, headers = reply.headers,
    status = reply.status, method = plan.method, url = reply.url,
  })
end

-- The plan for another origin: nothing that is meant for this one.
local function stranger(plan)
  local copy = members.copy(plan)
  copy.security, copy.parameters, copy.headers, copy.body, copy.jar = {}, {}, nil, nil, nil
  return copy
end

-- Where the target leads, and the plan to use there.
local function resolved(plan, target, reply)
  local address = url.resolve(reply.url or plan.base, target)
  local parsed, base = address and url.parse(address), url.parse(plan.base)
  if not parsed or parsed.scheme ~= "https" and parsed.scheme ~= "http" or parsed.userinfo or address:find("[%c ]") then
    return nil, failure("the next page is at no proper http or https URL")
  elseif base.scheme == "https" and parsed.scheme == "http" then
    return nil, failure("the next page is at an http URL, of an API at https", address)
  elseif url.origin(parsed) == url.origin(base) then
    return address, plan
  end
  -- a server may repeat in its links what it was called with
  return url.without_query(address, plan.bound_query or {}), stranger(plan)
end

local function label_of(target)
  return type(target) == "table" and (json.encode(target, { sort_keys = true }) or tostring(target)) or target
end

-- Goes on from an answer: the next request as { plan, input, address }, or nil at the end, or nil and an error.
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
    target = { plan = usable, input = input, address = address, label = address }
  end
  if seen[target.label] then
    return nil, failure("the pages go in a circle", target.address)
  elseif seen.count >= limits.pages then
    return nil, failure(("there are more than %d pages"):format(limits.pages), target.address)
  end
  seen[target.label], seen.count = true, seen.count + 1
  return target
end

-- Emits every page but the last, which is returned as a handler's result is.
local function run(plan, input, context)
  local seen = { count = 1, [label_of(input)] = true }
  local current = { plan = plan, input = input }
  while true do
    local envelope, err, reply = call.run(current.plan, current.input, context, current.address)
    if not envelope then
      return nil, err
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

--- The handler of a query or mutation: of one answer, or of its pages where the context can emit.
---@param plan operations.openapi.Plan
---@return fun(input: table, context: any): operations.Envelope?, operations.Error?
function pages.handler(plan)
  return function(input, context)
    if type(context) == "table" and rawget(context, "emit") then
      return run(plan, input or {}, context)
    end
    local envelope, err = call.run(plan, input or {}, context)
    return envelope, err
  end
end

return pages
