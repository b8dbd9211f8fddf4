--- `:Operations list|describe|call|start|watch|jobs|servers|policy|log`, and its completion.
local call = require("operations.nvim.call")
local description = require("operations.people.description")
local errors = require("operations.base.error")
local guard = require("operations.registry.guard")
local jobs = require("operations.nvim.jobs")
local log = require("operations.nvim.log")
local number_text = require("operations.base.number_text")
local schemas = require("operations.schema")
local task = require("operations.task")
local view = require("operations.nvim.view")

local vim = rawget(_G, "vim")

local command = {}

local function starts_with(text, beginning)
  return text:sub(1, #beginning) == beginning
end

-- The lines of a list: for each operation its id and the first line of its description.
local function list_lines(sources, pattern)
  local rows, width, lines = {}, 0, {}
  for _, spec in ipairs((sources.registry:specs({ schemas = false }))) do
    local id, text = spec.namespace .. "." .. spec.name, (spec.title or spec.description or ""):match("^[^\n]*")
    if (id .. "\n" .. text):lower():find((pattern or ""):lower(), 1, true) then
      rows[#rows + 1] = { id, text }
      width = math.max(width, math.min(#id, 50))
    end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  for i, row in ipairs(rows) do
    lines[i] = (row[1] .. (" "):rep(width - #row[1] + 2) .. row[2]):gsub("%s+$", "")
  end
  return #lines > 0 and lines or { "no operations" }
end

-- A view that is redrawn when something has changed.
local function live(title, follow, draw)
  local stop, is_due
  local window = view.open(title, function()
    stop()
  end)
  local function refresh()
    is_due = false
    if window:is_open() then
      draw(window)
    end
  end
  stop = follow(function()
    if not is_due then
      is_due = true
      vim.schedule(refresh)
    end
  end)
  refresh()
  return window
end

local function show_list(sources, given)
  sources:begin()
  local window = live("operations", function(fn) return sources:follow(fn) end, function(window)
    local pending = sources:pending()
    window:set(list_lines(sources, given.words[1]))
    window:title("operations: <CR> describes" .. (#pending > 0 and ", starting " .. table.concat(pending, ", ") or ""))
  end)
  window:on_key("<CR>", function(line)
    local id = line:match("^%S+%.%S+")
    if id then
      command.run(sources, "describe " .. id)
    end
  end)
end

local function show_description(sources, given)
  local window = view.open(given.id .. ": starting")
  task.detach(function()
    local spec = sources:spec(given.id)
    if spec then
      window:set(view.split((description.of(spec):gsub("\n$", ""))))
      window:title(given.id)
    else
      window:close()
      log.write("error", "OPERATION_NOT_FOUND: " .. call.unknown(sources, given.id))
    end
  end)
end

local function source_lines(sources)
  local problem, lines = sources:problem(), {}
  if problem then
    lines[1] = tostring(problem)
  end
  for _, entry in ipairs(sources:states()) do
    local unit = entry.kind == "mcp" and "tool" or "operation"
    local count = entry.state == "connected" and ("  %d %s%s"):format(entry.operations, unit,
      entry.operations == 1 and "" or "s") or ""
    lines[#lines + 1] = ("%s  %s%s%s"):format(entry.name, entry.state, count,
      entry.err and "  " .. (entry.err.message or tostring(entry.err)):match("^[^\n]*") or "")
  end
  return #lines > 0 and lines or { "no servers: setup{ servers = \"mcp.json\" }" }
end

local actions = { "restart", "enable", "disable", "reload" }

local function act_on_source(sources, action, name)
  task.detach(function()
    if action == "reload" then
      return sources:reload()
    end
    local ok, err = sources:act(action, name or "")
    if not ok then
      log.write("error", name and ("%s: %s"):format(name, tostring(err)) or tostring(err))
    end
  end)
end

local function show_sources(sources, given)
  sources:begin()
  local action, name = given.words[1], given.words[2]
  if action and not vim.tbl_contains(actions, action) then
    return log.write("error", ("servers: restart, enable, disable or reload expected, got '%s'"):format(action))
  elseif action then
    return act_on_source(sources, action, name)
  end
  live("servers", function(fn) return sources:follow(fn) end, function(window)
    window:set(source_lines(sources))
  end)
end

local function show_policy(sources)
  sources:begin()
  local window = view.open("policy")
  local lines = {}
  for _, spec in ipairs(sources.policy and sources.registry:specs({ schemas = false }) or {}) do
    local id = spec.namespace .. "." .. spec.name
    local found = sources.policy:explain(guard.facts(sources.registry, id))
    lines[#lines + 1] = ("%-5s  %s%s%s"):format(found.action, id, found.rule and "  " .. found.rule or "",
      found.depends and "  (other inputs may meet a stricter rule)" or "")
  end
  window:set(lines[1] and lines or { sources.policy and "no operations" or "no policy: setup{ policy = RULES }" })
end

local function show_log()
  live("log", log.follow, function(window)
    window:set(log.lines())
  end)
end

local function show_jobs(sources)
  jobs.show(sources.registry)
end

local function start(sources, given)
  call.start(sources, given, function()
    show_jobs(sources)
  end)
end

local subcommands = {
  list = { run = show_list },
  describe = { run = show_description, has_id = true },
  call = { run = call.run, has_id = true },
  start = { run = start, has_id = true },
  watch = { run = call.watch, has_id = true },
  jobs = { run = show_jobs },
  servers = { run = show_sources },
  policy = { run = show_policy },
  log = { run = show_log },
}
local names = { "list", "describe", "call", "start", "watch", "jobs", "servers", "policy", "log" }

-- Splits words as Vim's commands do: a backslash escapes a blank.
local function words_of(text)
  local words = {}
  for word in text:gsub("\\ ", "\1"):gmatch("%S+") do
    words[#words + 1] = (word:gsub("\1", " "))
  end
  return words
end

--- Runs `:Operations text`. Shows errors.
---@param sources operations.nvim.Sources
---@param text string
function command.run(sources, text)
  local name, rest = text:match("^%s*(%S*)%s*(.*)$")
  local subcommand = subcommands[name]
  if not subcommand then
    return log.write("error", (":Operations: %s expected, got '%s'"):format(table.concat(names, ", "), name))
  end
  local given = { rest = rest, words = words_of(rest) }
  if subcommand.has_id then
    given.id, given.rest = rest:match("^(%S+)%s*(.*)$")
    if not given.id then
      return log.write("error", (":Operations %s: the id of an operation expected"):format(name))
    end
    table.remove(given.words, 1)
  end
  local ok, raised = pcall(subcommand.run, sources, given)
  if not ok then
    log.write("error", errors.text(raised))
  end
end

local function matching(list, beginning)
  local found = {}
  for _, text in ipairs(list) do
    if starts_with(text, beginning) then
      found[#found + 1] = text
    end
  end
  return found
end

local function ids(sources, name)
  sources:begin(true)
  local list = {}
  for _, spec in ipairs((sources.registry:specs({ schemas = false }))) do
    if name == "describe" or (name == "watch") == (spec.type == "subscription") then
      list[#list + 1] = spec.namespace .. "." .. spec.name
    end
  end
  table.sort(list)
  return list
end

local function values_of(key, schema)
  local list = {}
  for _, value in ipairs(schema.enum or schema.type == "boolean" and { true, false } or {}) do
    list[#list + 1] = key .. "=" .. number_text.of(value)
  end
  return list
end

-- `key=`, followed by the values of an enum.
local function inputs(sources, id, lead)
  local spec = sources.registry:get_spec(id)
  local schema = spec and spec.inputSchema
  if type(schema) ~= "table" then
    return {}
  end
  local key = lead:match("^([^=]+)=")
  local property = key and schema.properties and schema.properties[key]
  if key then
    return type(property) == "table" and values_of(key, property) or {}
  end
  local list = {}
  for i, name in ipairs(schemas.properties(schema)) do
    list[i] = name .. "="
  end
  return list
end

--- The completions at the cursor of `:Operations line`.
---@param sources operations.nvim.Sources
---@param lead string  the beginning of the word
---@param line string  the line up to the cursor
---@return string[]
function command.complete(sources, lead, line)
  local words = vim.split(line:gsub("^.-Operations!?%s+", ""), "%s+")
  local name = words[1]
  if #words <= 1 then
    return matching(names, lead)
  elseif name == "servers" then
    return matching(#words == 2 and actions or vim.tbl_map(function(entry)
      return entry.name
    end, sources:states()), lead)
  elseif #words == 2 and subcommands[name] and subcommands[name].has_id then
    return matching(ids(sources, name), lead)
  elseif name == "call" or name == "start" or name == "watch" then
    return matching(inputs(sources, words[2], lead), lead)
  end
  return {}
end

return command
