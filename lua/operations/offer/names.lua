--- Names of operations as tools of language models and of MCP: 1 to 64 of `A-Za-z0-9_-`, a letter or `_` first, which
--- every vendor takes.
---
--- The name of an id depends on nothing but the id, so it stays the same whatever else is registered, in every process
--- and for every caller, and it never becomes that of another operation. `tasks.list_all` is `tasks_list_all`. Several
--- ids could claim that name (`tasks_list.all`, `tasks.list/all`): it belongs to the one whose first `_` stood for the
--- dot and that had no other character replaced. The others, and what is longer than 64, get the first 55 characters,
--- `_` and 8 hexadecimal digits of the SHA-256 of the id.
local core = require("operations.core")
local errors = require("operations.base.error")

local names = {}

local MAX, KEPT = 64, 55
local HASH = "_" .. ("%02x"):rep(4)
local HASHED = "_" .. ("%x"):rep(8) .. "$"

--- The name that an id has unless its spec names another.
---@param id string  "namespace.name"
---@return string
function names.of(id)
  local plain = id:gsub("[^A-Za-z0-9_-][\128-\191]*", "_"):gsub("^[^A-Za-z_]", "_%0")
  -- What ends like a hash is hashed, too, so that no plain name is equal to one with a hash.
  if #plain <= MAX and plain:gsub("_", ".", 1) == id and not plain:find(HASHED) then
    return plain
  end
  return plain:sub(1, KEPT) .. HASH:format(core.sha256(id):byte(1, 4))
end

--- Can a tool have this name?
---@param name any
---@return boolean
function names.is_valid(name)
  return type(name) == "string" and #name <= MAX and name:find("^[A-Za-z_][A-Za-z0-9_-]*$") ~= nil
end

-- The name that `_meta.tool.name` asks for.
local function wanted(spec)
  local tool = type(spec._meta) == "table" and spec._meta.tool
  return type(tool) == "table" and tool.name
end

local function flaw(id, keyword, message, ...)
  return { path = "/_meta/tool/name", keyword = keyword, operationId = id,
    message = id .. ": " .. message:format(...) }
end

--- Which operation has which name.
---@class operations.ToolNames
---@field of_id table<string, string>
---@field of_name table<string, string>  the way back: name -> id

-- Gives the ids their names; an id in `refused` may not have the one that its spec asks for. Returns who claims what.
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

-- Of those that claim one name, none gets it because its spec asks for it. Returns whether there are any.
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

--- Names the tools of a list of operations. Each gets `_meta.tool.name`, where its spec has one, else the name of its
--- id. A name that is asked for and that another tool has, or that no tool can have, is a flaw: those that ask for it
--- get the names of their ids, in whatever order they are registered.
---@param specs operations.Spec[]
---@param reserved? table<string, true>  names that no operation can have
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
    -- Two ids of one hash, about once in 65,000 operations that need one and begin alike; or a reserved name.
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

return names
