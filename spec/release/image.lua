--- `make test-image`: carries out what examples/nginx/Dockerfile says in trees that debootstrap makes: the same
--- commands of the same file on the same Debian, without Docker. Then requests are made to the nginx in it. Prints
--- sizes and times.
local clones = require("spec.release.clone")
local command = require("spec.support.command")
local core = require("operations.core")
local dockerfile = require("spec.release.dockerfile")
local inside = require("spec.support.inside")
local sources = require("spec.support.sources")

-- What a chroot needs besides a tree: its own mounts, which end with it.
local enter = [[
unshare --mount --pid --fork --kill-child %s sh -e <<'SCRIPT'
tree=%s
mount --bind "$tree" "$tree"
mount -t proc proc "$tree/proc"
%s
SCRIPT]]

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function quoted(words)
  local list = {}
  for i, word in ipairs(words) do
    list[i] = quote(word)
  end
  return table.concat(list, " ")
end

-- What is missing to do this, or nil.
local function missing()
  if inside.shell("test \"$(id -u)\" = 0 && unshare --mount --pid --fork true").code ~= 0 then
    return "not root: neither debootstrap nor chroot works"
  end
  for _, program in ipairs({ "debootstrap", "apt-get" }) do
    if not inside.has(program) then
      return program .. " is not installed"
    end
  end
end

describe("examples/nginx/Dockerfile", function()
  local why = missing()
  if why then
    pending("skipped: " .. why)
    return
  end

  local clone, trees
  local final = { directory = "/", user = "root" } -- what the last stage says of how it is run

  local function timed(title, fn)
    local start = core.now()
    fn()
    print(("%-48s %6d ms"):format(title, core.now() - start))
  end

  -- Runs a script of this machine beside a tree, which is $tree.
  local function beside(tree, script, network)
    return clone:must(enter:format(network or "", quote(tree), script))
  end

  -- A Debian of the image's name; from where this machine has its own.
  local function bootstrap(image)
    local suite = assert(image:match("^debian:(%l+)%-slim$"), image)
    local tree = clone.base .. "/" .. suite
    clone:must(([[
      mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: %s' 'Component: main')
      debootstrap --variant=minbase %s %s "${mirror%%%%
*}" >bootstrap.log 2>&1 || { tail -n 5 bootstrap.log; exit 1; }
      cp /etc/resolv.conf %s/etc]]):format(suite, suite, quote(tree), quote(tree)))
    return tree
  end

  local steps = {}

  function steps.RUN(tree, step)
    beside(tree, ("chroot \"$tree\" sh -c %s"):format(quote("cd " .. final.directory .. " && " .. step.script)))
  end

  -- As Docker does it: of a directory its contents.
  function steps.COPY(tree, step)
    local from = step.from and trees[step.from] .. "/" or clone.tree .. "/"
    local to = tree .. (step.to:sub(1, 1) == "/" and step.to or final.directory .. "/" .. step.to)
    for _, path in ipairs(step.paths) do
      clone:must(([[
        from=%s to=%s
        if [ -d "$from" ]; then mkdir -p "$to" && cp -R "$from/." "$to"; else
          case $to in */ | */.) mkdir -p "$to" ;; *) mkdir -p "$(dirname "$to")" ;; esac
          cp "$from" "$to"
        fi]]):format(quote(from .. path), quote(to)))
    end
  end

  function steps.WORKDIR(tree, step)
    final.directory = step.path
    clone:must("mkdir -p " .. quote(tree .. step.path))
  end

  function steps.USER(_, step)
    final.user = step.user
  end

  function steps.EXPOSE(_, step)
    final.port = step.port
  end

  function steps.STOPSIGNAL(_, step)
    final.signal = step.signal
  end

  function steps.CMD(_, step)
    final.command = quoted(step.words)
  end

  function steps.HEALTHCHECK(_, step)
    final.health = quoted(step.words)
  end

  local tree

  setup(function()
    clone, trees = clones.new(), {}
    local stages = dockerfile.read(sources.read("examples/nginx/Dockerfile"))
    local debian
    timed("debootstrap", function()
      debian = bootstrap(stages[1].image)
    end)
    for i, stage in ipairs(stages) do
      assert.equal(stages[1].image, stage.image)
      tree = ("%s/stage-%d"):format(clone.base, i)
      clone:must(("cp -a %s %s"):format(quote(debian), quote(tree)))
      trees[stage.name or "last"], final.directory, final.user = tree, "/", "root"
      timed(("stage %d"):format(i), function()
        for _, step in ipairs(stage.instructions) do
          steps[step.name](tree, step)
        end
      end)
    end
    local size = "du -sm %s | cut -f1"
    local base, all = clone:must(size:format(quote(debian))), clone:must(size:format(quote(tree)))
    print(("%-48s %6d MB (%d MB without Debian)"):format("image", tonumber(all), tonumber(all) - tonumber(base)))
  end)

  teardown(function()
    clone:remove()
  end)

  -- Starts the container's command without any network but loopback, waits until its health check passes, runs a script
  -- beside it, and stops it; what the script printed, and then how it ended.
  local function serve(script)
    local inner = ("chroot --userspec=%s \"$tree\" sh -c "):format(final.user)
    local health = inner .. quote(final.health)
    return beside(tree, ([[
      ip link set lo up
      export API_TOKEN=secret url=http://127.0.0.1:%d
      : >log
      chown "$(chroot "$tree" id -u %s)" log # as Docker gives it the container's user
      %s %s >>log 2>&1 &
      container=$!
      tries=0
      until %s >health 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { cat health log; exit 1; }
        sleep 0.1
      done
      %s
      kill -%s $container
      wait $container && echo "ended with $?"]]):format(final.port, final.user, inner,
      quote(("cd %s && exec %s"):format(final.directory, final.command)), health, script, final.signal), "--net")
  end

  it("does not run as root", function()
    local ids = serve([[grep -h '^Uid:' $(grep -l '^Name:.nginx' "$tree"/proc/[0-9]*/status)]])
    local seen = 0
    for id in ids:gmatch("Uid:%s+(%d+)") do
      assert.not_equal("0", id)
      seen = seen + 1
    end
    assert.is_true(seen >= 2, ids) -- the master and a worker
  end)

  it("serves its operations, by the document and as tools of MCP, to callers with the token", function()
    local lua = ("LUA_PATH=%s LUA_CPATH=%s %s %s/lua/operations/cli/main.lua"):format(quote(package.path),
      quote(package.cpath), quote(command.interpreter()), quote(command.directory()))
    local out = serve(([[
      curl -s -o /dev/null -w '%%{http_code}\n' $url/demo/greet?name=Ada
      cd %s
      %s call demo.greet --openapi $url/openapi.json --bearer secret \
        --document-header 'Authorization: Bearer secret' name=Ada
      %s call mine.demo_greet --namespace mine --mcp $url/mcp --bearer secret name=Bob]]):format(
      quote(command.directory()), lua, lua))
    assert.equal('401\n"Hello, Ada!"\n"Hello, Bob!"\nended with 0\n', out)
  end)

  it("logs each request where Docker reads it", function()
    local out = serve([[
      curl -s -H 'Authorization: Bearer secret' $url/demo/greet?name=Ada
      echo
      grep -c demo.greet log]])
    assert.equal('"Hello, Ada!"\n1\nended with 0\n', out)
  end)
end)
