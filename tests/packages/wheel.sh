# The wheel in a bare system with Python, by an ordinary user in a virtual environment: install, demo, remove;
# nothing is left.
# shellcheck shell=sh
. /root/lib.sh
wheel=$(ls /tmp/plimsoll-*.whl)
make_user
quietly apt-get update -qq
quietly apt-get install -y -qq --no-install-recommends python3-venv
as_user "python3 -m venv venv"
everything >/tmp/before

quietly as_user "venv/bin/pip install --no-index $wheel"
as_user "venv/bin/plimsoll --version"
as_user "venv/bin/plimsoll demo --scale 0.001" >/tmp/log 2>&1 || { cat /tmp/log; fail "the demo"; }
grep -q "The store is in demo/papers.plim" /tmp/log || fail "the demo made no store"
grep "Training is left out" /tmp/log || fail "nothing says why there is no training"
message=$(as_user "venv/bin/python -c 'import plimsoll'" 2>&1) && fail "imported without NumPy"
case $message in *"plimsoll needs NumPy"*) ;; *) fail "$message" ;; esac

rm -rf /home/somebody/demo /home/somebody/.cache
quietly as_user "venv/bin/pip uninstall -y plimsoll"
rm -rf /home/somebody/.cache
everything | grep -v /__pycache__ >/tmp/after  # of pip itself
grep -v /__pycache__ /tmp/before | diff - /tmp/after || fail "removing the wheel left files, or took some"
