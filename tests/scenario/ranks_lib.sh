# For scenarios of ranks, after lib.sh: what several processes learn and predict, compared with what one does.
# shellcheck shell=sh
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 to compare results with"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT SLURM_PROCID SLURM_STEP_ID

# Losses agree but for rounding. Of a node whose two best classes are nearly equal, rounding decides the
# class, and how a CPU rounds is its own: one node in a thousand may be counted differently.
cat >compare.py <<'PYTHON'
import json, sys
one, other = (json.load(open(path + "/results.json")) for path in sys.argv[1:3])
ranks = int(sys.argv[3])
assert len(other["ranks"]) == (ranks if ranks > 1 else 0), other["ranks"]
assert [rank["rank"] for rank in other["ranks"]] == list(range(len(other["ranks"])))
assert len(one["series"]) == len(other["series"])
def near(key, a, b):
    assert abs(a[key] - b[key]) <= 1e-3, (key, a[key], b[key])
for a, b in zip(one["series"], other["series"]):
    assert abs(a["loss"] - b["loss"]) <= 1e-6 * abs(a["loss"]), (a, b)
    near("valid_acc", a, b)
    near("test_acc", a, b)
for key in "train_acc", "valid_acc", "test_acc":
    near(key, one, other)
for key in "status", "epochs_run":
    assert one[key] == other[key], (key, one[key], other[key])
PYTHON
# learns_like ONE FOLDER RANKS: the results in FOLDER are those of one process, in ONE.
learns_like() {
  run /usr/bin/python3 compare.py "$@"
  [ "$code" -eq 0 ] || fail "$2 learned something else than one process"
}

cat >same.py <<'PYTHON'
import sys
import numpy
one, other = map(numpy.load, sys.argv[1:])
assert one.shape == other.shape and one.dtype == other.dtype, (one.shape, other.shape)
if one.dtype.kind == "i":
    assert (one != other).sum() <= len(one) / 1000  # classes of nodes that rounding decides
else:
    assert numpy.abs(one - other).max() <= 1e-6 * numpy.abs(one).max()
PYTHON
# predicts_like ONE OTHER: the predictions in the file OTHER are those of one process.
predicts_like() {
  run /usr/bin/python3 same.py "$@"
  [ "$code" -eq 0 ] || fail "$2 has other predictions than one process makes: $options"
}
