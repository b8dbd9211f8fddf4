--- Writes the list of modules of the rockspec: `make rockspec`.
package.path = "./spec/support/?.lua;" .. package.path
local sources = require("sources")

local libraries = {
  ["operations.core"] = { "pcre2-8", "m", variable = "PCRE2" },
  ["operations.reactor"] = { "pthread" },
  ["operations.system"] = {},
  ["operations.transfer"] = { "curl", "dl", variable = "CURL" },
}

local program = "lua/operations/cli/main.lua" -- installed as a program, not as a module

local function add_c_module(lines, name, files)
  local linked = libraries[name]
  lines[#lines + 1] = ("    [%q] = {"):format(name)
  lines[#lines + 1] = "      sources = {"
  for _, path in ipairs(files) do
    lines[#lines + 1] = ("        %q,"):format(path)
  end
  lines[#lines + 1] = "      },"
  lines[#lines + 1] = "      defines = { \"_GNU_SOURCE\" },"
  if #linked > 0 then
    lines[#lines + 1] = ("      libraries = { \"%s\" },"):format(table.concat(linked, "\", \""))
  end
  if linked.variable then
    lines[#lines + 1] = ("      incdirs = { \"$(%s_INCDIR)\" },"):format(linked.variable)
    lines[#lines + 1] = ("      libdirs = { \"$(%s_LIBDIR)\" },"):format(linked.variable)
  end
  lines[#lines + 1] = "    },"
end

local function module_lines()
  local lines, modules = {}, sources.c_modules()
  for _, name in ipairs({ "operations.core", "operations.reactor", "operations.system", "operations.transfer" }) do
    if modules[name] then
      add_c_module(lines, name, modules[name])
    end
  end
  for _, path in ipairs(sources.list("lua", ".lua")) do
    if path ~= program then
      lines[#lines + 1] = ("    [%q] = %q,"):format(sources.module(path), path)
    end
  end
  return table.concat(lines, "\n")
end

local path = "operations-scm-1.rockspec"
local head, tail = sources.read(path):match("^(.-\n  modules = {\n).-(\n?  },\n  install = .*)$")
local file = assert(io.open(path, "wb"))
file:write(head, module_lines(), "\n", (tail:gsub("^\n", "")))
file:close()
