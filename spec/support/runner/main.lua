--- main.lua STATE DIRECTORY COMMAND PATH...: runs spec files in several processes and prints one report. Environment:
--- JOBS (how many at once), SEED (the files of each process and their order), FAILED=1 (what failed last),
--- HANG_SECONDS (how long a spec may take).
local lfs = require("lfs")
local system = require("system")
local batch = require("spec.support.runner.batch")
local plan = require("spec.support.runner.plan")
local sources = require("spec.support.sources")

local together = 5 -- so many files run in one process, and its specs are shown as they end
local largest_batch, smallest_run = 3, 20 -- files of a process; processes of a run, if there are so many files

local state, directory, command = arg[1], arg[2], arg[3]

local function option(name)
  local text = os.getenv(name)
  return text ~= "" and text or nil
end

local function lines(path)
  local list = {}
  for line in (lfs.attributes(path, "mode") and sources.read(path) or ""):gmatch("[^\n]+") do
    list[#list + 1] = line
  end
  return list
end

-- Others may run and write at the same time.
local function write_lines(path, list)
  local temporary = directory .. "/written"
  local file = assert(io.open(temporary, "w"))
  file:write(table.concat(list, "\n"), "\n")
  file:close()
  assert(os.rename(temporary, path))
end

local function recorded_seconds()
  local seconds = {}
  for _, line in ipairs(lines(state .. "/seconds")) do
    local figure, path = line:match("^(%S+) (.*)$")
    seconds[path] = tonumber(figure)
  end
  return seconds
end

-- Processors; specs wait about as long as they compute.
local function default_jobs()
  local pipe = io.popen("nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2")
  local count = pipe:read("*n")
  pipe:close()
  return 2 * count + 1
end

local function usage_error(message)
  io.stderr:write("make: ", message, "\n")
  os.exit(2)
end

-- The files to run and busted's options: with FAILED=1, what failed last.
local function chosen()
  local arguments = {}
  for i = 4, #arg do
    arguments[#arguments + 1] = arg[i]
  end
  local files, options = plan.files(arguments)
  if not files then
    usage_error(options)
  end
  if option("FAILED") then
    files = {}
    for _, path in ipairs(lines(state .. "/failed")) do
      files[#files + 1] = lfs.attributes(path, "mode") and path or nil
    end
  end
  return files, options
end

local seconds = recorded_seconds()

local function cost(path)
  return seconds[path] or lfs.attributes(path, "size") / 20000
end

local run = {
  passed = 0, processor = 0, failures = {}, seconds = {}, count = 0, running = {}, queue = {}, repeated = {},
}

function run.start(options, is_shown)
  local files = table.remove(run.queue, 1)
  run.count = run.count + 1
  run.running[#run.running + 1] = batch.start(("%s/%d"):format(directory, run.count), files, command, options, is_shown)
end

-- Takes the results of a process that has ended; files that it has not begun are run by another one. One whose
-- sanitizer failed by itself is run once more.
function run.take(ended, is_shown)
  if ended.again and not run.repeated[ended.files[1]] then
    run.repeated[ended.files[1]] = true
    table.insert(run.queue, 1, ended.files)
    return
  end
  run.passed, run.processor = run.passed + ended.passed, run.processor + ended.processor
  for _, failure in ipairs(ended.failures) do
    run.failures[#run.failures + 1] = failure
  end
  for path, figure in pairs(ended.seconds) do
    run.seconds[path], seconds[path] = figure, figure
  end
  local rest = ended:rest()
  if rest[1] then
    table.insert(run.queue, 1, rest)
  end
  if not is_shown then
    local has_failed = #ended.failures > 0
    io.write(has_failed and "-" or "+")
    local output = (has_failed or ended:has_figures()) and ended:output() or ""
    if output ~= "" then
      io.write("\n", table.concat(ended.files, " "), ":\n", output)
    end
    io.flush()
  end
end

function run.is_interrupted()
  return lfs.attributes(directory .. "/stop", "mode") ~= nil
end

function run.all(options, jobs, patience, is_shown)
  while #run.queue + #run.running > 0 do
    while #run.queue > 0 and #run.running < jobs do
      run.start(options, is_shown)
    end
    system.sleep(0.02)
    for i = #run.running, 1, -1 do
      if run.is_interrupted() then
        run.running[i]:follow()
        run.running[i]:kill()
        run.queue, run.interrupted = {}, true
        run.take(table.remove(run.running, i), is_shown)
        run.queue = {}
      elseif run.running[i]:poll(patience) then
        run.take(table.remove(run.running, i), is_shown)
      end
    end
  end
end

local function print_slowest(started)
  local paths = {}
  for path in pairs(run.seconds) do
    paths[#paths + 1] = path
  end
  if #paths <= together then
    return
  end
  table.sort(paths, function(a, b)
    return run.seconds[a] > run.seconds[b]
  end)
  io.write("\nThe slowest files:\n")
  for i = 1, math.min(10, #paths) do
    io.write(("%6.1f s  %s\n"):format(run.seconds[paths[i]], paths[i]))
  end
  io.write(("\n%.0f s, %.0f s of processor time\n"):format(system.monotime() - started, run.processor))
end

-- The files whose last run failed; one that passes in part, as busted's options say, may fail in the rest.
local function failed_files(is_whole)
  local failed = {}
  for _, path in ipairs(lines(state .. "/failed")) do
    failed[path] = not (is_whole and run.seconds[path]) or nil
  end
  for _, failure in ipairs(run.failures) do
    failed[failure.file] = true
  end
  local list = {}
  for path in pairs(failed) do
    list[#list + 1] = path
  end
  return list
end

local function save(is_whole)
  local list = {}
  for path, figure in pairs(seconds) do
    list[#list + 1] = ("%.3f %s"):format(figure, path)
  end
  write_lines(state .. "/seconds", list)
  write_lines(state .. "/failed", failed_files(is_whole))
end

local started = system.monotime()
local files, options = chosen()
if not files[1] then
  usage_error(option("FAILED") and "nothing failed last" or "there are no specs")
end
local jobs = tonumber(option("JOBS")) or default_jobs()
local seed = tonumber(option("SEED")) or os.time() % 100000
local is_shown = #files <= together
local size = is_shown and together or math.min(largest_batch, math.ceil(#files / smallest_run))
if not is_shown then
  io.write(("%d files, %d at once, SEED=%d\n"):format(#files, jobs, seed))
  io.flush()
end
-- A few files run in the order in which they were given.
run.queue = is_shown and { files } or plan.batches(files, seed, size, cost)
run.all(options, jobs, tonumber(option("HANG_SECONDS")) or 300, is_shown)

io.write(is_shown and "" or "\n")
for _, failure in ipairs(run.failures) do
  io.write("\n", failure.text, "\n", is_shown and "" or ("alone: make test TESTS=%s\n"):format(failure.file))
end
print_slowest(started)
save(options[1] == nil)
if run.interrupted then
  io.write("\ninterrupted\n")
end
io.write(("\n%d passed, %d failed\n"):format(run.passed, #run.failures))
os.exit(run.interrupted and 130 or #run.failures > 0 and 1 or 0)
