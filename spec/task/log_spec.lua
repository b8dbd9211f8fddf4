local command = require("spec.support.command")

describe("the log of a plain program that names no other", function()
  it("has warnings and errors on stderr, and no other levels", function()
    local result = command.run([[lua -e '
      local log = require("operations.task.log")
      for _, level in ipairs({ "debug", "info", "warn", "error" }) do
        log.write(level, "of level " .. level)
      end']])
    assert.same({
      out = "", err = "operations: warn: of level warn\noperations: error: of level error\n", code = 0,
    }, result)
  end)

  it("has a foreign text as one message", function()
    local result = command.run([[lua -e '
      require("operations.task.log").write("error", "a\n{\"b\":1}\27[8m")']])
    assert.equal("operations: error: a\n  | {\"b\":1}\n", result.err)
  end)
end)
