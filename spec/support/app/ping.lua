ngx.say("pong")
