--- An HTTP client in direct style: a call suspends the running task until the answer has come. libcurl does the work in
--- the reactor; invalid headers and other schemes are refused here before it sees them.
local header_field = require("operations.net.http.header_field")
local jar = require("operations.net.http.jar")
local limits = require("operations.base.limits")
local sender = require("operations.net.http.sender")

---@class operations.http
local http = { jar = jar.new, retry_after = header_field.retry_after, limits = limits }

---@class operations.HttpRequest
---@field url string  http or https
---@field method? string  "GET" when absent
---@field headers? table<string, string|number|string[]>
---@field body? string|fun(): string?|{ read: function }  a function is called, or a reader read, whenever the
---  connection accepts more, until nil; such a body cannot be sent twice
---@field body_size? integer  bytes that a function or reader gives; without it the body is sent in chunks
---@field query? table<string, any>  added to the URL: texts, numbers, booleans; a list is several pairs
---@field json? any  the body, as JSON; the method is then POST by default, as with the next two
---@field form? table<string, any>  the body, `application/x-www-form-urlencoded`; values as of `query`
---@field multipart? table[]  the body, `multipart/form-data`: parts { name =, value = } and { name =, file = path },
---  with `filename` and `type`; files are read as they are sent
---@field auth? table|fun(request: operations.HttpRequest)  { type = "basic", username =, password = }, { type =
---  "bearer", token = }, { type = "digest", username =, password = }, where texts may be functions; or a function that
---  signs the request: it changes its headers (`http.sigv4`)
---@field unix_socket? string  path of the socket to connect to, whatever host the URL names
---@field netrc? boolean|string  takes user and password from ~/.netrc, or from this file
---@field timeout? number  ms in total, including redirects and retries; 0 or absent: none
---@field connect_timeout? number  ms
---@field first_byte_timeout? number  ms until the headers have come, after the body is sent
---@field idle_timeout? number  ms between two pieces of the answer's body, while it is read; 0: no limit; default for a
---  stream: no limit
---@field max_body? integer  bytes, after decompression; default for a stream: no limit
---@field max_headers? integer  bytes
---@field redirects? integer  the number to follow; 0: none
---@field redirect_all? boolean  follows redirects for methods other than GET and HEAD: 301 and 302 turn POST into GET,
---  303 any method, 307 and 308 send method and body again
---@field credentials? string[]  headers that, like Authorization and Cookie, are not sent to another origin
---@field query_credentials? string[]  query parameters that are removed when a server redirects to another origin with
---  them
---@field idempotent? boolean  may be sent twice, whatever its method: by `retry`, or on another connection when a
---  shared one is lost
---@field retry? boolean|operations.RetryPolicy  repeats requests that failed with a `retryable` error, if idempotent or
---  `mayHaveRun` is false; default off
---@field jar? operations.CookieJar  from `http.jar()`; cookies are ignored without one
---@field ca_file? string  trusted certificates instead of the system's
---@field insecure? boolean  accepts any server certificate: for tests only
---@field cert_file? string  client certificate, PEM; its key is in the same file or in `key_file`, decrypted by
---  `key_password`
---@field key_file? string
---@field key_password? string
---@field proxy? string|false  URL; false: none; default: the environment's (`http_proxy`, `https_proxy`, `no_proxy`)
---@field public_only? boolean  connects to public addresses only, also after redirects
---@field window? integer  unread bytes at which a stream stops receiving
---@field userinfo? boolean  accept a user and password in the URL

---@class operations.HttpResponse
---@field status integer
---@field headers table  lower-case names, joined by ", "; cookies are an array under `setCookie`
---@field body string
---@field url string  the final URL, after redirects

-- Options that become URL, headers and body; the code for them is loaded with the first.
local conveniences = { query = true, json = true, form = true, multipart = true, auth = true, netrc = true }

local function send(options, stream)
  local more = false
  if type(options) == "table" and type(options.url) == "string" then
    for name in next, options do
      more = more or conveniences[name]
    end
  end
  if not more then
    return sender.send(options, stream)
  end
  local expanded, err = require("operations.net.http.parts").expand(options)
  if not expanded then
    return nil, err
  end
  return sender.send(expanded, stream)
end

--- Makes a function for `auth` that signs requests: AWS Signature Version 4.
---@param options operations.SigV4Options
---@return fun(request: operations.HttpRequest)
function http.sigv4(options)
  return require("operations.net.http.sigv4").new(options)
end

--- Sends a request and waits for the whole answer. Any status is an answer. Failures of the exchange are TIMEOUT,
--- ABORTED or EXECUTION_ERROR with `details.kind` "dns", "connect", "tls", "timeout", "reset", "truncated", "size",
--- "encoding", "protocol", "redirect", "request", "body", "memory" or "aborted"; `details.phase` of a timeout is
--- "connect", "first_byte", "idle", "total" or "deadline" (of the task), that of a reset is "reused" when the
--- connection was reused.
---@param options operations.HttpRequest
---@return operations.HttpResponse?
---@return operations.Error? err
function http.request(options)
  return send(options, false)
end

--- Sends a request and waits for the head of the answer; `stream:read()` reads the body as it arrives.
---@param options operations.HttpRequest
---@return operations.HttpStream?  dropping it closes it
---@return operations.Error? err  as from `request`
function http.open(options)
  return send(options, true)
end

return http
