local hosts = require("operations.hosts")
local task = require("operations.task")

local function refusal(host)
  local ok, raised = pcall(function()
    local result = task.use_host(host)
    return result
  end)
  assert.is_false(ok)
  assert.matches("hosts/init_spec.lua:%d+: ", raised)
  return raised
end

describe("choosing a host", function()
  after_each(function()
    hosts.use("plain")
  end)

  it("takes the plain one where nothing else runs the program", function()
    assert.equal("plain", hosts.current().name)
  end)

  it("refuses an unknown name", function()
    assert.matches("\"nvim\", \"openresty\", \"plain\" or a table expected, got \"cosmic\"", refusal("cosmic"))
    assert.matches("name or table expected, got number", refusal(3))
  end)

  it("refuses a host whose program this is not", function()
    assert.matches("the host 'nvim' only works inside its own program", refusal("nvim"))
    assert.matches("the host 'openresty' only works inside its own program", refusal("openresty"))
  end)

  it("refuses a table that cannot wait", function()
    local function fn() end
    assert.matches("field 'timer'", refusal({ now = fn, block = fn }))
    assert.matches("field 'now'", refusal({ timer = fn, block = fn }))
    assert.matches("field 'block' or 'park'", refusal({ now = fn, timer = fn }))
    for _, wait in ipairs({ "block", "park" }) do
      task.use_host({ now = fn, timer = fn, [wait] = fn })
      assert.is_false(hosts.runs_by_itself())
    end
    task.use_host({ now = fn, timer = fn, block = fn, schedule = fn })
    assert.is_true(hosts.runs_by_itself())
  end)
end)
