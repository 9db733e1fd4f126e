# Shared by the scenario scripts: `. lib.sh "$@"` first. Each runs in a fresh folder that goes at the end.
# shellcheck shell=sh
set -eu
PLIMSOLL=$(realpath "$1")
TESTS=$(dirname "$(realpath "$0")")/..
DATA=${PLIMSOLL_DATA:-$TESTS/../../shared/data}
WORK=$(mktemp -d)
cleanup() {
  rm -rf "$WORK"
}
trap cleanup EXIT
cd "$WORK"
# What is measured of the machine, not by each of them.
export XDG_CACHE_HOME="${PLIMSOLL_TEST_CACHE:-$WORK/cache}"

fail() {
  echo "FAILED: $*" >&2
  [ -f output ] && sed 's/^/  | /' output >&2
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

has_training() {
  [ -e "$(dirname "$PLIMSOLL")/libplimsoll_train.so" ]
}

needs_training() {
  has_training || skip "this program was built without libtorch"
}

# run COMMAND...: output (both streams) goes to the file `output`, the exit code to $code.
run() {
  code=0
  "$@" >output 2>&1 || code=$?
}

# expect CODE TEXT...: what the last run must have ended with and printed.
expect() {
  [ "$code" -eq "$1" ] || fail "exit code $code, $1 expected"
  shift
  for text in "$@"; do
    grep -qF -- "$text" output || fail "nothing says: $text"
  done
}

plimsoll() {
  "$PLIMSOLL" "$@"
}

# until_prints TEXT [FILE]: what runs in the background has printed this, to `output` unless a file is named.
until_prints() {
  tries=0
  until grep -qsF -- "$1" "${2:-output}"; do
    tries=$((tries + 1))
    [ $tries -lt 15000 ] || fail "it never printed: $1"
    sleep 0.02
  done
}

# same_tensors ONE.pth OTHER.pth
same_tensors() {
  run /usr/bin/python3 "$TESTS/scenario/same_tensors.py" "$1" "$2"
  [ "$code" -eq 0 ] || fail "$2 is not $1"
}
