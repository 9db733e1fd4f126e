#!/bin/sh
# Text of others: nested without end, with the escapes of a terminal, with numbers of 64 bits, with patterns
# that would not end, and logs without lines.
. "$(dirname "$0")/run_lib.sh"
ESCAPE=$(printf '\033')
no_escapes() {
  ! grep -qF -- "$ESCAPE" output || fail "an escape reached the terminal"
}
brackets() {
  head -c "$1" /dev/zero | tr '\0' '['
}

# Depth: an error that names the file, the depth and the limit.
brackets 400000 >settings.json
run plimsoll run -ec settings.json
expect 3 "settings.json nests lists and objects 400000 deep, 64 is the most"
write_settings '{"repo": "toy", "model": "good"}'
brackets 400000 >deep.json
run plimsoll run -ec settings.json -c deep.json
expect 3 "deep.json nests lists and objects 400000 deep"
mkdir deep.plim
brackets 400000 >deep.plim/meta.json
run plimsoll inspect deep.plim
expect 8 "deep.plim/meta.json nests lists and objects 400000 deep"
mkdir -p state/plimsoll
brackets 400000 >state/plimsoll/last.json
run env XDG_STATE_HOME="$WORK/state" "$PLIMSOLL" explain --last
expect 3 "last.json is not a result of plimsoll exec: it nests lists and objects 400000 deep"
head -c 17000000 /dev/zero | tr '\0' ' ' >settings.json
run plimsoll run -ec settings.json
expect 3 "settings.json has 17000000 bytes" "16777216 is the most"
[ ! -d results ] || fail "a refused batch has left a folder"

# Escapes in names, in a log and in a message.
sed 's/"good", /"good", "\\u001b[2Jred\\u009b", /; s/"supported_hyperparams": {/&"\\u001b]0;title\\u0007": {"flag": "-x", "type": "int", "default": 1},/' \
  models_config.json >escapes.json
write_settings '{"repo": "toy", "model": "\u001b[2Jred\u009b", "mode": "default"},
  {"repo": "toy", "model": "missing", "mode": "default"}'
run plimsoll run -l -c escapes.json
expect 0 '\x1b[2Jred\x9b' '\x1b]0;title\x07'
no_escapes
run plimsoll run -ec settings.json -c escapes.json --dry-run
expect 0 '\x1b[2Jred\x9b'
no_escapes
cat >repos/toy/train.sh <<'END'
#!/bin/sh
printf "ModuleNotFoundError: No module named '\033[31mapex\033[0m'\n"
exit 1
END
run plimsoll run -ec settings.json -c escapes.json
expect 11 '\x1b[31mapex'
no_escapes
run plimsoll status
expect 0 'toy__[2Jred' '\x1b[31mapex'
no_escapes
run plimsoll results
expect 0 '\x1b[2Jred'
no_escapes
run plimsoll explain "$(newest)/toy_missing_002/training.log"
expect 0 '\x1b[31mapex'
no_escapes
run plimsoll inspect "$(printf 'no\033[2Jstore')"
expect 6 'no\x1b[2Jstore'
no_escapes
write_settings '{"repo": "\u001b[2J", "model": "good"}'
run plimsoll run -ec settings.json
expect 3 'there is no repo \x1b[2J'
no_escapes

# Every digit of a seed, from the settings to the command, the table and experiment.json; a pattern that
# backtracks, over a log of progress bars and a line without an end.
cat >repos/toy/train.sh <<'END'
#!/bin/sh
echo "seed is $4"
i=0
while [ $i -lt 2000 ]; do printf '\r%d/2000 loss: 0.5' $i; i=$((i + 1)); done
head -c 1000000 /dev/zero | tr '\0' 'a'
printf 'acc: 0.75'
head -c 1000000 /dev/zero | tr '\0' 'a'
printf '\ntokens: 9007199254740993\n'
END
cat >models_config.json <<'END'
{"models": {"toy": {"path": "repos/toy", "train_script": "./train.sh -n default",
  "supported_hyperparams": {"seed": {"flag": "-s", "type": "int", "default": null, "range": [0, 18446744073709551615]}},
  "performance_metrics": {"log_patterns": {"acc": ".*.*acc.*: ([0-9.]+)", "done": "([0-9]+)/2000", "tokens": "(?P<name>tokens): ([0-9]+)"}}}}}
END
write_settings '{"repo": "toy", "mode": "default", "hyperparameters": {"seed": 18446744073709551615}}'
run plimsoll run -ec settings.json
expect 0 "1 succeeded"
grep -q "^seed is 18446744073709551615$" "$(newest)/toy_default_001/training.log" || fail "the training got another seed"
[ "$(column hyperparam_seed)" = 18446744073709551615 ] || fail "the table has another seed: $(column hyperparam_seed)"
[ "$(column perf_acc) $(column perf_done) $(column perf_tokens)" = "0.75 1999 9007199254740993" ] ||
  fail "the metrics are $(column perf_acc) $(column perf_done) $(column perf_tokens)"
grep -q '"seed": 18446744073709551615' "$(newest)/toy_default_001/experiment.json" || fail "experiment.json has another seed"
grep -q '"tokens": 9007199254740993' "$(newest)/toy_default_001/experiment.json" || fail "experiment.json has other tokens"

# What RE2 has not is refused before anything starts.
sed 's/\.\*\.\*acc\.\*: (\[0-9\.\]+)/(?<=acc: )([0-9.]+)/' models_config.json >lookbehind.json
rm -rf results
run plimsoll run -ec settings.json -c lookbehind.json
expect 3 "the pattern of acc has a lookbehind, (?<=...), which is not supported; write" "'(?<=acc: )([0-9.]+)'"
[ ! -d results ] || fail "a refused batch has left a folder"
