--- The documents whose operations are called, all of them, against Prism. `auth` has a credential for every security
--- scheme; `operations` is how many there are, so that none is lost unnoticed. `more` is added to what Prism reads.
local petstore = { petstore_auth = "token", api_key = "key" }

local security = {
  apiKey_cookie = "key", apiKey_header = "key", apiKey_query = "key", basic = { username = "ada", password = "secret" },
  bearer = "token", bearer_jwt = "token", oauth2 = "token", oauth2_authorizationCode = "token",
  oauth2_clientCredentials = "token", oauth2_implicit = "token", oauth2_password = "token", openIdConnect = "token",
}

local examples = "@readme/oas-examples/"

return {
  { name = "petstore 2.0", file = examples .. "2.0/json/petstore.json", operations = 20, auth = petstore,
    more = { consumes = { "application/json" } } }, -- without it, Prism lets no body in where an operation has none
  { name = "petstore 3.0", file = examples .. "3.0/json/petstore.json", operations = 20, auth = petstore },
  { name = "petstore 3.1", file = examples .. "3.1/json/petstore.json", operations = 20, auth = petstore },
  { name = "star-trek", file = examples .. "3.0/json/star-trek.json", operations = 120 },
  { name = "train-travel", file = examples .. "3.1/json/train-travel.json", operations = 7,
    auth = { OAuth2 = "token" } },
  { name = "train-travel, YAML", file = examples .. "3.1/yaml/train-travel.yaml", operations = 7,
    auth = { OAuth2 = "token" } },
  { name = "file-uploads", file = examples .. "3.0/json/file-uploads.json", operations = 3 },
  { name = "security 3.0", file = examples .. "3.0/json/security.json", operations = 15, auth = security },
  { name = "security 3.1", file = examples .. "3.1/json/security.json", operations = 15, auth = security },
  { name = "GitHub", file = "@octokit/openapi/generated/api.github.com.json", operations = 1223 },
}
