# Shared by the scripts that run in the chroot of scripts/check_packages.sh.
# shellcheck shell=sh
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

quietly() {
  "$@" >/tmp/log 2>&1 || {
    cat /tmp/log >&2
    fail "$*"
  }
}

# everything: all files but those that apt, dpkg and logs keep for themselves.
everything() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/cache -o -path /var/log -o \
    -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -print | sort
}

# An ordinary user, whose commands run with as_user.
make_user() {
  id somebody >/dev/null 2>&1 || useradd --create-home --shell /bin/sh somebody
}

as_user() {
  setpriv --reuid somebody --regid somebody --clear-groups env HOME=/home/somebody USER=somebody sh -euc \
    "cd; $1"
}
