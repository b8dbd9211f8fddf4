--- The host runs the loop of the program: plain Lua, Neovim or nginx. Each is one small file; this one selects it.
local hosts = {}

---@alias operations.Turn fun(expired?: fun(): boolean): boolean, boolean  runs ready tasks until `expired()`; are
---  others ready, and did any run?

---@class operations.Host
---@field name string
---@field now fun(): integer  ms since the epoch
---@field timer fun(ms: number, fn: fun()): fun()  calls `fn` once, later; returns a function that stops it when called
---  or, sooner or later, when garbage-collected: a waiting task keeps it
---@field block? fun(poll: fun(): boolean, boolean)  runs the loop until `poll()` is true; the second result of `poll`
---  says that more can run at once
---@field schedule? fun(turn: operations.Turn)  makes the host's loop call `turn` soon, and again while it returns true;
---  absent where `block` runs everything
---@field park? fun(wait: operations.Wait)  instead of `block`, where tasks are threads of the host: suspends the
---  running one until `wait.done`; sets `wait.unpark`, which is called then
---@field spawn? fun(fn: fun(argument: any), argument: any, detached?: boolean)  with `park`: calls `fn` in a thread of
---  its own, once the caller waits; a detached one outlives the host's current request
---@field strands? fun(): table<thread, operations.Strand>  with `park`: the strands of the coroutines of the current
---  request, which cannot outlive it; it knows the resumer of coroutines that a program makes itself
---@field start? fun(kind: string, options: any, on_event: fun(kind: string, ...)): operations.Handle  starts something
---  in the reactor ("http", "process")
---@field on_exit? fun(fn: fun()): fun()  calls `fn`, which may wait, when the program begins to end; returns a function
---  that undoes this
---@field finalize? fun(fn: fun())  calls `fn` soon; for finalizers, where they can do little themselves
---@field interruptible? fun(fn: function, ...: any): any  calls `fn(...)`; signals that end a program are raised where
---  it waits
---@field log? fun(level: "debug"|"info"|"warn"|"error", message: string)  shows a message where the program's user or
---  administrator looks; without it, warnings and errors go to stderr
---@field take_over? fun(options: table, on_event: fun(event: string, ...), fn: fun(handle: table))  where programs
---  handle HTTP requests: passes the connection of the running request to `fn`, and returns when it was cancelled
---@field serve_http? fun(handle: fun(request: operations.ServerRequest): operations.ServerResponse)  where programs
---  handle HTTP requests: answers the running request with the result of `handle`
---@field dictionary? fun(name: string): table?  a dictionary that all processes that serve share
---@field set_variable? fun(name: string, value: string)  with `serve_http`: a variable that the program's own log reads
---@field workers? fun(): integer  with `serve_http`: the number of processes that serve

local required = { "now", "timer" }

hosts.catches_signals = nil ---@type boolean?  what the program said; nil: the host "plain" decides
hosts.chosen = nil ---@type operations.Host?  the one in use, read without a call in hot paths

-- Are we inside of the program that a host is for?
local inside = {
  openresty = function()
    local ngx = rawget(_G, "ngx")
    return ngx ~= nil and ngx.socket ~= nil
  end,
  nvim = function()
    local vim = rawget(_G, "vim")
    local is_thread = vim and vim.is_thread and vim.is_thread() -- one of luv has a Lua state and waits of its own
    return vim ~= nil and not is_thread and (vim.uv or vim.loop) ~= nil
  end,
  plain = function()
    return true
  end,
}

local function nothing() end

--- Selects a host by name, or takes a table that implements one.
---@param host string|operations.Host
function hosts.use(host)
  if type(host) == "string" then
    if not inside[host] then
      error(("bad argument #1 'host' (\"nvim\", \"openresty\", \"plain\" or a table expected, got %q)"):format(host), 3)
    elseif not inside[host]() then
      error(("the host '%s' only works inside its own program"):format(host), 3)
    end
    host = require("operations.hosts." .. host) -- each file requires modules of its own program
  elseif type(host) ~= "table" then
    error(("bad argument #1 'host' (name or table expected, got %s)"):format(type(host)), 3)
  end
  for i = 1, #required do
    if type(host[required[i]]) ~= "function" then
      error(("bad argument #1 'host' (function expected in field '%s')"):format(required[i]), 3)
    end
  end
  if type(host.block or host.park) ~= "function" then
    error("bad argument #1 'host' (function expected in field 'block' or 'park')", 3)
  end
  host.schedule = host.schedule or nothing
  hosts.chosen = host
end

--- Does its loop run when no task waits?
---@return boolean
function hosts.runs_by_itself()
  return hosts.current().schedule ~= nothing
end

--- The host in use; the first call detects it.
---@return operations.Host
function hosts.current()
  if not hosts.chosen then
    hosts.use(inside.openresty() and "openresty" or inside.nvim() and "nvim" or "plain")
  end
  return hosts.chosen
end

return hosts
