-- /noted/KEY: a note of another handler.
ngx.say(ngx.shared.notes:get(ngx.var.uri:match("[^/]+$")) or "none")
