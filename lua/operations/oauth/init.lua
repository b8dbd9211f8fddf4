--- OAuth 2.1 for clients: tokens for programs (`token_source`) and, as MCP has it, for their users (`authorizer`).
local authorizer = require("operations.oauth.authorizer")
local loopback = require("operations.oauth.loopback")
local options = require("operations.oauth.options")
local token = require("operations.oauth.token")

---@class operations.oauth
return {
  authorizer = authorizer.new,
  browser = loopback.browser,
  directory_store = options.directory_store,
  memory_store = options.memory_store,
  token_source = token.source,
}
