--- busted's plain terminal report, closed by the line "N passed, N failed" alone. The file that SPEC_UNDER_WAY names
--- holds the name of the spec that runs.
local base = require("busted.outputHandlers.plainTerminal")

return function(options)
  local busted = require("busted")
  local handler = base(options)
  local under_way = os.getenv("SPEC_UNDER_WAY")
  if under_way then
    busted.subscribe({ "test", "start" }, function(element)
      local file = assert(io.open(under_way, "w"))
      file:write(handler.getFullName(element), "\n")
      file:close()
      return nil, true
    end)
  end
  busted.subscribe({ "exit" }, function()
    local failed = #handler.failures + #handler.errors
    io.write(("%d passed, %d failed\n"):format(#handler.successes, failed))
    io.flush()
    return nil, true
  end)
  return handler
end
