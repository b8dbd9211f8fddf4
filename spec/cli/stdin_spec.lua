--- Standard input of a call: when it is read, and how long for.
local json = require("operations.base.json")
local shell_api = require("spec.support.shell_api")

local api = shell_api.during(setup, teardown)

-- An input that stays open and gives nothing.
local IDLE = "mkfifo idle; exec 3<>idle; "

describe("standard input", function()
  it("that stays open is waited for as long as the call may take, and named after a while", function()
    local result = api:run(IDLE .. "call create owner=a --timeout 3 <idle; echo $?")
    assert.equal("6\n", result.out)
    assert.equal("operations: waiting for a body on standard input; - asks for it, </dev/null gives none\n"
      .. "operations: TIMEOUT: standard input gave nothing in time; </dev/null is an empty one\n", result.err)
    result = api:run(IDLE .. "printf '{\"tit' >&3; call create owner=a --timeout 0.2 <idle; echo $?")
    assert.equal("6\n", result.out)
    result = api:run(IDLE .. "printf abc >&3; call upload --timeout 0.3 <idle; echo $?")
    assert.equal("6\n", result.out)
  end)

  it("that never ends is read for as long as the call may take", function()
    local result = api:run("call create owner=a --timeout 0.2 </dev/zero; echo $?")
    assert.equal("6\n", result.out)
    assert.equal("operations: TIMEOUT: standard input did not end in time; </dev/null is an empty one\n", result.err)
  end)

  it("that stays open is not waited for where it is no body", function()
    local result = api:run(IDLE .. "call thing <idle >/dev/null 2>&1; echo $?; call create owner=a title=x <idle")
    assert.equal("", result.err)
    assert.equal('{"title":"x"}', json.decode(result.out:match("^0\n(.*)$")).body)
  end)

  it("is read to its end, however slowly it comes", function()
    -- waits: both pieces must be read apart, from another program
    local result = api:run("(printf '{\"tit'; sleep 0.3; printf 'le\":\"x\"}') | call create owner=a")
    assert.same({ "", '{"title":"x"}' }, { result.err, json.decode(result.out).body })
    result = api:run("(printf abc; sleep 0.3; printf def) | call upload")
    assert.same({ "", "abcdef" }, { result.err, json.decode(result.out).body })
  end)

  it("is left to a loop that reads it, by calls that take none of it", function()
    local loop = "while read word; do call create owner=$word title=x | grep -c echo; done"
    local result = api:run("printf 'a\\nb\\nc\\n' >list; " .. loop .. " <list")
    assert.same({ "1\n1\n1\n", "" }, { result.out, result.err })
    assert.equal("1\n1\n1\n", api:run("printf 'a\\nb\\nc\\n' | " .. loop).out)
  end)

  it("that is not read is named", function()
    local told = "operations: standard input is not read: %s; </dev/null says so\n"
    assert.equal(told:format("the body is given"), api:run("echo '{}' | call create owner=a title=y").err)
    assert.matches(told:format("shell.items takes no body"), api:run("echo x | call items").err, 1, true)
    for _, silent in ipairs({ "call create owner=a title=x </dev/null", ": | call create owner=a title=x",
      "echo '{\"title\":\"z\"}' | call create owner=a body:=@-" }) do
      assert.equal("", api:run(silent).err)
    end
  end)

  it("that is closed is an empty one, and a closed output takes what is printed", function()
    local result = api:run("call create owner=a <&- 2>&1; call create owner=a title=x >&-; echo $?")
    local answer, code = result.out:match("^({.-})\n(%d+)\n$")
    assert.same({ "", "0", "" }, { json.decode(answer).body, code, result.err })
  end)
end)
