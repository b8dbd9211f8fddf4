--- Scopes as OAuth writes them: names separated by blanks, in no order that counts (RFC 6749, 3.3).
local scope = {}

--- All names of both, each once, those of the first before those of the second.
---@param first? string
---@param second? string
---@return string? union  nil when there is none
function scope.union(first, second)
  local names, seen = {}, {}
  for name in ((first or "") .. " " .. (second or "")):gmatch("[^ ]+") do
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return names[1] and table.concat(names, " ")
end

--- Are all names of `wanted` in `held`?
---@param held? string
---@param wanted? string
---@return boolean
function scope.covers(held, wanted)
  local seen = {}
  for name in (held or ""):gmatch("[^ ]+") do
    seen[name] = true
  end
  for name in (wanted or ""):gmatch("[^ ]+") do
    if not seen[name] then
      return false
    end
  end
  return true
end

return scope
