#!/bin/sh
# Reports in a real Chromium, on a telephone, a desk and a 4K screen: no label overlaps another or leaves its figure, no page is
# wider than its window, nothing is written to the console.
. "$(dirname "$0")/run_lib.sh" "$@"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || skip "no Chromium (Debian: apt-get install chromium)"
command -v python3 >/dev/null || skip "no python3 to read the pages"

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

# The pages have no script; the copies that are measured have this one. They are shown in a frame, because a window of Chromium is at
# least 500 pixels wide.
cat >measure.html <<'END'
<script>
const problems = [];
if (document.documentElement.scrollWidth > innerWidth + 1) problems.push("wider than its window: " + document.documentElement.scrollWidth);
let figures = 0;
for (const svg of document.querySelectorAll("svg.plot")) {
  if (svg.getClientRects().length === 0) continue;
  ++figures;
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]);
  texts.forEach(([a, r], i) => {
    if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.bottom > frame.bottom + 1) problems.push("leaves its figure: " + a);
    for (const [b, q] of texts.slice(i + 1)) {
      const wide = Math.min(r.right, q.right) - Math.max(r.left, q.left);
      const high = Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top);
      if (wide > 1 && high > r.height * 0.35) problems.push(a + " overlaps " + b);
    }
  });
  if (!svg.getAttribute("aria-label")) problems.push("a figure without a label");
}
for (const e of document.querySelectorAll("[tabindex]")) { e.focus(); if (document.activeElement !== e) problems.push("cannot be focused: " + e.tagName); }
parent.postMessage(JSON.stringify({ width: innerWidth, figures, problems }), "*");
</script>
END
look() {
  page=$1
  shift
  timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$WORK/browser" --enable-logging=stderr \
    --virtual-time-budget=3000 "$@" "file://$WORK/$page" 2>browser.log
}
for page in training compared batch; do
  sed "s|</body>||; s|</html>||" $page.html >$page.measured.html
  cat measure.html >>$page.measured.html
  for size in 360,740 1280,900 3840,2160; do
    cat >framed.html <<END
<!DOCTYPE html><body><script>addEventListener("message", e => { document.body.dataset.result = e.data; });</script>
<iframe src="$page.measured.html" width="${size%,*}" height="${size#*,}" frameborder="0"></iframe>
END
    look framed.html --window-size=3900,2300 --dump-dom >dom.html || fail "Chromium does not end on $page at $size: $(tail -n 3 browser.log)"
    python3 - dom.html "${size%,*}" <<'END' >output 2>&1 || fail "$page at $size"
import html, json, re, sys
found = re.search(r'data-result="([^"]*)"', open(sys.argv[1], encoding="utf-8").read())
assert found, "nothing was measured"
result = json.loads(html.unescape(found.group(1)))
assert result["width"] == int(sys.argv[2]), result["width"]
assert result["figures"] > 0, "no figure is shown"
assert not result["problems"], result["problems"]
END
    grep -q "CONSOLE" browser.log && fail "the console says: $(grep CONSOLE browser.log)"
  done
  look $page.html --print-to-pdf="$WORK/$page.pdf" --no-pdf-header-footer >output 2>&1 || fail "$page cannot be printed"
  [ "$(head -c 5 $page.pdf)" = "%PDF-" ] || fail "$page.pdf is no PDF"
done
echo "the pages of a training, a comparison and a batch look right at 360, 1280 and 3840 pixels"
