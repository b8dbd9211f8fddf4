#!/bin/sh
# Says what `make nvim` lacks and which packages have it; fails when there is anything.
# Usage: needs.sh COMPILER [-IDIRECTORY...]
set -u
cc=$1
shift

if [ "$(uname -s)" != Linux ]; then
  echo "make nvim: operations works on Linux only (epoll, pidfd); this is $(uname -s)" >&2
  exit 1
fi

# Without a compiler, headers are looked for where packages have them.
found() {
  if [ "$has_compiler" = yes ]; then
    # shellcheck disable=SC2086 # lists of words
    echo "#include <$1>" | $cc $includes -DPCRE2_CODE_UNIT_WIDTH=8 -x c -fsyntax-only - >/dev/null 2>&1
    return
  fi
  for directory in /usr/include /usr/local/include /usr/include/luajit-2.1 /usr/include/*-linux-*; do
    [ -e "$directory/$1" ] && return
  done
  return 1
}

lacking="" debian="" fedora="" arch="" alpine="" homebrew=""
lacks() {
  lacking="$lacking${lacking:+, }$1"
  debian="$debian $2" fedora="$fedora $3" arch="$arch $4" alpine="$alpine $5" homebrew="$homebrew $6"
}

has_compiler=yes
if ! command -v "${cc%% *}" >/dev/null; then
  has_compiler=no
  lacks "a C compiler ($cc)" build-essential gcc gcc build-base gcc
fi
# Its name, what it is of, and the packages.
header() {
  name=$1 what=$2
  shift 2
  found "$name" || lacks "$what ($name)" "$@"
}
includes=$*
header luajit.h "LuaJIT's headers" libluajit-5.1-dev luajit-devel luajit luajit-dev luajit
header curl/curl.h "libcurl's headers" libcurl4-openssl-dev libcurl-devel curl curl-dev curl
header pcre2.h "PCRE2's headers" libpcre2-dev pcre2-devel pcre2 pcre2-dev pcre2

[ -z "$lacking" ] && exit 0
cat >&2 <<END
make nvim: not found: $lacking. Install
  Debian, Ubuntu:  apt install$debian
  Fedora:          dnf install$fedora
  Arch:            pacman -S$arch
  Alpine:          apk add$alpine
  Homebrew:        brew install$homebrew
Headers in other places: make nvim LUA_INCDIR=... CURL_INCDIR=... PCRE2_INCDIR=... (and _LIBDIR)
END
exit 1
