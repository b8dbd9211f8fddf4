--- Identities that are, and that are not, the same caller.
local identities = {}

--- No two of these are the same.
identities.different = {
  { id = "1", scopes = {} }, { id = 1, scopes = {} }, { id = "1", issuer = "https://a.example", scopes = {} },
  { id = "1", issuer = "https://b.example", scopes = {} }, { id = "1", tenant = "a", scopes = {} },
  { id = "1", tenant = { name = "a" }, scopes = {} }, { id = "1", claims = { azp = "app" }, scopes = {} },
  { id = "a\255", scopes = {} }, { id = "a\254", scopes = {} },
}

--- All of these are the same: with other rights, and with a renewed token.
identities.same = {
  { id = "ada", issuer = "https://a.example", scopes = {}, claims = { sub = "ada", exp = 1, jti = "x" } },
  { id = "ada", issuer = "https://a.example", scopes = { "s" }, resources = { ["a:1"] = { "read" } },
    claims = { sub = "ada", exp = 2, jti = "y", iat = 1, scope = "s" } },
}

return identities
