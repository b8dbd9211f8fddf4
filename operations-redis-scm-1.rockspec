rockspec_format = "3.0"
package = "operations-redis"
version = "scm-1"
source = {
  url = "git+https://github.com/operations-lua/operations",
}
description = {
  summary = "Redis for operations, by hiredis' reader",
  detailed = [[
    The C module operations.redis, with which operations' call maps reach
    each other through Redis.
  ]],
  homepage = "https://github.com/operations-lua/operations",
  license = "MIT",
  labels = { "rpc", "redis" },
}
supported_platforms = { "linux" }
dependencies = {
  "lua >= 5.1, < 5.5",
  "operations",
}
external_dependencies = {
  HIREDIS = { library = "hiredis", header = "hiredis/read.h" },
}
build = {
  type = "builtin",
  modules = {
    ["operations.redis"] = {
      sources = {
        "src/redis_lua.c",
        "src/sha1.c",
      },
      defines = { "_GNU_SOURCE" },
      libraries = { "hiredis" },
      incdirs = { "$(HIREDIS_INCDIR)" },
      libdirs = { "$(HIREDIS_LIBDIR)" },
    },
  },
}
