rockspec_format = "3.0"
package = "operations-websocket"
version = "scm-1"
source = {
  url = "git+https://github.com/operations-lua/operations",
}
description = {
  summary = "WebSocket framing for operations, by wslay",
  detailed = [[
    The C module operations.websocket, with which operations' call maps reach
    each other over WebSocket (RFC 6455).
  ]],
  homepage = "https://github.com/operations-lua/operations",
  license = "MIT",
  labels = { "rpc", "websocket" },
}
supported_platforms = { "linux" }
dependencies = {
  "lua >= 5.1, < 5.5",
  "operations",
}
external_dependencies = {
  WSLAY = { library = "wslay", header = "wslay/wslay.h" },
}
build = {
  type = "builtin",
  modules = {
    ["operations.websocket"] = {
      sources = {
        "src/buffer.c",
        "src/websocket.c",
        "src/websocket_lua.c",
        "src/sha1.c",
      },
      defines = { "_GNU_SOURCE" },
      libraries = { "wslay" },
      incdirs = { "$(WSLAY_INCDIR)" },
      libdirs = { "$(WSLAY_LIBDIR)" },
    },
  },
}
