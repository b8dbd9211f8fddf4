--- Requests that may be plain calls: the input that C reads is the one that `flat` reads from the query, and a request
--- with an issue in its query or with another header field is not a plain call, wherever its bytes are cut.
local core = require("operations.core")
local flat = require("operations.server.flat")
local http_server = require("operations.http_server")
local json = require("operations.base.json")
local mutate = require("spec.fuzz.mutate")
local target = require("operations.server.target")

local members = flat.compile({ type = "object", additionalProperties = false, properties = {
  n = { type = "integer" }, f = { type = "number" }, t = { type = "string" }, b = { type = "boolean" },
  e = { enum = { "x", "y" } }, o = { type = { "string", "null" } },
  l = { type = "array", items = { type = "integer" } },
} }, {})
local KINDS = { n = 2, f = 2, t = 1, b = 3, e = 1, o = 1 }
local CALLS = { { ["/a"] = { "route", KINDS } }, "localhost", core.object_mt }

local samples = {
  "GET /a?n=7&t=x%20y&b=true HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
  "GET /a?f=12&e=x&o=null&&t=a+b HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a\r\nConnection: keep-alive\r\n\r\n",
  "GET /a?l=1&l=2&n=-5 HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n",
  "GET /a HTTP/1.1\r\nhost: localhost\r\nCache-Control: no-cache\r\nAuthorization: Bearer x\r\n\r\n",
  "POST /a?n=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
}
local words = { "&", "=", "%", "%2", "%41", "%ff", "+", "n=", "t=", "b=false", "f=1.5", "o=", "l=3", "007",
  "999999999999999", "?", "Host: localhost\r\n", "X-Request-Id: 1\r\n", "\r\n\r\n", "GET /a HTTP/1.1\r\n",
  "HEAD", "1.0", ": ", "close" }

-- Fields that change nothing about a call.
local idle = { host = true, accept = true, ["user-agent"] = true, ["accept-encoding"] = true, connection = true,
  ["accept-language"] = true, ["cache-control"] = true, pragma = true, ["sec-fetch-mode"] = true }

local function read(bytes, cut, calls)
  local parser = http_server.parser(8192, 64, 2048, 4096)
  local event, from, a, b, c, d = parser:read(bytes:sub(1, cut), 1, calls)
  if event == "more" then
    event, from, a, b, c, d = parser:read(bytes:sub(cut + 1), 1, calls)
  end
  return event, from, a, b, c, d
end

local function same(a, b, what)
  if a ~= b then
    error(("%s: %s is not %s"):format(what, tostring(a), tostring(b)), 2)
  end
end

local function text_of(event, a, b)
  return event == "call" and json.encode(b, { sort_keys = true }) or event .. tostring(event == "error" and a)
end

local function run(bytes)
  local event, _, a, b = read(bytes, #bytes, CALLS)
  for _, cut in ipairs({ 0, 1, math.floor(#bytes / 2), #bytes - 1 }) do
    local event_again, _, a_again, b_again = read(bytes, math.max(cut, 0), CALLS)
    if event ~= "body" and event_again ~= "body" then
      same(text_of(event_again, a_again, b_again), text_of(event, a, b), "cut at " .. cut)
    end
  end
  if event ~= "call" then
    return
  end
  local _, _, method, raw, headers, body = read(bytes, #bytes)
  local path, query = target.split(raw)
  local input, issues = members:read(query)
  same(method, "GET", "method")
  same(path, "/a", "path")
  same(body, "", "body")
  same(headers.host, "localhost", "host")
  same(issues, nil, "issues")
  same(json.encode(b, { sort_keys = true }), json.encode(input, { sort_keys = true }), "input")
  same(getmetatable(b), getmetatable(input), "mark")
  for name in pairs(headers) do
    same(idle[name], true, name)
  end
end

return {
  make = function()
    return mutate.text(samples, words)
  end,
  run = run,
}
