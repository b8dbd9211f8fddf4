-- A key that is made, and verifies, whichever allocation of Lua fails.
local crypto = require("operations.crypto")

local x = "\215\90\152\1\130\177\10\183\213\75\254\211\201\100\7\58"
  .. "\14\225\114\243\218\166\35\37\175\2\26\104\247\7\81\26"

-- What libcrypto makes once stays.
local warm = assert(crypto.curve("Ed25519", x))
warm:verify("EdDSA", "text", ("\0"):rep(64))

return function()
  local key = assert(crypto.curve("Ed25519", x))
  assert(not key:verify("EdDSA", "text", ("\0"):rep(64)))
  assert(not crypto.curve("P-256", x, x))
end
