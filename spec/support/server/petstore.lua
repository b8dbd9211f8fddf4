-- /petstore/NOTE: an OpenAPI document with an entity tag; notes under NOTE each status that it was answered with.
local note = ngx.var.uri:match("([^/]+)$")
local status = ngx.var.http_if_none_match == '"1"' and 304 or 200
ngx.shared.notes:set(note, (ngx.shared.notes:get(note) or "") .. status .. " ")
ngx.header["ETag"] = '"1"'
ngx.header["Content-Type"] = "application/json"
ngx.status = status
if status == 200 then
  ngx.print('{ "openapi": "3.1.0", "info": { "title": "Pets", "version": "1" }, "paths": { "/echo": { "get": { '
    .. '"operationId": "pets/list", "responses": { "200": { "description": "", "content": { "application/json": {} } '
    .. '} } } } } }')
end
