local arguments = require("operations.cli.arguments")

local options = {
  { name = "--json", help = "as JSON" },
  { name = "--lua", value = "FILE", many = true, help = "a file" },
  { name = "--limit", value = "N", help = "at most" },
  { name = "--help", help = "this" },
}

local function parse(...)
  return arguments.parse({ ... }, options)
end

describe("command line arguments", function()
  it("are distinguished from options, which may stand anywhere", function()
    local parsed = assert(parse("a", "--json", "b", "--limit", "3", "c"))
    assert.same({ "a", "b", "c" }, parsed.rest)
    assert.same({ json = true, limit = "3" }, parsed.options)
  end)

  it("may join option and value", function()
    assert.same({ limit = "a=b" }, parse("--limit=a=b").options)
    assert.same({ limit = "" }, parse("--limit=").options)
    assert.same({ limit = "--json" }, parse("--limit", "--json").options)
  end)

  it("may join short options, and their value", function()
    local short = { { name = "--format", short = "-f", value = "NAME", help = "" },
      { name = "--quiet", short = "-q", help = "" }, { name = "--raw", short = "-r", help = "" } }
    assert.same({ format = "yaml" }, arguments.parse({ "-fyaml" }, short).options)
    assert.same({ quiet = true, raw = true, format = "yaml" }, arguments.parse({ "-qrfyaml" }, short).options)
    local parsed = arguments.parse({ "-qf", "yaml", "a" }, short)
    assert.same({ { quiet = true, format = "yaml" }, { "a" } }, { parsed.options, parsed.rest })
    assert.same({ nil, "unknown option -x" }, { arguments.parse({ "-qx" }, short) })
    assert.same({ nil, "-f needs a value: NAME" }, { arguments.parse({ "-qf" }, short) })
  end)

  it("keep what is given more than once, and the order of everything", function()
    local parsed = parse("--lua", "x", "--json", "--lua=y")
    assert.same({ "x", "y" }, parsed.options.lua)
    assert.same({ { name = "lua", value = "x" }, { name = "json", value = true }, { name = "lua", value = "y" } },
      parsed.order)
  end)

  it("are no options after -- or when they are a single dash", function()
    assert.same({ "-", "--json" }, parse("-", "--", "--json").rest)
    assert.same({ "--" }, parse("--", "--").rest)
  end)

  it("may lack their value where that is optional", function()
    local nvim = { { name = "--nvim", value = "ADDRESS", optional = true, help = "there" }, options[1] }
    local function given(...)
      return assert(arguments.parse({ ... }, nvim)).options.nvim
    end
    assert.equal("", given("--nvim"))
    assert.equal("", given("--nvim", "--json"))
    assert.equal("", given("--nvim", ""))
    assert.equal("/a", given("--nvim", "/a", "--json"))
    assert.equal("-", given("--nvim=-"))
  end)

  it("know -h", function()
    assert.is_true(parse("-h").options.help)
  end)

  it("are read from a given place on", function()
    assert.same({ "b" }, arguments.parse({ "a", "b" }, options, 2).rest)
  end)

  it("are refused when they are wrong, by name", function()
    assert.same({ nil, "unknown option --jso (did you mean --json?)" }, { parse("--jso") })
    assert.same({ nil, "unknown option -x" }, { parse("-x") })
    assert.same({ nil, "--json takes no value" }, { parse("--json=yes") })
    assert.same({ nil, "--limit needs a value: N" }, { parse("--limit") })
  end)

  it("are numbers from 0 up to a limit", function()
    local function number(text, default, max)
      return arguments.number({ options = { n = text } }, "n", default, max)
    end
    assert.same({ 7, 0, 1.5, 10, 1e9 }, { number(nil, 7), number("0", 7, 10), number("1.5"), number("10", nil, 10),
      number("1e9") })
    assert.is_nil(number(nil))
    for _, text in ipairs({ "-1", "x", "", "nan", "inf", "1e999" }) do
      assert.same({ nil, ("--n: expected a number from 0, got %q"):format(text) }, { number(text, 7) })
    end
    assert.same({ nil, '--n: expected a number from 0 to 10, got "11"' }, { number("11", 7, 10) })
  end)

  it("are explained in two columns", function()
    assert.equal("  --json      as JSON\n  --lua FILE  a file\n  --limit N   at most\n  --help      this\n",
      arguments.help(options))
  end)
end)
