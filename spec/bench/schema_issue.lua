--- A case like GitHub's "issue opened" event: a schema of 15 KB with `$ref`, allOf and oneOf, instances of 250 values.
local json = require("operations.base.json")
local text = require("schema_text")

local object, list = text.object, text.list

local issue_case = {}

local url = { type = "string" }
local count = { type = "integer", minimum = 0 }

local function ref(name)
  return { ["$ref"] = "#/definitions/" .. name }
end

local function nullable(schema)
  return { oneOf = { { type = "null" }, schema } }
end

-- All properties are required, as in the webhooks' schemas.
local function closed(properties, open)
  local names = {}
  for name in pairs(properties) do
    names[#names + 1] = name
  end
  table.sort(names)
  return { type = "object", properties = properties, required = names, additionalProperties = open == true }
end

local user_urls = { "avatar_url", "url", "html_url", "followers_url", "following_url", "gists_url", "starred_url",
  "subscriptions_url", "organizations_url", "repos_url", "events_url", "received_events_url" }

local repository_urls = { "html_url", "url", "forks_url", "keys_url", "collaborators_url", "teams_url", "hooks_url",
  "issue_events_url", "events_url", "assignees_url", "branches_url", "tags_url", "blobs_url", "git_tags_url",
  "git_refs_url", "trees_url", "statuses_url", "languages_url", "stargazers_url", "contributors_url",
  "subscribers_url", "subscription_url", "commits_url", "git_commits_url", "comments_url", "issue_comment_url",
  "contents_url", "compare_url", "merges_url", "archive_url", "downloads_url", "issues_url", "pulls_url",
  "milestones_url", "notifications_url", "labels_url", "releases_url", "deployments_url", "git_url", "ssh_url",
  "clone_url", "svn_url" }

local repository_flags = { "private", "fork", "has_issues", "has_projects", "has_downloads", "has_wiki", "has_pages",
  "archived", "disabled", "allow_forking", "is_template", "has_discussions", "web_commit_signoff_required" }

local repository_counts = { "size", "stargazers_count", "watchers_count", "forks_count", "open_issues_count", "forks",
  "open_issues", "watchers" }

local issue_urls = { "url", "repository_url", "comments_url", "events_url", "html_url", "timeline_url" }

local reactions = { "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes", "total_count" }

-- A schema of its own for each name, with a description as documents have it.
local function with(properties, names, schema)
  for _, name in ipairs(names) do
    properties[name] = { description = ("The %s, as the API gave it at the time of the event."):format(name) }
    for keyword, value in pairs(schema) do
      properties[name][keyword] = value
    end
  end
  return properties
end

local person = {
  login = { type = "string", minLength = 1 },
  id = { type = "integer", minimum = 1 },
  node_id = { type = "string" },
  gravatar_id = { type = "string" },
  type = { type = "string", enum = { "Bot", "User", "Organization", "Mannequin" } },
  site_admin = { type = "boolean" },
}

local issue = {
  id = { type = "integer" },
  node_id = { type = "string" },
  number = { type = "integer", minimum = 1 },
  title = { type = "string" },
  user = ref("user"),
  labels = { type = "array", items = ref("label") },
  state = { type = "string", enum = { "open", "closed" } },
  locked = { type = "boolean" },
  assignee = nullable(ref("user")),
  assignees = { type = "array", items = ref("user") },
  milestone = nullable(ref("milestone")),
  comments = count,
  created_at = { type = "string" },
  updated_at = { type = "string" },
  closed_at = { type = { "string", "null" } },
  author_association = { type = "string", enum = { "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIMER", "MEMBER", "NONE",
    "OWNER" } },
  active_lock_reason = { type = { "string", "null" } },
  body = { type = { "string", "null" } },
  reactions = closed(with({ url = url }, reactions, count)),
}

local repository = with(with(with({
  id = { type = "integer" },
  node_id = { type = "string" },
  name = { type = "string" },
  full_name = { type = "string" },
  owner = ref("user"),
  description = { type = { "string", "null" } },
  homepage = { type = { "string", "null" } },
  language = { type = { "string", "null" } },
  license = nullable(ref("license")),
  visibility = { type = "string", enum = { "public", "private", "internal" } },
  default_branch = { type = "string" },
  topics = { type = "array", items = { type = "string" } },
  created_at = { type = { "string", "integer" } },
  updated_at = { type = "string" },
  pushed_at = { oneOf = { { type = "string" }, { type = "integer" }, { type = "null" } } },
}, repository_urls, url), repository_flags, { type = "boolean" }), repository_counts, count)

issue_case.schema = {
  ["$schema"] = "http://json-schema.org/draft-07/schema#",
  type = "object",
  required = { "action", "issue", "repository", "sender" },
  properties = {
    action = { type = "string", enum = { "opened" } },
    issue = {
      allOf = {
        ref("issue"),
        {
          type = "object",
          required = { "state", "closed_at" },
          properties = { state = { type = "string", enum = { "open" } }, closed_at = { type = "null" } },
        },
      },
    },
    repository = ref("repository"),
    sender = ref("user"),
  },
  additionalProperties = false,
  definitions = {
    user = closed(with(person, user_urls, url)),
    label = closed({
      id = { type = "integer" }, node_id = { type = "string" }, url = url, name = { type = "string" },
      description = { type = { "string", "null" } }, color = { type = "string" }, default = { type = "boolean" },
    }),
    milestone = closed({
      url = url, id = { type = "integer" }, number = { type = "integer" }, title = { type = "string" },
      creator = ref("user"), open_issues = count, closed_issues = count, due_on = { type = { "string", "null" } },
    }),
    license = closed({
      key = { type = "string" }, name = { type = "string" }, spdx_id = { type = "string" },
      url = { type = { "string", "null" } }, node_id = { type = "string" },
    }),
    issue = closed(with(issue, issue_urls, url)),
    repository = closed(repository),
  },
}

-- Adds a value for every name.
local function add(fields, names, make)
  for _, name in ipairs(names) do
    fields[#fields + 1] = name
    fields[#fields + 1] = make(name)
  end
  return fields
end

local function link(name)
  return "https://api.example.com/repos/octo/hello/" .. name
end

local function user(i, ...)
  local fields = { "login", "octo" .. i, "id", 20000 + i, "node_id", "MDQ6VXNlcjIxMDMx", "gravatar_id", "", "type",
    "User", "site_admin", false, ... }
  return text.of(object, add(fields, user_urls, link))
end

local function zero()
  return 0
end

local function reaction_counts()
  return text.of(object, add({ "url", "https://api.example.com/reactions" }, reactions, zero))
end

local function label(i, name)
  return object("id", 1362934000 + i, "node_id", "MDU6TGFiZWwx", "url", link("labels/" .. name), "name", name,
    "description", json.null, "color", "d73a4a", "default", true)
end

local function issue_value(i, dirty)
  local fields = { "id", 444500000 + i, "node_id", "MDU6SXNzdWU0", "number", i, "title", "Spelling error in line " .. i,
    "user", user(1), "labels", list(label(1, "bug"), label(2, "help wanted")), "state", "open", "locked", false,
    "assignee", user(2), "assignees", list(user(2)), "milestone", json.null, "comments", dirty and "0" or 0,
    "created_at", "2019-05-15T15:20:18Z", "updated_at", "2019-05-15T15:20:18Z", "closed_at", json.null,
    "author_association", "OWNER", "active_lock_reason", json.null, "body",
    "It looks like you accidentally spelled 'commit' with two t's.", "reactions", reaction_counts() }
  if dirty then
    add(fields, { "performed_via", "score", "draft" }, link)
  end
  return text.of(object, add(fields, issue_urls, link))
end

local function no()
  return false
end

local function repository_value(i, dirty)
  local fields = { "id", 186853000 + i, "node_id", "MDEwOlJlcG9zaXRvcnkx", "name", "hello", "full_name", "octo/hello",
    "owner", user(1, dirty and "user_view_type" or nil, dirty and "public" or nil), "description", json.null,
    "homepage", json.null, "language", "Ruby", "license", json.null, "visibility", "public", "default_branch", "master",
    "topics", list(), "created_at", "2019-05-15T15:19:25Z", "updated_at", "2019-05-15T15:19:27Z", "pushed_at",
    "2019-05-15T15:20:32Z" }
  add(add(add(fields, repository_urls, link), repository_flags, no), repository_counts, zero)
  return text.of(object, fields)
end

local function event(i, dirty)
  local fields = { "action", "opened", "issue", issue_value(i, dirty), "repository", repository_value(i, dirty),
    "sender", user(3) }
  if dirty then
    add(fields, { "installation" }, link)
  end
  return text.of(object, fields)
end

function issue_case.valid(i)
  return event(i)
end

function issue_case.dirty(i)
  return event(i, true)
end

return issue_case
