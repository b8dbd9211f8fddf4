--- Names of operations as tools of language models and of MCP: 1 to 64 of `A-Za-z0-9_-`, a letter or `_` first, which
--- every vendor accepts.
---
--- The name of an id depends only on the id, so it is the same in every process and for every caller, whatever else is
--- registered, and never becomes that of another operation. `tasks.list_all` is `tasks_list_all`. Several ids could get
--- that name (`tasks_list.all`, `tasks.list/all`): it belongs to the one whose first `_` stands for the dot and that
--- has no other replaced character. The others, and names longer than 64, get the first 55 characters, `_` and 8
--- hexadecimal digits of the SHA-256 of the id.
local core = require("operations.core")
local errors = require("operations.base.error")
local members = require("operations.base.members")

local names = {}

local MAX, KEPT = 64, 55
local HASH = "_" .. ("%02x"):rep(4)
local HASHED = "_" .. ("%x"):rep(8) .. "$"

--- The name of an id without a name in its spec.
---@param id string  "namespace.name"
---@return string
function names.of(id)
  local plain = id:gsub("[^A-Za-z0-9_-][\128-\191]*", "_"):gsub("^[^A-Za-z_]", "_%0")
  -- A name that ends like a hash is also hashed, so that it cannot equal a hashed one.
  if #plain <= MAX and plain:gsub("_", ".", 1) == id and not plain:find(HASHED) then
    return plain
  end
  return plain:sub(1, KEPT) .. HASH:format(core.sha256(id):byte(1, 4))
end

--- Is it a valid tool name?
---@param name any
---@return boolean
function names.is_valid(name)
  return type(name) == "string" and #name <= MAX and name:find("^[A-Za-z_][A-Za-z0-9_-]*$") ~= nil
end

-- The name in `_meta.tool.name`.
local function wanted(spec)
  local tool = type(spec._meta) == "table" and spec._meta.tool
  return type(tool) == "table" and tool.name
end

local function flaw(id, keyword, message, ...)
  return { path = "/_meta/tool/name", keyword = keyword, operationId = id,
    message = id .. ": " .. message:format(...) }
end

--- The operations and their names.
---@class operations.ToolNames
---@field of_id table<string, string>
---@field of_name table<string, string>  name -> id

-- Names the ids; an id in `refused` does not get the name in its spec. Returns the ids that claim each name.
local function claims_of(specs, reserved, refused, flaws)
  local claims = {}
  for name in pairs(reserved) do
    claims[name] = { false }
  end
  for _, spec in ipairs(specs) do
    local id, name = spec.namespace .. "." .. spec.name, wanted(spec)
    if name and not names.is_valid(name) then
      flaws[#flaws + 1] = not refused[id] and flaw(id, "format",
        "1 to 64 of A-Za-z0-9_- expected, a letter or _ first, got %q", tostring(name)) or nil
      refused[id] = true
    end
    name = name and not refused[id] and name or names.of(id)
    claims[name] = claims[name] or {}
    table.insert(claims[name], id)
  end
  return claims
end

-- If several operations claim one name, none gets it because of its spec. Returns whether there are any.
local function refuse_shared(claims, refused, flaws)
  local again = false
  for name, ids in pairs(claims) do
    for _, id in ipairs(#ids > 1 and ids or {}) do
      if id and not refused[id] and name ~= names.of(id) then
        refused[id], again = true, true
        flaws[#flaws + 1] = flaw(id, "unique", "another tool has the name %q", name)
      end
    end
  end
  return again
end

--- Names the tools of a list of operations: `_meta.tool.name`, or the name of the id. A name in a spec that is invalid
--- or claimed by another tool is a flaw: all operations that claim it get the names of their ids, in any order of
--- registration.
---@param specs operations.Spec[]
---@param reserved? table<string, true>  reserved names
---@return operations.ToolNames
---@return table[] flaws  issues { path, keyword, operationId, message }, in order of their operations
function names.assign(specs, reserved)
  reserved = reserved or {}
  local refused, flaws = {}, {}
  local claims = claims_of(specs, reserved, refused, flaws)
  while refuse_shared(claims, refused, flaws) do
    claims = claims_of(specs, reserved, refused, flaws)
  end
  local of_id, of_name = {}, {}
  for name, ids in pairs(claims) do
    if #ids == 1 and ids[1] then
      of_id[ids[1]], of_name[name] = name, ids[1]
    end
    -- Two ids with the same hash (about once in 65,000 operations that need one and begin alike), or a reserved name.
    for _, id in ipairs(#ids > 1 and ids or {}) do
      flaws[#flaws + 1] = id and flaw(id, "unique", "another tool has the name %q: give it another here", name) or nil
    end
  end
  table.sort(flaws, function(a, b)
    return a.operationId < b.operationId or a.operationId == b.operationId and a.message < b.message
  end)
  return { of_id = of_id, of_name = of_name }, flaws
end

--- The error for flaws; nil where there are none.
---@param flaws table[]
---@return operations.Error?  VALIDATION_ERROR
function names.error(flaws)
  return flaws[1] and errors.new("VALIDATION_ERROR", flaws[1].message, flaws) or nil
end

--- Is an operation always listed, also where most tools have to be searched?
---@param spec operations.Spec  without schemas
---@param pinned? string[]  ids of the option `pinned`
---@return boolean
function names.is_pinned(spec, pinned)
  local meta = type(spec._meta) == "table" and spec._meta or {}
  local tool = type(meta.tool) == "table" and meta.tool or meta
  return tool.pinned == true or meta.pinned == true or members.contains(pinned, spec.namespace .. "." .. spec.name)
end

return names
