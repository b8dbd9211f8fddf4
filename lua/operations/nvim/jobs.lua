--- `:Operations jobs`: the jobs that were started, with their progress and outcomes.
local call = require("operations.nvim.call")
local task = require("operations.task")
local view = require("operations.nvim.view")

local jobs = {}

local REDRAW = 0.25 -- seconds

-- A line of the list; begins with the number of the job.
local function line_of(number, job)
  local state, record = job:state()
  local progress = record.progress
  local told = record.error and tostring(record.error):match("^[^\n]*")
    or not record.ended and progress and call.percent(progress.done, progress.total, progress.message)
  return ("%d  %s  %s%s"):format(number, job.operation, state, told and "  " .. told or "")
end

-- Shows the outcome of a job, or waits for it there.
local function show(job)
  local window = view.open(job.operation .. ": running")
  task.detach(function()
    local envelope, err = job:wait()
    if not window:is_open() then
      return
    elseif envelope then
      call.show(window, job.operation, envelope)
    else
      call.show_failure(window, job.operation, err)
    end
  end)
end

--- Lists the jobs of a registry.
---@param registry operations.Registry
function jobs.show(registry)
  local list, drawn
  local window = view.open("jobs: <CR> shows, <C-c> cancels")
  local function draw()
    list = registry:jobs()
    local lines = {}
    for i, job in ipairs(list) do
      lines[i] = line_of(i, job)
    end
    local text = lines[1] and table.concat(lines, "\n") or "no jobs: :Operations start ID"
    if text ~= drawn then -- drawing moves the cursor
      drawn = text
      window:set(view.split(text))
    end
  end
  local function at_cursor(fn)
    return function(line)
      local job = list[tonumber(line:match("^%d+")) or 0]
      if job then
        fn(job)
      end
    end
  end
  draw()
  window:on_key("<CR>", at_cursor(show))
  window:on_key("<C-c>", at_cursor(function(job)
    job:cancel("cancelled")
    draw()
  end))
  task.detach(function()
    while window:is_open() do
      draw()
      task.sleep(REDRAW)
    end
  end)
end

return jobs
