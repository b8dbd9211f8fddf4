-- Signs requests with secrets that are in neither the program nor the list of processes.
--     KEY=... lua secrets.lua http://127.0.0.1:8080/healthz
local operations = require("operations")
local crypto = operations.crypto

local answer = assert(operations.http.request({
  url = arg[1],
  auth = { type = "bearer", token = operations.secret("cmd:echo token-of-a-password-manager") },
}))
print("bearer", answer.status)

local key = operations.secret("env:KEY")
answer = assert(operations.http.request({ url = arg[1], query = { from = "cron" }, auth = function(request)
  request.headers["X-Signature"] = crypto.hex(crypto.hmac(key(), request.url))
end }))
print("signed", answer.status)

local sign = operations.http.sigv4({
  access_key = "AKIDEXAMPLE", secret_key = key(), region = "eu-central-1", service = "s3",
})
answer = assert(operations.http.request({ url = arg[1], auth = sign }))
print("sigv4", answer.status)

local token = assert(crypto.jwt.sign({ sub = "cron", exp = os.time() + 60 }, key()))
print("token", assert(crypto.jwt.verify(token, key())).sub)
