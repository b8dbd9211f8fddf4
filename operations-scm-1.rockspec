rockspec_format = "3.0"
package = "operations"
version = "scm-1"
source = {
  url = "git+https://github.com/operations-lua/operations",
}
description = {
  summary = "One call interface for everything a Lua program can invoke",
  detailed = [[
    Lua functions, endpoints of HTTP APIs (from their OpenAPI documents) and
    tools of MCP servers become operations: named, typed, access-controlled,
    called through one function, validated by one JSON Schema engine and
    answered in one shape.  The modules for WebSocket, Redis, TLS and signed
    tokens are built where the headers of wslay, hiredis and OpenSSL 3 are.
  ]],
  homepage = "https://github.com/operations-lua/operations",
  license = "MIT",
  labels = { "jsonschema", "mcp", "openapi", "rpc" },
}
supported_platforms = { "linux", "macosx", "freebsd" }
dependencies = {
  "lua >= 5.1, < 5.6", -- of these LuaJIT 2.1, Lua 5.4 and 5.5; the Makefile refuses the others by name
}
external_dependencies = {
  CURL = { library = "curl" },
  PCRE2 = { library = "pcre2-8" },
}
build = {
  type = "make",
  build_target = "modules",
  install_target = "install-modules",
  build_variables = {
    LUA = "$(LUA)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LIBFLAG = "$(LIBFLAG)",
    CURL_INCDIR = "$(CURL_INCDIR)",
    CURL_LIBDIR = "$(CURL_LIBDIR)",
    PCRE2_INCDIR = "$(PCRE2_INCDIR)",
    PCRE2_LIBDIR = "$(PCRE2_LIBDIR)",
  },
  install_variables = {
    LUA = "$(LUA)",
    INST_LIBDIR = "$(LIBDIR)",
    INST_LUADIR = "$(LUADIR)",
  },
  install = {
    bin = { operations = "lua/operations/cli/main.lua" },
  },
  copy_directories = { "doc", "examples" },
}
test = {
  type = "command",
  command = "make test",
}
