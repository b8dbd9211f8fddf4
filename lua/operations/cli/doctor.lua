--- `operations doctor`: shows versions, the terminal and the files, and tries each remembered source: is it reached,
--- are its secrets there, does its API take the credentials?
local core = require("operations.core")
local credentials = require("operations.sources.credentials")
local directories = require("operations.base.directories")
local entry = require("operations.sources.entry")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local operations = require("operations")
local output = require("operations.cli.output")
local runtime = require("operations.base.runtime")
local secret = require("operations.sources.secret")
local sources = require("operations.cli.sources")
local styles = require("operations.cli.style")
local tokens = require("operations.oauth.token")
local url = require("operations.base.url")

local PATIENCE = 10000 -- ms for the answer of an API

local doctor = {
  usage = "operations doctor [SOURCE...] [OPTIONS]",
  summary = "Tries the remembered sources, or these: are they reached, are their secrets\n"
    .. "there, does the API take the credentials, and whose are they? The API gets GET\n"
    .. "of its base URL, or of a path such as /user or /me of its document. Also shows\n"
    .. "versions, the terminal and the files. The exit code is that of the last failure.",
  options = { styles.option },
}

---@class operations.cli.Examination
---@field style operations.cli.Style
---@field code integer  of the last failure
local Examination = {}
Examination.__index = Examination

function Examination:good(text, ...)
  output.styled("  " .. self.style:paint("green", "ok") .. "      " .. output.readable(text:format(...)) .. "\n")
end

function Examination:bad(code, text, ...)
  self.code = code
  output.styled("  " .. self.style:paint("red", "failed") .. "  " .. output.readable(text:format(...)) .. "\n")
end

local secret_options = { "bearer", "basic", "api-key", "header", "document-header", "client-secret" }

-- The reference in the value of an option: all of it, or what follows a name.
local function reference_in(value)
  if secret.is_reference(value) then
    return value
  end
  local rest = value:match("^[^:=]*[:=]%s*(.*)$")
  return rest and secret.is_reference(rest) and rest or nil
end

-- Are the secrets of a source there? Returns whether it has some, and whether all were found.
local function check_secrets(self, settings)
  local has_some, are_found = false, true
  for _, name in ipairs(secret_options) do
    for _, value in ipairs(type(settings[name]) == "table" and settings[name] or { settings[name] }) do
      local reference = reference_in(value)
      local text, message = secret.text(reference or "")
      if reference and text then
        self:good("--%s: %s was found", name, reference)
      elseif reference then
        self:bad(output.codes.ACCESS_DENIED, "--%s: %s: %s", name, reference, message)
        are_found = false
      end
      has_some = true
    end
  end
  return has_some, are_found
end

local function check_login(self, source)
  local held = credentials.held(source)
  if not held then
    return false
  elseif tokens.is_fresh(held.token) then
    self:good("a login%s", held.token.expires_at
      and os.date(", whose token is valid until %Y-%m-%d %H:%M", math.floor(held.token.expires_at / 1000)) or "")
  elseif held.token.refresh_token then
    self:good("a login, whose token is renewed by the next call")
  else
    self:bad(output.codes.ACCESS_DENIED, "the login has expired: operations login %s", source.name)
  end
  return true
end

-- Operations that many APIs have to say whose the credentials are, by the last word of their path, or by their field.
local WHO = members.set({ "user", "me", "whoami", "self", "userinfo", "viewer", "account", "profile", "currentuser" })

local function word_of(item, kind)
  if kind == "graphql" then
    return item.type == "query" and item.id:match("[^.]*$") or nil
  elseif item.method == "GET" and not item.path:find("{", 1, true) then
    return item.path:match("[^/]*$")
  end
end

-- The operation that says who calls, if there is one; its entry.
local function find_who(registry, kind)
  local found
  for _, spec in ipairs((registry:specs())) do
    local item = entry.of(spec)
    local word = item.signature == "" and word_of(item, kind)
    if word and WHO[word:lower()] and not (found and #(found.path or "") <= #(item.path or "")) then
      found = item
    end
  end
  return found
end

local NAMES = { "login", "username", "user_name", "preferred_username", "email", "name", "display_name", "sub", "id" }

-- A name in the answer, which many APIs wrap once.
local function name_in(data)
  for _, place in ipairs(core.kind(data) == "object" and { data, data.user, data.data, data.account } or {}) do
    for _, name in ipairs(NAMES) do
      local value = core.kind(place) == "object" and place[name]
      if type(value) == "string" and value ~= "" or type(value) == "number" then
        return number_text.of(value)
      end
    end
  end
end

-- Does the API of a document answer, does it take the credentials, and whose are they? `who` is the entry of the
-- operation that says so.
local function check_api(self, source, who, has_credentials)
  local registry = sources.of({ source }, { normalize = "off", on_warning = function() end, id = who and who.id,
    added = not who and { method = "GET", path = "/", names = {}, has_body = false } or nil })
  local spec = registry and (who and registry:get_spec(who.id) or registry:specs()[1])
  if not spec then
    self:bad(output.codes.SOURCE, "no request can be made")
    return
  end
  local envelope, err = registry:execute(spec.namespace .. "." .. spec.name, {}, { deadline = core.now() + PATIENCE })
  local details = err and type(err.details) == "table" and err.details or {}
  local status = envelope and envelope.meta.statusCode or details.statusCode
  local name = envelope and who and has_credentials and name_in(envelope.data)
  if status == 401 or status == 403 then
    self:bad(output.codes.ACCESS_DENIED, has_credentials and "the API refuses the credentials: %d"
      or "the API wants credentials: %d", status)
  elseif name then
    self:good("the API takes the credentials, which are of %s (%s)", name, who.path and "GET " .. who.path or who.id)
  elseif status and (envelope or source.kind == "openapi") then
    self:good("the API answers: %d", status)
  else
    self:bad(output.exit_code(err), "%s", tostring(err))
  end
end

local function check_source(self, named, name, profile)
  local source, message = named:get(name)
  output.styled(("\n%s%s\n"):format(self.style:paint("bold", name), source and output.readable("  " .. source.kind
    .. " " .. source.shown) or ""))
  if not source then
    return self:bad(output.codes.SOURCE, "%s", message)
  end
  local registry, code = sources.of({ source }, { all = true, refresh = true, reliable = source.entry.reliable })
  if registry and not code then
    local count = #registry:specs({ schemas = false })
    self:good("%d operation%s", count, count == 1 and "" or "s")
  else
    self:bad(code, "it cannot be loaded")
  end
  local settings = members.merged(source.entry, (source.entry.profiles or {})[profile])
  local has_secrets, are_found = check_secrets(self, settings)
  local has_login = check_login(self, source)
  local has_credentials = has_secrets or has_login
  local who = registry and has_credentials and find_who(registry, source.kind)
  if registry and are_found and (source.kind == "openapi" or source.kind == "graphql" and who) then
    check_api(self, assert(named:get(name)), who, has_credentials)
  end
end

-- What does not depend on sources.
local function show_machine(style)
  local lines = {}
  local loaded, transfer = runtime.optional("operations.transfer")
  local number, ssl, jit = nil, nil, rawget(_G, "jit")
  if loaded then
    number, ssl = transfer.libcurl()
  end
  lines[1] = ("%s, %s, %s"):format(operations._VERSION, jit and jit.version or _VERSION,
    number and ("libcurl %s%s"):format(number, ssl and " (" .. ssl .. ")" or "") or "without libcurl")
  local pager = os.getenv("OPERATIONS_PAGER") or os.getenv("PAGER")
  lines[2] = style.is_terminal and ("terminal: %d columns%s, %s"):format(style.width,
    style:paint("bold", "x") ~= "x" and ", colours" or ", no colours", pager and "pager " .. pager or "no pager")
    or "no terminal"
  for _, name in ipairs({ "config", "cache", "state" }) do
    lines[#lines + 1] = ("%s: %s"):format(name, directories[name]() or "none, as HOME is not set")
  end
  for _, name in ipairs({ "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy" }) do
    local address = os.getenv(name)
    lines[#lines + 1] = address and ("%s: %s"):format(name, url.redact_any(address)) or nil
  end
  output.text(table.concat(lines, "\n") .. "\n")
end

---@param parsed operations.cli.Arguments
---@return integer code
function doctor.run(parsed)
  local style, problem = styles.of(parsed.options)
  if not style then
    return output.usage("%s", problem)
  end
  local named, code = sources.named(parsed)
  if not named then
    return code
  end
  show_machine(style)
  local self = setmetatable({ style = style, code = output.codes.OK }, Examination)
  for _, name in ipairs(parsed.rest[1] and parsed.rest or named.names) do
    check_source(self, named, name, parsed.options.profile or os.getenv("OPERATIONS_PROFILE"))
  end
  if not (parsed.rest[1] or named.names[1]) then
    output.notice("no source is remembered: operations add NAME FILE|URL")
  end
  return self.code
end

return doctor
