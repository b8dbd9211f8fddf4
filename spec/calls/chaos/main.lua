--- `make chaos`: workers are killed and Redis is restarted while callers call; then their histories are judged.
--- Arguments: delivery modes, "forgetful" for "reliable" over a Redis that keeps nothing, or "jobs" for submitted ones,
--- whose submitters are killed, too. CHAOS_SECONDS, CHAOS_SEED, CHAOS_CALLS, CHAOS_SUBSCRIPTIONS, CHAOS_JOBS and
--- CHAOS_DIRECTORY (where the histories stay) set what they say.
local report = require("spec.calls.chaos.report")
local run = require("spec.calls.chaos.run")

local function number(name, default)
  local text = os.getenv(name)
  return text and (tonumber(text) or error(name .. ": a number expected, got " .. text, 0)) or default
end

local seconds, kept = number("CHAOS_SECONDS", 60), os.getenv("CHAOS_DIRECTORY")
local options = {
  seconds = seconds, seed = number("CHAOS_SEED", os.time() % 1000000),
  calls = number("CHAOS_CALLS", math.ceil(seconds * 1000 / 3)),
  subscriptions = number("CHAOS_SUBSCRIPTIONS", math.ceil(seconds * 10 / 3)),
}
local good = true
for _, mode in ipairs(arg) do
  options.forgetful = mode == "forgetful"
  options.jobs = mode == "jobs" and number("CHAOS_JOBS", 5000) or nil
  options.mode = mode == "fast" and mode or "reliable"
  options.directory = kept and kept .. "/" .. mode
  print(("chaos over Redis, %s, seed %d: 4 workers, 2 callers, %s, %g s"):format(mode, options.seed,
    options.jobs and options.jobs .. " jobs"
      or ("%d calls, %d subscriptions"):format(options.calls, options.subscriptions), seconds))
  local faults, told, directory = run(options)
  report.print(told, faults, directory)
  good = good and #faults == 0
end
os.exit(good and 0 or 1, true)
