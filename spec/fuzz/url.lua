--- URLs and references, two lines: taken apart and put together they are the same, resolved ones stay as they are, and
--- what is shown of them holds no secret.
local mutate = require("spec.fuzz.mutate")
local url = require("operations.base.url")

local samples = {
  "http://a.test/b/c/d;p?q\n../g", "HTTPS://user:pw@Example.test:8443/a%20b?x=1&y=2#z\n?y",
  "http://[::1]:80\n//g/h?i#j",
  "http://a.test?x=1\n./../../g/./h/..", "https://127.0.0.1/a/\n#frag", "http://a.test/a/b\n/c/../d?e/../f",
  "ws+unix://a@b@c:1/..\nmailto:x@y.test", "http://a.test/\n", "http://a:99999/b?token=secret&b=c\na:b",
}
local words = {
  "http://", "https:", "//", "/", "..", "/../", "/./", "?", "#", "@", ":", "[", "]", "%2e", "%2F", "%", "%0g", "&", "=",
  ";", "token", "a.test", "::1", "127.0.0.1", "user:pw@",
}

local function same(a, b, what)
  if a ~= b then
    error(("%s: %q is not %q"):format(what, tostring(a), tostring(b)), 2)
  end
end

-- The text of what `parse` gives, in lower case as hosts and schemes are.
local function text_of(parsed)
  return parsed.scheme .. "://" .. (parsed.userinfo and parsed.userinfo .. "@" or "") .. parsed.host
    .. (parsed.port and ":" .. parsed.port or "") .. parsed.path .. (parsed.query and "?" .. parsed.query or "")
    .. (parsed.fragment and "#" .. parsed.fragment or "")
end

local function check_parts(text)
  local parsed = url.parse(text)
  if not parsed then
    return
  end
  local whole, given = text_of(parsed):lower(), text:lower()
  if whole ~= given then
    same(whole, given:gsub("^([^/]*//[^/?#]*):", "%1", 1), "parts") -- a port that is empty is left out
  end
  same(parsed.path == "" or parsed.path:sub(1, 1) == "/", true, "a path begins with a slash")
  same(url.same_origin(text, text), true, "its own origin")
  local shown = url.redact(text)
  same(shown:find("[?#]"), nil, "a query is shown")
  same((url.parse(shown) or {}).userinfo, nil, "a user is shown")
end

local function check_reference(base, reference)
  local found = url.resolve(base, reference)
  if not found then
    return same(url.parse(base), nil, "a base that is absolute")
  end
  same(url.resolve(base, found), found, "resolved twice")
  local path = reference:match("^[^?#]*")
  if path ~= "" and path:sub(1, 2) ~= "//" and not reference:find("^%a[%w+.-]*:") then
    local dots = ("/" .. url.parse(found).path:sub(2) .. "/"):find("/%.%.?/")
    same(dots, nil, "dots are left in " .. found)
    same(url.same_origin(base, found), true, "the origin of a path")
  end
end

local function check_query(text)
  local without = url.without_query(text, { "token", "a b" })
  local query = without:match("^[^?#]*%?([^#]*)") or ""
  for pair in query:gmatch("[^&]+") do
    same(url.decode(pair:match("^[^=]*")) == "token", false, "a parameter that was dropped")
  end
  same(url.without_query(without, { "token", "a b" }), without, "dropped twice")
end

return {
  make = function()
    return mutate.text(samples, words)
  end,
  run = function(input)
    local base, reference = input:match("^([^\n]*)\n?(.*)$")
    check_parts(base)
    check_parts(reference)
    check_reference(base, reference)
    check_query(base)
    same(url.decode(url.encode(input)), input, "encoded and decoded")
    assert(type(url.redact_any(input)) == "string")
  end,
}
