--- `operations mcp --nvim`: forwards messages between stdin/stdout and the socket of an editor that is an MCP server
--- (`require("operations.nvim").serve()`). It does not read the messages and starts no editor.
local address = require("operations.nvim.serve.address")
local operations = require("operations")
local output = require("operations.cli.output")
local streams = require("operations.net.stream")
local system = require("operations.system")

local bridge = {}

local SERVE = "call serve() of operations.nvim"
local GRACE = 5 -- seconds for the editor to answer a client that has ended

-- The sockets of running editors; sockets of killed ones are ignored (the next editor removes them).
local function live_sockets(directory)
  local found = {}
  for _, name in ipairs(system.list(directory) or {}) do
    local path = directory .. "/" .. name
    local stream = address.is_socket(name) and streams.connect_path(path)
    if stream then
      stream:close()
      found[#found + 1] = path
    end
  end
  table.sort(found)
  return found
end

local function unavailable(message, ...)
  return nil, operations.error("UNAVAILABLE", message:format(...))
end

-- The only serving editor; none or several is an error.
local function only_one(directory)
  local found = live_sockets(directory)
  if #found == 1 then
    return streams.connect_path(found[1])
  elseif #found == 0 then
    return unavailable("no editor serves: in Neovim, " .. SERVE)
  end
  return unavailable("%d editors serve: give --nvim ADDRESS (in Neovim, :echo v:servername), or one of\n  %s", #found,
    table.concat(found, "\n  "))
end

local function connect(given)
  local directory, message = address.directory()
  if not directory then
    return unavailable("%s", message)
  elseif given == nil then
    return only_one(directory)
  end
  local stream, err = streams.connect_path(address.path(directory, given))
  if stream then
    return stream
  end
  return unavailable("the editor at %s does not serve (%s): there, " .. SERVE, given,
    err.message)
end

-- Forwards one stream to another, with backpressure; returns at the end of either.
local function carry(from, to)
  while true do
    local bytes = operations.await(function(wake)
      from:each_chunk(function(piece)
        from:pause()
        wake(piece)
      end)
    end)
    if bytes == nil or not to:write(bytes) then
      return
    end
  end
end

-- When the client ends, our side of the socket ends, and after a while everything, since the editor may be suspended.
-- When the editor ends, everything ends after its last output.
local function run(stream, input, out)
  local receiving = operations.spawn(carry, stream, out)
  local sending = operations.spawn(function()
    carry(input, stream)
    stream:finish()
    operations.sleep(GRACE)
    receiving:cancel()
  end)
  receiving:wait()
  sending:cancel()
  out:flush()
end

--- Runs until the client or the editor ends.
---@param given? string  address of the editor
---@return integer code
function bridge.run(given)
  local stream, err = connect(given)
  if not stream then
    return output.fail(err)
  end
  local input = assert(streams.of_program("stdin"))
  local out = assert(streams.of_program("stdout"))
  operations.run(run, stream, input, out)
  stream:close()
  input:close()
  out:close()
  return output.codes.OK
end

return bridge
