--- Loops that own what they iterate over. Lua 5.4 closes the fourth value of a `for` when the loop is left; LuaJIT does
--- not, so what a loop left open is closed when the task, or the handler of a subscription, that ran it ends.
local errors = require("operations.base.error")
local strands = require("operations.task.strand")
local task_wait = require("operations.task.wait")

local task_loops = {}

--- Third value of `for`, beside the fourth: the iterator gets it at its first call as its third argument, if the loop
--- was given all four values. Then nobody else needs to have the thing.
function task_loops.OWNED() end

--- Takes note of a loop that begins in the running coroutine. Does not keep `thing`: it may be collected earlier. A
--- coroutine that the program made itself may outlive the task that resumes it: its loops are not noted.
---@param thing { close: fun(self: table) }  closing it twice does nothing
function task_loops.began(thing)
  local strand = strands.here()
  if strand.managed then
    strand.loops = strand.loops or setmetatable({}, { __mode = "k" })
    strand.begun = (strand.begun or 0) + 1
    strand.loops[thing] = strand.begun
  end
end

--- Closes what the loops of a strand left open, the innermost first.
---@param strand operations.Strand
function task_loops.close(strand)
  local loops, things = strand.loops, {}
  if not loops then
    return -- without a loop over nothing: a finalizer of LuaJIT may be here, see compat.after_finalizer
  end
  strand.loops = nil
  for thing in pairs(loops) do
    things[#things + 1] = thing
  end
  table.sort(things, function(one, other)
    return loops[one] > loops[other]
  end)
  for i = 1, #things do
    local ok, raised = pcall(things[i].close, things[i])
    if not ok then
      task_wait.on_error(raised, errors.text(raised))
    end
  end
end

return task_loops
