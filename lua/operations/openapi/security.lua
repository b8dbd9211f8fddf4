--- Selects the credentials of a request: by the operation's security requirement, from the configured ones.
--- Requirements are alternatives; within one, all schemes are needed.
local json_pointer = require("operations.base.json_pointer")
local location = require("operations.openapi.location")
local members = require("operations.base.members")
local token = require("operations.oauth.token")

local security = {}

--- How a scheme's credential is made; nil for unsupported schemes.
local function kind_of(scheme)
  if type(scheme) ~= "table" then
    return nil
  elseif scheme.type == "apiKey" then
    local known = scheme["in"] == "header" or scheme["in"] == "query" or scheme["in"] == "cookie"
    return known and type(scheme.name) == "string" and "apiKey" or nil
  elseif scheme.type == "oauth2" or scheme.type == "openIdConnect" then
    return "bearer"
  elseif scheme.type == "http" and type(scheme.scheme) == "string" then
    local name = scheme.scheme:lower()
    return (name == "bearer" or name == "basic") and name or nil
  end
  return scheme.type == "mutualTLS" and "mutualTLS" or nil
end

-- Kinds of the simple form, and the schemes that they apply to.
local simple_kinds = {
  bearer = "bearer", basic = "basic", apiKey = "apiKey", oauth2 = "bearer", mutualTLS = "mutualTLS",
}

-- The kind of a scheme's credential in two or three words.
local function words_of(scheme)
  if type(scheme) ~= "table" then
    return "unknown scheme"
  elseif scheme.type == "apiKey" then
    return ("API key in %s %s"):format(tostring(scheme["in"]), tostring(scheme.name))
  elseif scheme.type == "http" then
    return "HTTP " .. tostring(scheme.scheme):lower()
  end
  local names = { oauth2 = "OAuth 2", openIdConnect = "OpenID Connect", mutualTLS = "client certificate" }
  return names[scheme.type] or tostring(scheme.type)
end

--- Security requirements as text: one of them must be met.
---@param requirements any
---@param schemes table<string, table>
---@return string[]?  nil without requirements
function security.names(requirements, schemes)
  local list = {}
  for _, requirement in ipairs(type(requirements) == "table" and requirements or {}) do
    local parts = {}
    for _, name in ipairs(type(requirement) == "table" and members.names(requirement) or {}) do
      local scopes = {}
      for _, scope in ipairs(type(requirement[name]) == "table" and requirement[name] or {}) do
        scopes[#scopes + 1] = type(scope) == "string" and scope or nil
      end
      parts[#parts + 1] = ("%s (%s%s)"):format(name, words_of(schemes[name]),
        scopes[1] and ": " .. table.concat(scopes, " ") or "")
    end
    list[#list + 1] = #parts > 0 and table.concat(parts, " and ") or "nothing"
  end
  return #list > 0 and list or nil
end

--- Is this the simple form `{ type = "bearer", token = ... }`?
---@param auth any
---@return boolean
function security.is_simple(auth)
  return type(auth) == "table" and simple_kinds[auth.type] ~= nil
end

-- The simple forms of a configuration: itself, or those in its list.
local function simple_forms(auth)
  return security.is_simple(auth) and { auth } or auth
end

-- The credential configured for a scheme: by its name, else in the simple form, if the kinds agree.
local function configured(auth, name, scheme)
  if not security.is_simple(auth) and auth[name] ~= nil then
    return auth[name]
  end
  for _, form in ipairs(simple_forms(auth)) do
    if security.is_simple(form) and simple_kinds[form.type] == kind_of(scheme) then
      return form, true
    end
  end
end

-- The token endpoint of a flow. For a refresh token any flow's is valid.
local function endpoint_of(scheme, value)
  local flows = type(scheme.flows) == "table" and scheme.flows or {}
  if not value.refresh_token then
    local flow = flows.clientCredentials
    return type(flow) == "table" and flow.tokenUrl or nil
  end
  for _, name in ipairs({ "authorizationCode", "deviceAuthorization", "password", "clientCredentials" }) do
    local flow = type(flows[name]) == "table" and flows[name]
    local found = flow and (flow.refreshUrl or flow.tokenUrl)
    if type(found) == "string" then
      return found
    end
  end
end

local token_fields = {
  "client_id", "client_secret", "client_auth", "refresh_token", "scope", "resource", "params", "on_token",
}

-- A token without scopes of its own gets those that the operation requires. A refresh token keeps its own: a server may
-- accept it only once, so there must be only one token.
local function token_options(value, scheme, scopes, options)
  local chosen = { http = options.http, ca_file = options.ca_file, proxy = options.proxy }
  for _, field in ipairs(token_fields) do
    chosen[field] = value[field]
  end
  if chosen.scope == nil and not value.refresh_token and type(scopes) == "table" and #scopes > 0 then
    chosen.scope = table.concat(scopes, " ")
  end
  chosen.token_endpoint = value.token_endpoint or endpoint_of(scheme, value)
  if type(chosen.token_endpoint) == "string" and options.location then
    chosen.token_endpoint = location.resolve(options.location, chosen.token_endpoint)
  end
  return chosen
end

-- By the table in config.auth, then by endpoint and scope: operations share tokens.
local sources = setmetatable({}, { __mode = "k" })

-- The source of an OAuth token, or the reason why there is none.
local function source_of(value, scheme, scopes, options)
  local chosen = token_options(value, scheme, scopes, options)
  if chosen.token_endpoint == nil then
    return nil, "the document names no token endpoint; give token_endpoint beside client_id"
  end
  sources[value] = sources[value] or {}
  local scope = type(chosen.scope) == "table" and table.concat(chosen.scope, " ") or chosen.scope
  local key = tostring(chosen.token_endpoint) .. " " .. tostring(scope)
  if not sources[value][key] then
    local ok, result = pcall(token.source, chosen)
    if not ok then
      return nil, (tostring(result):gsub("^.-token%.source: ", ""))
    end
    sources[value][key] = result
  end
  return sources[value][key]
end

-- The program's own source of tokens in a value, or nil.
local function given_source(value)
  local given = type(value) == "table" and (value.token or value)
  return type(given) == "table" and type(given.get) == "function" and type(given.refuse) == "function" and given or nil
end

local function new_step(name, kind, scheme, value, scopes, options)
  local step = { kind = kind, scheme = scheme, name = name, value = value }
  local source = kind == "bearer" and given_source(value)
  if source then
    step.kind, step.source = "oauth", source
  elseif kind == "bearer" and type(value) == "table" and value.client_id ~= nil then
    step.kind = "oauth"
    step.source, step.problem = source_of(value, scheme, scopes, options)
  end
  return step
end

-- "header x-key": a place that the input, the configured headers or the jar may fill.
local function place_of(scheme)
  return scheme["in"] .. " " .. (scheme["in"] == "header" and scheme.name:lower() or scheme.name)
end

-- May something other than config.auth give the credential of a scheme? It is also taken for given when the document
-- lacks the scheme.
local function is_elsewhere(scheme, options)
  local kind, given = kind_of(scheme), options.elsewhere or {}
  if type(scheme) ~= "table" then
    return true
  elseif kind == "apiKey" then
    return given[place_of(scheme)] == true or scheme["in"] == "cookie" and given.jar == true
  elseif kind == "mutualTLS" then
    return given.certificate == true
  end
  return given["header authorization"] == true
end

local function joined(names, schemes)
  local texts = {}
  for i, name in ipairs(names) do
    texts[i] = ("%q (%s)"):format(name, words_of(schemes[name]))
  end
  return table.concat(texts, " and ")
end

-- A step that fails the call, before a request is sent; `steps` are those that could be made.
local function broken_step(name, problem, steps)
  return { { kind = "none", name = name, problem = problem, steps = steps } }
end

-- One requirement as steps; nil when a credential for it is not configured, and then a step that fails if others are.
local function steps_of(requirement, schemes, options)
  local steps, missing, keys = {}, {}, {}
  for _, name in ipairs(members.names(requirement)) do
    local scheme = schemes[name]
    local kind = kind_of(scheme)
    local value, is_simple = configured(options.auth, name, scheme)
    if kind and value ~= nil then
      keys[#keys + 1] = is_simple and kind == "apiKey" and name or nil
      steps[#steps + 1] = new_step(name, kind, scheme, value, requirement[name], options)
    elseif not is_elsewhere(scheme, options) then
      missing[#missing + 1] = name
    end
  end
  if keys[2] then
    return nil, broken_step(keys[1], ("one API key is given, but %s need one each: give them by name, as "
      .. "{ [%q] = ..., [%q] = ... } or --api-key NAME=KEY"):format(joined(keys, schemes), keys[1], keys[2]), steps)
  elseif missing[1] then
    return nil, steps[1] and broken_step(missing[1], ("it is required together with %q, which is configured; %s is not")
      :format(steps[1].name, joined(missing, schemes)), steps) or nil
  end
  return steps[1] and steps
end

-- The steps of the simple form when the document's requirements do not name its kind.
local function simple_steps(auth, options)
  local steps = {}
  for i, form in ipairs(simple_forms(auth)) do
    local scheme = { ["in"] = form["in"] or "header", name = form.name or "X-API-Key" }
    steps[i] = security.is_simple(form) and new_step(form.type, simple_kinds[form.type], scheme, form, nil, options)
      or nil
  end
  return steps
end

--- Selects the credentials of an operation's requests: those of the first requirement that is configured. If there is
--- none but a part of one is, the call fails.
---@param requirements any  the operation's `security`, else the document's
---@param schemes table<string, table>  `components.securitySchemes`, references followed
---@param options { auth: table?, http: table?, ca_file: string?, proxy: string|false?, location: string?, elsewhere:
---  table<string, boolean>? }  `elsewhere`: "header x-key", ... that the input or configured headers may have, `jar`,
---  `certificate`
---@return operations.openapi.CredentialStep[] steps  for `credential.make`
function security.plan(requirements, schemes, options)
  local auth = options.auth
  if not auth then
    return {}
  end
  local is_public, is_optional, partial = type(requirements) == "table", false, nil
  for _, requirement in ipairs(is_public and requirements or {}) do
    if type(requirement) == "table" and next(requirement) ~= nil then
      is_public = false
      local steps, broken = steps_of(requirement, schemes, options)
      if steps then
        return steps
      end
      partial = partial or broken
    else
      is_optional = true
    end
  end
  if partial and not is_optional then
    return partial
  end
  return not is_public and simple_steps(auth, options) or {}
end

--- The places of the API keys among the steps: parameters of these names are not asked for.
---@param steps operations.openapi.CredentialStep[]
---@return table<string, string>  "header x-key" -> name of the scheme
function security.places(steps)
  local places = {}
  for _, step in ipairs(steps[1] and steps[1].steps or steps) do
    if step.kind == "apiKey" then
      places[place_of(step.scheme)] = step.name
    end
  end
  return places
end

--- The parts of config.auth that have no effect.
---@param schemes table<string, table>
---@param auth? table
---@return { pointer: string, message: string }[]
function security.problems(schemes, auth)
  local list = {}
  for _, name in ipairs(members.names(auth and not security.is_simple(auth) and auth or {})) do
    local scheme, is_form = schemes[name], auth[tonumber(name)] ~= nil
    if not scheme and not is_form then
      list[#list + 1] = { pointer = "", message = ("config.auth names %q, which is not in the document"):format(name) }
    elseif scheme and not kind_of(scheme) then
      list[#list + 1] = { pointer = "/" .. json_pointer.escape(name),
        message = ("credentials of type %s are not supported; none is sent"):format(
          scheme.type == "http" and "http " .. tostring(scheme.scheme) or tostring(scheme.type)) }
    end
  end
  return list
end

return security
