-- registry:pages over the connections of a GraphQL service.
local exchange = require("operations.graphql.exchange")
local operations = require("operations")
local pages = require("operations.graphql.pages")

local page = { path = { "users" }, after = "after", first = "first", before = "before", last = "last" }

-- The pages of a service that answers with `replies`, and the variables of its requests.
local function pages_of(input, replies)
  local client, list, given = operations.testing.http({ ["*"] = replies }), {}, {}
  local endpoint = exchange.new({ endpoint = "https://api.test/graphql", http = client })
  local plan = { page = page, request = function(own, wants_pages)
    assert(wants_pages)
    given[#given + 1] = own
    return { type = "query", query = "{ users }" }
  end }
  local registry = operations.registry()
  registry:register({ namespace = "a", name = "users", type = "query", handler = function(own, context)
    return pages.run(endpoint, plan, own, context)
  end })
  local stream = assert(registry:pages("a.users", input))
  while true do
    local envelope, err = stream:next()
    if not envelope then
      return list, given, err
    end
    list[#list + 1] = envelope
  end
end

local function reply(nodes, info)
  return { json = { data = { users = { nodes = nodes, pageInfo = info } } } }
end

describe("the pages of a connection", function()
  it("are asked for by the end cursor of the one before", function()
    local list, given = pages_of({ first = 2 }, {
      reply({ 1, 2 }, { hasNextPage = true, endCursor = "b", hasPreviousPage = true, startCursor = "a" }),
      reply({ 3 }, { hasNextPage = false, endCursor = "c" }),
    })
    assert.same({ { first = 2 }, { first = 2, after = "b" } }, given)
    assert.same({ { 1, 2 }, { 3 } }, { list[1].data.users.nodes, list[2].data.users.nodes })
    assert.equal("/users/nodes", list[1].meta.items)
  end)

  it("go backwards where the last items are asked for", function()
    local _, given = pages_of({ last = 2 }, {
      reply({ 3, 4 }, { hasNextPage = true, endCursor = "d", hasPreviousPage = true, startCursor = "c" }),
      reply({ 1, 2 }, { hasPreviousPage = false }),
    })
    assert.same({ { last = 2 }, { last = 2, before = "c" } }, given)
  end)

  it("are one where the service names no other", function()
    for _, info in ipairs({ { hasNextPage = false, endCursor = "b" }, { hasNextPage = true },
      { hasNextPage = true, endCursor = operations.null }, operations.null }) do
      assert.equal(1, #pages_of({}, { reply({ 1 }, info) }))
    end
    assert.equal(1, #pages_of({}, { { json = { data = { users = operations.null } } } }))
  end)

  it("end with an error where they form a cycle", function()
    local list, _, err = pages_of({}, { reply({ 1 }, { hasNextPage = true, endCursor = "a" }) })
    assert.equal(2, #list)
    assert.truthy(err.message:find("cycle", 1, true))
  end)

  it("that came are kept when one fails", function()
    local list, _, err = pages_of({}, { reply({ 1 }, { hasNextPage = true, endCursor = "a" }),
      { json = { errors = { { message = "no" } } } } })
    assert.same({ 1, "GRAPHQL_ERROR" }, { #list, err.code })
  end)
end)
