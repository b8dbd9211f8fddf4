--- A random source that gives the same numbers on every runtime (Park and Miller's minimal standard generator).
local random = {}

local state = 1

function random.seed(n)
  state = n % 2147483646 + 1
  for _ = 1, 4 do
    random.upto(2) -- the first numbers of near seeds are near
  end
end

--- An integer from 1 to n.
function random.upto(n)
  state = state * 16807 % 2147483647
  return state % n + 1
end

--- True in `percent` of 100 cases.
function random.chance(percent)
  return random.upto(100) <= percent
end

function random.pick(list)
  return list[random.upto(#list)]
end

return random
