-- /pages?page=N&of=M: one page as JSON, { page, next, key, headers }, with a Link to the next one as long as there is
-- one: relative, or at `origin`; `of=0` leads back to the same page. `body=only`: no Link.
local cjson = require("cjson")
local args = ngx.req.get_uri_args()
local page, of = tonumber(args.page or 1), tonumber(args.of)
local following = of == 0 and page or page < of and page + 1 or nil
if following and args.body ~= "only" then
  local target = ("%s?page=%d&of=%d"):format(args.origin and args.origin .. "/pages" or "", following, of)
  ngx.header["Link"] = ('</pages?page=1>; rel="first", <%s>; title="a \\"b, c>"; REL="last Next"'):format(target)
end
ngx.header["Content-Type"] = "application/json"
ngx.print(cjson.encode({ page = page, next = following, key = args.key, headers = ngx.req.get_headers() }))
