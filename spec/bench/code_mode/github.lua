--- GitHub's document with a recorder behind it, which answers by the examples of the document: issues, pull requests,
--- commits and the like of `octo/hello`. No network.
local operations = require("operations")
local json = operations.json

local github = {}

local DAY = "2026-11-%02dT09:00:00Z"
local logins = { "ada", "grace", "edsger", "barbara", "donald", "octocat", "linus" }
local labels = { "bug", "docs", "feature", "question" }

local function copy(value)
  return assert(json.decode(assert(json.encode(value))))
end

-- A list of copies of an example, each changed by `fn(item, i)`.
local function series(example, count, fn)
  local list = operations.array()
  for i = 1, count do
    list[i] = copy(example)
    fn(list[i], i)
  end
  return list
end

local function first(example)
  local value = example.value
  return value[1] or value
end

local function make(examples)
  local data = {}
  data.issues = series(first(examples["issue-items"]), 250, function(issue, i)
    issue.number, issue.id, issue.title = i, 1000 + i, ("Issue %d about %s"):format(i, labels[i % 4 + 1])
    issue.state, issue.comments = i % 3 == 0 and "closed" or "open", i % 7
    issue.user.login, issue.labels[1].name = logins[i % 7 + 1], labels[i % 4 + 1]
    issue.created_at, issue.pull_request = DAY:format(i % 28 + 1), nil
    issue.assignee.login = logins[i % 5 + 1]
  end)
  data.pulls = series(first(examples["pull-request-simple-items"]), 12, function(pull, i)
    pull.number, pull.id, pull.title, pull.user.login = i, 2000 + i, "Change " .. i, logins[i % 4 + 1]
  end)
  data.commits = series(first(examples["commit-items"]), 120, function(commit, i)
    commit.sha, commit.author.login = ("%040x"):format(i), logins[i % 6 + 1]
    commit.commit.message = (i % 5 == 0 and "fix: " or "feat: ") .. "step " .. i
  end)
  data.comments = series(first(examples["issue-comment-items"]), 6, function(comment, i)
    comment.id, comment.user.login, comment.body = 3000 + i, logins[i], "Comment " .. i
  end)
  data.releases = series(first(examples["release-items"]), 5, function(release, i)
    release.id, release.tag_name, release.published_at = 4000 + i, "v1." .. 5 - i, DAY:format(28 - i)
  end)
  data.repos = series(first(examples["minimal-repository-items"]), 10, function(repo, i)
    repo.id, repo.name, repo.full_name = 5000 + i, "repo" .. i, "octo/repo" .. i
    repo.stargazers_count, repo.language = i * 11, i % 3 == 0 and "C" or "Lua"
  end)
  data.runs = copy(examples["workflow-run-paginated"].value)
  data.runs.workflow_runs = series(data.runs.workflow_runs[1], 20, function(run, i)
    run.id, run.name, run.conclusion = 6000 + i, "build " .. i, i % 4 == 0 and "failure" or "success"
  end)
  data.repo, data.user, data.label = examples["full-repository-default-response"].value,
    examples["public-user-default-response"].value, first(examples["label-items"])
  return data
end

local function page(list, query)
  local size, at = tonumber(query.per_page) or 30, tonumber(query.page) or 1
  local part = operations.array()
  for i = (at - 1) * size + 1, math.min(at * size, #list) do
    part[#part + 1] = list[i]
  end
  return { json = part }
end

local function filtered(list, fn)
  local kept = operations.array()
  for _, item in ipairs(list) do
    kept[#kept + 1] = fn(item) and item or nil
  end
  return kept
end

-- The answers by method and pattern of the path.
local function routes_of(data)
  return {
    { "GET", "^/repos/[^/]+/hello/issues$", function(query)
      return page(filtered(data.issues, function(issue)
        return (query.state == "all" or issue.state == (query.state or "open"))
          and (not query.labels or issue.labels[1].name == query.labels)
      end), query)
    end },
    { "POST", "^/repos/[^/]+/hello/issues$", function(_, request)
      local issue = copy(data.issues[1])
      issue.number, issue.title, issue.body = 251, request.json.title, request.json.body
      return { status = 201, json = issue }
    end },
    { "GET", "/issues/%d+/comments$", function(query, request)
      local number = tonumber(request.path:match("issues/(%d+)"))
      return page(filtered(data.comments, function(comment)
        return comment.id <= 3000 + number % 7
      end), query)
    end },
    { "POST", "/issues/%d+/comments$", function(_, request)
      local comment = copy(data.comments[1])
      comment.body = request.json.body
      return { status = 201, json = comment }
    end },
    { "POST", "/issues/%d+/labels$", function()
      return { json = operations.array({ data.label }) }
    end },
    { "GET", "/issues/%d+$", function(_, request)
      return { json = data.issues[tonumber(request.path:match("%d+$"))] }
    end },
    { "PATCH", "/issues/%d+$", function(_, request)
      local issue = copy(data.issues[tonumber(request.path:match("%d+$"))])
      issue.state = request.json.state or issue.state
      return { json = issue }
    end },
    { "POST", "/labels$", function(_, request)
      local label = copy(data.label)
      label.name = request.json.name
      return { status = 201, json = label }
    end },
    { "GET", "/pulls$", function(query)
      return page(data.pulls, query)
    end },
    { "GET", "/commits$", function(query)
      return page(data.commits, query)
    end },
    { "GET", "/releases/latest$", function(_, request)
      local release = copy(data.releases[1])
      release.tag_name = "v" .. request.path:match("repo(%d*)")
      return { json = release }
    end },
    { "GET", "/releases$", function(query)
      return page(data.releases, query)
    end },
    { "GET", "/actions/runs$", function()
      return { json = data.runs }
    end },
    { "GET", "^/orgs/[^/]+/repos$", function(query)
      return page(data.repos, query)
    end },
    { "GET", "^/repos/[^/]+/[^/]+$", function(_, request)
      local repo = copy(data.repo)
      repo.name = request.path:match("[^/]+$")
      repo.stargazers_count = tonumber(repo.name:match("%d+") or 7) * 11
      return { json = repo }
    end },
    { "GET", "^/users/[^/]+$", function(_, request)
      local user = copy(data.user)
      user.login = request.path:match("[^/]+$")
      user.company = "Company of " .. user.login
      return { json = user }
    end },
  }
end

--- The registry of GitHub's operations.
---@param path string  of the document, of npm's @octokit/openapi
---@return operations.Registry
function github.registry(path)
  local file = assert(io.open(path, "rb"))
  local document = assert(json.decode(file:read("*a")))
  file:close()
  local routes = routes_of(make(document.components.examples))
  local recorder = operations.testing.http(function(request)
    local path_of = request.path:gsub("%?.*", "")
    for _, route in ipairs(routes) do
      if route[1] == request.method and path_of:find(route[2]) then
        return route[3](request.query or {}, request)
      end
    end
    return { status = 404, json = { message = "Not Found" } }
  end)
  local registry = operations.registry({ log = function() end, normalize = "off" })
  assert(registry:register_all(assert(operations.from_openapi.file(path, { namespace = "github", http = recorder,
    accessControl = { requiredScopes = {} } }))))
  return registry
end

return github
