--- The report of `:checkhealth operations`: modules, versions, what libcurl can do, programs that servers need,
--- permissions.
local nvim = require("operations.nvim")
local printable = require("operations.base.printable")
local version = require("operations.base.version")

local vim = rawget(_G, "vim")

local health = {}

-- A module before Neovim 0.8.
local report = vim and (vim.health or select(2, pcall(require, "health"))) or {}
local start = report.start or report.report_start

-- A function of the report for texts of servers and files too.
local function reporter(show)
  return function(text, ...)
    show(printable.escaped(text), ...)
  end
end

local ok, warn = reporter(report.ok or report.report_ok), reporter(report.warn or report.report_warn)
local fail = reporter(report.error or report.report_error)

local function check_editor()
  start("operations: Neovim")
  local found = vim.version()
  local text = ("Neovim %d.%d.%d"):format(found.major, found.minor, found.patch)
  if vim.fn.has("nvim-0.7") == 1 then
    ok(text)
  else
    fail(text .. ": 0.7 or newer is needed")
  end
  local jit = rawget(_G, "jit")
  if jit then
    ok(jit.version)
  else
    fail("this Neovim was built without LuaJIT, which is needed")
  end
  local system = vim.loop.os_uname().sysname
  if system == "Linux" then
    ok(system)
  elseif system == "Darwin" or system:find("BSD", 1, true) then
    ok(system .. ": compiled by the project's checks, run on Linux only")
  else
    fail(system .. ": needs Linux, macOS or a BSD")
  end
end

-- C modules: whether they are required, and the consequence of a missing one.
local modules = {
  { "core", true }, { "reactor", true }, { "system", true }, { "http_server", true },
  { "transfer", true, "HTTP and MCP servers at a URL need libcurl" },
  { "websocket", false, "WebSocket needs wslay (libwslay-dev, wslay-devel, wslay) when `make nvim` runs" },
  { "redis", false, "Redis needs hiredis (libhiredis-dev, hiredis-devel, hiredis) when `make nvim` runs" },
  { "tls", false, "Serving over TLS needs OpenSSL 3 (libssl-dev, openssl-devel, openssl) when `make nvim` runs" },
  { "sandbox_child", false, "Programs that a model wrote cannot run" },
  { "crypto", false, "Signed tokens need OpenSSL 3 (libssl-dev, openssl-devel, openssl) when `make nvim` runs" },
}

local function check_module(name, is_needed, without)
  local loaded, raised = pcall(require, "operations." .. name)
  if loaded then
    ok("operations." .. name)
    return
  end
  local why = tostring(raised):find("not found:", 1, true) and "not built" or tostring(raised):match("^[^\n]*")
  local text = ("operations.%s: %s%s"):format(name, why, without and ". " .. without or "")
  if is_needed then
    fail(text, { "run `make nvim` in the directory of the plugin; it says what is missing" })
  else
    warn(text)
  end
end

-- The directory of the plugin, if it was built there.
local function plugin_directory()
  local path = debug.getinfo(1, "S").source:match("^@(.*)/lua/operations/nvim/health%.lua$")
  return path and vim.loop.fs_stat(path .. "/src/needs.sh") and path or nil
end

local function newest(directory)
  local time = 0
  for _, file in ipairs(vim.fn.globpath(directory, "src/**/*.[ch]", false, true)) do
    local stat = vim.loop.fs_stat(file)
    time = math.max(time, stat and stat.mtime.sec or 0)
  end
  return time
end

local function check_modules()
  start("operations: modules")
  ok("version " .. version)
  for _, module in ipairs(modules) do
    check_module(module[1], module[2], module[3])
  end
  local directory = plugin_directory()
  local built = directory and vim.loop.fs_stat(directory .. "/lua/operations/core.so")
  if built and built.mtime.sec < newest(directory) then
    warn("the C modules are older than their sources", { "run `make nvim` in " .. directory })
  end
end

local function check_libcurl()
  local loaded, transfer = pcall(require, "operations.transfer")
  if not loaded then
    return
  end
  start("operations: libcurl")
  local number, ssl, features = transfer.libcurl()
  ok("libcurl " .. number .. (ssl and ", " .. ssl or ""))
  for _, feature in ipairs({ { "SSL", "https does not work" },
    { "resolver", "names are resolved while the editor waits" },
    { "HTTP2", "many requests to a server need many connections" } }) do
    if features[feature[1]] then
      ok(feature[1])
    else
      warn(("without %s: %s"):format(feature[1], feature[2]))
    end
  end
end

local function check_node()
  if vim.fn.executable("npx") == 1 and vim.fn.executable("node") == 1 then
    local found = vim.trim(vim.fn.system({ "node", "--version" }))
    local major = tonumber(found:match("^v(%d+)"))
    if major and major < 18 then
      warn("node " .. found .. ": servers from npm need 18 or newer")
    else
      ok("node " .. found .. ", npx")
    end
  else
    warn("npx is not in PATH: MCP servers from npm do not start", { "install Node.js" })
  end
end

-- The program that connects assistants to an editor.
local function check_program()
  start("operations: the program")
  local directory = plugin_directory()
  local made = directory and directory .. "/build/bin/operations"
  if vim.fn.executable("operations") == 1 then
    ok("operations is in PATH")
    made = "operations"
  elseif not made or vim.fn.executable(made) == 0 then
    warn("there is no program `operations`, which assistants start",
      { "run `make nvim` in " .. (directory or "the directory of the plugin") })
  elseif vim.fn.executable("luajit") == 0 and vim.fn.has("nvim-0.9") == 0 then
    warn(made .. " needs luajit in PATH, or Neovim 0.9")
  else
    ok(made .. ", which is not in PATH: assistants need this path, or a link to it in PATH")
  end
  if made and vim.fn.executable(made) == 1 then
    local word = vim.fn.shellescape(made):gsub("^'([%w_/.-]+)'$", "%1")
    ok(("for Claude Code: claude mcp add nvim -- %s mcp --nvim"):format(word))
  end
end

-- Programs that a model wrote need an interpreter beside the editor.
local function check_sandbox()
  local loaded, sandbox = pcall(require, "operations.sandbox")
  if not loaded then
    return
  end
  start("operations: the sandbox")
  local interpreter, err = sandbox.available()
  if interpreter then
    ok("programs run in " .. interpreter)
  else
    warn(err.message)
  end
end

local function check_commands(servers)
  for name, entry in pairs(servers) do
    local command = type(entry) == "table" and entry.command
    if type(command) == "string" and not command:find("%$") and vim.fn.executable(command) == 0 then
      fail(("server %s: %s is not in PATH"):format(name, command))
    elseif type(command) == "string" then
      ok(("server %s: %s"):format(name, command))
    end
  end
end

-- Users with write access to the file decide which programs are started; it may contain secrets.
local function check_file(path)
  local stat = vim.loop.fs_stat(path)
  if not stat then
    return fail(path .. ": there is no such file")
  end
  local mode = stat.mode % 512
  if math.floor(mode / 2) % 2 == 1 or math.floor(mode / 16) % 2 == 1 then
    warn(path .. ": others may change it, and so have programs started", { "chmod go-w " .. path })
  elseif mode % 8 >= 4 then
    ok(path .. ": all users of this machine may read it; secrets belong into the environment (${NAME})")
  else
    ok(path)
  end
end

local function check_servers()
  start("operations: servers")
  check_node()
  local path, servers, problem = nvim.configured()
  if path then
    check_file(path)
  end
  if problem then
    fail(tostring(problem))
  end
  check_commands(servers or {})
end

local function check_sources()
  start("operations: sources")
  local states = nvim.state()
  for _, entry in ipairs(states) do
    local text = ("%s (%s): %s"):format(entry.name, entry.kind, entry.state)
    if entry.err then
      fail(text .. ": " .. tostring(entry.err.message or entry.err), { ":Operations servers restart " .. entry.name })
    elseif entry.state == "stopped" then
      ok(text .. ", it starts when it is used")
    else
      ok(("%s, %d operation%s"):format(text, entry.operations, entry.operations == 1 and "" or "s"))
    end
  end
  if #states == 0 then
    ok("none is used yet")
  end
end

local function check_directory()
  start("operations: permissions")
  local directory = vim.env.XDG_RUNTIME_DIR
  local stat = directory and vim.loop.fs_stat(directory)
  if not stat then
    warn("XDG_RUNTIME_DIR is not set or not there: sockets go to a directory of Neovim's own")
  elseif stat.uid ~= vim.loop.getuid() or stat.mode % 64 ~= 0 then
    warn(directory .. ": belongs to another user, or others can read it", { "chmod 700 " .. directory })
  else
    ok(directory .. ": for this user only")
  end
end

function health.check()
  check_editor()
  check_modules()
  check_libcurl()
  if package.loaded["operations.core"] then
    check_servers()
    check_sources()
    check_sandbox()
  end
  check_directory()
  check_program()
end

return health
