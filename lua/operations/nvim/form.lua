--- The face of the editor for questions: `vim.ui`, one question after the other, for calls and for servers that ask
--- (elicitation). A question waits until no other question or prompt is open, and for Normal mode.
local asking = require("operations.people.asking")
local log = require("operations.nvim.log")
local printable = require("operations.base.printable")
local task = require("operations.task")
local view = require("operations.nvim.view")

local vim = rawget(_G, "vim")

local form = {}

local is_asking = false

local CHECK = 0.1 -- s between checks whether a question may be shown

-- Would a prompt intercept the keys that the user types?
local function is_typing()
  local mode = vim.api.nvim_get_mode()
  return is_asking or mode.blocking or mode.mode ~= "n"
end

-- Runs `fn` once questions may be asked.
local function alone(title, fn)
  local told = false
  while is_typing() do
    if not told and not is_asking then
      told = true
      log.write("warn", title .. " asks something; in Normal mode it is shown")
    end
    task.sleep(CHECK)
  end
  is_asking = true
  local results = { pcall(fn) }
  is_asking = false
  if not results[1] then
    error(results[2], 0)
  end
  return results[2], results[3]
end

-- The user's choice or text; nil: none.
local function ask(show, subject, options)
  return task.await(function(wake)
    local ok = pcall(show, subject, options, wake)
    if not ok then
      wake(nil) -- Ctrl-C, on older versions
    end
  end)
end

local CANCELLED = "\27"

-- Before 0.9 Neovim's own `vim.ui.input` gives nil for an empty text, too.
local function own_input(options, wake)
  options.cancelreturn = CANCELLED
  local text = vim.fn.input(options)
  wake(text ~= CANCELLED and text or nil)
end

local function input(prompt, default)
  local is_own = vim.fn.has("nvim-0.9") == 0 and debug.getinfo(vim.ui.input, "S").source:find("%f[%w]vim/ui%.lua$")
  return ask(function(options, _, wake)
    (is_own and own_input or vim.ui.input)(options, wake)
  end, { prompt = printable.line(prompt), default = default })
end

local function select(items, prompt, format)
  return ask(vim.ui.select, items, { prompt = printable.line(prompt), format_item = function(item)
    return printable.line(format and format(item) or item)
  end })
end

local function open(address, text)
  if vim.ui.open and tostring(address):find("^https?://") then
    vim.ui.open(address)
  else
    log.write("warn", text .. ": " .. tostring(address))
  end
end

--- The user of the editor.
form.person = { input = input, select = select, open = open } ---@type operations.people.Face

--- Asks for the properties of an object. Waits for the user.
---@param title string  name of the asking server or operation
---@param schema table
---@param all? boolean  also asks for optional properties
---@param value? table  what is known: only what it lacks is asked for
---@return table? values  nil: the user cancelled the form
function form.ask(title, schema, all, value)
  return alone(title, function()
    return (asking.ask(form.person, { title = title, text = "", schema = schema, all = all, value = value }))
  end)
end

--- Lets the user choose one of some operations. Waits for the user.
---@param specs operations.Spec[]
---@param prompt string
---@return operations.Spec?  nil: none was chosen
function form.pick(specs, prompt)
  return alone(prompt, function()
    return (select(specs, prompt, function(spec)
      local text = (spec.title or spec.description or ""):match("^[^\n]*")
      return spec.namespace .. "." .. spec.name .. (text ~= "" and "  " .. text or "")
    end))
  end)
end

local TRUST, READ, LEAVE = "trust it and start", "read what it runs first", "leave it out"

-- The lines of a text in a window, as it wraps them.
local function height_of(lines, width)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return height
end

-- Shows lines; returns the view, and whether the user sees all of them.
local function show(title, lines)
  local window = view.open(title)
  window:set(lines)
  local width, height = vim.api.nvim_win_get_width(0), vim.api.nvim_win_get_height(0)
  return window, height_of(lines, width) < height
end

--- Shows what a file that the current directory brought would run, and asks whether the user trusts it. A text that is
--- longer than its window can be scrolled before the answer. Waits for the user.
---@param subject operations.people.Subject
---@param changed string[]  the files that are new or changed since it was trusted
---@return boolean
function form.person.trust(subject, changed)
  local lines = subject:text()
  for _, path in ipairs(changed) do
    lines[#lines + 1] = "new or changed: " .. path
  end
  local prompt = ("Trust %s? %s"):format(subject.path, table.concat(lines, "; ", 2, 1 + #subject.lines))
  return alone(subject.path, function()
    local was_read = false
    while true do
      local window, is_whole = show("came with the directory", lines)
      local items = (is_whole or was_read) and { TRUST, LEAVE } or { READ, LEAVE }
      vim.cmd("redraw")
      local chosen = select(items, prompt)
      while chosen == READ and window:is_open() do
        task.sleep(CHECK)
      end
      window:close()
      if chosen ~= READ then
        return chosen == TRUST
      end
      was_read = true
    end
  end)
end

local function server_of(context)
  return context.client and context.client.name or "a server"
end

--- Answers a server's form.
---@param params { message: string, requestedSchema: table }
---@param context { client: operations.mcp.Client }
---@return { action: string, content?: table }
function form.elicit(params, context)
  local title = server_of(context)
  return alone(title, function()
    return asking.elicit(form.person, title, params)
  end)
end

--- Answers a server that asks the user to visit a page.
---@param params { message: string, url: string }
---@param context { client: operations.mcp.Client }
---@return { action: string }
function form.visit(params, context)
  local title = server_of(context)
  return alone(title, function()
    return asking.visit(form.person, title, params)
  end)
end

return form
