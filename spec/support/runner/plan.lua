--- Which spec files a run has, which of them share a process, and in which order.
local lfs = require("lfs")
local random = require("spec.support.random")
local sources = require("spec.support.sources")

local plan = {}

-- Paths can be given that are options of busted, or values of those: `--filter=help`, `--filter help`.
---@param arguments string[]  files, folders and options of busted
---@return string[]? files, string[]|string options  or nil and what is wrong
function plan.files(arguments)
  local files, options, seen = {}, {}, {}
  local function add(path)
    if not seen[path] then
      seen[path], files[#files + 1] = true, path
    end
  end
  for i, argument in ipairs(arguments) do
    local mode = lfs.attributes(argument, "mode")
    if mode == "directory" then
      for _, path in ipairs(sources.list((argument:gsub("/+$", "")), "_spec.lua")) do
        add(path)
      end
    elseif mode then
      add(argument)
    elseif argument:find("^%-") or (arguments[i - 1] or ""):find("^%-") then
      options[#options + 1] = argument
    else
      return nil, "there is no " .. argument
    end
  end
  return files, options
end

-- The same seed gives the same order, whatever the order of `files` and the runtime.
local function shuffled(files, seed)
  local list = {}
  for i, path in ipairs(files) do
    list[i] = path
  end
  table.sort(list)
  random.seed(seed)
  for i = #list, 2, -1 do
    local j = random.upto(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- Collections all the time take longer with everything that other files left in the heap, which also decides how much
-- memory and how many descriptors the process has.
local function needs_own_process(path)
  local text = sources.read(path)
  return text:find("spec.support.at_collections", 1, true) ~= nil or text:find("spec.support.usage", 1, true) ~= nil
end

--- The files of each process, in the order in which the processes start: the longest first. Only that order depends on
--- `cost`; files and seed alone decide what shares a process, so that a seed repeats a failure.
---@param files string[]
---@param seed integer
---@param size integer  how many files share a process
---@param cost fun(path: string): number
---@return string[][]
function plan.batches(files, seed, size, cost)
  local batches, shared = {}, nil -- the one that takes the next file
  for _, path in ipairs(shuffled(files, seed)) do
    local is_alone = needs_own_process(path)
    local batch = not is_alone and shared
    if not batch then
      batch = { cost = 0, number = #batches }
      batches[#batches + 1] = batch
    end
    batch[#batch + 1] = path
    batch.cost = batch.cost + cost(path)
    if not is_alone then
      shared = #batch < size and batch or nil
    end
  end
  table.sort(batches, function(a, b)
    if a.cost ~= b.cost then
      return a.cost > b.cost
    end
    return a.number < b.number
  end)
  return batches
end

return plan
