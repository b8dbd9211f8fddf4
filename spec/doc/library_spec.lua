--- doc/library/operations.lua: what an editor knows of the library.
local errors = require("operations.base.error")
local library = require("spec.doc.library")
local luacats = require("spec.support.luacats")
local operations = require("operations")
local option_rows = require("spec.support.option_rows")
local sources = require("spec.support.sources")

describe("the types of the library", function()
  local text = sources.read("doc/library/operations.lua")
  local read = luacats.read(text)

  it("are those of the annotations in lua/", function()
    assert.is_true(library.make() == text, "doc/library/operations.lua: run make help-file")
  end)

  it("are read whole by the language server, and name no type that is not there", function()
    assert.equal("", table.concat(read.problems, "\n"))
    assert.same({}, luacats.undefined(read))
  end)

  it("have no private names", function()
    for line in text:gmatch("[^\n]+") do
      assert.is_nil(line:match("^%-%-%-@field%s+_[^m]") or line:match("^function [%w_]+[.:]_"), line)
    end
    for name in pairs(read.defined) do
      local room = name:match("^operations%.(%l+)%.")
      assert.is_nil(room == "cli" or room == "types" or room == "nvim" or nil, name)
    end
  end)

  it("have every function of the library and of its parts", function()
    local missing = {}
    local function check(owner, name)
      local is_there = text:find(("\nfunction %s.%s("):format(owner:match("[%w_]+$"), name), 1, true)
      for _, known in ipairs(read.classes[owner].fields) do
        is_there = is_there or known.name == name
      end
      missing[#missing + 1] = not is_there and owner .. "." .. name or nil
    end
    for name, value in pairs(operations) do
      if type(value) == "function" then
        check("operations", name)
      elseif read.classes["operations." .. name] then
        for field, member in pairs(value) do
          local _ = type(member) == "function" and check("operations." .. name, field)
        end
      end
    end
    table.sort(missing)
    assert.equal("", table.concat(missing, "\n"))
  end)

  it("have every option and field that the tables of pages list", function()
    local known, missing = {}, {}
    for _, class in pairs(read.classes) do
      for _, field in ipairs(class.fields) do
        known[field.name or tostring(field.key):gsub('"', "")] = true
      end
    end
    for path in io.popen("ls doc/*.md"):lines() do
      local page = path:match("doc/(.*)%.md")
      local is_other = page:find("^neovim") or page == "protocol" -- of the plugin, of messages
      for _, row in ipairs(is_other and {} or option_rows(page)) do
        for name in row:gmatch("`([%a][%w_]*)`") do
          missing[#missing + 1] = not known[name] and not text:find("[{,] ?" .. name .. "%??:") and page .. ": " .. name
            or nil
        end
      end
    end
    assert.equal("", table.concat(missing, "\n"))
  end)

  it("have the error codes of the page and of the library", function()
    local listed = text:match("\n%-%-%-@alias operations%.ErrorCode\n(.-)\n%-%-%-| string")
    local page = sources.read("doc/errors.md")
    for line in page:gmatch("[^\n]+") do
      for code in (line:match("^| (`[%u_`, ]+`) |") or ""):gmatch("`([%u_]+)`") do
        assert.truthy(listed:find('"' .. code .. '"', 1, true), code)
      end
    end
    for code in pairs(errors.codes) do
      assert.truthy(listed:find('"' .. code .. '"', 1, true), code)
    end
    for code in listed:gmatch('"([%u_]+)"') do
      assert.truthy(page:find("`" .. code .. "`", 1, true), code)
    end
  end)
end)
