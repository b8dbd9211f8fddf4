-- The transport of 2024-11-05 against a server of the specs' own; http_spec.lua has a whole session.
local listener = require("operations.server.listener")
local operations = require("operations")

describe("an MCP client of the transport of 2024-11-05", function()
  it("is told why the server opens no stream", function()
    local opened = assert(listener.listen({ port = 0 }, function()
      return { status = 503, headers = {}, body = "not today" }
    end))
    local url = ("http://127.0.0.1:%d/sse"):format(opened.port)
    local client, err = operations.run(function()
      return operations.from_mcp.connect("s", { url = url, verdict = "events" })
    end)
    opened:close()
    assert.is_nil(client)
    assert.same({ "HTTP_503", ("GET %s: status 503: not today"):format(url) }, { err.code, err.message })
  end)

  it("is told that the server names an endpoint at another origin, to which nothing is sent", function()
    local opened = assert(listener.listen({ port = 0 }, function()
      local pieces = { "event: endpoint\ndata: http://elsewhere.example/messages\n\n" }
      return { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = function()
        return table.remove(pieces)
      end }
    end))
    local client, err = operations.run(function()
      return operations.from_mcp.connect("s", { url = ("http://127.0.0.1:%d/sse"):format(opened.port),
        verdict = "events", log = function() end })
    end)
    opened:close()
    assert.is_nil(client)
    assert.equal("the server's endpoint is at another origin", err.message)
  end)

  it("ends where the server names an endpoint and refuses what is sent to it", function()
    for _, status in ipairs({ 400, 404, 405 }) do
      local posts, url = 0, nil
      local opened = assert(listener.listen({ port = 0 }, function(request)
        if request.method == "POST" then
          posts = posts + 1
          return { status = status, headers = {}, body = "" }
        end
        local pieces = { "event: endpoint\ndata: /lost/messages\n\n" }
        return { status = 200, headers = { ["content-type"] = "text/event-stream" }, body = function()
          local piece = table.remove(pieces)
          if not piece then
            operations.sleep(60)
          end
          return piece
        end }
      end))
      url = ("http://127.0.0.1:%d/sse"):format(opened.port)
      local client, err = operations.run(function()
        return operations.from_mcp.connect("s", { url = url, log = function() end })
      end)
      opened:close()
      assert.is_nil(client)
      assert.equal("HTTP_" .. status, err.code)
      assert.equal(3, posts) -- server/discover and initialize, and initialize at the endpoint
    end
  end)
end)
