#!/bin/sh
# report on a batch: the table, the figures, what failed, the queue; while it runs and when it is done.
. "$(dirname "$0")/run_lib.sh" "$@"
command -v python3 >/dev/null || skip "no python3 to read the pages"
write_settings '{"repo": "toy", "model": "good", "mutate": ["learning_rate", "epochs"], "runs_per_config": 6},
  {"repo": "toy", "model": "liar", "mode": "default", "runs_per_config": 1}' '"max_retries": 1'
plimsoll run -ec settings.json -s 1 >output 2>&1 || true
batch=$(ls -d results/run_*)
run plimsoll report "$batch" --out batch.html
expect 0 "batch.html: 1 run"
for text in "configurations, best first" "Attempts and causes" "How attempts ended" "The queue over time" "place 1" "Energy" "against cost"; do
  grep -qF -- "$text" batch.html || fail "the page does not say: $text"
done
grep -q "<script" batch.html && fail "the page has a script"
[ "$(wc -c <batch.html)" -le 1000000 ] || fail "the page is too large"
for figure in queue cost; do
  run plimsoll report "$batch" --figure $figure --out $figure.svg
  expect 0 "$figure.svg"
  python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' $figure.svg || fail "$figure.svg is not XML"
done
LC_ALL=C.UTF-8 COLUMNS=60 plimsoll results "$batch" --plot >output 2>&1 || fail "results --plot"
grep -q " by learning_rate" output || fail "no figure of the learning rate"
run plimsoll results "$batch" --plot --csv
expect 2 "--plot"

# Without Unicode, the sign of a spread takes two columns. Headings still end where their cells do.
write_settings '{"repo": "toy", "model": "slow", "mode": "default", "runs_per_config": 3}'
plimsoll run -ec settings.json -s 2 >output 2>&1 || fail "run"
LC_ALL=C plimsoll results "$(newest)" >output || fail "results"
grep -q "^1 .*+-" output || fail "no spread in ASCII"
awk '/^#/ {heading = length($0)} /^1 / {exit heading != length($0)}' output || fail "headings are not above their cells"
echo "a batch is reported"
