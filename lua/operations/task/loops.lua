--- Loops that own the value they iterate over. Lua 5.4 closes the fourth value of a `for` when the loop is left; LuaJIT
--- does not, so the value is closed when the task or subscription handler that ran the loop ends.
local errors = require("operations.base.error")
local strands = require("operations.task.strand")
local task_wait = require("operations.task.wait")

local task_loops = {}

--- The third value of `for`, beside the fourth: the iterator gets it as its third argument at the first call if the
--- loop got all four values. Then the loop closes the value itself.
function task_loops.OWNED() end

--- Records a loop that begins in the running coroutine. Does not keep `thing` alive. Loops of a coroutine that the
--- program made are not recorded: it may outlive the task that resumes it.
---@param thing { close: fun(self: table) }  closing it twice does nothing
function task_loops.began(thing)
  local strand = strands.here()
  if strand.managed then
    strand.loops = strand.loops or setmetatable({}, { __mode = "k" })
    strand.begun = (strand.begun or 0) + 1
    strand.loops[thing] = strand.begun
  end
end

--- Closes the values of a strand's loops, the innermost first.
---@param strand operations.Strand
function task_loops.close(strand)
  local loops, things = strand.loops, {}
  if not loops then
    return -- no loop over an empty table: a LuaJIT finalizer may run here, see compat.after_finalizer
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
