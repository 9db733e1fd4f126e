#!/bin/sh
# The wheel installs by pip into a virtual environment, without a network, and what it brings runs there
# without the libraries of this machine's packages.
. "$(dirname "$0")/lib.sh" "$@"
build=$(dirname "$PLIMSOLL")
[ -e "$build/libplimsoll.so" ] || skip "no libplimsoll.so beside the program"
python3 -m venv venv >output 2>&1 && venv/bin/python -m pip --version >output 2>&1 || skip "no venv with pip here"
run "$TESTS/../scripts/make_wheel.py" "$build" wheels
expect 0 "needs glibc" "libfmt"
run venv/bin/pip install --no-index --no-deps wheels/plimsoll-*.whl
expect 0 "Successfully installed plimsoll"
unset PYTHONPATH PLIMSOLL_LIBRARY PLIMSOLL_PROGRAM
run venv/bin/plimsoll --version
expect 0 "plimsoll 0."
run venv/bin/plimsoll synth arxiv --scale 0.01 --out small.plim --quiet
expect 0
library=$(ls -d venv/lib/python3*/site-packages/plimsoll/lib)
run ldd "$library/libplimsoll.so.1"
expect 0 "$(realpath "$library")/libfmt"
if venv/bin/python -c 'import numpy' 2>/dev/null || [ -d /usr/lib/python3/dist-packages/numpy ]; then
  # NumPy of the system's Python, where that is the same version.
  cat >try.py <<'END'
import plimsoll
batch = next(iter(plimsoll.NeighborLoader("small.plim", [5, 3], "train", batch_size=8, output="numpy")))
assert batch.batch_size == 8 and plimsoll.__file__.startswith(__import__("sys").prefix)
print("loaded")
END
  /usr/bin/python3 -m venv --system-site-packages with >output 2>&1 &&
    with/bin/pip install --no-index --no-deps wheels/plimsoll-*.whl >output 2>&1 || exit 0
  run with/bin/python try.py
  expect 0 "loaded"
fi
run venv/bin/pip uninstall -y plimsoll
expect 0
[ ! -e "$library" ] && [ ! -e venv/bin/plimsoll ] || fail "uninstalling left something"
