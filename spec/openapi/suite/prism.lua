--- Prism, a mock server that validates requests against a document: one process, and what its answers say of a request.
local free_port = require("spec.support.free_port")
local operations = require("operations")

local prism = {}

---@class spec.Prism
---@field url string
---@field ready fun(): boolean  waits until it listens

--- Starts Prism for a document and returns at once; large documents take it half a minute.
---@param program string  prism's command line program
---@param path string  of the document
---@return spec.Prism
function prism.start(program, path)
  local port = free_port()
  local child = assert(operations.process.spawn({
    "node", "--max-old-space-size=3000", program, "mock", path, "-h", "127.0.0.1", "-p", tostring(port), "--errors",
    shared = true,
  }))
  local self = { url = "http://127.0.0.1:" .. port, _child = child }
  function self.ready()
    repeat
      local line = assert(child:read_line(), "prism ended")
      local listens = line:find("Prism is listening", 1, true)
    until listens
    -- What it logs of requests is not needed, but a full pipe would hold it up.
    operations.spawn(function()
      while child:read_line() do end
      local ended = child:wait()
      self._ended = ended and ("Prism for %s has ended (code %s, signal %s)\n%s"):format(path, tostring(ended.code),
        tostring(ended.signal), child:stderr())
    end)
  end
  function self.stop()
    child:stop()
  end
  return self
end

local function read(list, wanted)
  local messages = {}
  for _, violation in ipairs(type(list) == "table" and list or {}) do
    if violation.severity == "Error" and violation.location and wanted(violation.location[1]) then
      messages[#messages + 1] = table.concat(violation.location, ".") .. ": " .. violation.message
    end
  end
  return messages[1] and table.concat(messages, "; ")
end

--- Violations of the request among a list of Prism's, which judges its own answers too.
local function of_request(list)
  return read(list, function(first) return first == "request" end)
end

local function of_any(list)
  return read(list, function() return true end)
end

-- Prism let the request in, and could not make an answer that fits the document.
local answering = {
  VIOLATIONS = true, NO_COMPLEX_OBJECT_TEXT = true, NO_RESPONSE_DEFINED = true, NO_SUCCESS_RESPONSE_DEFINED = true,
}

--- Prism answered with a redirect, as the document does, and the way there led away from it.
local function was_sent_away(self, err)
  local url = err.details and err.details.url
  return type(url) == "string" and url:sub(1, #self.url) ~= self.url
end

--- Why Prism refused the request that led to this outcome of a call; nil when it did not. Raises when Prism has ended.
---@param self spec.Prism
---@param envelope? operations.Envelope
---@param err? operations.Error
---@return string? reason
function prism.refusal(self, envelope, err)
  assert(not self._ended, self._ended) -- what is gone refuses everything
  if not envelope and not err then
    return nil -- a stream without events
  end
  local answer = envelope and envelope.meta or err.details
  if not answer or not answer.statusCode then
    return not was_sent_away(self, err) and tostring(err) or nil
  end
  local header = answer.headers["sl-violations"]
  local said = header and of_request(operations.json.decode(header))
  local body = err and err.details.body
  local problem = type(body) == "table" and tostring(body.type):match("^https://stoplight.io/prism/errors#(.+)")
  said = said or problem and of_request(body.validation)
  if said or not problem or answering[problem] then
    return said or nil
  end
  return problem .. ": " .. (of_any(body.validation) or tostring(body.detail))
end

return prism
