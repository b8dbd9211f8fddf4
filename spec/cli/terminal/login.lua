--- `operations login`: a user, a terminal and a browser.
local free_port = require("spec.support.free_port")
local json = require("operations.base.json")
local operations = require("operations")
local server = require("spec.support.server")
local tmux = require("spec.support.tmux")

local document = [[{ "openapi": "3.1.0", "info": { "title": "a", "version": "1" }, "servers": [ { "url": "URL" } ],
  "security": [ { "users": [] } ], "components": { "securitySchemes": { "users": { "type": "oauth2", "flows": {
    "authorizationCode": { "authorizationUrl": "URL/oauth/authorize", "tokenUrl": "URL/oauth/token",
      "scopes": { "read": "", "write": "" } } } } } },
  "paths": { "/echo": { "get": { "operationId": "me", "responses": { "200": { "description": "",
    "content": { "application/json": {} } } } } } } }]]

describe("operations login", function()
  local api, terminal

  setup(function()
    api = server.start()
  end)

  teardown(function()
    api:stop()
  end)

  before_each(function()
    terminal = tmux.open("bash --norc --noprofile", 600)
    local file = assert(io.open(terminal.home .. "/api.json", "w"))
    file:write((document:gsub("URL", api.url)))
    file:close()
    terminal:type("operations add api ~/api.json --client-id me", { "Enter" })
    terminal:wait("remembered api")
  end)

  after_each(function()
    terminal:close()
  end)

  local function configure(token)
    operations.http.request({ url = api.url .. "/oauth/setup", method = "POST",
      body = json.encode({ clients = { me = "" }, token = token }) })
  end

  -- Logs in: the browser follows the address that the terminal shows.
  local function log_in()
    terminal:type(("clear; OPERATIONS_LOGIN=%d operations login api"):format(free_port()), { "Enter" })
    local address = terminal:wait("code_challenge_method"):match("(http://%S+code_challenge%S+)")
    assert(operations.http.request({ url = address }))
    terminal:wait("logged in to api")
  end

  local function called()
    terminal:type("clear; operations call api.me --compact; echo e''nd", { "Enter" })
    return terminal:wait("end")
  end

  it("keeps the token of its user until logout", function()
    configure({ expires_in = 3600 })
    log_in()
    assert.matches('"authorization":"Bearer [^"]+"', called())
    terminal:type("clear; operations logout api", { "Enter" })
    terminal:wait("logged out of api")
    assert.is_nil(called():find("authorization", 1, true))
  end)

  it("is asked for again when a token has expired and cannot be renewed", function()
    configure({ expires_in = 0, refresh_token = "none" })
    log_in()
    terminal:type("clear; operations call api.me --dry-run; echo do''ne", { "Enter" })
    assert.matches("Authorization: ***", terminal:wait("done"), 1, true) -- nothing is sent, so that no token is renewed
    assert.matches("ACCESS_DENIED: the token of api has expired: operations login api", called(), 1, true)
  end)
end)
