--- Runs spec files inside another program, and reads its TAP output.
local inside = {}

-- Programs that are not ours go without the sanitizer that may be preloaded here: curl hangs with it.
local function shell(script)
  local pipe = assert(io.popen(("unset LD_PRELOAD; { %s\n} 2>&1; echo \"exit code $?\""):format(script)))
  local output = pipe:read("*a")
  pipe:close()
  local text, code = output:match("^(.*)exit code (%d+)\n$")
  return { out = text, code = tonumber(code) }
end
inside.shell = shell

--- Is a program installed?
---@param program string
---@return boolean
function inside.has(program)
  return shell(("PATH=$PATH:/usr/sbin command -v %s"):format(program)).code == 0
end

-- LuaJIT's modules of the built tree, whichever interpreter runs this.
local modules = [[
  export LUA_PATH="$PWD/lua/?.lua;$PWD/lua/?/init.lua;$PWD/?.lua;;" LUA_CPATH="$PWD/build/luajit/?.so;;"
  unset LD_PRELOAD
]]
inside.modules = modules

--- Names what is missing for these programs, or nil.
---@param program string
---@return string?
function inside.missing(program)
  if not inside.has(program) then
    return program .. " is not installed"
  end
  local built = io.open("build/luajit/operations/reactor.so")
  if not built then
    return "not built for LuaJIT (make LUA=luajit)"
  end
  built:close()
end

--- Runs a Lua file in Neovim.
---@param path string
---@param before? string  assignments, or a program that runs it
---@param after? string  more arguments
---@return { out: string, code: integer }
function inside.nvim(path, before, after)
  return shell(("%s %s timeout 120 nvim -u NONE -i NONE -n --headless -c 'luafile %s' %s </dev/null"):format(
    modules, before or "", path, after or ""))
end

local configuration = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
master_process off; daemon off; pid $directory/nginx.pid; error_log $directory/error.log error;
env BUSTED_ARGS; env PATH; env SPEC_CALLS_URL; env SPEC_CALLS_CA; env TASKS_URL; env TMPDIR;
env MCP_URL; env MCP_CONFORMANCE_SCENARIO; env MCP_CONFORMANCE_CONTEXT; env MCP_CONFORMANCE_PROTOCOL_VERSION;
events { worker_connections 4000; }
http {
  access_log off;
  client_body_temp_path $directory/body; proxy_temp_path $directory/proxy; fastcgi_temp_path $directory/fastcgi;
  scgi_temp_path $directory/scgi; uwsgi_temp_path $directory/uwsgi;
  lua_package_path "$root/lua/?.lua;$root/lua/?/init.lua;$root/?.lua;;";
  lua_package_cpath "$root/build/luajit/?.so;;";
  init_worker_by_lua_block {
    ngx.timer.at(0, function()
      local ok, raised = pcall(assert(loadfile("$path")))
      io.stdout:flush()
      if not ok then
        io.stderr:write(tostring(raised), "\n")
      end
      os.exit(ok and 0 or 1)
    end)
  }
}
]]

--- Runs a Lua file in nginx, in a timer's light thread.
---@param path string
---@param before? string  assignments, or a program that runs it
---@return { out: string, code: integer, log: string }
function inside.nginx(path, before)
  local values = { directory = shell("mktemp -d").out:match("%S+"), root = shell("pwd").out:match("%S+"), path = path }
  if path:sub(1, 1) ~= "/" then
    values.path = values.root .. "/" .. path
  end
  local file = assert(io.open(values.directory .. "/nginx.conf", "w"))
  file:write((configuration:gsub("%$(%l+)", values)))
  file:close()
  local start = "unset LD_PRELOAD; PATH=$PATH:/usr/sbin %s timeout 120 nginx -e stderr -p %s -c nginx.conf </dev/null"
  local result = shell(start:format(before or "", values.directory))
  result.log = shell("cat " .. values.directory .. "/error.log; rm -rf " .. values.directory).out
  return result
end

--- Reads what busted's TAP says.
---@param out string
---@return { passed: integer, planned: integer, failures: string }
function inside.tap(out)
  local passed, failures = 0, {}
  for line in out:gmatch("[^\r\n]+") do
    if line:find("^ok ") then
      passed = passed + 1
    elseif not line:find("^1%.%.%d") then
      failures[#failures + 1] = line
    end
  end
  return { passed = passed, planned = tonumber(out:match("1%.%.(%d+)")), failures = table.concat(failures, "\n") }
end

--- Runs a spec file in Neovim: all of it passes, and so many specs at least. What the editor shows by `vim.notify`
--- comes in between.
---@param file string
---@param at_least integer
function inside.passes(file, at_least)
  local result = inside.nvim("spec/support/run_busted.lua", ("BUSTED_ARGS='-o TAP %s'"):format(file))
  local tap = inside.tap(result.out)
  assert(not tap.failures:find("not ok"), tap.failures:match("not ok.*"))
  assert(result.code == 0 and tap.passed >= at_least, result.out)
end

return inside
