--- Sums by operation and name: in this process, or for all workers of nginx in a shared dictionary.
local figures = {}

---@class operations.Figures
---@field add fun(self, id: string, name: string, amount: number)
---@field all fun(self): table<string, table<string, number>>  by id and name

---@class operations.LocalFigures : operations.Figures
local Local = {}
Local.__index = Local

function Local:add(id, name, amount)
  local sums = self._sums[id]
  if not sums then
    sums = {}
    self._sums[id] = sums
  end
  sums[name] = (sums[name] or 0) + amount
end

function Local:all()
  return self._sums
end

local PREFIX = "operations:figures:"

---@class operations.SharedFigures : operations.Figures
local Shared = {}
Shared.__index = Shared

function Shared:add(id, name, amount)
  self._dictionary:incr(PREFIX .. id .. "\n" .. name, amount, 0)
end

function Shared:all()
  local all = {}
  for _, key in ipairs(self._dictionary:get_keys(0)) do
    local id, name = key:match("^" .. PREFIX .. "([^\n]*)\n(.*)$")
    if id then
      all[id] = all[id] or {}
      all[id][name] = self._dictionary:get(key)
    end
  end
  return all
end

---@param dictionary? table  `ngx.shared.NAME`
---@return operations.Figures
function figures.new(dictionary)
  if dictionary then
    return setmetatable({ _dictionary = dictionary }, Shared)
  end
  return setmetatable({ _sums = {} }, Local)
end

return figures
