-- /raw/NAME: answers that no proper server gives, written to the bare socket.
local ok = "HTTP/1.1 200 OK\r\n"
local closing = ok .. "Connection: close\r\n"

-- gzip of ("hello "):rep(2000)
local function gzip()
  local file = io.popen("printf 'hello %.0s' $(seq 2000) | gzip -c")
  local bytes = file:read("*a")
  file:close()
  return bytes
end

local function gzipped(cut)
  local bytes = gzip()
  bytes = bytes:sub(1, #bytes - cut)
  return closing .. "Content-Encoding: gzip\r\nContent-Length: " .. #bytes .. "\r\n\r\n" .. bytes
end

local answers = {
  empty = "",
  short_length = closing .. "Content-Length: 100\r\n\r\nonly this",
  two_lengths = closing .. "Content-Length: 5\r\nContent-Length: 3\r\n\r\nhello",
  negative_length = closing .. "Content-Length: -5\r\n\r\nhello",
  listed_lengths = closing .. "Content-Length: 5, 3\r\n\r\nhello",
  listed_length = closing .. "Content-Length: 5, 5\r\n\r\nhello",
  odd_length = closing .. "Content-Length: 5x\r\n\r\nhello",
  huge_length = closing .. "Content-Length: 99999999999999999999\r\n\r\nhello",
  bad_chunk = closing .. "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
  cut_chunk = closing .. "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
  trailers = closing
    .. "Transfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"
    .. "5\r\nhello\r\n0\r\nX-Late: yes\r\nContent-Type: a/b\r\n\r\n",
  old = "hello, I speak HTTP/0.9\r\n",
  informed = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-Early: 1\r\n\r\n"
    .. closing
    .. "X-Final: 1\r\nContent-Length: 2\r\n\r\nok",
  informing = ("HTTP/1.1 102 Processing\r\n\r\n"):rep(50) .. closing .. "Content-Length: 2\r\n\r\nok",
  repeated = closing
    .. "X-Many: a\r\nx-many:   b  \r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\n"
    .. "X-Folded: one\r\n  two\r\nX-None:\r\nSet-Cookie: c=3;\r\n  Path=/c\r\nContent-Length: 2\r\n\r\nok",
  bare_cr = closing .. "X-A: a\rX-B: b\r\nContent-Length: 2\r\n\r\nok",
  big_headers = closing .. ("X-Filler: " .. ("x"):rep(1000) .. "\r\n"):rep(90) .. "Content-Length: 2\r\n\r\nok",
  equal_lengths = closing .. "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
  length_and_chunks = ok .. "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  excess = ok .. "Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
  huge_chunk = closing .. "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
  chunk_extension = closing .. "Transfer-Encoding: chunked\r\n\r\n5;a=b;c\r\nhello\r\n0\r\n\r\n",
  no_chunk_end = closing .. "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloworld\r\n0\r\n\r\n",
  nul_header = closing .. "X-Nul: a\0b\r\nContent-Length: 2\r\n\r\nok",
  long_line = closing .. "X-Long: " .. ("x"):rep(200000) .. "\r\nContent-Length: 2\r\n\r\nok",
  cut_head = "HTTP/1.1 200 OK\r\nContent-Le",
  no_length = closing .. "\r\nuntil the end",
  not_modified_with_body = "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\nETag: a\r\n\r\n",
  continued = "HTTP/1.1 100 Continue\r\n\r\n" .. closing .. "Content-Length: 2\r\n\r\nok",
  no_gzip = closing .. "Content-Encoding: gzip\r\n\r\n",
  no_br = closing .. "Content-Encoding: br\r\n\r\n",
  no_bytes_of_gzip = closing .. "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
  broken_gzip = closing .. "Content-Encoding: gzip\r\nContent-Length: 11\r\n\r\nnot gzipped",
}

-- ("hello "):rep(2000) in other codings
local coded = {
  deflate = "eJztxDENAAAIAzArmCPhWIL/Dxk87dHpZGts27Zt27Zt27Zt27Zt27Zt2379APREN0A=",
  raw_deflate = "7cQxDQAACAMwK5gj4ViC/w8ZPO3R6WRrbNu2bdu2bdu2bdu2bdu2bdt+/QA=",
  br = "G98u+I2Ubt5EVYaWbCBvcVscgNIEIA4=",
  zstd = "KLUv/WTgLXUAADBoZWxsbyABANcufCkCQH/B2A==",
  zstd_unsummed = "KLUv/WDgLXUAADBoZWxsbyABANcufCkC",
}

local generated = {
  coded = function()
    local args = ngx.req.get_uri_args()
    local bytes = ngx.decode_base64(args.bytes or coded[args.name])
    bytes = bytes:sub(1, #bytes - tonumber(args.cut or 0))
    local coding = args.name:gsub("raw_", ""):gsub("_.*", "")
    return closing .. "Content-Encoding: " .. coding .. "\r\n\r\n" .. bytes
  end,
  gzip = function()
    return gzipped(0)
  end,
  chunked_gzip = function()
    local bytes = gzip()
    return closing
      .. "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
      .. bytes:gsub(".", function(byte)
        return "1;x=y\r\n" .. byte .. "\r\n"
      end)
      .. "0\r\n\r\n"
  end,
  cut_gzip = function()
    return gzipped(tonumber(ngx.req.get_uri_args().cut or 20))
  end,
  bomb = function()
    local file = io.popen("head -c 33554432 /dev/zero | gzip -c")
    local bytes = file:read("*a")
    file:close()
    return closing .. "Content-Encoding: gzip\r\nContent-Length: " .. #bytes .. "\r\n\r\n" .. bytes
  end,
}

local name = ngx.var.uri:match("^/raw/(.+)$")
if name == "reset" then
  ngx.header["Content-Length"] = 100000
  ngx.print(("x"):rep(1000))
  ngx.flush(true)
  ngx.sleep(0.05)
  ngx.exit(444)
end
local answer = answers[name] or generated[name]()
local socket = assert(ngx.req.socket(true))
socket:send(answer)
