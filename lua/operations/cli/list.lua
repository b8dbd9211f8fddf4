--- `operations list`: lists operations.
local arguments = require("operations.cli.arguments")
local cells = require("operations.people.cells")
local entry = require("operations.sources.entry")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local prose = require("operations.people.prose")
local rules = require("operations.cli.rules")
local sources = require("operations.cli.sources")
local styles = require("operations.cli.style")

local list = {
  usage = "operations list [SOURCE] [WORD...] [OPTIONS]",
  summary = "Lists operations, or those of SOURCE: those that have every WORD in their id,\n"
    .. "path, title, description or tags. At a terminal in groups, each with its\n"
    .. "required input; elsewhere a line of id, type and title.",
  options = members.joined({
    { name = "--type", value = "TYPE", values = { "query", "mutation", "subscription" },
      help = "query, mutation or subscription" },
    { name = "--tag", value = "TAG", help = "only operations with this tag" },
    { name = "--json", help = "an array of specs, for programs" },
    styles.option, rules.transform,
  }, arguments.identity_options),
}

local function contains(item, words)
  local haystack = table.concat(members.joined({ item.id, item.operationId or "", item.title or "", item.summary or "",
    item.method and item.method .. " " .. tostring(item.path) or "" }, item.tags or {}), "\n"):lower()
  for _, word in ipairs(words) do
    if not haystack:find(word:lower(), 1, true) then
      return false
    end
  end
  return true
end

local function selected(all, parsed, words)
  local found = {}
  for _, item in ipairs(all) do
    local is_wanted = (not parsed.options.type or item.type == parsed.options.type)
      and (not parsed.options.tag or members.contains(item.tags, parsed.options.tag))
    if is_wanted and contains(item, words) then
      found[#found + 1] = item
    end
  end
  return found
end

-- What is shown of an operation, as text that a terminal takes.
---@class operations.cli.ListedOperation
---@field id string
---@field type string
---@field title string
---@field signature string
---@field tag? string  the first one
---@field deprecated? boolean

local function shown(item)
  return output.readable({ id = item.id, type = item.type, signature = item.signature, tag = (item.tags or {})[1],
    title = (prose.unmarked(item.title or item.summary or ""):gsub("%s+", " ")), deprecated = item.deprecated })
end

-- For programs.

local WIDEST = 60 -- longer ids do not move the types of others

local function padded(text, width)
  return text .. (" "):rep(width - cells.width(text))
end

local function columns(items)
  local rows, widths = {}, { 0, 0 }
  for _, item in ipairs(items) do
    widths[1], widths[2] = math.max(widths[1], #item.id), math.max(widths[2], #item.type)
  end
  widths[1] = math.min(widths[1], WIDEST)
  for i, item in ipairs(items) do
    local line = padded(item.id, widths[1]) .. "  " .. padded(item.type, widths[2]) .. "  " .. item.title
    rows[i] = line:gsub("%s+$", "") .. "\n"
  end
  return table.concat(rows)
end

-- For people.

local function grouped(items)
  local groups = {}
  for _, item in ipairs(items) do
    local namespace = item.id:match("^[^.]*")
    local name = item.tag and namespace .. ": " .. item.tag or namespace
    if not groups[name] then
      groups[name] = { name = name }
      groups[#groups + 1] = groups[name]
    end
    table.insert(groups[name], item)
  end
  return groups
end

-- The requirements of a call; "..." stands for the events of a subscription.
local function signature_of(item)
  return item.type == "subscription" and (item.signature .. " ..."):gsub("^ ", "") or item.signature
end

-- One line: id, requirements, title; shortened to the width, the title first.
local function line_of(item, style, width)
  local signature = signature_of(item)
  local id = cells.cut(item.id, style.width - 2)
  local room = math.max(0, width - cells.width(id) - 1)
  signature = (room > 8 or cells.width(signature) <= room) and cells.cut(signature, room) or ""
  local used = cells.width(id) + (signature ~= "" and cells.width(signature) + 1 or 0)
  local rest = style.width - 2 - math.max(width, used) - 2
  local title = rest > 8 and cells.cut(item.title, rest) or ""
  local line = style:paint(item.deprecated and "dim" or "bold", id)
    .. (signature ~= "" and " " .. style:paint("dim", signature) or "")
  return "  " .. line .. (title ~= "" and (" "):rep(math.max(width - used, 0) + 2) .. title or "") .. "\n"
end

local function groups_text(items, style)
  local parts = {}
  for _, group in ipairs(grouped(items)) do
    local width = 0
    for _, item in ipairs(group) do
      width = math.max(width, cells.width(item.id) + cells.width(signature_of(item)) + 1)
    end
    width = math.min(width, math.floor(style.width * 0.55))
    local heading = style:paint("green", cells.cut(group.name, style.width))
    parts[#parts + 1] = (#parts > 0 and "\n" or "") .. heading .. "\n"
    for _, item in ipairs(group) do
      parts[#parts + 1] = line_of(item, style, width)
    end
  end
  return table.concat(parts)
end

-- The command.

-- Entries and the exit code; for programs, specs.
local function read(parsed, identity, names)
  if not parsed.options.json and not parsed.options.transform and not sources.are_given(parsed) and not identity then
    return sources.entries(parsed, names)
  end
  local registry, code = sources.registry(parsed, { identity = identity, all = true, names = names,
    partial = not sources.are_given(parsed) })
  if not registry then
    return nil, code
  end
  local all = {}
  for i, spec in ipairs((registry:specs())) do
    all[i] = entry.of(spec)
    all[i].spec = parsed.options.json and spec or nil
  end
  return all, code or output.codes.OK
end

local function print_specs(items)
  local specs = marked.array()
  for i, item in ipairs(items) do
    specs[i] = members.merged(item.spec, { id = item.id })
  end
  output.data(specs)
end

---@param parsed operations.cli.Arguments
---@return integer code
function list.run(parsed)
  local kind = parsed.options.type
  if kind and kind ~= "query" and kind ~= "mutation" and kind ~= "subscription" then
    return output.usage("--type: expected query, mutation or subscription, got %q", kind)
  end
  local style, problem = styles.of(parsed.options)
  local identity, message = arguments.identity(parsed.options)
  if message or not style then
    return output.usage("%s", message or problem)
  end
  local words, names = sources.named_first(parsed)
  local all, code = read(parsed, identity, names)
  if not all then
    return code
  end
  local items = selected(all, parsed, words)
  if parsed.options.json then
    print_specs(items)
  elseif #items == 0 and #words > 0 then
    output.complain("no operation has %s", table.concat(words, ", "))
  elseif #items > 0 then
    for i, item in ipairs(items) do
      items[i] = shown(item)
    end
    output.styled((style.is_terminal and groups_text or columns)(items, style))
  end
  return code
end

return list
