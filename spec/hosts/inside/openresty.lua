-- Run by spec/hosts/openresty_spec.lua inside nginx.
local hosts = require("operations.hosts")
local contract = require("spec.hosts.contract")

local detected = hosts.current().name
local busted = { describe = describe, it = it, setup = setup, teardown = teardown, assert = assert }

contract("openresty", busted, function(fn)
  local thread = ngx.thread.spawn(function()
    while true do
      ngx.sleep(0.005)
      fn()
    end
  end)
  return function()
    ngx.thread.kill(thread)
  end
end)

describe("the OpenResty host", function()
  it("is found by itself", function()
    assert.equal("openresty", detected)
  end)
end)
