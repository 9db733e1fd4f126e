#!/bin/sh
# --memory ends the tree with the same exit code whether the kernel enforces it or plimsoll watches, whether
# the command itself or a grandchild is too large; what stays below is left alone.
. "$(dirname "$0")/exec_lib.sh"

check() {
  run timeout 30 $wrapper "$PLIMSOLL" exec --memory 64M --grace 0.2s -- unruly eat 150
  expect 122
  nothing_alive "$1, leader"
  run timeout 30 $wrapper "$PLIMSOLL" exec --memory 64M --grace 0.2s -- unruly eat-below 150
  expect 122
  nothing_alive "$1, grandchild"
  # A shell that makes light of its worker's end has not done what it was asked for.
  run timeout 30 $wrapper "$PLIMSOLL" exec --memory 64M --grace 0.2s -- sh -c 'unruly eat 150; true'
  expect 122
  run timeout 30 $wrapper "$PLIMSOLL" exec --memory 256M -- sh -c 'head -c 50000000 /dev/zero | tail -c 1 >/dev/null; exit 6'
  expect 6
  # The command is told, and a limit around this one stays in force.
  run timeout 30 $wrapper "$PLIMSOLL" exec --memory 64M -- sh -c 'echo "told $PLIMSOLL_MEMORY_LIMIT"'
  expect 0 "told 67108864"
  run timeout 30 $wrapper "$PLIMSOLL" exec --memory 64M -- "$PLIMSOLL" exec --memory 1G -- sh -c 'echo "told $PLIMSOLL_MEMORY_LIMIT"'
  expect 0 "told 67108864"
  echo "$1: limit holds"
}

wrapper=
check "as this machine is"

# Without control groups the tree is watched.
if unshare --mount true 2>/dev/null; then
  cat >without_groups <<'END'
#!/bin/sh
umount -R /sys/fs/cgroup && exec "$@"
END
  chmod +x without_groups
  wrapper="unshare --mount $WORK/without_groups"
  if $wrapper true 2>/dev/null; then
    check "without control groups"
  else
    echo "control groups cannot be hidden here: the watched limit was not tested apart"
  fi
else
  echo "no mount namespaces for this user: the watched limit was not tested apart"
fi
