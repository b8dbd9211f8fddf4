local operations = require("operations")
local search = require("operations.offer.search")

local function registry_of(...)
  local registry = operations.registry()
  for _, spec in ipairs({ ... }) do
    spec.namespace = spec.namespace or "desk"
    assert(registry:register_spec(spec))
  end
  return registry
end

local function ids(hits)
  local list = {}
  for i, hit in ipairs(hits) do
    list[i] = hit.id
  end
  return list
end

local function found(registry, query, options)
  return ids(search.new(registry):find(query, options))
end

describe("a search for operations", function()
  it("finds words of names, titles, descriptions, tags and parameters", function()
    local registry = registry_of({ name = "open_ticket" }, { name = "b", title = "Ticket of a day" },
      { name = "c", description = "Closes a ticket." }, { name = "d", tags = { "ticket" } },
      { name = "e", inputSchema = { type = "object", properties = { ticketId = { type = "string" } } } },
      { name = "f", description = "nothing of the kind" })
    local hits = found(registry, "ticket")
    table.sort(hits)
    assert.same({ "desk.b", "desk.c", "desk.d", "desk.e", "desk.open_ticket" }, hits)
  end)

  it("splits names at case, digits and signs, in the query too", function()
    local registry = registry_of({ name = "listOpenIssues" }, { name = "HTTPServer.start-now" }, { name = "v2Users" })
    assert.same({ "desk.listOpenIssues" }, found(registry, "open"))
    assert.same({ "desk.HTTPServer.start-now" }, found(registry, "server"))
    assert.same({ "desk.HTTPServer.start-now" }, found(registry, "http"))
    assert.same({ "desk.HTTPServer.start-now" }, found(registry, "now"))
    assert.same({ "desk.v2Users" }, found(registry, "users"))
    assert.same({ "desk.listOpenIssues" }, found(registry, "someIssues"))
    assert.same({}, found(registry, "pen"))
    assert.same({}, found(registry, "iss"))
  end)

  it("takes singular and plural for one word", function()
    local registry = registry_of({ name = "issues" }, { name = "query" }, { name = "box" }, { name = "status" },
      { name = "branch" })
    assert.same({ "desk.issues" }, found(registry, "issue"))
    assert.same({ "desk.query" }, found(registry, "queries"))
    assert.same({ "desk.box" }, found(registry, "boxes"))
    assert.same({ "desk.status" }, found(registry, "status"))
    assert.same({ "desk.branch" }, found(registry, "branches"))
    assert.same({ "desk.release" }, found(registry_of({ name = "release" }), "releases"))
    assert.same({ "desk.releases" }, found(registry_of({ name = "releases" }), "release"))
    assert.same({ "desk.cities" }, found(registry_of({ name = "cities" }), "city"))
    assert.same({ "desk.queries" }, found(registry_of({ name = "queries" }), "query"))
    assert.same({ "desk.boxes" }, found(registry_of({ name = "boxes" }), "box"))
    assert.same({}, found(registry, "stat"))
    assert.same({}, found(registry, "issued"))
  end)

  it("finds each form of a word by each", function()
    for _, forms in ipairs({ { "issue", "issues" }, { "query", "queries" }, { "box", "boxes" },
      { "branch", "branches" }, { "release", "releases" }, { "push", "pushes" }, { "case", "cases" } }) do
      for _, name in ipairs(forms) do
        for _, query in ipairs(forms) do
          assert.same({ "desk." .. name }, found(registry_of({ name = name }, { name = "other" }), query))
        end
      end
    end
  end)

  it("counts a word once, however often a query has it", function()
    local index = search.new(registry_of({ name = "a", description = "ticket" }, { name = "b" }))
    assert.equal(index:find("ticket")[1].score, index:find("ticket tickets Ticket")[1].score)
  end)

  it("gives each field some weight, and none to what no word is in", function()
    for _, spec in ipairs({ { name = "ticket" }, { name = "a", title = "ticket" },
      { name = "a", description = "ticket" },
      { name = "a", inputSchema = { type = "object", properties = { ticket = true } } } }) do
      assert.is_true(search.new(registry_of(spec, { name = "b" })):find("ticket")[1].score > 0)
    end
    assert.equal(0, search.new(registry_of({ name = "a" })):find("")[1].score)
  end)

  it("finds a word of one letter at the end of a text", function()
    assert.same({ "desk.one" }, found(registry_of({ name = "one", description = "plan b" }, { name = "two" }), "b"))
  end)

  -- In texts of equal length a word counts as much as its field does.
  it("scores by BM25F", function()
    local function score(spec, ...)
      return search.new(registry_of(spec, ...)):find("ticket")[1].score
    end
    local function expected(count, total)
      return math.log(1 + (total - 0.5) / 1.5) * count * 2.2 / (count + 1.2)
    end
    local function takes(name)
      return { type = "object", properties = { [name] = true } }
    end
    local function near(wanted, given)
      assert.is_true(math.abs(wanted - given) < 1e-9, ("%.12g, not %.12g"):format(given, wanted))
    end
    near(expected(3, 2), score({ name = "ticket" }, { name = "others" }))
    near(expected(2, 2), score({ name = "a", title = "ticket" }, { name = "b", title = "others" }))
    near(expected(1, 2), score({ name = "a", description = "ticket" }, { name = "b", description = "others" }))
    near(expected(1, 2), score({ name = "a", inputSchema = takes("ticket") },
      { name = "b", inputSchema = takes("others") }))
    near(expected(2, 3), score({ name = "a", description = "ticket ticket" },
      { name = "b", description = "others others" }, { name = "c", description = "others others" }))
    near(expected(5, 2), score({ name = "ticket", title = "ticket" }, { name = "others", title = "others" }))
  end)

  it("ranks rare words above frequent ones, and short texts above long ones", function()
    local registry = registry_of({ name = "a", description = "ticket" }, { name = "b", description = "ticket" },
      { name = "c", description = "ticket" }, { name = "d", description = "archive" })
    assert.equal("desk.d", found(registry, "ticket archive")[1])
    registry = registry_of({ name = "a", description = "ticket " .. ("word "):rep(50) },
      { name = "b", description = "ticket" })
    assert.same({ "desk.b", "desk.a" }, found(registry, "ticket"))
  end)

  it("ranks a name above a title, and that above a description", function()
    local registry = registry_of({ name = "x1", title = "one two", description = "the ticket" },
      { name = "x2", title = "the ticket", description = "one two" }, { name = "ticket", title = "one two" })
    assert.same({ "desk.ticket", "desk.x2", "desk.x1" }, found(registry, "ticket"))
  end)

  it("ranks equals in the order of their registration", function()
    local registry = operations.registry()
    local expected = {}
    for i = 1, 30 do
      expected[i] = ("desk.%02d"):format(i * 7 % 31)
      assert(registry:register_spec({ namespace = "desk", name = expected[i]:sub(6), description = "the same" }))
    end
    assert.same(expected, found(registry, "same", { limit = 30 }))
    assert.same({ expected[1], expected[2] }, found(registry, "same", { limit = 2 }))
    assert.equal(10, #found(registry, "same"))
  end)

  it("passes over empty words, unless there are no others", function()
    local registry = registry_of({ name = "a", description = "what is this" }, { name = "b", description = "ticket" })
    assert.same({ "desk.b" }, found(registry, "what is a ticket"))
    assert.same({ "desk.a" }, found(registry, "what is"))
  end)

  it("finds all for a query without words", function()
    local registry = registry_of({ name = "b" }, { name = "a" })
    assert.same({ "desk.b", "desk.a" }, found(registry, ""))
    assert.same({ "desk.b", "desk.a" }, found(registry, " ?! "))
    assert.same({}, found(registry, "neither"))
  end)

  it("finds only operations that the caller may call and that filter and accept take", function()
    local registry = registry_of({ name = "open" },
      { name = "secret", accessControl = { requiredScopes = { "admin" } } },
      { name = "inner", _meta = { exposed = false } }, { name = "other", namespace = "shop" })
    local admin = { id = "ada", scopes = { "admin" } }
    assert.same({ "desk.open", "shop.other" }, found(registry, ""))
    assert.same({ "desk.open", "desk.secret", "shop.other" }, found(registry, "", { identity = admin }))
    assert.same({ "desk.secret" }, found(registry, "", { identity = admin, accept = function(spec)
      return spec.name == "secret"
    end }))
    assert.same({ "shop.other" }, ids(search.new(registry, { filter = { namespace = "shop" } }):find("")))
    assert.same({ "desk.open" }, ids(search.new(registry, { filter = function(spec)
      return spec.name == "open"
    end }):find("")))
  end)

  it("follows the registry and what is mounted in it", function()
    local registry, other = registry_of({ name = "old" }), operations.registry()
    registry:mount(other, { prefix = "far" })
    local index = search.new(registry)
    assert.same({ "desk.old" }, ids(index:find("")))
    assert(registry:register_spec({ namespace = "desk", name = "new" }))
    assert.same({ "desk.old", "desk.new" }, ids(index:find("")))
    assert(other:register_spec({ namespace = "desk", name = "ticket",
      inputSchema = { properties = { color = true } } }))
    assert.same({ "far.desk.ticket" }, ids(index:find("color")))
    registry:unregister("desk.old")
    assert.same({ "desk.new", "far.desk.ticket" }, ids(index:find("")))
  end)

  it("knows parameters of OpenAPI documents whose schemas were not made", function()
    local definitions = assert(operations.from_openapi.document({
      openapi = "3.1.0", info = { title = "t", version = "1" }, servers = { { url = "http://127.0.0.1:1" } },
      components = { parameters = { Page = { name = "per_page", ["in"] = "query" } } },
      paths = { ["/a"] = { get = { operationId = "a", parameters = { { ["$ref"] = "#/components/parameters/Page" },
        { name = "colour", ["in"] = "query", schema = { type = "string" } }, 7 } } },
        ["/b"] = { parameters = { { name = "shade", ["in"] = "query" } },
          put = { operationId = "b", requestBody = { content = { ["text/plain"] = {} } } } } },
    }, { namespace = "api", accessControl = { requiredScopes = {} } }))
    local registry = operations.registry()
    assert(registry:register_all(definitions))
    local function check()
      assert.same({ "api.a" }, found(registry, "page"))
      assert.same({ "api.a" }, found(registry, "colour"))
      assert.same({ "api.b" }, found(registry, "shade"))
      assert.same({ "api.b" }, found(registry, "body"))
    end
    check()
    assert(registry:get_spec("api.a"))
    assert(registry:get_spec("api.b"))
    check()
    assert.is_nil(registry:parameters("api.c"))
  end)

  it("gives specs and scores, the same for every caller", function()
    local hits = search.new(registry_of({ name = "a", title = "Tickets" }, { name = "b" })):find("ticket")
    assert.equal(1, #hits)
    assert.equal("Tickets", hits[1].spec.title)
    assert.is_nil(hits[1].spec.inputSchema)
    assert.is_true(hits[1].score > 0)
  end)

  it("bounds what a query costs", function()
    local registry = registry_of({ name = "ticket" })
    assert.same({}, found(registry, ("x"):rep(1024) .. " ticket"))
    local words = {}
    for i = 1, 32 do
      words[i] = "w" .. i
    end
    assert.same({}, found(registry, table.concat(words, " ") .. " ticket"))
    words[32] = "ticket"
    assert.same({ "desk.ticket" }, found(registry, table.concat(words, " ")))
    assert.same({}, found(registry, "%a+ [ ( \0 \255"))
  end)

  it("refuses anything but a registry, a query and options", function()
    assert.error_matches(function() search.new({}) end, "bad argument #1 to 'search' %(registry expected, got table")
    assert.error_matches(function() search.new(registry_of(), 7) end,
      "bad argument #2 to 'search' %(table expected, got number%)")
    assert.error_matches(function() search.new(registry_of(), { top = 1 }) end,
      "bad option 'top' to 'search' %(unknown%)")
    local index = search.new(registry_of({ name = "a" }))
    assert.error_matches(function() index:find("", 7) end, "bad argument #2 to 'find' %(table expected, got number%)")
    assert.error_matches(function() index:find(1) end, "bad argument #1 to 'find' %(string expected, got number")
    assert.error_matches(function() index:find("", { top = 1 }) end, "bad option 'top' to 'find' %(unknown%)")
    assert.error_matches(function() index.find({}, "") end, "calling 'find' on bad self %(search expected")
  end)
end)
