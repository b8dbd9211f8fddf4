--- `operations list`: what there is.
local identities = require("operations.cli.identity")
local members = require("operations.base.members")
local operations = require("operations")
local output = require("operations.cli.output")
local sources = require("operations.cli.sources")

local list = {
  usage = "operations list [TEXT] [OPTIONS]",
  summary = "Lists operations, or those whose id, title, description or tags contain TEXT.",
  options = members.joined({
    { name = "--type", value = "TYPE", help = "query, mutation or subscription" },
    { name = "--tag", value = "TAG", help = "only operations with this tag" },
    { name = "--json", help = "an array of specs, for programs" },
  }, identities.options),
}

local function contains(spec, text)
  local own = { spec.namespace .. "." .. spec.name, spec.title or "", spec.description or "" }
  local haystack = members.joined(own, spec.tags or {})
  return table.concat(haystack, "\n"):lower():find(text:lower(), 1, true) ~= nil
end

local WIDEST = 60 -- an id that is longer does not move the others' types

local function padded(text, width)
  return text .. (" "):rep(width - #text)
end

local function columns(specs)
  local rows, widths = {}, { 0, 0 }
  for i, spec in ipairs(specs) do
    rows[i] = { spec.namespace .. "." .. spec.name, spec.type, (spec.title or spec.description or ""):match("^[^\n]*") }
    widths[1], widths[2] = math.max(widths[1], #rows[i][1]), math.max(widths[2], #rows[i][2])
  end
  widths[1] = math.min(widths[1], WIDEST)
  for i, row in ipairs(rows) do
    local line = padded(row[1], widths[1]) .. "  " .. padded(row[2], widths[2]) .. "  " .. row[3]
    rows[i] = line:gsub("%s+$", "") .. "\n"
  end
  return table.concat(rows)
end

---@param parsed operations.cli.Arguments
---@return integer code
function list.run(parsed)
  local text, kind = parsed.rest[1], parsed.options.type
  if #parsed.rest > 1 then
    return output.usage("list: expected at most one TEXT, got %d", #parsed.rest)
  elseif kind and kind ~= "query" and kind ~= "mutation" and kind ~= "subscription" then
    return output.usage("--type: expected query, mutation or subscription, got %q", kind)
  end
  local identity, message = identities.read(parsed.options)
  if message then
    return output.usage("%s", message)
  end
  local registry, code = sources.registry(parsed, { identity = identity })
  if not registry then
    return code
  end
  local specs = operations.array()
  local filter = { type = kind, tag = parsed.options.tag, schemas = parsed.options.json == true }
  for _, spec in ipairs((registry:specs(filter))) do
    if not text or contains(spec, text) then
      specs[#specs + 1] = spec
    end
  end
  if parsed.options.json then
    output.data(specs)
  elseif #specs > 0 then
    output.text(columns(specs))
  end
  return output.codes.OK
end

return list
