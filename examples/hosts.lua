--- The same program in plain Lua, in Neovim and in OpenResty: waits do not block the surrounding program. The last
--- two load what is built for LuaJIT (`make LUA=luajit`, and its luapath).
---   examples/server/run lua5.4 examples/hosts.lua
---   examples/server/run nvim --headless -c "luafile examples/hosts.lua" -c "qa!"
---   location /hosts { content_by_lua_file examples/hosts.lua; }
local operations = require("operations")

local function say(...)
  io.write(table.concat({ ... }, " "), "\n") -- `print` is another thing in nginx, and in Neovim
end

local registry = operations.registry()
local tasks = { namespace = "tasks", base_url = os.getenv("TASKS_URL") }
assert(registry:register_all(assert(operations.from_openapi.file("examples/tasks.openapi.json", tasks))))

-- An operation of our own calls those of the API.
assert(registry:register({
  namespace = "report",
  name = "titles",
  type = "query",
  handler = function(input, context)
    local titles = {}
    for i, id in ipairs(input.ids) do
      titles[i] = assert(context.env.tasks.get({ id = id })).data.title
    end
    return titles
  end,
}))
local report = assert(registry:execute("report.titles", { ids = { 1, 2 } }))
say(table.concat(report.data, ", ")) --> Read the design, Water the plants

-- Server-sent events, as they come.
local events = assert(registry:subscribe("tasks.watch", { seconds = 60 }))
for envelope in events do
  say(envelope.meta.event, envelope.data.title)
  if envelope.data.id == 2 then
    break
  end
end
events:close()
--> task Read the design
--> task Water the plants

-- Two calls at once, then one that takes too long and is cancelled.
operations.run(function()
  local function title(id)
    return function()
      return assert(registry:execute("tasks.get", { id = id })).data.title
    end
  end
  say(table.concat(assert(operations.all({ title(2), title(1) })), ", ")) --> Water the plants, Read the design

  local slow = operations.spawn(function()
    for envelope in assert(registry:subscribe("tasks.watch", { seconds = 60 })) do
      say("seen", envelope.data.title)
    end
  end)
  operations.sleep(0.2)
  slow:cancel()
  local _, err = slow:wait()
  say(err.code)
  --> seen Read the design
  --> seen Water the plants
  --> ABORTED
end)
