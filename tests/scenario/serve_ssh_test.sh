#!/bin/sh
# serve through `ssh -L`, as it tells its users: with an SSH server of this test alone, on loopback, with keys
# made for it.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "there is no python3, which plays the browser"
for program in ssh ssh-keygen; do
  command -v $program >/dev/null || skip "there is no $program (Debian: openssh-client)"
done
sshd=$(command -v sshd || ls /usr/sbin/sshd 2>/dev/null) || skip "there is no sshd (Debian: openssh-server)"

# The server of root insists on this folder, which the system's own service makes.
if [ "$(id -u)" = 0 ] && mkdir /run/sshd 2>/dev/null; then
  trap 'cleanup; rmdir /run/sshd' EXIT
fi
ssh-keygen -q -t ed25519 -N '' -f server_key
ssh-keygen -q -t ed25519 -N '' -f user_key
python3 "$TESTS/scenario/serve_ssh.py" "$PLIMSOLL" "$WORK" "$sshd"
