-- /records?size=N: a JSON array of records, of N bytes or a little more; with page=yes under "items" of an object.
local args = ngx.req.get_uri_args()
local size, parts, written = tonumber(args.size), {}, 0

local record = [[{"id":%d,"title":"Task number %d","description":"What there is to do, in a line or two of text.",]]
  .. [["done":%s,"priority":%d,"score":%.2f,"tags":["home","later","t%d"],]]
  .. [["owner":{"id":%d,"login":"user%d","url":null},"created":"2026-07-28T12:%02d:00Z"}]]

local i = 0
while written < size do
  i = i + 1
  parts[i] = record:format(i, i, i % 3 == 0 and "true" or "false", i % 5, i / 7, i % 50, i % 100, i % 100, i % 60)
  written = written + #parts[i] + 1
end
ngx.header["Content-Type"] = "application/json"
local list = "[" .. table.concat(parts, ",") .. "]"
ngx.print(args.page and '{"total":' .. i .. ',"items":' .. list .. "}" or list)
