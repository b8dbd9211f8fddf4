--- busted's output handler in the processes of the runner: each event is a line in the file that the first argument
--- names, from which batch.lua reads what happens. With a second argument, it also prints a character for each spec.
local system = require("system")
local pretty = require("pl.pretty")

local marks = { success = "+", failure = "-", error = "*", pending = "." }

local function text_of(message)
  if message == nil then
    return "Nil error"
  end
  return type(message) == "string" and message or pretty.write(message)
end

return function(options)
  local busted = require("busted") -- it is not there when this file is loaded
  local handler = require("busted.outputHandlers.base")()
  local path, shown = options.arguments[1], options.arguments[2]
  local failed, started, current = 0, 0, ""

  -- Nothing stays open: specs count descriptors, and their processes inherit them.
  local function record(kind, text)
    local file = assert(io.open(path, "ab"))
    file:write(kind, " ", (text:gsub("[\\\r\n]", { ["\\"] = "\\\\", ["\r"] = "\\r", ["\n"] = "\\n" })), "\n")
    file:close()
  end

  local function on(event, call)
    busted.subscribe(event, function(...)
      call(...)
      return nil, true
    end)
  end

  local function on_failure(kind)
    return function(element, _, message, trace)
      failed = failed + 1
      local place = element.trace or trace
      local at = place and place.short_src and ("%s @ %s\n"):format(place.short_src, place.currentline) or ""
      local file = element.descriptor == "file" and element.name or current -- files are loaded before the first runs
      record("failure", ("%s\n%s -> %s%s\n%s"):format(file, kind, at, handler.getFullName(element), text_of(message)))
    end
  end

  function handler.subscribe() -- the base would keep every result in memory
    on({ "file", "start" }, function(file)
      started, current = system.monotime(), file.name
      record("file", file.name)
    end)
    on({ "file", "end" }, function(file)
      record("seconds", ("%.3f %s"):format(system.monotime() - started, file.name))
    end)
    on({ "test", "start" }, function(spec)
      record("spec", ("%s @ %s: %s"):format(spec.trace.short_src, spec.trace.currentline, handler.getFullName(spec)))
    end)
    on({ "test", "end" }, function(_, _, status)
      record("end", status)
      if shown then
        io.write(marks[status] or "")
        io.flush()
      end
    end)
    on({ "failure" }, on_failure("Failure"))
    on({ "error" }, on_failure("Error"))
    on({ "exit" }, function()
      if shown then
        io.write("\n")
      end
      io.flush()
      record("exit", ("%d"):format(failed))
    end)
  end

  return handler
end
