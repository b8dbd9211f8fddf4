--- Certificates for specs, made by the program openssl: files in a temporary directory.
---
--- `ca` signs `localhost` (also 127.0.0.1), `example` (example.test and *.example.test), `rsa` (localhost, a key of
--- RSA), `nameless` and `mailed` (localhost, as their CN only), `expired` (localhost) and those of clients: `ada`,
--- `late` (expired); `other` signs `stranger`. `locked.key` is the key of `localhost` with the password "secret".
local command = require("spec.support.command")

local certificates = {}

local script = [[
  set -e
  authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=$1 \
      -keyout $1.key -out $1.pem
  }
  # name, who signs, subject, days, extension, kind of key
  sign() {
    openssl req -newkey ${6:-ec -pkeyopt ec_paramgen_curve:P-256} -nodes -utf8 -subj "$3" -keyout $1.key -out $1.csr
    printf '%s\n' "$5" >$1.ext
    openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days $4 -extfile $1.ext -out $1.pem
  }
  authority ca
  authority other
  sign localhost ca /CN=localhost 2 subjectAltName=DNS:localhost,IP:127.0.0.1
  sign example ca /CN=example.test 2 'subjectAltName=DNS:example.test,DNS:*.example.test'
  sign rsa ca /CN=rsa 2 subjectAltName=DNS:localhost rsa:2048
  sign nameless ca /CN=localhost 2 basicConstraints=CA:FALSE
  sign mailed ca /CN=localhost 2 subjectAltName=email:a@localhost
  sign expired ca /CN=expired -1 subjectAltName=DNS:localhost
  sign ada ca '/O=Löve, Lace/CN=ada' 2 extendedKeyUsage=clientAuth
  sign late ca /CN=late -1 extendedKeyUsage=clientAuth
  sign stranger other /CN=stranger 2 extendedKeyUsage=clientAuth
  openssl ec -aes128 -passout pass:secret -in localhost.key -out locked.key
]]

local directory

--- Where they are; made at the first call, removed by `remove`.
---@return string
function certificates.directory()
  if not directory then
    directory = os.tmpname()
    os.remove(directory)
    local result = command.run(("mkdir %s && cd %s && (%s) >log 2>&1 || { cat %s/log >&2; exit 1; }"):format(directory,
      directory, script, directory))
    assert(result.code == 0, result.err)
  end
  return directory
end

--- The path of one of the files.
---@param name string  "localhost.pem"
---@return string
function certificates.path(name)
  return certificates.directory() .. "/" .. name
end

--- Makes `soon`, signed by `ca`: a client's certificate that is valid for some seconds from now on.
---@param seconds integer
function certificates.expiring(seconds)
  local result = command.run(([[cd %s && exec >soon.log 2>&1
    printf '[ca]\ndefault_ca=c\n[c]\ndatabase=index\nnew_certs_dir=.\nserial=serial\n' >ca.cnf
    printf 'default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' >>ca.cnf
    rm -f index* && : >index && openssl rand -hex 8 >serial
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=soon -keyout soon.key -out soon.csr &&
    openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in soon.csr -out soon.pem -notext \
      -startdate 20200101000000Z -enddate $(date -u -d '+%d seconds' +%%Y%%m%%d%%H%%M%%SZ)]])
    :format(certificates.directory(), seconds))
  assert(result.code == 0, result.err)
end

--- The options `tls` of a listener for one of them.
---@param name string  "localhost"
---@param more? table
---@return operations.TlsOptions
function certificates.options(name, more)
  local options = { cert = certificates.path(name .. ".pem"), key = certificates.path(name .. ".key") }
  for key, value in pairs(more or {}) do
    options[key] = value
  end
  return options
end

--- The text of one of the files.
---@param name string
---@return string
function certificates.read(name)
  local file = assert(io.open(certificates.path(name), "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

--- Removes them.
function certificates.remove()
  if directory then
    os.execute("rm -rf " .. directory)
    directory = nil
  end
end

return certificates
