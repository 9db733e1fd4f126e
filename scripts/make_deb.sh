#!/bin/sh
# make_deb.sh [BUILD [OUT]]: makes the Debian package of a build (build/release) in OUT (dist).
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
out=${2:-dist}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" >log 2>&1) || {
  cat "$work/log" >&2
  exit 1
}
mv "$work"/plimsoll_*.deb "$out"
package=$(ls -t "$out"/plimsoll_*.deb | head -1)
echo "$package: $(($(stat -c %s "$package") / 1024)) KiB; depends on $(dpkg-deb -f "$package" Depends)"
