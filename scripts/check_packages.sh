#!/bin/sh
# check_packages.sh [FOLDER]: installs the .deb and the wheel of FOLDER (dist) in a bare Debian 12, as a user
# would, runs the demo with each, removes it, and compares the files that are left with those before. Both run
# in a chroot that debootstrap makes once (build/chroot, or $PLIMSOLL_CHROOT); its mounts vanish with the
# check. Needs root. Says what it skips.
set -eu
cd "$(dirname "$0")/.."
packages=$(realpath "${1:-dist}")
base=$(realpath -m "${PLIMSOLL_CHROOT:-build/chroot}")
deb=$(ls -t "$packages"/plimsoll_*.deb 2>/dev/null | head -1)
wheel=$(ls -t "$packages"/plimsoll-*.whl 2>/dev/null | head -1)

skip() {
  echo "check-packages: skipped: $*"
  exit 77
}
[ "$(id -u)" -eq 0 ] || skip "a chroot needs root"
command -v debootstrap >/dev/null || skip "no debootstrap (scripts/setup.sh package)"
unshare --mount true 2>/dev/null || skip "no mount namespaces here"
[ -n "$deb$wheel" ] || skip "no package in $packages (make deb wheel)"
if [ ! -e "$base/etc/debian_version" ]; then
  echo "check-packages: making a bare Debian 12 in $base"
  rm -rf "$base.partial"
  debootstrap --variant=minbase bookworm "$base.partial" >"$base.log" 2>&1 || skip "debootstrap failed, see $base.log"
  mv "$base.partial" "$base"
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-root.XXXXXX")
trap 'rm -rf "$root"' EXIT
cp -a --reflink=auto "$base/." "$root"
cp tests/packages/*.sh "$root/root/"
for file in $deb $wheel; do cp "$file" "$root/tmp/"; done

# inside SCRIPT: runs a script of tests/packages in the chroot. The mounts are those of this one process tree.
inside() {
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount --pid --fork --kill-child sh -eu -c '
    mount -t proc proc "$1/proc"
    mount --bind /sys "$1/sys" && mount -o remount,ro,bind "$1/sys"
    mount -t tmpfs -o mode=755 tmpfs "$1/dev"
    for device in null zero full random urandom tty; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
    mkdir "$1/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
    ln -s /proc/self/fd "$1/dev/fd"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      chroot "$1" sh -eu "/root/$2"
  ' sh "$root" "$1"
}

failed=""
for name in deb wheel; do
  eval "file=\$$name"
  if [ -z "$file" ]; then
    echo "check-packages: skipped: no $name in $packages (make $name)"
  elif inside "$name.sh"; then
    echo "check-packages: $(basename "$file"): installed, used, removed; nothing is left"
  else
    echo "check-packages: $(basename "$file") FAILED" >&2
    failed=yes
  fi
done
[ -z "$failed" ]
