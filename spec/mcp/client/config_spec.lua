local config = require("operations.mcp.client.config")
local limits = require("operations.base.limits")
local operations = require("operations")

-- What is raised of a configuration, without the place that it names.
local function raised(given)
  local ok, message = pcall(function()
    operations.from_mcp.connect("a b", given)
  end)
  assert.is_false(ok)
  assert.matches("^[^ ]*config_spec.lua:%d+: ", message)
  return (message:gsub("^[^ ]*config_spec.lua:%d+: ", ""))
end

local function check(more, url)
  local given = url and { url = url } or { command = "true" }
  for name, value in pairs(more or {}) do
    given[name] = value
  end
  return config.check("a b", given)
end

describe("the configuration of a connection", function()
  it("has defaults", function()
    local made = check()
    assert.same({ "a b", "a_b" }, { made.name, made.namespace })
    assert.same({ limits.mcp_timeout, limits.mcp_max_timeout, limits.mcp_connect_timeout, limits.mcp_probe_timeout,
      limits.body }, { made.timeout, made.max_timeout, made.connect_timeout, made.probe_timeout, made.max_message })
    assert.equal(limits.mcp_connect_timeout, check({}, "http://a.test/mcp").probe_timeout)
    assert.equal(7, check({ connect_timeout = 7 }, "http://a.test/mcp").probe_timeout)
    assert.equal(limits.mcp_probe_timeout, check({ connect_timeout = 7 }).probe_timeout)
  end)

  it("has the given options, in a copy", function()
    local made = check({ namespace = "n", timeout = 1, max_timeout = 2, connect_timeout = 3, probe_timeout = 4,
      max_message = 5 }, "http://a.test/mcp")
    assert.same({ "n", 1, 2, 3, 4, 5 }, { made.namespace, made.timeout, made.max_timeout, made.connect_timeout,
      made.probe_timeout, made.max_message })
  end)

  it("has no longest time that is shorter than that of a request", function()
    assert.equal(9, check({ timeout = 9, max_timeout = 2 }).max_timeout)
    assert.equal(limits.mcp_max_timeout + 1, check({ timeout = limits.mcp_max_timeout + 1 }).max_timeout)
  end)

  it("names a program or a URL", function()
    assert.equal("from_mcp: config: either command or url expected", raised({}))
    assert.equal("from_mcp: config: either command or url expected", raised({ command = "x", url = "http://a.test" }))
    assert.equal('from_mcp: config.url: an http or https URL expected, got "a.test"', raised({ url = "u:p@a.test" }))
    assert.equal('from_mcp: config.url: an http or https URL expected, got "http:///x"', raised({ url = "http:///x" }))
  end)

  it("has values that mean something", function()
    for message, more in pairs({
      ['from_mcp: config.era: there is no "new"'] = { era = "new" },
      ['from_mcp: config.text: there is no "yaml"'] = { text = "yaml" },
      ['from_mcp: config.is_error: there is no "x"'] = { is_error = "x" },
      ['from_mcp: config.normalize: there is no "x"'] = { normalize = "x" },
      ['from_mcp: config.on_mismatch: there is no "x"'] = { on_mismatch = "x" },
      ['from_mcp: config.verdict: there is no "x"'] = { verdict = "x" },
      ['from_mcp: config.questions: there is no "x"'] = { questions = "x" },
      ['from_mcp: config.version: unknown revision "2020-01-01"'] = { version = "2020-01-01" },
      ["from_mcp: config.timeout: a number above 0 expected, got 0"] = { timeout = 0 },
      ["from_mcp: config.max_message: a number above 0 expected, got -1"] = { max_message = -1 },
      ["bad option 'other' to 'from_mcp' (unknown)"] = { other = 1 },
      ["bad option 'args' to 'from_mcp' (table expected, got string)"] = { args = "x" },
    }) do
      more.command = "true"
      assert.equal(message, raised(more))
    end
    assert.matches("a number above 0 expected, got %-?nan", raised({ command = "true", timeout = 0 / 0 }))
  end)

  it("takes each of the values that mean something", function()
    for key, values in pairs({ era = { "auto", "modern", "legacy" }, text = { "json" }, is_error = { "data", "fail" },
      normalize = { "cast", "force", "off" }, on_mismatch = { "warn", "fail" }, questions = { "caller" },
      verdict = { "modern", "legacy", "events" }, version = { "2024-11-05", "2025-11-25", "2026-07-28" } }) do
      for _, value in ipairs(values) do
        assert.equal(value, check({ [key] = value })[key])
      end
    end
  end)

  it("has an authorizer of its own where options of one are given", function()
    local given = { challenged = print }
    assert.equal(given, check({ auth = given }, "http://a.test/mcp").auth)
    assert.is_function(check({ auth = { client = { client_id = "a" } } }, "http://a.test/mcp").auth.challenged)
    assert.is_nil(check({}, "http://a.test/mcp").auth)
    assert.matches("^from_mcp: config.auth: [^a]", raised({ url = "http://a.test", auth = { other = 1 } }))
  end)

  it("logs without harm when the program's function raises", function()
    local told
    local before = operations.on_error(function(err)
      told = tostring(err)
    end)
    check({ log = function()
      error("boom", 0)
    end }).log("warn", "x")
    operations.on_error(before)
    assert.matches("^boom\nstack traceback:", told)
    local lines = {}
    check({ log = function(...)
      lines[#lines + 1] = { ... }
    end }).log("warn", "x", 7)
    assert.same({ { "warn", "x", 7 } }, lines)
  end)
end)

describe("what a connection gets of a configuration", function()
  it("is without the program's functions", function()
    local given = check({ roots = print, sampling = print, elicitation = print, on_progress = print, on_log = print,
      log = print, include = print, exclude = print, accessControl = print, cwd = "/" })
    local made = config.of_connection(given)
    for _, key in ipairs({ "roots", "sampling", "elicitation", "on_progress", "on_log", "log", "include", "exclude",
      "accessControl" }) do
      assert.is_nil(made[key])
      assert.is_not_nil(given[key])
    end
    assert.equal("/", made.cwd)
  end)

  it("says whether there are functions that answer", function()
    for key, value in pairs({ roots = {}, sampling = print, elicitation = print, questions = "caller" }) do
      assert.is_true(config.of_connection(check({ [key] = value })).has_answers)
    end
    assert.is_false(config.of_connection(check({ on_log = print })).has_answers)
  end)
end)
