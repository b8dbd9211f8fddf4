--- Twenty jobs over GitHub's operations as programs. `find` is what a model searches for first; `first` is an attempt
--- that is refused, which it repairs.
local REPO = 'owner = "octo", repo = "hello"'

local function task(name, find, code, first)
  return { name = name, find = find, code = code:gsub("REPO", REPO), first = first and first:gsub("REPO", REPO) }
end

local list_issues, get_issue = { "list repository issues" }, { "get an issue" }

return {
  task("list: titles of the 30 newest open issues", list_issues, [[
local list = assert(call("github.issues_list_for_repo", { REPO }))
local titles = {}
for i, issue in ipairs(list) do titles[i] = issue.title end
return titles]]),
  task("list: names of an organization's repositories", { "list organization repositories" }, [[
local list = assert(call("github.repos_list_for_org", { org = "octo" }))
local names = {}
for i, repo in ipairs(list) do names[i] = repo.name end
return names]]),
  task("list: the releases with their dates", { "list releases" }, [[
local list = assert(call("github.repos_list_releases", { REPO }))
local out = {}
for i, release in ipairs(list) do out[i] = release.tag_name .. " " .. release.published_at end
return out]]),
  task("filter: open issues labelled bug", list_issues, [[
local list = assert(call("github.issues_list_for_repo", { REPO, labels = "bug" }))
local out = {}
for i, issue in ipairs(list) do out[i] = { issue.number, issue.title } end
return out]]),
  task("filter: failed workflow runs", { "list workflow runs for a repository" }, [[
local runs = assert(call("github.actions_list_workflow_runs_for_repo", { REPO }))
local out = {}
for _, run in ipairs(runs.workflow_runs) do
  if run.conclusion == "failure" then out[#out + 1] = run.name end
end
return out]]),
  task("filter: open issues without comments of one user", list_issues, [[
local list = assert(call("github.issues_list_for_repo", { REPO, per_page = 100 }))
local out = {}
for _, issue in ipairs(list) do
  if issue.comments == 0 and issue.user.login == "ada" then out[#out + 1] = issue.number end
end
return out]]),
  task("join: authors of pull requests with their companies", { "list pull requests", "get a user" }, [[
local pulls = assert(call("github.pulls_list", { REPO }))
local seen, users = {}, {}
for _, pull in ipairs(pulls) do
  if not seen[pull.user.login] then seen[pull.user.login] = true users[#users + 1] = pull.user.login end
end
return map(users, function(login)
  local user, err = call("github.users_get_by_username", { username = login })
  if not user then return nil, err end
  return login .. ": " .. user.company
end)]]),
  task("join: assignees of open issues who wrote commits", { "list repository issues", "list commits" }, [[
local issues = assert(call("github.issues_list_for_repo", { REPO }))
local commits = assert(call("github.repos_list_commits", { REPO, per_page = 100 }))
local authors, out = {}, {}
for _, commit in ipairs(commits) do authors[commit.author.login] = true end
for _, issue in ipairs(issues) do
  local login = issue.assignee.login
  if authors[login] then out[login] = (out[login] or 0) + 1 end
end
return out]]),
  task("join: issues and pull requests by one user", { "list repository issues", "list pull requests" }, [[
local issues = assert(call("github.issues_list_for_repo", { REPO, per_page = 100 }))
local pulls = assert(call("github.pulls_list", { REPO }))
local out = { issues = 0, pulls = 0 }
for _, issue in ipairs(issues) do if issue.user.login == "grace" then out.issues = out.issues + 1 end end
for _, pull in ipairs(pulls) do if pull.user.login == "grace" then out.pulls = out.pulls + 1 end end
return out]]),
  task("paginate: issues by state", list_issues, [[
local counts, page = {}, 1
repeat
  local list = assert(call("github.issues_list_for_repo", { REPO, state = "all", per_page = 100, page = page }))
  for _, issue in ipairs(list) do counts[issue.state] = (counts[issue.state] or 0) + 1 end
  page = page + 1
until #list < 100
return counts]]),
  task("paginate: fixes by author", { "list commits" }, [[
local counts, page = {}, 1
repeat
  local list = assert(call("github.repos_list_commits", { REPO, per_page = 100, page = page }))
  for _, commit in ipairs(list) do
    if commit.commit.message:find("^fix:") then
      counts[commit.author.login] = (counts[commit.author.login] or 0) + 1
    end
  end
  page = page + 1
until #list < 100
return counts]]),
  task("paginate: the oldest open issue", list_issues, [[
local oldest, page = nil, 1
repeat
  local list = assert(call("github.issues_list_for_repo", { REPO, per_page = 100, page = page }))
  for _, issue in ipairs(list) do
    if not oldest or issue.created_at < oldest.created_at then oldest = issue end
  end
  page = page + 1
until #list < 100
return { oldest.number, oldest.title, oldest.created_at }]]),
  task("fan out: who commented on ten issues", { "list issue comments" }, [[
local numbers = {}
for i = 1, 10 do numbers[i] = i end
local lists = assert(map(numbers, function(number)
  return call("github.issues_list_comments", { REPO, issue_number = number })
end))
local counts = {}
for _, list in ipairs(lists) do
  for _, comment in ipairs(list) do counts[comment.user.login] = (counts[comment.user.login] or 0) + 1 end
end
return counts]]),
  task("fan out: stars of ten repositories", { "get a repository" }, [[
local names, stars = {}, 0
for i = 1, 10 do names[i] = "repo" .. i end
local repos = map(names, function(name) return call("github.repos_get", { owner = "octo", repo = name }) end)
for _, repo in ipairs(repos) do stars = stars + repo.stargazers_count end
return stars]]),
  task("fan out: the latest release of five repositories", { "get the latest release" }, [[
return map({ 1, 2, 3, 4, 5 }, function(i)
  local release, err = call("github.repos_get_latest_release", { owner = "octo", repo = "repo" .. i })
  if not release then return nil, err end
  return release.tag_name
end)]]),
  task("write: label three issues", { "create a label", "add labels to an issue" }, [[
assert(call("github.issues_create_label", { REPO, body = { name = "stale", color = "cccccc" } }))
local done = map({ 1, 2, 4 }, function(number)
  return call("github.issues_add_labels", { REPO, issue_number = number, body = { labels = { "stale" } } })
end)
return #done]]),
  task("write: close the open issues of one user, with a comment",
    { "list repository issues", "create an issue comment", "update an issue" }, [[
local list = assert(call("github.issues_list_for_repo", { REPO }))
local closed = {}
for _, issue in ipairs(list) do
  if issue.user.login == "octocat" then
    assert(call("github.issues_create_comment", { REPO, issue_number = issue.number, body = { body = "stale" } }))
    closed[#closed + 1] = assert(call("github.issues_update",
      { REPO, issue_number = issue.number, body = { state = "closed" } })).number
  end
end
return closed]]),
  task("repair: an issue whose title is missing", { "create an issue" }, [[
return assert(call("github.issues_create", { REPO, body = { title = "It breaks", body = "Every time" } })).number]],
    [[
return assert(call("github.issues_create", { REPO, body = { body = "Every time" } })).number]]),
  task("repair: a page that is no number", get_issue, [[
return assert(call("github.issues_get", { REPO, issue_number = 7 })).title]], [[
return assert(call("github.issues_get", { REPO, issue_number = "seven" })).title]]),
  task("repair: a misspelt operation", get_issue, [[
return assert(call("github.issues_get", { REPO, issue_number = 9 })).state]], [[
return assert(call("github.issue_get", { REPO, issue_number = 9 })).state]]),
}
