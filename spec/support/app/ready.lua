-- /ready: what the task says that the worker starts with.
ngx.say(ngx.shared.notes:get("worker"))
