#!/bin/sh
# Writes a release to build/release: the rockspec, the source archive (reproducible from a commit), their checksums, the
# changes, the message of the tag.
# Usage: release.sh VERSION
# The version is only in lua/operations/base/version.lua; this script changes no tags and uses no network.
set -eu
version=$1
name=operations-$version
out=build/release
rockspec=$name-1.rockspec
archive=$name.tar.gz

fail() {
  printf 'make release: %b\n' "$*" >&2
  exit 1
}

check_version() {
  [ -n "$version" ] || fail "which version? make release VERSION=0.1.0"
  printf '%s\n' "$version" | grep -qxE '(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}' ||
    fail "\"$version\" is not a version: expected three numbers, as in VERSION=0.1.0 (no v, no suffix)"
  here=$(sed -n 's/^return "\(.*\)"$/\1/p' lua/operations/base/version.lua)
  [ "$here" = "$version" ] ||
    fail "lua/operations/base/version.lua says $here, not $version: change it there, commit, and try again"
}

check_tree() {
  top=$(git rev-parse --show-prefix 2>/dev/null && git rev-parse HEAD 2>/dev/null) || top=none
  case $top in
  none | */*) fail "this is not a clone of the repository: a release is made of a commit" ;;
  esac
  changed=$(git status --porcelain)
  [ -z "$changed" ] || fail "the tree differs from its last commit; commit or stash first:\n$changed"
}

# The lines of the version's section of CHANGELOG.md, without its heading.
changes() {
  awk -v version="$version" '
    /^## / { inside = $2 == version; next }
    inside { if (NF) { while (blank > 0 && printed) { print ""; blank-- } blank = 0; print; printed = 1 } else blank++ }
  ' CHANGELOG.md
}

check_version
check_tree
[ -n "$(changes)" ] ||
  fail "CHANGELOG.md has no section \"## $version\"; give \"## Unreleased\" that name (and a date), commit, and try again"

rm -rf "$out"
mkdir -p "$out"
url=$(sed -n 's/^ *homepage = "\(.*\)",$/\1/p' operations-scm-1.rockspec)
sed -e 's/^version = "scm-1"$/version = "'"$version"'-1"/' \
  -e 's|^  url = "git+.*",$|  url = "'"$url/releases/download/v$version/$archive"'",\n  dir = "'"$name"'",|' \
  operations-scm-1.rockspec >"$out/$rockspec"
chmod 644 "$out/$rockspec"

# The archive has the release's rockspec in place of the development one.
git -c tar.umask=0022 archive --format=tar --prefix="$name/" --add-file="$out/$rockspec" --output="$out/$name.tar" HEAD \
  -- . ':(exclude)operations-scm-1.rockspec'
gzip -n -9 "$out/$name.tar"
(cd "$out" && sha256sum "$archive" "$rockspec" >SHA256SUMS)
# As the text of a release: links with the address of the file, one line for each item, as line ends count there.
changes | awk '
  /^  [^ *+|>#-]/ && !/^  ```/ { printf " %s", substr($0, 3); next }
  { printf "%s%s", end, $0; end = "\n" }
  END { print "" }
' | sed 's|](\([^):]*\))|]('"$url/blob/v$version"'/\1)|g' >"$out/CHANGELOG-$version.md"
# A line that begins with # is a comment to git; links are their targets.
{
  printf '%s\n\n' "operations $version"
  changes | sed -e 's/^#\{1,\} *\(.*\)$/\1:/' -e 's/\[[^]]*](\([^)]*\))/\1/g'
  printf '\n%s\n' "SHA-256:"
  cat "$out/SHA256SUMS"
} >"$out/tag-message"

(cd "$out" && wc -c -- * | sed '$d')
cat <<END
in $out, of commit $(git rev-parse --short HEAD).  To publish it:
  git tag -a v$version -F $out/tag-message && git push origin v$version
  make the release v$version at $url: the text of $out/CHANGELOG-$version.md, the files $archive and SHA256SUMS
  luarocks upload $out/$rockspec
END
