#!/bin/sh
# Reports in a real Chromium, on a phone, a desk and a 4K screen, light and dark: report_browser.py says what
# is measured.
. "$(dirname "$0")/run_lib.sh" "$@"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
  skip "no Chromium (Debian: apt-get install chromium)"
command -v python3 >/dev/null || skip "no python3 to drive a browser"

plimsoll synth --nodes 2000 --edges 10000 --classes 5 --features 16 --out tiny.plim -q >output 2>&1 || fail "no store"
for model in gcn sage; do
  plimsoll train tiny.plim --model $model --hidden 16 --fanout 5,5 --epochs 4 --device cpu --threads 2 --save-dir $model -q >output 2>&1 ||
    fail "no training"
done
write_settings '{"repo": "toy", "model": "good", "mutate": ["learning_rate", "epochs"], "runs_per_config": 6},
  {"repo": "toy", "model": "liar", "mode": "default", "runs_per_config": 1}' '"max_retries": 1'
plimsoll run -ec settings.json -s 1 >output 2>&1 || true
plimsoll report gcn --out training.html >output 2>&1 || fail "no page of the training"
plimsoll report gcn sage --out compared.html >output 2>&1 || fail "no comparison"
plimsoll report "$(newest)" --out batch.html >output 2>&1 || fail "no page of the batch"

python3 "$TESTS/scenario/report_browser.py" training.html compared.html batch.html
echo "the pages of a training, a comparison and a batch look right at 360, 1280 and 3840 pixels"
