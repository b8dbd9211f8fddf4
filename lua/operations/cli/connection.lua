--- The options for connections to servers: certificates, proxies, retries.
local connection = {}

---@type operations.cli.Option[]
connection.options = {
  { name = "--ca-file", value = "FILE", help = "certificates to trust instead of the system's (PEM)" },
  { name = "--cert", value = "FILE", help = "certificate to show to servers (PEM)" },
  { name = "--key", value = "FILE", help = "its key, if it is not in the same file" },
  { name = "--proxy", value = "URL", help = "proxy instead of the environment's, or 'none'" },
  { name = "--insecure", help = "do not check the certificates of servers" },
  { name = "--retry", value = "N", help = "try a request up to N times if that is safe" },
}

local function readable(option, field)
  return function(given, path)
    local file, message = io.open(path)
    if not file then
      return ("--%s: %s"):format(option, message)
    end
    file:close()
    given[field] = path
  end
end

--- For each option, by its name without dashes: changes the options of requests; returns a message for an invalid
--- value.
connection.setters = {
  ["ca-file"] = readable("ca-file", "ca_file"),
  cert = readable("cert", "cert_file"),
  key = readable("key", "key_file"),
  insecure = function(given) given.insecure = true end,
  proxy = function(given, value)
    if value ~= "none" and not value:find("^%a[%w]*://[^/]") then
      return ("--proxy: expected a URL such as http://proxy.example:3128, or none, got %q"):format(value)
    end
    given.proxy = value ~= "none" and value
  end,
  retry = function(given, value)
    local attempts = tonumber(value)
    if not attempts or attempts < 1 or attempts > 100 or attempts % 1 ~= 0 then
      return ("--retry: expected a whole number from 1 to 100, got %q"):format(value)
    end
    given.retry = { attempts = attempts }
  end,
}

return connection
