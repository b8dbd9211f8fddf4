--- What must hold of `cast` whatever the schema and the value are.
local core = require("operations.core")
local identical = require("spec.support.identical")
local json = require("operations.base.json")

local schema_laws = {}

local function text(value)
  local encoded, err = json.encode(value, { sort_keys = true })
  return encoded or "not JSON: " .. tostring(err)
end

schema_laws.text = text

local function escape(key)
  return (tostring(key):gsub("~", "~0"):gsub("/", "~1"))
end

local function is_scalar(value)
  return type(value) ~= "table"
end

-- Calls visit(path, scalar) for every scalar in `value`; visit_empty(path, text) for every empty table.
local function scalars(value, path, visit, visit_empty)
  if is_scalar(value) then
    return visit(path, value)
  elseif visit_empty and next(value) == nil then
    return visit_empty(path, text(value))
  end
  local is_list = getmetatable(value) == json.array_mt or #value > 0
  for key, member in pairs(value) do
    scalars(member, path .. "/" .. escape(is_list and key - 1 or key), visit, visit_empty)
  end
end

-- Is the value at `path`, or one that it is in, on the list of changes?
local function is_listed(changes, path)
  for _, change in ipairs(changes) do
    if path == change.path or path:sub(1, #change.path + 1) == change.path .. "/" then
      return true
    end
  end
  return false
end

-- A scalar that is new, another one, or gone without a change said at its place or around it.
local function unlisted_scalar(before, after, changes)
  local old, found = {}, nil
  scalars(before, "", function(path, value) old[path] = value end)
  scalars(after, "", function(path, value)
    if (old[path] == nil or not identical(old[path], value)) and not is_listed(changes, path) then
      found = found or path
    end
    old[path] = nil
  end)
  for path in pairs(old) do
    if not is_listed(changes, path) then
      found = found or path
    end
  end
  return found
end

local function ignore() end

-- An empty array in the place of an empty object, or the reverse, without a change said at its place or around it.
local function unlisted_empty(before, after, changes)
  local old, found = {}, nil
  scalars(before, "", ignore, function(path, empty) old[path] = empty end)
  scalars(after, "", ignore, function(path, empty)
    if old[path] and old[path] ~= empty and not is_listed(changes, path) then
      found = found or path
    end
  end)
  return found
end

-- What an operation warns of is what `check` says of the data that it answers with.
local function wrong_warning(compiled, value, mode)
  local operation = core.registry(mode):operation({ namespace = "a", name = "fuzz" }, nil, compiled)
  local envelope, warning = operation:finish(value)
  local ok, issues = compiled:check(envelope.data)
  if ok ~= (warning == nil) and not (warning and warning.changes) then
    return ("%s: a warning where check says %s"):format(mode, tostring(ok))
  elseif warning and text(warning.issues) ~= text(issues or {}) then
    return mode .. " warns of something else than check finds"
  end
end

local function check_mode(compiled, value, mode)
  local before = text(value)
  local result, changes = compiled:cast(value, mode)
  if text(value) ~= before then
    return mode .. " changes its argument"
  end
  local unlisted = compiled:cast(value, mode, false)
  if not identical(result, unlisted) then
    return ("%s without a list differs: %s, %s with one"):format(mode, text(unlisted), text(result))
  end
  local again = compiled:cast(result)
  if mode == "cast" and text(again) ~= text(result) then
    return ("cast twice differs: %s, then %s"):format(text(result), text(again))
  end
  local path = unlisted_scalar(value, result, changes) or unlisted_empty(value, result, changes)
  if path then
    return ("%s changes %q without listing it: %s"):format(mode, path, text(result))
  end
  if compiled:check(value) and not compiled:check(result) then
    return mode .. " makes a valid value invalid: " .. text(result)
  end
  return wrong_warning(compiled, value, mode)
end

--- Nil when all laws hold for the value, else what is broken.
function schema_laws.broken(compiled, value)
  return check_mode(compiled, value, "cast") or check_mode(compiled, value, "force")
end

return schema_laws
