local command = require("spec.support.command")
local oauth = require("spec.support.oauth")

-- Runs code in a process with a place for tokens of its own; `show` prints the credentials that a source gets.
local function run(code)
  local program = os.tmpname()
  local file = assert(io.open(program, "w"))
  file:write([[
local credentials = require("operations.sources.credentials")
local function source(oauth, name)
  return { name = name or "api", place = "https://a.test/x", config = { oauth = oauth or {}, connection = {} } }
end
local function keep(token, expires, endpoint)
  credentials.keep(source(), { token = { access_token = "t", refresh_token = token, expires_at = expires },
    token_endpoint = endpoint or "http://127.0.0.1:1/token", client_id = "me" })
end
local function show(it, is_rehearsal)
  credentials.prepare(it, is_rehearsal)
  local auth = it.config.auth
  if auth and auth.type == "bearer" then
    local token, err = auth.token()
    print(token or tostring(err))
  else
    print(auth and table.concat({ auth.type, auth.client_id, auth.client_secret, auth.scope }, " ") or "none")
  end
end
local PAST, FUTURE = 1000, require("operations.core").now() + 1e7
]], code)
  file:close()
  local script = "XDG_STATE_HOME=%s.d; export XDG_STATE_HOME; lua %s; rm -rf $XDG_STATE_HOME"
  local result = command.run(script:format(program, program))
  os.remove(program)
  assert.equal("", result.err)
  return result.out
end

describe("the credentials of a source", function()
  it("are those of its client without a login", function()
    assert.equal("none\nnone\nnone\noauth2 me s3cret a b\n", run([[
show(source())
show(source({ client_id = "me" }))
show(source({ client_secret = "s3cret" }))
show(source({ client_id = "me", client_secret = "s3cret", scope = "a b" }))
]]))
  end)

  it("are the token of its login, of that source alone, until the user logs out", function()
    assert.equal("t\nt\noauth2 me s3cret\nnone\nnone\n", run([[
keep(nil, FUTURE)
show(source())
show(source({ client_id = "me", client_secret = "s3cret" }))
show(source({ client_id = "me", client_secret = "s3cret" }, "other"))
local unnamed = source()
unnamed.name = nil
show(unnamed)
credentials.keep(source(), nil)
show(source())
]]))
  end)

  it("are those that were given for the call", function()
    assert.equal("basic u\n", run([[
keep(nil, FUTURE)
local given = source()
given.config.auth = { type = "basic", client_id = "u" }
show(given)
]]))
  end)

  it("are refused with what to do when the token has expired, and shown as they are when nothing is sent", function()
    local out = run([[
keep(nil, PAST)
show(source())
show(source(), true)
keep("r", PAST)
show(source())
show(source(), true)
]])
    assert.equal("ACCESS_DENIED: the token of api has expired: operations login api\nt\n"
      .. "ACCESS_DENIED: the token of api has expired and was not renewed (WHY): operations login api\nt\n",
      (out:gsub("%(.*127%.0%.0%.1.*%)", "(WHY)")))
  end)

  it("are renewed when the token has expired, and kept for the next call", function()
    local server = oauth.start()
    finally(function()
      server:stop()
    end)
    server:setup({ answers = { ["/token"] = {
      body = '{"access_token":"fresh","token_type":"bearer","expires_in":60}' } } })
    assert.equal("fresh\nfresh\n", run(([[
keep("first", PAST, "%s/oauth/token")
show(source({ client_secret = "s3cret" }))
show(source())
]]):format(server.server.url)))
    local requests = server:requests("/token")
    assert.equal(1, #requests)
    assert.same({ "refresh_token", "first" }, { requests[1].fields.grant_type, requests[1].fields.refresh_token })
  end)

  it("are as absent where what was kept is no token", function()
    assert.equal("none\nnone\n", run([[
credentials.keep(source(), { token = 7 })
show(source())
credentials.keep(source(), 7)
show(source())
]]))
  end)
end)
