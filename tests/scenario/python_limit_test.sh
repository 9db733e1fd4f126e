#!/bin/sh
# A Python program with a loader stays within a cgroup that is smaller than the graph, while its own memory
# grows and shrinks; and its batches are the same as without a limit.
. "$(dirname "$0")/lib.sh" "$@"
. "$TESTS/scenario/limit.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no NumPy for /usr/bin/python3"
library=$(dirname "$PLIMSOLL")/libplimsoll.so
[ -e "$library" ] || skip "no libplimsoll.so beside the program"
export PLIMSOLL_LIBRARY="$library" PYTHONPATH="$TESTS/../python" PYTHONDONTWRITEBYTECODE=1

make_cgroup python
plimsoll synth papers100M --scale 0.01 --out big.plim --quiet >output 2>&1 || fail "synth"
cat >load.py <<'END'
import hashlib
import sys
import numpy
import plimsoll

def epoch(loader, most=12):
    digest = hashlib.sha256()
    for batch, _ in zip(loader, range(most)):
        for array in (batch.x, batch.y, batch.edge_index, batch.n_id):
            digest.update(numpy.ascontiguousarray(array))
    return digest.hexdigest()

grows = int(sys.argv[1])
loader = plimsoll.NeighborLoader("big.plim", [10, 5], "train", batch_size=512, shuffle=True, output="numpy",
                                 threads=2)
print(epoch(loader))
before = loader.state()
# In steps that the headroom covers, each followed by a measurement, as every batch makes one.
model = []
for _ in range(8):
    model.append(numpy.ones(grows // 8, dtype=numpy.uint8))  # all of it is touched
    loader.state()
print(epoch(loader))
during = loader.state()
del model
print(epoch(loader))
after = loader.state()
print("limit", before["limit_bytes"], "disk", before["rows_on_disk"], "resident", before["resident_rows"],
      during["resident_rows"], "over", before["over_bytes"], during["over_bytes"], after["over_bytes"], file=sys.stderr)
if grows:
    assert during["host_bytes"] - before["host_bytes"] > 0.8 * grows
    assert before["rows_on_disk"] > 0
    assert during["resident_rows"] < before["resident_rows"], "nothing gave way to the model"
    assert before["over_bytes"] == during["over_bytes"] == after["over_bytes"] == 0
END
/usr/bin/python3 load.py 0 >free 2>state || fail "without a limit: $(cat state)"
limit=$((400 * mib))
inside "$limit" /usr/bin/python3 load.py $((144 * mib)) >limited 2>state || fail "within the limit: $(cat state)"
cat state
[ "$(kills)" = "${killed_before:-0}" ] || fail "the kernel killed a process for want of memory"
cmp free limited || fail "the batches depend on the limit"
grep -q "^limit $limit " state || fail "the loader did not notice the cgroup's limit of $limit bytes"
