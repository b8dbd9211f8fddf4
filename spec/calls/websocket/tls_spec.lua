local certificates = require("spec.support.certificates")
local operations = require("operations")

describe("a WebSocket hub with TLS", function()
  teardown(certificates.remove)

  it("is reached by wss, by spokes that certificates authenticate", function()
    local path, registry, lines = certificates.path, operations.registry(), {}
    registry:register({ namespace = "a", name = "who", handler = function(_, context)
      return context.identity.id
    end })
    operations.run(function()
      local hub = assert(operations.transports.websocket_hub({ registry = registry, log = function(_, message)
        lines[#lines + 1] = message
      end, tls = certificates.options("localhost", { client_ca = path("ca.pem") }), authorize = function(request)
        return { id = request.peer.tls.subject, scopes = {} }
      end }))
      local url = ("wss://localhost:%d/calls"):format(hub.port)
      local transport = assert(operations.transports.websocket(url, { ca_file = path("ca.pem"),
        cert_file = path("ada.pem"), key_file = path("ada.key") }))
      local map = operations.call_map(transport)
      assert.equal("CN=ada,O=Löve\\, Lace", assert(map:call("a.who")).data)
      assert.is_true(hub:reload())
      assert.is_nil((operations.transports.websocket(url, { ca_file = path("ca.pem") })))
      assert.is_nil((operations.transports.websocket((url:gsub("^wss", "ws")), {})))
      assert.same({ "TLS with 127.0.0.1: peer did not return a certificate",
        "TLS with 127.0.0.1: the client speaks HTTP without TLS" }, lines)
      assert.equal("CN=ada,O=Löve\\, Lace", assert(map:call("a.who")).data)
      map:close()
      hub:close()
    end)
  end)
end)
