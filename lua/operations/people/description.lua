--- Describes an operation in lines of text.
local members = require("operations.base.members")
local prose = require("operations.people.prose")
local schema_text = require("operations.people.schema_text")

local description = {}

local WIDTH = 100 -- default columns

local function plain(_, text)
  return text
end

local function access_text(control)
  local lines = {}
  if control.requiredScopes and #control.requiredScopes > 0 then
    lines[#lines + 1] = "all of the scopes " .. table.concat(control.requiredScopes, ", ")
  end
  if control.requiredScopesAny and #control.requiredScopesAny > 0 then
    lines[#lines + 1] = "one of the scopes " .. table.concat(control.requiredScopesAny, ", ")
  end
  if control.resourceType then
    lines[#lines + 1] = ("action %s on resource %s%s"):format(control.resourceAction, control.resourceType,
      control.resourceId and (" named by " .. control.resourceId .. " of the input") or "")
  end
  return #lines > 0 and table.concat(lines, "\n  ") or nil
end

local function errors_text(schemas, style)
  local lines, width = {}, 0
  for _, item in ipairs(schemas or {}) do
    width = math.max(width, #item.code)
  end
  for i, item in ipairs(schemas or {}) do
    local words = prose.unmarked(item.description or ""):gsub("%s+", " ")
    local text = prose.wrap(words, style.width, (" "):rep(width + 4)):sub(width + 5)
    lines[i] = (item.code .. (" "):rep(width - #item.code + 2) .. text):gsub("%s+$", "")
  end
  return #lines > 0 and table.concat(lines, "\n  ") or nil
end

local function auth_text(meta)
  local list = type(meta.security) == "table" and meta.security
  return list and table.concat(list, "\n  or ") or nil
end

-- The lines before the sections.
local function head(spec, meta, style)
  local id = spec.namespace .. "." .. spec.name
  local line = ("%s  %s  %s%s\n"):format(style.paint("bold", id), spec.type, spec.version,
    meta.deprecated and "  " .. style.paint("magenta", "deprecated") or "")
  local endpoint = type(meta.method) == "string" and type(meta.path) == "string" and meta.method .. " " .. meta.path
  local parts = { endpoint and line .. endpoint .. "\n" or line }
  local about = spec.description ~= endpoint and spec.description or ""
  if spec.title and spec.title ~= about then
    parts[2] = prose.wrap(prose.unmarked(spec.title), style.width)
  end
  if about:find("%S") then
    parts[#parts + 1] = prose.wrap(prose.unmarked(about), style.width)
  end
  return parts
end

---@class operations.people.DescriptionStyle
---@field width? integer  columns, default 100
---@field paint? fun(colour: "bold"|"green"|"magenta", text: string): string  default: no colours
---@field example? string  an example of a call
---@field sections? { title: string, text: string }[]  further ones, of lines

--- The input, output and requirements of an operation, for people.
---@param spec operations.Spec
---@param style? operations.people.DescriptionStyle
---@return string
function description.of(spec, style)
  style = members.merged({ width = WIDTH, paint = plain }, style)
  local meta = type(spec._meta) == "table" and spec._meta or {}
  local parts = head(spec, meta, style)
  local function add(title, content)
    parts[#parts + 1] = content and style.paint("green", title .. ":") .. "\n" .. content or nil
  end
  local function indented(content)
    return content and "  " .. content .. "\n"
  end
  add("Input", schema_text.describe(spec.inputSchema, style.width))
  add("Output", schema_text.describe(spec.outputSchema, style.width))
  add("Errors", indented(errors_text(spec.errorSchemas, style)))
  add("Auth", indented(auth_text(meta)))
  add("Needs", indented(access_text(spec.accessControl or {})))
  for _, section in ipairs(style.sections or {}) do
    add(section.title, indented(section.text:gsub("\n", "\n  ")))
  end
  add("Try", indented(style.example))
  return table.concat(parts, "\n")
end

return description
