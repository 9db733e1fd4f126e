# The Debian package in a bare system: install, demo as an ordinary user, remove; nothing is left.
# shellcheck shell=sh
. /root/lib.sh
deb=$(ls /tmp/plimsoll_*.deb)
make_user
quietly apt-get update -qq
# What it depends on comes first, so that the files before and after are those of the package alone.
quietly apt-get satisfy -y -qq --no-install-recommends "$(dpkg-deb -f "$deb" Depends), python3-numpy, man-db"
everything >/tmp/before

quietly apt-get install -y -qq --no-install-recommends "$deb"
as_user "plimsoll --version"
as_user "plimsoll demo --scale 0.001" >/tmp/log 2>&1 || { cat /tmp/log; fail "the demo"; }
grep -q "Test accuracy: .* with them (sage)" /tmp/log || { cat /tmp/log; fail "the demo did not train"; }
grep "Test accuracy" /tmp/log
[ "$(man --path)" ] && man -w plimsoll-import-ogb >/dev/null || fail "no manual page"
bash -n /usr/share/bash-completion/completions/plimsoll || fail "the completion of bash"
for file in /usr/share/zsh/vendor-completions/_plimsoll /usr/share/fish/vendor_completions.d/plimsoll.fish \
  /usr/share/doc/plimsoll/docs/reference/errors.md /usr/share/doc/plimsoll/copyright; do
  [ -s "$file" ] || fail "$file is missing"
done
as_user "python3 -c '
import plimsoll
batch = next(iter(plimsoll.NeighborLoader(\"demo/papers.plim\", [5, 3], \"train\", batch_size=8)))
assert batch.batch_size == 8
'"
python3 -c 'import plimsoll'  # as root, who may write what Python compiles

rm -rf /home/somebody/demo /home/somebody/.cache
quietly apt-get purge -y -qq plimsoll
everything >/tmp/after
diff /tmp/before /tmp/after || fail "removing the package left files, or took some"
quietly dpkg --audit
