-- /state: the worker's pid, descriptors other than connections of requests, and threads. Collects garbage first.
local function count(what)
  local pipe = io.popen("ls /proc/" .. ngx.worker.pid() .. "/" .. what .. " | wc -l")
  local answer = tonumber(pipe:read("*a"))
  pipe:close()
  return answer
end

collectgarbage()
collectgarbage()
ngx.say(ngx.worker.pid(), " ", count("fd"), " ", count("task"))
