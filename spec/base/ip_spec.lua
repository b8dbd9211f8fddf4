local ip = require("operations.base.ip")

local function canonical(text)
  local bytes = ip.bytes(text)
  return bytes and ip.text(bytes)
end

local function contains(network, address)
  return ip.contains(assert(ip.network(network)), assert(ip.bytes(address)))
end

describe("an IP address", function()
  it("has one text", function()
    for text, expected in pairs({ ["192.0.2.7"] = "192.0.2.7", ["0.0.0.0"] = "0.0.0.0", ["::"] = "::", ["::1"] = "::1",
      ["2001:DB8:0:0:1:0:0:1"] = "2001:db8::1:0:0:1", ["1:0:0:2:0:0:0:3"] = "1:0:0:2::3", ["fe80::"] = "fe80::",
      ["1:2:3:4:5:6:7:8"] = "1:2:3:4:5:6:7:8", ["1:0:3:4:5:6:7:8"] = "1:0:3:4:5:6:7:8",
      ["::ffff:192.0.2.7"] = "192.0.2.7", ["::FFFF:c000:207"] = "192.0.2.7",
      ["64:ff9b::192.0.2.7"] = "64:ff9b::c000:207",
      ["1:2:3:4:5:6:7::"] = "1:2:3:4:5:6:7:0" }) do
      assert.equal(expected, canonical(text), text)
    end
  end)

  it("is nothing else", function()
    for _, text in ipairs({ "", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1..2.3",
      "a.b.c.d",
      "localhost", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4::5:6:7:8", "12345::", "g::",
      "::1.2.3", "::1.2.3.4:5", "1.2.3.4::", "[::1]", "fe80::1%eth0", "1:2:3:4:5:6:7:1.2.3.4", "0x7f.1" }) do
      assert.is_nil(canonical(text), text)
    end
  end)
end)

describe("a network of addresses", function()
  it("has the addresses that share its first bits", function()
    for _, pair in ipairs({ { "10.0.0.0/8", "10.255.0.1" }, { "10.1.2.3/8", "10.9.9.9" }, { "0.0.0.0/0", "8.8.8.8" },
      { "192.0.2.128/25", "192.0.2.200" }, { "192.0.2.7", "192.0.2.7" }, { "10.0.0.0/8", "::ffff:10.0.0.1" },
      { "::ffff:10.0.0.0/104", "10.2.3.4" }, { "2001:db8::/33", "2001:db8:7fff::1" }, { "::/0", "2001::" } }) do
      assert.is_true(contains(pair[1], pair[2]), table.concat(pair, " "))
    end
    for _, pair in ipairs({ { "10.0.0.0/8", "11.0.0.1" }, { "192.0.2.128/25", "192.0.2.127" }, { "0.0.0.0/0", "::1" },
      { "::/0", "1.2.3.4" }, { "2001:db8::/33", "2001:db8:8000::1" }, { "192.0.2.7", "192.0.2.6" },
      { "172.16.0.0/12", "172.32.0.0" } }) do
      assert.is_false(contains(pair[1], pair[2]), table.concat(pair, " "))
    end
  end)

  it("has a length that fits", function()
    for _, text in ipairs({ "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "/8", "x/8",
      "10.0.0.0/08x",
      "::ffff:10.0.0.0/95" }) do
      assert.is_nil(ip.network(text), text)
    end
  end)
end)
