-- /note/KEY: the note under KEY, or "none".
ngx.print(ngx.shared.notes:get(ngx.var.uri:match("^/note/(.+)$")) or "none")
