--- The plugin for Neovim: `require("operations.nvim")`. Its parts are loaded on first use, so that the editor starts
--- fast.
local argument = require("operations.base.argument")
local members = require("operations.base.members")

local vim = rawget(_G, "vim")

---@class operations.nvim
local nvim = {}

---@class operations.nvim.Options
---@field servers? string|table  a file in the form of mcp.json: a relative name is beside init.lua, one that begins
---  with "./" in the current directory, and used once the user trusts it; or a table of that form
---@field apis? table<string, table>  OpenAPI documents, by the namespace of their operations: `file` (as `servers`),
---  `url` or `document`, and the options of `from_openapi`; with `graphql = true` GraphQL services, and those of
---  `from_graphql`
---@field mcp? operations.mcp.Config  configuration for all servers
---@field registry? operations.Registry  for the operations; default: a new one
---@field policy? operations.PolicyRule[]|string  rules: which calls run, are asked about in the editor, or never run;
---  or a file of them beside init.lua. Not with `registry`, which has its own

---@class operations.nvim.SourceSpec  one of
---@field operations? operations.Definition[]
---@field openapi? table  an entry of `apis`
---@field mcp? table  an entry of mcp.json: `command`, `args`, `env`, or `url`, `headers`, ...
---@field directory? string  with files of definitions, absolute or beside init.lua

---@class operations.nvim.State
---@field name string
---@field kind "mcp"|"openapi"|"operations"|"directory"
---@field state operations.mcp.State  "stopped": it was not used yet
---@field err? operations.Error  why it is not connected
---@field operations integer  their number
---@field is_added boolean  by `add_source`, not by setup()

local sources ---@type operations.nvim.Sources?  made when first used
local host ---@type operations.Host  of this copy of the library
local configuration = {} ---@type operations.nvim.Options
local added = {} ---@type { name: string, spec: operations.nvim.SourceSpec, one?: operations.nvim.Source }[]
local listeners = {} ---@type (fun(name: string, state: operations.mcp.State, err: operations.Error?))[]
local is_closed, shows_state = false, false

local function need_editor(name)
  if not vim or not vim.schedule then -- threads have neither this nor the editor's functions
    error(("operations.nvim.%s works inside of Neovim only, on its main thread"):format(name), 3)
  end
end

--- A copy of data for functions of Neovim (`vim.json.encode`, `vim.fn`, `vim.mpack`, `vim.rpcnotify`): null is
--- `vim.NIL`, empty objects are `vim.empty_dict()`, wide integers are strings of digits, tables have no marks. An
--- unmarked empty table is a list, as in Neovim. Data from Neovim needs no conversion.
---@param value any
---@return any
function nvim.to_vim(value)
  need_editor("to_vim")
  return require("operations.nvim.value").to_vim(value)
end

--- A copy of data from functions of Neovim (`vim.fn`, `vim.json.decode`, `vim.mpack`) as our JSON values: `vim.NIL` is
--- `operations.null`, lists and dictionaries are marked, so that `[]` and `{}` stay distinct.
---@param value any
---@return any
function nvim.from_vim(value)
  need_editor("from_vim")
  return require("operations.nvim.value").from_vim(value)
end

--- Ends all sources, those of setup() and those that were added; until the next setup(), `:Operations` reports that
--- there are none.
function nvim.close()
  local former = sources
  sources, is_closed = nil, true
  if former then
    former:close()
  end
end

-- The library is loaded again: this copy ends with its last server. Compiled traces of other code refer to its
-- functions, so all traces are flushed; used ones are compiled again.
local function retire()
  local former, jit = sources, rawget(_G, "jit")
  sources, is_closed = nil, true
  if former then
    former:close(host.close)
  end
  if jit then
    jit.flush()
  end
end

-- Plugin managers call it before they reload the plugin.
function nvim.deactivate()
  retire()
end

local function tell(name, state, err)
  if not name then
    return
  elseif shows_state then
    vim.schedule(function()
      vim.cmd("redrawstatus")
    end)
  end
  for _, listener in ipairs(vim.list_slice(listeners)) do
    listener(name, state, err)
  end
end

-- Loads a part of the plugin; raises one sentence when its C modules were not built.
local function load(name)
  local ok, part = pcall(require, "operations." .. name)
  if not ok then
    error(tostring(part):find("not found:", 1, true)
      and "operations: not built: run `make nvim` in the directory of the plugin" or part, 0)
  end
  return part
end

-- The sources of the editor.
local function open()
  if not sources then
    local made = load("nvim.sources")
    host = require("operations.hosts").current()
    sources = made.new(configuration.registry, configuration.policy)
    sources:follow(tell)
    sources:configure(configuration)
    for _, entry in ipairs(added) do
      entry.one = sources:add(entry.name, entry.spec)
    end
    require("operations.task").set_on_error(function(failure, traceback)
      local is_abort = type(failure) == "table" and failure.code == "ABORTED"
      require("operations.nvim.log").write(is_abort and "info" or "error", traceback)
    end)
  end
  return sources
end

local function make_command()
  vim.api.nvim_create_user_command("Operations", function(given)
    if is_closed then
      vim.notify("operations: closed: call setup() again", vim.log.levels.ERROR)
    else
      local ok, raised = pcall(function()
        load("nvim.command").run(open(), given.args)
      end)
      if not ok then
        vim.notify(tostring(raised), vim.log.levels.ERROR)
      end
    end
  end, {
    nargs = "+", desc = "operations of MCP servers and HTTP APIs",
    complete = function(lead, line, at)
      return is_closed and {} or require("operations.nvim.command").complete(open(), lead, line:sub(1, at))
    end,
  })
end

-- Begins to live in the editor. Nothing of the library is loaded yet.
local function install()
  is_closed = false
  -- Also notifies another copy of this module that ran before.
  vim.api.nvim_exec_autocmds("User", { pattern = "OperationsSetup", modeline = false })
  local group = vim.api.nvim_create_augroup("operations", {})
  vim.api.nvim_create_autocmd("User", { group = group, pattern = "OperationsSetup", callback = function()
    if package.loaded["operations.nvim"] ~= nvim then
      retire()
    end
  end })
  vim.api.nvim_create_autocmd("VimLeavePre", { group = group, callback = nvim.close })
  make_command()
end

local option_kinds = { servers = "string or table", apis = "table", mcp = "table", registry = "table",
  policy = "string or table" }
local api_places = { document = "table", file = "string", url = "string" }

-- Has a table exactly one of these members, of its type?
local function has_one(entry, places)
  local found = 0
  for place, kind in pairs(places) do
    found = found + (type(entry) == "table" and type(entry[place]) == kind and 1 or 0)
  end
  return found == 1
end

local function check_options(options)
  argument.optional(options, "table", 1, "setup", 4)
  argument.options(options or {}, option_kinds, "setup", 4)
  if options and options.policy and options.registry then
    error("bad option 'policy' to 'setup' (the registry of the option `registry` has its own policy)", 3)
  end
  for namespace, entry in pairs(options and options.apis or {}) do
    if type(namespace) ~= "string" or not has_one(entry, api_places) then
      error(("bad option 'apis' to 'setup' (apis.%s: a table with file, url or document expected)"):format(
        tostring(namespace)), 3)
    end
  end
end

--- Makes the command `:Operations` and sets its servers and APIs, which start on first use. A second call replaces
--- those of the first; what plugins added stays.
---@param options? operations.nvim.Options
function nvim.setup(options)
  need_editor("setup")
  check_options(options)
  local former = configuration
  configuration = options or {}
  install()
  if sources and (former.registry ~= configuration.registry or former.policy ~= configuration.policy) then
    sources:close()
    sources = nil
  elseif sources then
    sources:configure(configuration)
  end
end

local spec_kinds = { operations = "table", openapi = "table", mcp = "table", directory = "string" }

local function is_taken(name)
  for _, entry in ipairs(added) do
    if entry.name == name then
      return true
    end
  end
  for _, state in ipairs(sources and sources:states() or {}) do
    if state.name == name then
      return true
    end
  end
  return configuration.apis ~= nil and configuration.apis[name] ~= nil
end

--- Adds a source of a plugin beside those of the user and of other plugins. It starts on first use, as they do;
--- definitions are there at once. Its operations are in `registry()`, its state is in `state()` and
--- `:Operations servers`.
---@param name string  unique in the editor; the namespace of the operations of a document, and of a server
---@param spec operations.nvim.SourceSpec
---@return fun()? remove  ends it, and removes its operations
---@return operations.Error? err  VALIDATION_ERROR: the name is taken
function nvim.add_source(name, spec)
  need_editor("add_source")
  argument.expect(name, "string", 1, "add_source")
  argument.expect(spec, "table", 2, "add_source")
  argument.options(spec, spec_kinds, "add_source")
  if not has_one(spec, spec_kinds) or spec.openapi and not has_one(spec.openapi, api_places) then
    error(spec.openapi and "bad option 'openapi' to 'add_source' (a table with file, url or document expected)"
      or "bad argument #2 to 'add_source' (one of operations, openapi, mcp and directory expected)", 2)
  end
  if is_taken(name) then
    return nil, require("operations").error("VALIDATION_ERROR", ("there is a source '%s' already"):format(name))
  end
  if not sources and #added == 0 then
    install()
  end
  local entry = { name = name, spec = spec }
  entry.one = sources and sources:add(name, spec)
  table.insert(added, entry)
  return function()
    if members.remove(added, entry) and sources then
      sources:remove(entry.one)
    end
  end
end

--- The registry with the operations of all sources, which are started now if necessary. Those that are still starting
--- register their operations later. Before setup() it has only those of added sources.
---@return operations.Registry
function nvim.registry()
  need_editor("registry")
  open():begin()
  return sources.registry
end

--- The servers named in setup().
---@return string? path  of their file
---@return table<string, table>? servers  their entries
---@return operations.Error? err  the file cannot be read
function nvim.configured()
  need_editor("configured")
  return open():configured()
end

--- The state of each source, in order: those of setup(), then those that were added. Starts nothing.
---@return operations.nvim.State[]
function nvim.state()
  need_editor("state")
  return open():states()
end

--- Calls a function when the state of a source changes, and when its operations do. It must not wait.
---@param fn fun(name: string, state: operations.mcp.State, err: operations.Error?)
---@return fun() stop
function nvim.on_state(fn)
  need_editor("on_state")
  argument.expect(fn, "function", 1, "on_state")
  table.insert(listeners, fn)
  return function()
    members.remove(listeners, fn)
  end
end

--- A text for the status line: "ops 3" when all sources that were started are connected, "ops 2/3" when some are not
--- yet, with the names of those that failed; "" before any is used.
---@return string
function nvim.statusline()
  shows_state = true
  local started, connected, failed = 0, 0, {}
  for _, entry in ipairs(sources and sources:states() or {}) do
    if entry.state == "connected" then
      connected = connected + 1
    elseif entry.err then
      failed[#failed + 1] = entry.name
    end
    if entry.state ~= "stopped" and entry.state ~= "disabled" then
      started = started + 1
    end
  end
  if started == 0 then
    return ""
  end
  local names = #failed > 0 and " !" .. table.concat(failed, " !") or ""
  return ("ops %d%s%s"):format(connected, connected < started and "/" .. started or "", (names:gsub("%%", "%%%%")))
end

-- Waits for the answer of `ask()`; with `done` in the background, which then gets it.
local function answered(done, ask)
  if not done then
    return ask()
  end
  load("task").detach(function()
    done(ask())
  end)
end

--- Asks the user for the properties of an object, one after the other, by `vim.ui`, in Normal mode, when no other
--- question is open.
---@param spec { title: string, schema: operations.JsonSchema, all?: boolean, value?: table }  all: asks for
---  optional properties too; value: only what it lacks is asked for
---@param done? fun(values: table?)  gets the values later; without it, the call waits for them
---@return table? values  fit the schema; nil: the user cancelled
function nvim.form(spec, done)
  need_editor("form")
  argument.expect(spec, "table", 1, "form")
  argument.options(spec, { title = "string", schema = "table or boolean", all = "boolean", value = "table" },
    "form")
  argument.optional(done, "function", 2, "form")
  return answered(done, function()
    return load("nvim.form").ask(spec.title or "", spec.schema or {}, spec.all, spec.value)
  end)
end

--- Answers a server that asks the user something, for `elicitation = { form = nvim.elicit, url = nvim.elicit }` of
--- clients that a plugin makes. Those of setup() and `add_source` have it. MCP 2025-06-18 and later.
---@param params { message: string, requestedSchema?: table, url?: string }
---@param context { client?: operations.mcp.Client }
---@return { action: "accept"|"decline"|"cancel", content?: table }
function nvim.elicit(params, context)
  need_editor("elicit")
  argument.expect(params, "table", 1, "elicit")
  local form = load("nvim.form")
  return (params.url and form.visit or form.elicit)(params, context or {})
end

--- Lets the user choose an operation of `registry()` by `vim.ui.select`.
---@param options? { prompt?: string, filter?: fun(spec: operations.Spec): any }
---@param done? fun(spec: operations.Spec?)  gets it later; without it, the call waits
---@return operations.Spec? spec  nil: none was chosen
function nvim.pick(options, done)
  need_editor("pick")
  argument.optional(options, "table", 1, "pick")
  argument.optional(done, "function", 2, "pick")
  options = options or {}
  argument.options(options, { prompt = "string", filter = "function" }, "pick")
  local specs = nvim.registry():specs()
  specs = options.filter and vim.tbl_filter(options.filter, specs) or specs
  return answered(done, function()
    return load("nvim.form").pick(specs, options.prompt or "operation")
  end)
end

--- The text of a result for people: the blocks of a tool's answer, otherwise its data as JSON.
---@param envelope operations.Envelope
---@return string text
---@return "markdown"|"json" filetype
function nvim.text(envelope)
  need_editor("text")
  argument.expect(envelope, "table", 1, "text")
  return load("nvim.call").text(envelope)
end

--- Opens a floating window and moves the cursor there; `q` closes it.
---@param options { title?: string, text?: string|string[], filetype?: string, on_close?: fun() }
---@return operations.nvim.View view  `set(lines)`, `append(text)`, `title(text)`, `filetype(name)`, `on_key(key, fn)`,
---  `is_open()`, `close()`
function nvim.float(options)
  need_editor("float")
  argument.expect(options, "table", 1, "float")
  argument.options(options, { title = "string", text = "string or table", filetype = "string", on_close = "function" },
    "float")
  local view = load("nvim.view")
  local window = view.open(options.title or "", options.on_close)
  window:set(type(options.text) == "table" and options.text or view.split(options.text or ""))
  if options.filetype then
    window:filetype(options.filetype)
  end
  return window
end

--- Serves the running editor to MCP clients at a Unix socket (doc/neovim-assistants.md).
---@param options? operations.nvim.ServeOptions
---@return operations.nvim.Served?
---@return operations.Error? err
function nvim.serve(options)
  return require("operations.nvim.serve").start(options)
end

--- Offers operations of a plugin to the clients of the editor.
---@param definitions operations.Definition|operations.Definition[]
---@return fun()? withdraw  removes them
---@return operations.Error? err
function nvim.offer(definitions)
  return require("operations.nvim.serve").offer(definitions)
end

return nvim
