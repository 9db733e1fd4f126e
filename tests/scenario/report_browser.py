"""report_browser.py PAGE...: opens reports in a browser and measures what a person sees. Light and dark, from
a phone to 4K: no label overlaps another or leaves its figure, no word in a table is broken, no text is too
faint, no page is wider than its window, the console is empty, and the page prints. Writes screenshots to
$PLIMSOLL_SCREENSHOTS if it is set."""
import base64
import json
import os
import pathlib
import sys

import browser

PICTURES = os.environ.get("PLIMSOLL_SCREENSHOTS")
SIZES = [(360, 740), (1280, 900), (3840, 2160)]

# The pages have no script of their own: this one is only in the browser.
MEASURE = """(() => {
  const problems = [];
  if (document.documentElement.scrollWidth > innerWidth + 1) problems.push("wider than its window: " + document.documentElement.scrollWidth);
  let figures = 0;
  for (const svg of document.querySelectorAll("svg.plot")) {
    if (svg.getClientRects().length === 0) continue;
    ++figures;
    if (!svg.getAttribute("aria-label")) problems.push("a figure without a label");
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
  }
  for (const e of document.querySelectorAll("[tabindex]")) {
    e.focus();
    if (document.activeElement !== e) problems.push("cannot be focused: " + e.tagName);
  }
  for (const cell of document.querySelectorAll("th, td")) {
    if (/\\s/.test(cell.textContent) || cell.textContent.length > 24 || cell.getClientRects().length === 0) continue;
    const range = document.createRange();
    range.selectNodeContents(cell);
    if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) problems.push("breaks a word: " + cell.textContent);
  }
  const channels = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = color => {
    const [r, g, b] = color.map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const color = channels(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  for (const e of document.querySelectorAll("main *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.getClientRects().length === 0) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(channels(e.ownerSVGElement ? style.fill : style.color)), light(ground(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) problems.push("too faint, " + contrast.toFixed(1) + ": " + e.textContent.slice(0, 40));
  }
  return {width: innerWidth, figures, problems};
})()"""


def check(what, good, *values):
    if not good:
        sys.exit(f"FAILED: {what}: {' '.join(repr(value)[:3000] for value in values)}")


def look(page, file):
    page.open(file.resolve().as_uri())
    for width, height in SIZES:
        for scheme in ["light", "dark"]:
            page.resize(width, height)
            page.color_scheme(scheme)
            result = page.value(MEASURE)
            check("the window has its size", result["width"] == width, file.name, result["width"])
            check("figures are shown", result["figures"] > 0, file.name, width)
            check("the page looks right", not result["problems"], file.name, width, scheme, result["problems"])
            if PICTURES:
                page.screenshot(pathlib.Path(PICTURES) / f"{file.stem}_{width}_{scheme}.png", whole=True)
    printed = base64.b64decode(page.call("Page.printToPDF")["data"])
    check("the page prints", printed.startswith(b"%PDF-"), file.name, printed[:20])
    if PICTURES:
        (pathlib.Path(PICTURES) / f"{file.stem}.pdf").write_bytes(printed)
    check("the console has no errors", not page.problems, file.name, json.dumps(page.problems))


def main():
    if PICTURES:
        os.makedirs(PICTURES, exist_ok=True)
    with browser.Browser() as page:
        for file in sys.argv[1:]:
            look(page, pathlib.Path(file))


main()
