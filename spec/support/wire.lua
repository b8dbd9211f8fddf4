--- A wire between two call maps in one program: every event crosses it as JSON text, in order, some time later.
local errors = require("operations.base.error")
local hosts = require("operations.hosts")
local json = require("operations.base.json")

local wire = {}

local End = {}
End.__index = End

function End:open(receiver)
  self.receiver = receiver
end

function End:send(name, payload)
  if self.cut then
    return nil, errors.new("TRANSPORT_LOST", "the wire is cut")
  end
  local text, err = json.encode({ type = name, id = payload.requestId, payload = payload })
  if not text then
    return nil, err
  end
  local line = self.line
  line[#line + 1] = text
  if #line == 1 then
    self.timer = hosts.current().timer(1, function() -- kept: dropping a timer stops it
      self.line = {}
      for i = 1, #line do
        self:inject(json.decode(line[i]))
      end
    end)
  end
  return true
end

--- Hands the other end an event, be it one that no call map would send.
function End:inject(event)
  local other = self.other
  if not other.cut then
    other.receiver.event(event, other.peer)
  end
end

--- Hands the other end something that no call map would send.
function End:close()
  for _, side in ipairs({ self, self.other }) do
    if not side.cut then
      side.cut = true
      side.receiver.lost(errors.new("TRANSPORT_LOST", "the wire was cut"))
    end
  end
end

--- Two ends; `peer` of an end is whom it believes to be on the other side.
function wire.pair()
  local one = setmetatable({ line = {}, peer = {} }, End)
  local other = setmetatable({ line = {}, peer = {}, other = one }, End)
  one.other = other
  return one, other
end

return wire
