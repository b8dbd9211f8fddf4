rockspec_format = "3.0"
package = "operations"
version = "scm-1"
source = {
  url = "git+https://github.com/operations-lua/operations",
}
description = {
  summary = "One call interface for everything a Lua program can invoke",
  detailed = [[
    Lua functions and endpoints of HTTP APIs become operations: named, typed,
    access-controlled, called through one function, validated by one JSON
    Schema engine and answered in one shape. The core is C, without I/O.
  ]],
  homepage = "https://github.com/operations-lua/operations",
  license = "MIT",
  labels = { "jsonschema", "openapi", "rpc" },
}
supported_platforms = { "linux" }
dependencies = {
  "lua >= 5.1, < 5.5",
  "lua-cjson",
}
external_dependencies = {
  CURL = { library = "curl" },
  PCRE2 = { library = "pcre2-8" },
}
build = {
  type = "builtin",
  -- `make rockspec` writes the list of modules; a spec compares it to the tree.
  modules = {
    ["operations.core"] = {
      sources = {
        "src/access_lua.c",
        "src/buffer.c",
        "src/core.c",
        "src/envelope_lua.c",
        "src/format.c",
        "src/format_idn.c",
        "src/format_net.c",
        "src/format_time.c",
        "src/format_uri.c",
        "src/json.c",
        "src/json_build.c",
        "src/json_lua.c",
        "src/json_number.c",
        "src/json_walk.c",
        "src/json_write.c",
        "src/operation_lua.c",
        "src/regex.c",
        "src/regex_parse.c",
        "src/regex_property.c",
        "src/regex_read.c",
        "src/schema_lua.c",
        "src/sse.c",
        "src/sse_lua.c",
        "src/utf8_repair.c",
        "src/value.c",
      },
      defines = { "_GNU_SOURCE" },
      libraries = { "pcre2-8", "m" },
      incdirs = { "$(PCRE2_INCDIR)" },
      libdirs = { "$(PCRE2_LIBDIR)" },
    },
    ["operations.reactor"] = {
      sources = {
        "src/buffer.c",
        "src/reactor.c",
        "src/reactor_gzip.c",
        "src/reactor_head.c",
        "src/reactor_http.c",
        "src/reactor_http_lua.c",
        "src/reactor_lua.c",
        "src/reactor_timer.c",
      },
      defines = { "_GNU_SOURCE" },
      libraries = { "curl", "pthread", "dl" },
      incdirs = { "$(CURL_INCDIR)" },
      libdirs = { "$(CURL_LIBDIR)" },
    },
    ["operations.system"] = {
      sources = {
        "src/system_lua.c",
      },
      defines = { "_GNU_SOURCE" },
    },
    ["operations.catalog"] = "lua/operations/catalog.lua",
    ["operations.cli.arguments"] = "lua/operations/cli/arguments.lua",
    ["operations.cli.call"] = "lua/operations/cli/call.lua",
    ["operations.cli.describe"] = "lua/operations/cli/describe.lua",
    ["operations.cli"] = "lua/operations/cli/init.lua",
    ["operations.cli.input"] = "lua/operations/cli/input.lua",
    ["operations.cli.invocation"] = "lua/operations/cli/invocation.lua",
    ["operations.cli.list"] = "lua/operations/cli/list.lua",
    ["operations.cli.output"] = "lua/operations/cli/output.lua",
    ["operations.cli.schema_text"] = "lua/operations/cli/schema_text.lua",
    ["operations.cli.sources"] = "lua/operations/cli/sources.lua",
    ["operations.cli.watch"] = "lua/operations/cli/watch.lua",
    ["operations.compat"] = "lua/operations/compat.lua",
    ["operations.context"] = "lua/operations/context.lua",
    ["operations.env"] = "lua/operations/env.lua",
    ["operations.error"] = "lua/operations/error.lua",
    ["operations.hosts"] = "lua/operations/hosts/init.lua",
    ["operations.hosts.plain"] = "lua/operations/hosts/plain.lua",
    ["operations.hosts.reactor"] = "lua/operations/hosts/reactor.lua",
    ["operations.http"] = "lua/operations/http.lua",
    ["operations.http_message"] = "lua/operations/http_message.lua",
    ["operations"] = "lua/operations/init.lua",
    ["operations.json"] = "lua/operations/json.lua",
    ["operations.limits"] = "lua/operations/limits.lua",
    ["operations.marks"] = "lua/operations/marks.lua",
    ["operations.operation"] = "lua/operations/operation.lua",
    ["operations.options"] = "lua/operations/options.lua",
    ["operations.registry"] = "lua/operations/registry.lua",
    ["operations.scanner"] = "lua/operations/scanner.lua",
    ["operations.scheduler"] = "lua/operations/scheduler.lua",
    ["operations.schema"] = "lua/operations/schema.lua",
    ["operations.spec"] = "lua/operations/spec.lua",
    ["operations.sse"] = "lua/operations/sse.lua",
    ["operations.subscription"] = "lua/operations/subscription.lua",
    ["operations.task"] = "lua/operations/task.lua",
    ["operations.type"] = "lua/operations/type.lua",
    ["operations.type_options"] = "lua/operations/type_options.lua",
    ["operations.url"] = "lua/operations/url.lua",
    ["operations.version"] = "lua/operations/version.lua",
  },
  install = {
    bin = { operations = "lua/operations/cli/main.lua" },
  },
}
test = {
  type = "command",
  command = "make test",
}
