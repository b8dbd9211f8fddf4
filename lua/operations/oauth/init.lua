--- OAuth 2.1: tokens for programs (`token_source`) and, as MCP requires, for their users (`authorizer`); for servers,
--- callers identified by tokens (`resource_server`, `static_tokens`) or passwords (`basic`), and tokens of other APIs
--- in exchange for those of the callers (`token_exchange`).
local authorizer = require("operations.oauth.authorizer")
local exchange = require("operations.oauth.exchange")
local loopback = require("operations.oauth.loopback")
local options = require("operations.oauth.options")
local resource_server = require("operations.oauth.resource_server")
local static = require("operations.oauth.static")
local token = require("operations.oauth.token")

---@class operations.oauth
return {
  authorizer = authorizer.new,
  basic = static.basic,
  browser = loopback.browser,
  directory_store = options.directory_store,
  memory_store = options.memory_store,
  resource_server = resource_server.new,
  static_tokens = static.tokens,
  token_exchange = exchange.new,
  token_source = token.source,
}
