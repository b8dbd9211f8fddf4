--- The configuration of an import, checked before anything is read.
local argument = require("operations.base.argument")
local header_field = require("operations.net.http.header_field")
local http = require("operations.net.http")
local http_retry = require("operations.net.http.retry")
local importing = require("operations.registry.importing")
local location = require("operations.openapi.location")
local members = require("operations.base.members")
local pages = require("operations.openapi.pages")
local stream = require("operations.openapi.stream")
local style = require("operations.openapi.style")

local config = {}

---@class operations.openapi.Config
---@field namespace? string  default: the document's title
---@field base_url? string|string[]  instead of the document's servers; of several addresses of one API the next is
---  asked where a request could not be sent to the one before
---@field server_variables? table<string, string>  instead of their defaults
---@field server? integer|string  selects one of several servers: by position in the list, name (3.2), description, or
---  URL as in the document; default 1
---@field content_types? string[]  preferred media types of request bodies, for operations with several
---@field deep_arrays? "brackets"|"indices"|"repeat"  how `deepObject` writes arrays: a[] (of objects a[0], the
---  default), a[0] or a
---@field files? boolean  may `{ path = }` name files of this machine to send? Default: not if accessControl exposes the
---  operations
---@field auth? table  { schemeName = value | table | function(context) }, or { type = "bearer", token = }, or
---  { type = "basic", username =, password = }, or { type = "apiKey", token = }; functions are called per request.
---  For OAuth 2 also { type = "oauth2", client_id =, client_secret =, refresh_token =, token_endpoint =, scope = } as
---  of `operations.oauth.token_source`; for mutual TLS { type = "mutualTLS", cert_file =, key_file = }
---@field headers? table<string, string>  sent with every request
---@field document_headers? table<string, string>  sent when fetching the document, to its origin only; default:
---  `headers`
---@field timeout? integer  ms for a whole call, for streams until the first byte
---@field max_body? integer  bytes of a response
---@field idle_timeout? integer  ms between two pieces of an answer's body, default 60,000; default for streams: none
---@field retry? boolean|operations.RetryPolicy  retries idempotent calls, as in `operations.http`; default off
---@field reconnect? boolean|operations.openapi.Reconnect  opens streams of server-sent events again when they end or
---  fail, with the last event id; default off
---@field done? string  the event data, or line, that ends a stream, such as "[DONE]"; it is not an item itself
---@field decode_text? boolean  false: text for `context.sink` keeps its charset
---@field lenient? boolean  reads answers that are almost JSON: invalid UTF-8 and escapes of half a character become
---  U+FFFD, NaN and infinities null; each such answer is told to the registry's `on_warning`
---@field jar? operations.CookieJar  from `operations.http`'s `jar()`; for this API only
---@field unix_socket? string  path of the socket to connect to, whatever host the URLs name
---@field ca_file? string  trusted certificates instead of the system's
---@field proxy? string|false  instead of the environment's
---@field encoded_slashes? boolean  false: refuses path parameters with a slash or backslash, for servers that decode
---  "..%2Fx" before they resolve it (nginx as a proxy does); default: they are sent encoded
---@field redirect_all? boolean  follows redirects of other methods than GET and HEAD, as in `operations.http`
---@field max_event? integer  bytes of one item of a stream, default 1 MiB
---@field accessControl? operations.AccessControl|fun(definition: table): operations.AccessControl?
---@field normalize? "cast"|"force"|"off"  of the operations' results; default: the registry's
---@field on_mismatch? "warn"|"fail"  of results that do not fit; default: the registry's
---@field fill? boolean  false: not even required members take their `default`s; those of others never go out
---@field validate? "on"|"warn"|"off"  what an input that does not fit the document means: an error (default),
---  a warning, or nothing
---@field include? string[]|fun(info: table): boolean  operationIds, names or tags
---@field exclude? string[]|fun(info: table): boolean
---@field trust_extension? boolean  the document is the program's own (`server:openapi`): access rules in `x-operation`
---  apply, and the operations are exposed
---@field remote_refs? boolean  fetches `$ref`s to URLs; default false
---@field ref_root? string  the directory below which `$ref`s of a file may read files; default: the document's own
---@field patch? operations.PatchOperation[]  changes to the document (RFC 6902), made each time that it is read
---@field eager? boolean  makes all schemas at once, so that the report is complete
---@field next_page? operations.openapi.PageRule|fun(envelope: operations.Envelope, input: table, info: table):
---  string|table|false|nil  for `registry:pages`: where the next page is; a function returns its URL or input, or false
---  after the last; nil, and the default: the answer's Link header or the document's links. `info` is that of `include`
---@field location? string  for `document`: its path or URL, against which relative servers and `$ref`s are resolved
---@field refresh? number  for `url`: seconds after which the document is fetched again; the third result is its
---  catalogue
---@field http? table  HTTP client: `request(message)`, `open(message)`; default `operations.http`

local kinds = members.merged(importing.kinds, {
  base_url = "string or table", server_variables = "table", server = "number or string",
  content_types = "table", deep_arrays = "string", files = "boolean", next_page = "function or table", auth = "table",
  headers = "table", document_headers = "table", timeout = "number", max_body = "number", max_event = "number",
  eager = "boolean", remote_refs = "boolean", ref_root = "string", http = "table", patch = "table",
  idle_timeout = "number", retry = "boolean or table",
  reconnect = "boolean or table", done = "string", jar = "table", ca_file = "string", proxy = "string or false",
  unix_socket = "string",
  encoded_slashes = "boolean", redirect_all = "boolean", trust_extension = "boolean", decode_text = "boolean",
  lenient = "boolean",
  refresh = "number", location = "string",
})

--- Raises at the caller of `from_openapi.file` and similar functions.
local function wrong(depth, message, ...)
  error(("from_openapi: " .. message):format(...), depth + 3)
end

local function check_headers(headers, name)
  for key, value in pairs(headers or {}) do
    if not header_field.is_token(key) then
      wrong(2, "config.%s: %q is not a header name", name, tostring(key))
    elseif type(value) ~= "string" or value:find(header_field.control) then
      wrong(2, "config.%s: the value of %s must be a string without control characters", name, key)
    end
  end
end

local function check_choices(options)
  for name, allowed in pairs(importing.choices) do
    local value = options[name]
    if value and not members.set(allowed)[value] then
      local last = #allowed
      local others = table.concat(allowed, ", ", 1, last - 1)
      wrong(2, "config.%s: expected %s or %s, got %q", name, others, allowed[last], value)
    end
  end
end

-- The address of an API; of several the first, and the list, which remembers the one that was reached last.
local function read_bases(given)
  local bases = { at = 1 }
  for i, text in ipairs(type(given) == "table" and given or { given }) do
    local base, message
    if type(text) == "string" then
      base, message = location.base(text)
    end
    if not base then
      wrong(2, "config.base_url %s", message or ("must be a URL or a list of them, got %s"):format(type(text)))
    end
    bases[i] = base
  end
  if not bases[1] then
    wrong(2, "config.base_url must not be an empty list")
  end
  return bases[1], bases[2] and bases or nil
end

--- Checks a configuration; errors in it are misuse and raise.
---@param given? operations.openapi.Config
---@return operations.openapi.Config  a copy, ready for use
function config.check(given)
  if given ~= nil and type(given) ~= "table" then
    wrong(1, "config: expected a table, got %s", type(given))
  end
  local copy = members.merged(given)
  argument.options(copy, kinds, "from_openapi", 4)
  check_headers(copy.headers, "headers")
  check_headers(copy.document_headers, "document_headers")
  check_choices(copy)
  copy.http = copy.http or http
  http_retry.policy(copy.retry, 4)
  local problem
  copy.reconnect, problem = stream.reconnect_policy(copy.reconnect)
  if problem then
    wrong(1, "config.reconnect: %s", problem)
  elseif copy.deep_arrays and not style.item_names[copy.deep_arrays] then
    wrong(1, "config.deep_arrays: expected brackets, indices or repeat, got %q", copy.deep_arrays)
  end
  problem = type(copy.next_page) == "table" and pages.rule_problem(copy.next_page)
  if problem then
    wrong(1, "config.next_page: %s", problem)
  end
  if copy.refresh and not (copy.refresh > 0 and copy.refresh < math.huge) then
    wrong(1, "config.refresh: expected seconds above 0, got %s", tostring(copy.refresh))
  end
  if copy.base_url then
    copy.base_url, copy.bases = read_bases(copy.base_url)
  end
  return copy
end

--- May operations send files of this machine named in their input?
---@param options operations.openapi.Config
---@return boolean
function config.may_send_files(options)
  if options.files == nil then
    return options.accessControl == nil and not options.trust_extension
  end
  return options.files
end

--- Does the configuration include this operation?
---@param options operations.openapi.Config
---@param info { method: string, path: string, operationId: string?, name: string, tags: string[] }
---@return boolean
function config.wants(options, info)
  if options.include == nil and options.exclude == nil then
    return true
  end
  local names = members.set(info.tags)
  names[info.name], names[info.operationId or info.name] = true, true
  return importing.wants(options, info, names)
end

return config
