--- OAuth 2.1 for clients: tokens for programs (`token_source`) and, as MCP has it, for their users (`authorizer`).
local authorizer = require("operations.oauth.authorizer")
local loopback = require("operations.oauth.loopback")
local store = require("operations.oauth.store")
local token = require("operations.oauth.token")

---@class operations.oauth
return {
  authorizer = authorizer.new,
  browser = loopback.browser,
  directory_store = store.directory,
  memory_store = store.memory,
  token_source = token.source,
}
