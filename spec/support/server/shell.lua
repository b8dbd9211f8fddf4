--- Answers of every kind, for the specs of the command line: `/shell/KIND`.
local kind = ngx.var.uri:match("^/shell/(%w+)")
local arguments = ngx.req.get_uri_args()

local answers = {}

function answers.bytes()
  ngx.header["Content-Type"] = "application/octet-stream"
  ngx.header["Content-Disposition"] = arguments.name and 'attachment; filename="' .. arguments.name .. '"' or nil
  ngx.print("\0\1\255bytes")
end

function answers.text()
  ngx.header["Content-Type"] = "text/plain; charset=utf-8"
  ngx.print("one \"two\"\nthr\195\169e")
end

function answers.latin()
  ngx.header["Content-Type"] = "text/plain; charset=iso-8859-1"
  ngx.print("\233")
end

function answers.large()
  ngx.header["Content-Type"] = "application/json"
  ngx.print('"' .. ("x"):rep(20 * 1024 * 1024) .. '"')
end

-- Ends before it has sent what its length says.
function answers.short()
  ngx.header["Content-Type"] = "application/octet-stream"
  ngx.header["Content-Length"] = 100000
  ngx.print(("x"):rep(50000))
  ngx.flush(true)
  ngx.exit(ngx.ERROR)
end

-- Begins, and never ends.
function answers.slow()
  ngx.header["Content-Type"] = "application/octet-stream"
  ngx.print(("x"):rep(100000))
  ngx.flush(true)
  ngx.sleep(60)
end

function answers.mute()
  ngx.sleep(60)
end

function answers.broken()
  ngx.header["Content-Type"] = "application/json"
  ngx.print('{"a":"\233"}')
end

function answers.unmodified()
  ngx.status = 304
  ngx.exit(304)
end

function answers.empty()
  ngx.exit(204)
end

-- A page for people, also with a status of a failure.
function answers.page()
  ngx.status = tonumber(arguments.status) or 200
  ngx.header["Content-Type"] = "text/html; charset=utf-8"
  ngx.print("<!DOCTYPE html><html><head><title>Sorry</title><style>p { color: red }</style></head>\n<body><p>Come back "
    .. "later.</p>", (" <p>\195\164</p>"):rep(tonumber(arguments.more) or 0), "</body></html>")
end

function answers.denied()
  ngx.status = 401
  ngx.header["Content-Type"] = "application/json"
  ngx.print("{}")
end

function answers.me()
  ngx.header["Content-Type"] = "application/json"
  ngx.print('{"user":{"id":7,"login":"ada"}}')
end

function answers.error()
  ngx.status = 422
  ngx.header["Content-Type"] = "application/json"
  ngx.header["X-Reason"] = "because"
  ngx.print('{"message":"no","secret":"' .. (ngx.var.http_authorization or "") .. '"}')
  ngx.exit(422)
end

function answers.items()
  local page = tonumber(arguments.page or "1")
  ngx.header["Content-Type"] = "application/json"
  if arguments.broken and page == 3 then
    ngx.status = 500
    return ngx.print('{"message":"out of order"}')
  elseif page < 3 then
    ngx.header["Link"] = ('<%s?page=%d%s>; rel="next"'):format(ngx.var.uri, page + 1,
      arguments.wrapped and "&wrapped=1" or arguments.broken and "&broken=1" or "")
  end
  local first = page * 2 - 1
  local list = ('[{"id":%d,"name":"n%d","extra":true},{"id":%d,"name":"n%d","extra":true}]'):format(first, first,
    first + 1, first + 1)
  ngx.print(arguments.wrapped and '{"total":6,"items":' .. list .. "}" or list)
end

function answers.thing()
  ngx.header["Content-Type"] = "application/json"
  ngx.header["Set-Cookie"] = "session=hidden"
  ngx.print('{"id":40,"more":"kept","owner":{"name":"Ada","tags":["a","b"]}}')
end

-- A document that tells, as the default of a parameter, which headers it was asked for with.
function answers.document()
  local headers = ngx.req.get_headers()
  ngx.header["Content-Type"] = "application/json"
  ngx.print(([[{"openapi":"3.1.0","info":{"title":"doc","version":"1"},"servers":[{"url":"/"}],"paths":{"/echo":{"get":{
    "operationId":"get","parameters":[
    {"name":"seen","in":"query","required":true,"schema":{"type":"string","default":"%s.%s.%s"}}]}}}}]])
    :format(tostring(headers["x-api"]), tostring(headers["x-document"]), tostring(headers.authorization)))
end

answers[kind]()
