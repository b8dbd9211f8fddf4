--- Logs a user in from a terminal: opens a URL in a browser, which is redirected to this machine; if the browser is on
--- another machine, the user pastes its last address.
local directories = require("operations.base.directories")
local errors = require("operations.base.error")
local oauth = require("operations.oauth")
local output = require("operations.cli.output")
local person = require("operations.cli.person")
local task = require("operations.task")

local login = {}

-- OPERATIONS_LOGIN is "paste", or the port for the browser's redirect.
local PORT = 8976

local function required(message)
  return nil, errors.new("EXECUTION_ERROR", message, { kind = "oauth", error = "login_required" })
end

local function paste(address)
  person.open(address, "The server wants you to log in. Open this address in a browser")
  local answer = person.input("The browser ends at a page that it cannot show. Paste the address of that page "
    .. "here: ")
  if not answer or not answer:find("%S") then
    return required("no address was pasted")
  end
  return answer
end

-- In a remote shell the browser is on another machine.
local function browser()
  local wish = os.getenv("OPERATIONS_LOGIN") or (os.getenv("SSH_CONNECTION") and "paste")
  local here = oauth.browser(function(address)
    person.open(address, "The server wants you to log in. Open this address in a browser on this machine")
  end, tonumber(wish) or PORT)
  if wish == "paste" then
    here.open = paste
  end
  return here
end

local last -- the last login: there is one terminal and one user

--- The options for logging in to servers from the command line; tokens are kept between calls.
---@return operations.oauth.AuthorizerOptions
function login.options()
  local state, way = directories.state(), browser()
  local function open(address)
    if not output.can_ask() then
      return required("the server wants a user to log in: call it from a terminal once")
    end
    local before = last
    last = task.detach(function()
      if before then
        before:wait()
      end
      return way.open(address)
    end)
    return last:wait()
  end
  return {
    open = open, redirect_uri = way.redirect_uri, client_name = "operations (command line)",
    store = state and oauth.directory_store(state .. "/oauth") or nil,
  }
end

return login
