-- Definitions that `operations serve --watch` takes over again, while it runs.
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")
local output = require("operations.cli.output")
local serve = require("spec.support.serve")
local watched = require("operations.cli.watched")

local function within(fn)
  return function()
    operations.run(fn)
  end
end

describe("a watched directory", function()
  local directory

  local function write(name, text)
    local file = assert(io.open(directory .. "/" .. name, "w"))
    file:write(text)
    file:close()
  end

  local function definition(name, result)
    return ("return { namespace = 'w', name = '%s', type = 'query', handler = function() return '%s' end }"):format(
      name, result)
  end

  before_each(function()
    directory = os.tmpname()
    os.remove(directory)
    assert(os.execute(("mkdir -p '%s/watched'"):format(directory)))
  end)

  after_each(function()
    serve.stop()
    os.execute(("rm -rf '%s'"):format(directory))
  end)

  local function watch(...)
    return serve.start({ "--watch", directory .. "/watched", ... })
  end

  local function eventually_answers(served, path, status, body)
    local answer
    eventually(function()
      answer = served:get(path)
      return answer.status == status and (not body or answer.body == json.encode(body))
    end)
  end

  it("takes over what changes, comes and goes", within(function()
    write("watched/a.lua", definition("a", "one"))
    local served = watch()
    assert.equal('"one"', served:get("/w/a").body)
    write("watched/a.lua", definition("a", "second"))
    eventually_answers(served, "/w/a", 200, "second")
    assert.matches("watched/a.lua: serving w.a", served:said("serving w.a", true), 1, true)
    write("watched/b.lua", definition("b", "new"))
    eventually_answers(served, "/w/b", 200, "new")
    os.rename(directory .. "/watched/b.lua", directory .. "/watched/c.lua")
    served:said("c.lua: serving w.b", true)
    assert.equal('"new"', served:get("/w/b").body)
    os.remove(directory .. "/watched/c.lua")
    eventually_answers(served, "/w/b", 404)
    assert.matches("the file is gone; w.b is no longer served", served:said("no longer", true), 1, true)
  end))

  it("keeps the former operation where a definition lost its handler", within(function()
    write("watched/a.lua", definition("a", "one"))
    local served = watch()
    write("watched/a.lua", "return { namespace = 'w', name = 'a', type = 'query' }")
    assert.matches("watched/a.lua: w.a: /handler: expected a function, got nil", served:said("/handler", true), 1, true)
    assert.equal('"one"', served:get("/w/a").body)
  end))

  it("keeps the former operations where a file is broken, and says so", within(function()
    write("watched/a.lua", definition("a", "one"))
    local served = watch()
    write("watched/a.lua", "return {")
    served:said("a.lua: the invalid part of w.a keeps its previous version", true)
    assert.matches("a.lua:1:", served:said("a.lua:1:", true), 1, true)
    assert.equal('"one"', served:get("/w/a").body)
    write("watched/a.lua", (definition("a", "one"):gsub("'query'", "'queries'")))
    served:said("/type", true)
    assert.equal('"one"', served:get("/w/a").body)
    write("watched/a.lua", definition("a", "mended"))
    eventually_answers(served, "/w/a", 200, "mended")
  end))

  it("begins without a definition, and may be of a directory that --lua names", within(function()
    local served = watch("--lua", directory .. "/watched")
    assert.matches("serving 0 operations", served:said("serving"), 1, true)
    write("watched/a.lua", definition("a", "one"))
    eventually_answers(served, "/w/a", 200, "one")
  end))

  it("is watched again after it was missing for a while", within(function()
    write("watched/a.lua", definition("a", "one"))
    local served = watch()
    os.rename(directory .. "/watched", directory .. "/moved")
    served:said("No such file", true)
    assert.equal('"one"', served:get("/w/a").body)
    os.rename(directory .. "/moved", directory .. "/watched")
    write("watched/a.lua", definition("a", "mended"))
    eventually_answers(served, "/w/a", 200, "mended")
  end))

  it("says each time once that the directory is not there", function()
    local told, failure = {}, output.failure
    output.failure = function(err)
      told[#told + 1] = err.message
    end
    finally(function()
      output.failure = failure
    end)
    local following = assert(watched.new(directory .. "/watched", operations.registry()))
    for times = 1, 2 do
      os.rename(directory .. "/watched", directory .. "/moved")
      assert.is_truthy(following:check())
      assert.is_truthy(following:check())
      assert.equal(times, #told)
      os.rename(directory .. "/moved", directory .. "/watched")
      assert.is_nil(following:check())
    end
  end)
end)
