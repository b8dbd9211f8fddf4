#!/bin/sh
# Installs what make has built, or removes what was installed.
# Usage: install.sh modules|install|uninstall, with DESTDIR, BINDIR, LIBDIR, LUADIR, MANDIR, BUILD and LUA in the
# environment.
#   modules    the modules alone, for LuaRocks
#   install    these, the compiled files, the program, its manual page, and a list of all files for uninstall
set -eu
umask 022
action=$1
runtime=${LUA##*/}

absolute() {
  case $1 in
  /*) printf '%s' "$1" ;;
  *) printf '%s' "$PWD/$1" ;;
  esac
}
BINDIR=$(absolute "$BINDIR") LIBDIR=$(absolute "$LIBDIR") LUADIR=$(absolute "$LUADIR")
MANDIR=$(absolute "${MANDIR:-${BINDIR%/*}/share/man}")
program=operations-$runtime
link=$DESTDIR$BINDIR/operations
manual_link=$DESTDIR$MANDIR/man1/operations.1
compiled=$LIBDIR/operations/compiled
# One absolute path per line, without DESTDIR; created directories end in a slash.
list=$DESTDIR$LIBDIR/operations/installed
written=$(mktemp)
trap 'rm -f "$written"' EXIT

# Fails where a directory cannot be made or written.
writable() {
  existing=$DESTDIR$1
  while [ ! -e "$existing" ]; do existing=$(dirname "$existing"); done
  [ -d "$existing" ] && [ -w "$existing" ] && return
  echo "make $action: $existing is not writable: become root (sudo make $action), or name another place" \
    "(make $action PREFIX=\$HOME/.local)" >&2
  exit 1
}

directory() {
  [ -d "$DESTDIR$1" ] && return
  directory "$(dirname "$1")"
  mkdir "$DESTDIR$1"
  echo "$1/" >>"$written"
}

# MODE DIRECTORY FILE...
files() {
  mode=$1 into=$2
  shift 2
  [ $# -gt 0 ] || return 0
  directory "$into"
  install -m "$mode" "$@" "$DESTDIR$into"
  for file in "$@"; do
    echo "$into/${file##*/}" >>"$written"
  done
}

# Copies the files below $1 to $2: Lua and data; not the C modules of `make nvim`.
lua_files() {
  find "$1" -type d | while read -r from; do
    set -- "$1" "$2"
    for file in "$from"/*; do
      case $file in
      *.so) ;;
      *) [ ! -f "$file" ] || set -- "$@" "$file" ;;
      esac
    done
    (source=$1 into=$2 && shift 2 && files 644 "$into${from#"$source"}" "$@")
  done
}

modules() {
  for place in "$LIBDIR" "$LUADIR"; do writable "$place"; done
  [ -z "$DESTDIR" ] || mkdir -p "$DESTDIR"
  files 755 "$LIBDIR/operations" "$BUILD"/operations/*.so
  lua_files lua "$LUADIR"
}

# Parsing would double the program's start time: it runs compiled files.
program() {
  path="$compiled/?.lua;$compiled/?/init.lua;$LUADIR/?.lua;$LUADIR/?/init.lua;"
  directory "$BINDIR"
  printf '%s\n' "#!$(command -v "$LUA")" "package.path = \"$path\" .. package.path" \
    "package.cpath = \"$LIBDIR/?.so;\" .. package.cpath" "dofile(\"$compiled/operations/cli/main.lua\")" \
    >"$DESTDIR$BINDIR/$program.new"
  chmod 755 "$DESTDIR$BINDIR/$program.new"
  mv -f "$DESTDIR$BINDIR/$program.new" "$DESTDIR$BINDIR/$program"
  echo "$BINDIR/$program" >>"$written"
}

# `operations` belongs to the runtime that was installed first.
program_link() {
  if [ -e "$link" ] && [ ! -L "$link" ]; then
    echo "make install: $link is not of make install (of LuaRocks?) and stays: the program is $program"
  elif [ ! -e "$link" ]; then
    ln -sf "$program" "$link"
  fi
}

# `operations.1` is the page of the runtime that was installed first, too.
manual() {
  directory "$MANDIR/man1"
  install -m 644 lua/operations/cli/operations.1 "$DESTDIR$MANDIR/man1/$program.1"
  echo "$MANDIR/man1/$program.1" >>"$written"
  [ -e "$manual_link" ] || ln -sf "$program.1" "$manual_link"
}

# Removes the link $1 if it leads to $2; then it leads to the file of the other runtime, if there is one.
unlink_from() {
  [ "$(readlink "$1" || true)" = "$2" ] || return 0
  rm -f "$1"
  for other in "${1%.1}"-*; do
    [ ! -e "$other" ] || { ln -s "${other##*/}" "$1" && return; }
  done
}

# Removes the files in the list $1 that are not in the list $2; directories stay if they are not empty.
remove() {
  sort -r "$1" | { grep -vxF -f "$2" || true; } | while read -r path; do
    case $path in
    */) rmdir "$DESTDIR${path%/}" 2>/dev/null || echo "$path" ;;
    *) rm -f "$DESTDIR$path" ;;
    esac
  done
}

run_install() {
  writable "$BINDIR"
  modules
  lua_files "$BUILD/lua" "$compiled"
  program
  program_link
  manual
  if [ -e "$list" ]; then
    grep '/$' "$list" >>"$written" || true
    remove "$list" "$written" >/dev/null # files that this version no longer has
  fi
  sort -u "$written" >"$list.new" && mv -f "$list.new" "$list"
  echo "operations $(sed -n 's/^return "\(.*\)"$/\1/p' lua/operations/base/version.lua) for $LUA:" \
    "$DESTDIR$BINDIR/$program, $DESTDIR$LUADIR/operations"
  case ":$PATH:" in *":$BINDIR:"*) ;; *) [ -n "$DESTDIR" ] || echo "PATH does not name $BINDIR" ;; esac
  [ -n "$DESTDIR" ] || "$LUA" -e 'local file = package.searchpath and package.searchpath("operations", package.path)
    if not file then print("require does not look there: set LUA_PATH=\"" .. arg[1] .. "/?.lua;" .. arg[1]
      .. "/?/init.lua;;\" LUA_CPATH=\"" .. arg[2] .. "/?.so;;\"") end' - "$LUADIR" "$LIBDIR" </dev/null
}

run_uninstall() {
  [ -e "$list" ] || {
    echo "make uninstall: there is no $list: nothing was installed by make for $LUA in this PREFIX (and DESTDIR)" >&2
    exit 1
  }
  for place in "$LIBDIR" "$LUADIR" "$BINDIR"; do writable "$place"; done
  mine=$written.mine
  mv "$list" "$mine"
  left=$(remove "$mine" /dev/null)
  rm -f "$mine"
  unlink_from "$link" "$program"
  unlink_from "$manual_link" "$program.1"
  # Directories that the other runtime uses are removed with it.
  for other in "$DESTDIR$(dirname "$LIBDIR")"/*/operations/installed; do
    [ -e "$other" ] && [ -n "$left" ] && echo "$left" >>"$other" && return
  done
  # The links are not in the list; their directories are empty only now.
  printf '%s\n' "$left" | sort -r | while read -r path; do
    [ -z "$path" ] || rmdir "$DESTDIR${path%/}" 2>/dev/null || true
  done
}

case $action in
modules) modules ;;
install) run_install ;;
uninstall) run_uninstall ;;
esac
