-- Contexts and sessions of TLS, whichever allocation of Lua's fails; OpenSSL has its own.
local tls = require("operations.tls")

local function read(path)
  local pipe = assert(io.popen(path))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local key = read("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
local file = os.tmpname()
local cert = read(("cat >%s <<'END'\n%s\nEND\nopenssl req -x509 -key %s -subj /CN=a -days 2; rm %s"):format(file, key,
  file, file))

return function()
  local context, message = tls.context({ certificates = { { cert = cert, key = key } }, session = 60 })
  if not context then
    error(message, 0)
  end
  local again = assert(tls.context({ certificates = { { cert = cert, key = key } }, session = 60, previous = context }))
  local session = again:session()
  local _, out, state = session:receive("\22\3\1\0\5nonsense")
  assert(state == "failed")
  if not out then
    error("no memory for the alert", 0)
  end
  local reason
  _, _, state, reason = again:session():receive("GET / HTTP/1.1\r\n")
  if state ~= "http" then
    error(reason, 0)
  end
  session:close()
end
