--- An HTTP client in direct style: a call suspends the running task until the answer is there. libcurl does the work
--- in the reactor; what it must never see (broken headers, other schemes) is refused here.
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
---@field body? string|fun(): string?|{ read: function }  a function is called, a reader read, whenever the connection
---  takes more, until nil; such a body cannot be sent a second time
---@field body_size? integer  bytes that a function or reader will give; without it they go in chunks
---@field timeout? number  ms for everything, redirects and retries included; 0 or absent: none
---@field connect_timeout? number  ms
---@field first_byte_timeout? number  ms until the headers are there, from when the body is on its way
---@field idle_timeout? number  ms between two pieces of the answer's body, while somebody reads; 0: any; of a stream:
---  any when absent
---@field max_body? integer  bytes, after decompression; of a stream: no limit when absent
---@field max_headers? integer  bytes
---@field redirects? integer  how many to follow; 0: none
---@field redirect_all? boolean  follow for other methods than GET and HEAD: 301 and 302 make a POST a GET, 303 makes
---  all one, 307 and 308 send method and body again
---@field credentials? string[]  headers that, like Authorization and Cookie, stay at the origin they were meant for
---@field query_credentials? string[]  parameters of the query that do so too, when a server redirects with them
---@field idempotent? boolean  may be sent twice, whatever its method: over another connection when one that served
---  others is lost; by `retry`
---@field retry? boolean|operations.RetryPolicy  try again what failed with an error that is
---  `retryable`, if it is idempotent or `mayHaveRun` is false; off when absent
---@field jar? operations.CookieJar  from `http.jar()`; cookies are ignored without one
---@field ca_file? string  certificates to trust instead of the system's
---@field insecure? boolean  take any certificate of the server: for tests alone
---@field cert_file? string  our own certificate, PEM; with the key in it, or in `key_file`, which `key_password` opens
---@field key_file? string
---@field key_password? string
---@field proxy? string|false  URL; false: none; when absent the environment's (`http_proxy`, `https_proxy`, `no_proxy`)
---@field public_only? boolean  connect to addresses of the public internet only, on every redirect too
---@field window? integer  unread bytes at which a stream's sender is held back
---@field userinfo? boolean  accept a user and password in the URL

---@class operations.HttpResponse
---@field status integer
---@field headers table  lower-case names, joined by ", "; cookies are an array under `setCookie`
---@field body string
---@field url string  the last one, after redirects

--- Sends a request and waits for the whole answer. Any status is an answer; a failure is one of the exchange itself:
--- TIMEOUT, ABORTED or EXECUTION_ERROR with `details.kind` "dns", "connect", "tls", "timeout", "reset", "truncated",
--- "size", "encoding", "protocol", "redirect", "request", "body", "memory" or "aborted"; a timeout's `details.phase`
--- is "connect", "first_byte", "idle", "total" or "deadline" (the task's), a reset's "reused" when the connection was.
---@param options operations.HttpRequest
---@return operations.HttpResponse?
---@return operations.Error? err
function http.request(options)
  return sender.send(options, false)
end

--- Sends a request and waits for the head of the answer; the body is read with `stream:read()` as it comes.
---@param options operations.HttpRequest
---@return operations.HttpStream?  dropping it closes it
---@return operations.Error? err  as of `request`
function http.open(options)
  return sender.send(options, true)
end

return http
