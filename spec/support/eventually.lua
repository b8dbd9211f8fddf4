-- Waits for effects of other processes or later turns of the loop; only failure takes the full time.
local core = require("operations.core")
local operations = require("operations")

local LIMIT = 30000 -- ms; a loaded machine under a sanitizer is slow

--- Waits until `fn()` is true, and gives what it returned; an error when it never is.
---@param fn fun(): any
---@param limit? integer  ms, default 30,000
return function(fn, limit)
  local start = core.now()
  while true do
    local waited = core.now() - start
    local result = fn()
    if result then
      return result
    end
    if waited > (limit or LIMIT) then
      error("it never happened", 2)
    end
    operations.sleep(math.max(5, math.min(waited / 8, 100)) / 1000) -- `fn` may start programs
  end
end
