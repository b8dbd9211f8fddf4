--- Scopes of calls: what a handler started, also in its coroutines and tasks, ends with its call.
local strands = require("operations.task.strand")

-- A scope has the things as weak keys; [1] is the scope of the call around it in the same coroutine.
local scope = {
  used = false, -- can anything be tied to a call? Set where such things are made: other programs pay nothing for it
}

local weak = { __mode = "k" }

-- The scope of the call that a strand runs in.
local function find(strand)
  while strand and not strand.scope do
    strand = strand.outer
  end
  return strand and strand.scope
end

local function abort(tied)
  for thing in pairs(tied) do
    if thing ~= 1 then
      thing:abort()
    end
  end
end

--- Begins the scope of a call in the running coroutine.
function scope.open()
  local strand = strands.here()
  strand.scope = setmetatable({ strand.scope }, weak)
end

--- Ends the scope of a call: calls `thing:abort()` of what is tied to it.
function scope.close()
  local strand = strands.here()
  local tied = strand.scope
  if tied then -- without one the call began before anything could be tied to it
    strand.scope = tied[1]
    abort(tied)
  end
end

--- Ends the scopes of all calls that ran in a coroutine which was closed.
---@param strand operations.Strand
function scope.close_all(strand)
  local tied = strand.scope
  while tied do
    abort(tied)
    tied = tied[1]
  end
end

--- The scope that a task belongs to which starts here.
---@return table?
function scope.current()
  return find(strands.here())
end

--- Ties an object to the call that runs in a strand: `thing:abort()` is called at its end. Does not keep it alive.
---@param strand operations.Strand
---@param thing table
function scope.tie(strand, thing)
  local tied = find(strand)
  if not tied then -- the call began before anything could be tied to it
    tied = setmetatable({}, weak)
    strand.scope = tied
  end
  tied[thing] = true
end

return scope
