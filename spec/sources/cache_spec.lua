local command = require("spec.support.command")

-- Runs code in a process with a cache of its own, $D/operations/sources; `shell` runs a command there, in which
-- $SOURCE is the file of the key "a".
local function run(code)
  local program = os.tmpname()
  local file = assert(io.open(program, "w"))
  file:write([[
io.stdout:setvbuf("no")
local cache, limits = require("operations.sources.cache"), require("operations.base.limits")
local function shell(text)
  os.execute("cd $XDG_CACHE_HOME/operations/sources && SOURCE=$(ls *.source | head -1) && { " .. text .. "; }")
end
local function put(key, bytes, meta)
  cache.store(key, meta or {}, { { name = "one", bytes = "" }, { name = "two", bytes = bytes } })
end
local function has(...)
  local found = {}
  for _, key in ipairs({ ... }) do
    local entry = cache.open(key)
    found[#found + 1] = entry and key .. #entry:read("two") or "-"
  end
  print(table.concat(found, " "))
end
]], code)
  file:close()
  local result = command.run(("XDG_CACHE_HOME=%s.d; lua %s; rm -rf $XDG_CACHE_HOME"):format(program, program))
  os.remove(program)
  assert.equal("", result.err)
  return result.out
end

describe("the cache of a source", function()
  it("holds what was written last, and parts of it are read alone", function()
    assert.equal("nil\n1 0 - 5 hello\n- h el lo hello \nnil nil nil nil\nnil\n", run([[
print(cache.open("a"))
put("a", "before")
cache.store("a", { count = 1 }, { { name = "none", bytes = "" }, { name = "text", bytes = "hello" },
  { name = "last", bytes = "x" } })
local entry = cache.open("a")
print(entry.meta.count, #entry:read("none"), "-", #entry:read("text"), entry:read("text"))
print(("- %s %s %s %s %s"):format(entry:read("text", 1, 1), entry:read("text", 2, 3), entry:read("text", 4),
  entry:read("text", nil, 5), entry:read("text", 3, 2)))
print(entry:read("two"), entry:read("other"), entry:read("last", 1, 2), entry:read("text", 1, 100))
print(cache.open("b"))
]]):gsub("\t", " "))
  end)

  it("counts as absent when it is no file of this cache, or is cut off", function()
    assert.equal("a5\n-\n-\n-\n-\nnil\n", run([=[
put("a", "12345")
has("a")
for _, text in ipairs({ "", "no line", "{}\n", '{"format":2,"meta":{},"sizes":[]}\n' }) do
  shell(("printf '%%s' '%s' >$SOURCE"):format(text))
  has("a")
end
put("a", "12345")
shell("head -c -1 $SOURCE >cut; mv cut $SOURCE")
print(cache.open("a"):read("two"))
]=]))
  end)

  it("is private, and removed with what was noted of it", function()
    assert.equal("600\n-\n0\n", run([[
put("a", "x")
shell("stat -c %a $SOURCE")
cache.check("a")
cache.remove("a")
has("a")
os.execute("ls $XDG_CACHE_HOME/operations/sources | wc -l")
]]))
  end)

  it("was checked when it was written or confirmed, whichever is later", function()
    assert.equal("1000000000\n1000000000\n2000000000\n", run([[
put("a", "x")
shell("touch -d @1000000000 $SOURCE")
print(cache.open("a").checked)
cache.check("a")
shell("touch -d @900000000 *.checked")
print(cache.open("a").checked)
shell("touch -d @2000000000 *.checked")
print(cache.open("a").checked)
]]))
  end)

  it("has a head of at most 65,535 bytes", function()
    assert.equal("a1\nb1\n-\n", run([[
local json = require("operations.base.json")
local sizes = { { name = "one", size = 0 }, { name = "two", size = 1 } }
local function padding(length)
  local rest = #json.encode({ format = 1, meta = { x = "" }, sizes = sizes }) + 1
  return { x = ("x"):rep(length - rest) }
end
put("a", "x")
has("a")
put("b", "x", padding(65535))
has("b")
put("c", "x", padding(65536))
has("c")
]]))
  end)

  it("loses the files that are the oldest when all are too large, never the one just written", function()
    for old, left in pairs({ ["1000000000 1100000000"] = "- b100 c100", ["1100000000 1000000000"] = "a100 - c100" }) do
      local first, second = old:match("(%S+) (%S+)")
      assert.equal(("a100 b100\n%s\n- - - d1000\n"):format(left), run(([[
put("a", ("x"):rep(100))
shell("touch -d @%s $SOURCE; mkdir kept; mv $SOURCE kept")
put("b", ("x"):rep(100))
shell("touch -d @%s $SOURCE; mv kept/* .; rmdir kept")
has("a", "b")
local size = tonumber(io.popen("cat $XDG_CACHE_HOME/operations/sources/* | wc -c"):read("*a")) / 2
limits.cli_cache = 2 * size
put("c", ("x"):rep(100))
has("a", "b", "c")
put("d", ("x"):rep(1000))
has("a", "b", "c", "d")
]]):format(first, second)))
    end
  end)
end)
