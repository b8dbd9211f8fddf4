--- The host: what runs the loop of the program we are in. One small file each; this one chooses.
local hosts = {}

---@alias operations.Turn fun(expired?: fun(): boolean): boolean, boolean  runs the tasks that are ready, until it has
---`expired`; are others ready, and did any run?

---@class operations.Host
---@field name string
---@field now fun(): integer  ms since the epoch
---@field timer fun(ms: number, fn: fun()): fun()  calls `fn` once, later; returns what stops it, by being called or,
---sooner or later, garbage-collected: a waiting task keeps it
---@field block? fun(poll: fun(): boolean, boolean)  lets things happen until `poll()` is true; its second result says
---that more can run at once
---@field schedule? fun(turn: operations.Turn)  has the host's loop call `turn` soon, and again while it returns true;
---absent where `block` runs everything
---@field park? fun(wait: operations.Wait)  instead of `block`, where tasks are threads of the host's: suspends the
---running one until `wait.done`; sets `wait.unpark`, which is called when it is
---@field spawn? fun(fn: fun(argument: any), argument: any, detached?: boolean)  with `park`: calls `fn` in a thread of
---its own, once the caller waits; a detached one outlives what the host runs now
---@field strands? fun(): table<thread, operations.Strand>  with `park`: what is known about coroutines that cannot
---outlive what runs them, a request; it knows what resumes those that a program made by itself
---@field start? fun(kind: string, options: any, on_event: fun(kind: string, ...)): operations.Handle  starts
---something in the reactor ("http", "process")
---@field on_exit? fun(fn: fun()): fun()  has `fn`, which may wait, called when the program begins to end; returns what
---forgets it
---@field finalize? fun(fn: fun())  has `fn` called soon; called by a finalizer, where those cannot do much themselves
---@field interruptible? fun(fn: function, ...: any): any  calls `fn(...)`; signals that end
---a program are raised in what it waits for
---@field log? fun(level: "debug"|"info"|"warn"|"error", message: string)  shows a message where the program's user or
---administrator looks; without it, warnings and errors go to stderr
---@field take_over? fun(options: table, on_event: fun(event: string, ...), fn: fun(handle: table))  where programs are
---handlers of HTTP requests: hands the connection of the running one to `fn`, and returns when it was cancelled
---@field serve_http? fun(handle: fun(request: operations.ServerRequest): operations.ServerResponse)  where programs are
---handlers of HTTP requests: answers the running one by what `handle` makes of it
---@field workers? fun(): integer  with `serve_http`: how many processes do

local required = { "now", "timer" }

hosts.chosen = nil ---@type operations.Host?  the one in use, read without a call in hot paths

-- Are we inside of the program that a host is for?
local inside = {
  openresty = function()
    local ngx = rawget(_G, "ngx")
    return ngx ~= nil and ngx.socket ~= nil
  end,
  nvim = function()
    local vim = rawget(_G, "vim")
    return vim ~= nil and (vim.uv or vim.loop) ~= nil
  end,
  plain = function()
    return true
  end,
}

local function nothing() end

--- Chooses a host by its name, or takes a table that is one.
---@param host string|operations.Host
function hosts.use(host)
  if type(host) == "string" then
    if not inside[host] then
      error(("bad argument #1 'host' (\"nvim\", \"openresty\", \"plain\" or a table expected, got %q)"):format(host), 3)
    elseif not inside[host]() then
      error(("the host '%s' works inside of its own program only"):format(host), 3)
    end
    host = require("operations.hosts." .. host) -- each needs what only its own program has
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

--- Does its loop run on when nobody waits?
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
