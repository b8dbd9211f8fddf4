--- An operation described in lines of text.
local schema_text = require("operations.offer.schema_text")

local description = {}

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
  return #lines > 0 and "Needs:\n  " .. table.concat(lines, "\n  ") .. "\n" or nil
end

local function errors_text(schemas)
  local lines, width = {}, 0
  for _, item in ipairs(schemas or {}) do
    width = math.max(width, #item.code)
  end
  for i, item in ipairs(schemas or {}) do
    lines[i] = ("  %s%s  %s"):format(item.code, (" "):rep(width - #item.code),
      (item.description or ""):gsub("%s+", " "))
  end
  return #lines > 0 and "Errors:\n" .. table.concat(lines, "\n"):gsub(" +\n", "\n") .. "\n" or nil
end

--- What an operation takes, gives and needs, for people.
---@param spec operations.Spec
---@return string
function description.of(spec)
  local id = spec.namespace .. "." .. spec.name
  local meta = type(spec._meta) == "table" and spec._meta or {}
  local parts = { ("%s  %s  %s%s\n"):format(id, spec.type, spec.version, meta.deprecated and "  deprecated" or "") }
  local endpoint = type(meta.method) == "string" and type(meta.path) == "string" and meta.method .. " " .. meta.path
  if endpoint then
    parts[1] = parts[1] .. endpoint .. "\n"
  end
  local about = spec.description ~= endpoint and spec.description or ""
  if spec.title and spec.title ~= about then
    parts[#parts + 1] = spec.title .. "\n"
  end
  if about ~= "" then
    parts[#parts + 1] = about .. "\n"
  end
  parts[#parts + 1] = "Input:\n" .. schema_text.describe(spec.inputSchema)
  parts[#parts + 1] = "Output:\n" .. schema_text.describe(spec.outputSchema)
  parts[#parts + 1] = errors_text(spec.errorSchemas)
  parts[#parts + 1] = access_text(spec.accessControl or {})
  return table.concat(parts, "\n")
end

return description
