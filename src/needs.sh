#!/bin/sh
# Reports missing requirements of a build and their packages; fails if there are any.
# Usage: needs.sh COMMAND COMPILER LUA [-IDIRECTORY...]
# COMMAND is the command of the user ("make LUA=luajit"), LUA the interpreter; the first directory has the headers of
# Lua.
set -u
command=$1 cc=$2 lua=$3
shift 3

supported="operations supports Lua 5.4, Lua 5.5 and LuaJIT 2.1"

fail() {
  echo "$command: $*" >&2
  exit 1
}

case $(uname -s) in
Linux | Darwin | *BSD) ;;
*) fail "operations needs Linux (epoll), macOS or a BSD (kqueue); this is $(uname -s)" ;;
esac

has_compiler=yes
command -v "${cc%% *}" >/dev/null || has_compiler=no

# Without a compiler, searches headers in the directories of packages.
found() {
  if [ "$has_compiler" = yes ]; then
    # shellcheck disable=SC2086 # a compiler with its options
    echo "#include <$name>" | $cc "$@" -DPCRE2_CODE_UNIT_WIDTH=8 -x c -fsyntax-only - >/dev/null 2>&1
    return
  fi
  for directory in /usr/include /usr/local/include /usr/include/luajit-2.1 /usr/include/lua5.[45] /usr/include/*-linux-*; do
    [ -e "$directory/$name" ] && return
  done
  return 1
}

lacking="" debian="" fedora="" arch="" alpine="" homebrew=""
lacks() {
  lacking="$lacking${lacking:+, }$1"
  debian="$debian $2" fedora="$fedora $3" arch="$arch $4" alpine="$alpine $5" homebrew="$homebrew $6"
}

lacks_header() {
  case $name in
  lua.h) lacks "the headers of Lua $series ($name)" "liblua$series-dev" lua-devel lua "lua$series-dev" lua ;;
  luajit.h) lacks "LuaJIT's headers ($name)" libluajit-5.1-dev luajit-devel luajit luajit-dev luajit ;;
  curl/curl.h) lacks "libcurl's headers ($name)" libcurl4-openssl-dev libcurl-devel curl curl-dev curl ;;
  pcre2.h) lacks "PCRE2's headers ($name)" libpcre2-dev pcre2-devel pcre2 pcre2-dev pcre2 ;;
  esac
}

[ "$has_compiler" = yes ] || lacks "a C compiler ($cc)" build-essential gcc gcc build-base gcc
case ${lua##*/} in
*jit*) of_lua=luajit.h ;;
*5.5) of_lua=lua.h series=5.5 ;;
*) of_lua=lua.h series=5.4 ;;
esac
for name in $of_lua curl/curl.h pcre2.h; do
  found "$@" || lacks_header
done
if [ -n "$lacking" ]; then
  cat >&2 <<END
$command: not found: $lacking. Install
  Debian, Ubuntu:  apt install$debian
  Fedora:          dnf install$fedora
  Arch:            pacman -S$arch
  Alpine:          apk add$alpine
  Homebrew:        brew install$homebrew
Headers in other places: $command LUA_INCDIR=... CURL_INCDIR=... PCRE2_INCDIR=... (and _LIBDIR)
END
  exit 1
fi

# The Lua version of the headers: LUAJIT_VERSION_NUM and LUA_VERSION_NUM as the compiler sees them.
number_of() {
  # shellcheck disable=SC2086
  printf '#include <%s>\n= %s\n' "$1" "$2" | $cc "${3:--I.}" -x c -E -P - 2>/dev/null | sed -n 's/^= *\([0-9 ()*+]*\)$/\1/p'
}

where=${1:-}
jit=$(number_of luajit.h LUAJIT_VERSION_NUM "$where")
version=$(($(number_of lua.h LUA_VERSION_NUM "$where") + 0)) # an expression in Lua 5.5
name="Lua $((version / 100)).$((version % 100))"
[ "$version" = 501 ] && [ "${jit:-0}" -ge 20100 ] && name=LuaJIT
[ "$version" = 501 ] && [ "${jit:-20100}" -lt 20100 ] && name="LuaJIT 2.0"

# The interpreter may be missing (Neovim, OpenResty and a cross compiler have none).
interpreter=$("$lua" -e 'io.write(jit and jit.version_num < 20100 and "LuaJIT 2.0" or jit and "LuaJIT" or _VERSION)' 2>/dev/null)

case $name in
"Lua 5.4" | "Lua 5.5" | LuaJIT) ;;
"Lua 5.1")
  fail "the headers in ${where#-I} are of $name; $supported. For LuaJIT add" \
    "LUA_INCDIR=/usr/include/luajit-2.1 (Debian: libluajit-5.1-dev)"
  ;;
*) fail "the headers in ${where#-I} are of $name; $supported" ;;
esac
case $interpreter in
"" | "$name") ;;
"Lua 5.4" | "Lua 5.5" | LuaJIT)
  fail "$lua is $interpreter, but the headers in ${where#-I} are of $name; pass LUA and LUA_INCDIR of one runtime"
  ;;
# LuaRocks runs on its own interpreter and may build for the LuaJIT of an editor or a server.
"Lua 5.1") [ "$name" = LuaJIT ] || fail "$lua is $interpreter; $supported (make LUA=lua5.4, make LUA=luajit)" ;;
*) fail "$lua is $interpreter; $supported (make LUA=lua5.4, make LUA=luajit)" ;;
esac
