#!/bin/sh
# The command line helps: --help everywhere, --version, suggestions for misspelt words, completion scripts.
. "$(dirname "$0")/lib.sh"

run plimsoll --version
expect 0 "plimsoll "
run plimsoll --help
expect 0 "import" "synth" "inspect" "plan" "completion" "Exit codes"
for command in "import" "import ogb" "import npz" "import csv" synth inspect plan completion; do
  # shellcheck disable=SC2086  # two words are two arguments
  run plimsoll $command --help
  expect 0 "Usage: plimsoll $command"
  case $command in import) ;; *) grep -qE "Example|Try it" output || fail "$command --help has no example" ;; esac
  awk 'length($0) > 100 { exit 1 }' output || fail "$command --help is wider than 100 columns"
done
run plimsoll
expect 2 "plimsoll --help"
run plimsoll imprt
expect 2 "did you mean import"
run plimsoll synth papers100M --memroy 8G --out x
expect 2 "--memroy" "did you mean --memory"
run plimsoll synth papers10M --out x
expect 2 "papers100M"
run plimsoll synth papers100M --memory lots --out x
expect 2 "lots" "8G"
run plimsoll synth papers100M
expect 2 "--out"
run plimsoll inspect
expect 2 "STORE"
run plimsoll import ogb a --directed --undirected --out x
expect 2 "--directed"

for shell in bash zsh fish; do
  run plimsoll completion $shell
  expect 0 "plimsoll" "undirected"
done
run plimsoll completion tcsh
expect 2 "bash"
plimsoll completion bash >script
bash -n script || fail "the bash script does not parse"
# What bash offers for `plimsoll import o` and `plimsoll synth --ho`.
offers() {
  bash -c '. ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
    complete_function=$(complete -p plimsoll | sed "s/.*-F \([^ ]*\) .*/\1/")
    $complete_function plimsoll "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@" >output
}
offers plimsoll import o
grep -qx 'ogb *' output || fail "no completion of import ogb"
offers plimsoll plan --fas
grep -qx -- '--fastest *' output || fail "no completion of --fastest"
offers plimsoll synth --ho
grep -qx -- '--homophily *' output || fail "no completion of --homophily"
exit 0
