-- /state: the worker's pid, descriptors other than connections of requests, and threads. Collects garbage first.
local function count(what)
  -- Until popen has closed its own end.
  local pipe = io.popen(("sleep 0.02; ls /proc/%d/%s | wc -l"):format(ngx.worker.pid(), what))
  local answer = tonumber(pipe:read("*a"))
  pipe:close()
  return answer
end

collectgarbage()
collectgarbage()
ngx.say(ngx.worker.pid(), " ", count("fd"), " ", count("task"))
