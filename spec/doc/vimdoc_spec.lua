local inside = require("spec.support.inside")
local markdown = require("spec.doc.markdown")
local vimdoc = require("spec.doc.vimdoc")

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- The help of one page, behind its heading.
local function help_of(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line
  end
  local made = vimdoc.make(function(page)
    return page == "errors" and lines or { "# " .. page }
  end)
  return made:match("%*operations%-errors%-page%*\n(.-)\n=====")
end

describe("the help of Vim", function()
  it("is made of the pages as they are (make help-file)", function()
    assert.is_true(vimdoc.make(markdown.read) == read("doc/operations.txt"), "doc/operations.txt: run make help-file")
  end)

  it("has no line that is too long, but in samples", function()
    local in_sample
    for line in read("doc/operations.txt"):gmatch("[^\n]*") do
      in_sample = line == ">" or in_sample and line ~= "<"
      local width = #line:gsub("[\128-\191]", "")
      assert.is_true(width <= 78 or in_sample or not line:find("%S%s+%S") or line:find("^%s*%S+$") ~= nil, line)
    end
  end)

  it("leads to tags that there are, each once", function()
    local text = read("doc/operations.txt"):gsub("\n>\n.-\n<", "\n")
    local tags = {}
    for tag in text:gmatch("%*(:?operations[^%s*]*)%*") do
      assert.is_nil(tags[tag], tag)
      tags[tag] = true
    end
    for tag in text:gmatch("|(operations%-[^|%s]*)|") do
      assert.is_true(tags[tag], tag)
    end
    assert.is_true(tags["operations.from_openapi.file()"] and tags["operations.nvim.setup()"])
  end)

  it("takes headings, tables, links, lists and code", function()
    local made = help_of(table.concat({ "# Errors", "", "See [data](data.md) and [the file](../examples/errors.lua).",
      "", "## One part", "", "| option | default | meaning |", "|---|---|---|",
      "| `a\\|b` | 5 ms | how *long* it takes |", "", "- an item", "  of a list", "", "```lua", "return 1", "```", "" },
      "\n"))
    local dashes = ("-"):rep(78)
    local tag = "*operations-errors-one-part*"
    assert.equal(table.concat({ "ERRORS", "", "See data |operations-data-page| and the file (examples/errors.lua).", "",
      dashes, (" "):rep(78 - #tag) .. tag, "One part ~", "", "option:", "`a|b`", "    how long it takes",
      "    default: 5 ms", "", "- an item of a list", ">", "    return 1", "<", "" }, "\n"), made)
  end)

  it("is read by Neovim", function()
    if inside.missing("nvim") then
      return pending("nvim is not installed")
    end
    local result = inside.shell("d=$(mktemp -d); mkdir $d/doc; cp doc/operations.txt $d/doc; "
      .. "nvim --headless -u NONE -i NONE -n -c \"helptags $d/doc\" -c 'qa!' </dev/null; cut -f1 $d/doc/tags; rm -r $d")
    assert.equal(0, result.code)
    for tag in result.out:gmatch("[^\r\n]+") do
      assert.truthy(tag:find("^:?[oO]perations"), tag)
    end
    assert.matches("\noperations%-installation\n", result.out)
  end)
end)
