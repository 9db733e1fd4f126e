# Shared by the benchmarks: `. "$(dirname "$0")/lib.sh"`. Their first comment is their help.
# shellcheck shell=sh
set -eu
build=$(cd "$(dirname "$0")/.." && pwd)/build/release
plimsoll=$build/plimsoll

# usage CODE: prints the help and ends.
usage() {
  sed -n '2,/^[^#]/s/^# //p' "$0"
  exit "$1"
}

# take_options "SPEC..." "$@": sets a variable for each option. A spec is
#   NAME                 --NAME VALUE sets NAME, with _ for each -
#   NAME:VARIABLE        --NAME VALUE sets VARIABLE
#   NAME:VARIABLE=VALUE  --NAME sets VARIABLE to VALUE
# Other words are left in $words. The defaults are set before.
take_options() {
  specs=$1
  words=""
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --help) usage 0 ;;
      --*) ;;
      *) words="$words $1"; shift; continue ;;
    esac
    found=""
    for spec in $specs; do
      [ "--${spec%%:*}" = "$1" ] && found=$spec
    done
    case $found in
      "") usage 2 ;;
      *=*) eval "${found#*:}"; shift ;;
      *)
        [ $# -ge 2 ] || usage 2
        eval "$(echo "${found#*:}" | tr - _)=\$2"
        shift 2
        ;;
    esac
  done
}

# no_words: refuses words that are no options.
no_words() {
  [ -z "$words" ] || usage 2
}

# needs_built FILE TARGET
needs_built() {
  [ -x "$1" ] || { echo "build first: make $2" >&2; exit 2; }
}

# work_in FOLDER NAME: $work is a new folder in it, which goes at the end.
work_in() {
  work=$(mktemp -d "$1/plimsoll-$2-XXXXXX")
  trap 'rm -rf "$work"' EXIT
}
