local commands = require("operations.cli.commands")
local command = require("spec.support.command")
local files = require("operations.base.files")
local manual = require("spec.doc.manual")
local markdown = require("spec.doc.markdown")
local shown = require("operations.cli.manual")
local styles = require("operations.cli.style")

local function page(source)
  return manual.make(markdown.lines(source)):match("%.SH DESCRIPTION\n(.-)%.SH COMMANDS")
end

describe("the manual page", function()
  it("is made of the page as it is (make help-file)", function()
    local made = manual.make(markdown.read("command-line"))
    assert.is_true(made == files.own("operations/cli/operations.1"), "operations.1: run make help-file")
  end)

  it("has paragraphs, code, tables, lists and headings in the language of man", function()
    assert.equal(".PP\nSay \\fB\\-\\-help\\fR or \\fBread\\fR a page.\n.PP\n"
      .. ".EX\n$ echo \\(aqa\\eb\\(aq\n.EE\n"
      .. ".TP\n\\fB\\-\\-port N\\fR\nwhere it listens (default: 80)\n"
      .. ".SH SMALL PARTS\n.IP \\- 3\nan item of two lines\n",
      page("# Title\n\nSay `--help` or **read** [a page](a.md).\n\n```console\n$ echo 'a\\b'\n```\n\n"
        .. "| option | default | meaning |\n|---|---|---|\n| `--port N` | 80 | where it listens |\n\n"
        .. "## Small parts\n\n- an item\n  of two lines\n"))
  end)

  it("begins no line of text with a request", function()
    assert.equal(".PP\n\\&.lua is an ending\n", page("# Title\n\n.lua is an ending\n"))
  end)

  it("has each command with all its options", function()
    local text = shown.text(assert(styles.of({ color = "never" })))
    for _, entry in ipairs(commands.list) do
      for _, option in ipairs(commands.find(entry[1]).options) do
        assert.matches("\n    " .. (option.short and option.short .. ", " or "") .. option.name, text, 1, true)
      end
    end
  end)

  it("is printed by operations help manual, which lines of 80 columns hold", function()
    local result = command.run("operations help manual")
    assert.equal(0, result.code)
    assert.matches("^NAME\n    operations %- call operations .-\nEXIT CODES\n\n    0\n        done\n", result.out)
    assert.matches("\n      $ operations call todo.get id=1 --select title\n", result.out, 1, true)
    assert.is_nil(result.out:find("\\[fe(]"))
  end)

  it("is accepted by man without a warning", function()
    local result = command.run("! command -v groff >/dev/null || "
      .. "groff -man -ww -W break -z lua/operations/cli/operations.1")
    assert.equal("", result.out .. result.err)
  end)
end)
