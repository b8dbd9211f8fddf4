--- Asks the user questions one after the other by `vim.ui`: the properties of a schema, for calls and for servers that
--- ask (elicitation). A question waits until no other question or prompt is open, and for Normal mode.
local json = require("operations.base.json")
local log = require("operations.nvim.log")
local marked = require("operations.base.marked")
local printable = require("operations.base.printable")
local schemas = require("operations.schema")
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

local function input(prompt, default)
  return ask(function(options, _, wake)
    vim.ui.input(options, wake)
  end, { prompt = printable.line(prompt), default = default })
end

local function select(items, prompt, format)
  return ask(vim.ui.select, items, { prompt = printable.line(prompt), format_item = function(item)
    return printable.line(format and format(item) or item)
  end })
end

local function literal(value)
  return type(value) == "string" and value or json.encode(value)
end

local function choices_of(schema)
  if schema.type == "boolean" then
    return { true, false }
  end
  return type(schema.enum) == "table" and schema.enum or nil
end

local function prompt_of(name, schema, is_required)
  local text = schema.title or name
  if type(schema.description) == "string" then
    text = text .. " (" .. schema.description:match("^[^\n]*") .. ")"
  end
  return text .. (is_required and ": " or ", optional: ")
end

-- Reads a text as a value: values other than strings are written as JSON.
local function read(text, schema)
  if schema.type ~= "string" and schema.type ~= nil or schema.type == nil and text:find("^[%[{]") then
    local value = json.decode(text)
    if value ~= nil then
      return value
    end
  end
  return text
end

local function problem_of(schema, value)
  local compiled = schemas.compile(schema)
  local ok, issues = true, nil
  if compiled then
    ok, issues = compiled:check(value)
  end
  return not ok and issues[1].message or nil
end

-- The value of a property; nil: left out; false as second result: the user cancelled the form.
local function answer(name, schema, is_required)
  local prompt, default = prompt_of(name, schema, is_required), schema.default
  local choices = choices_of(schema)
  if choices then
    local chosen = select(choices, prompt, literal)
    return chosen, chosen ~= nil or not is_required
  end
  local text = default ~= nil and literal(default) or nil
  while true do
    text = input(prompt, text)
    if text == nil then
      return nil, false
    elseif text == "" and not is_required then
      return nil, true
    end
    local value = read(text, schema)
    local problem = problem_of(schema, value)
    if not problem then
      return value, true
    end
    prompt = ("%s: %s: "):format(name, problem)
  end
end

local function fill(schema, all)
  local required, values = {}, {}
  for _, name in ipairs(schema.required or {}) do
    required[name] = true
  end
  for _, name in ipairs(schemas.properties(schema)) do
    local property = type(schema.properties[name]) == "table" and schema.properties[name] or {}
    if all or required[name] then
      local value, goes_on = answer(name, property, required[name] == true)
      if not goes_on then
        return nil
      end
      values[name] = value
    end
  end
  return marked.object(values)
end

--- Asks for the properties of an object. Waits for the user.
---@param title string  name of the asking server or operation
---@param schema table
---@param all? boolean  also asks for optional properties
---@return table? values  nil: the user cancelled the form
function form.ask(title, schema, all)
  return alone(title, function()
    return fill(schema, all)
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
function form.trust(subject, changed)
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

--- Answers a server's form.
---@param params { message: string, requestedSchema: table }
---@param context { client: operations.mcp.Client }
---@return { action: string, content?: table }
function form.elicit(params, context)
  local title = context.client and context.client.name or "a server"
  return alone(title, function()
    local chosen = select({ "answer", "decline" }, ("%s: %s"):format(title, params.message))
    if chosen ~= "answer" then
      return { action = chosen == "decline" and "decline" or "cancel" }
    end
    local content = fill(params.requestedSchema or {}, true)
    return content and { action = "accept", content = content } or { action = "cancel" }
  end)
end

--- Answers a server that asks the user to visit a page.
---@param params { message: string, url: string }
---@param context { client: operations.mcp.Client }
---@return { action: string }
function form.visit(params, context)
  local title = context.client and context.client.name or "a server"
  return alone(title, function()
    local chosen = select({ "open", "decline" }, ("%s: %s %s"):format(title, params.message, params.url))
    if chosen ~= "open" then
      return { action = chosen and "decline" or "cancel" }
    end
    if vim.ui.open and tostring(params.url):find("^https?://") then
      vim.ui.open(params.url)
    else
      log.write("warn", title .. ": open in a browser: " .. tostring(params.url))
    end
    return { action = "accept" }
  end)
end

return form
