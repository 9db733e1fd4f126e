#!/bin/sh
# bench/memory_plot.sh FILE.csv [TITLE] > FILE.svg: memory over the time of a run, as `train --memory-log` wrote it, against the plan's peak and the limit.
set -eu
[ $# -ge 1 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
awk -F, -v title="${2:-Memory over time}" '
NR == 1 { next }
{ n++; t[n] = $1; lent[n] = $2; resident[n] = $3; planned = $4; limit = $5 }
function x(seconds) { return left + (right - left) * seconds / (t[n] > 0 ? t[n] : 1) }
function y(bytes) { return bottom - (bottom - top) * bytes / (limit * 1.1) }
function gib(bytes) { return sprintf(limit < 2^30 ? "%.0f MiB" : "%.1f GiB", limit < 2^30 ? bytes / 2^20 : bytes / 2^30) }
function level(bytes, name, color, dash, above) {
  printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n", left, right, y(bytes), y(bytes), color, dash
  printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">%s %s</text>\n", right - 6, y(bytes) + (above ? -6 : 17), color, name, gib(bytes)
}
function curve(values, color, width, i, points) {
  for (i = 1; i <= n; i++) points = points sprintf("%.1f,%.1f ", x(t[i]), y(values[i]))
  printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"/>\n", points, color, width
}
END {
  left = 80; right = 820; top = 40; bottom = 300
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"380\" viewBox=\"0 0 860 380\" font-family=\"sans-serif\" font-size=\"13\">"
  print "<rect width=\"860\" height=\"380\" fill=\"white\"/>"
  printf "<text x=\"%d\" y=\"24\" font-size=\"15\" fill=\"#222\">%s</text>\n", left, title
  for (i = 0; i <= 4; i++) {
    printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#e5e5e5\"/>\n", left, right, y(limit * i / 4), y(limit * i / 4)
    printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%s</text>\n", left - 8, y(limit * i / 4) + 4, gib(limit * i / 4)
    printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%.0f s</text>\n", x(t[n] * i / 4), bottom + 20, t[n] * i / 4
  }
  printf "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#555\"/>\n", left, right, bottom, bottom
  level(limit, "limit", "#c0392b", "none", 1); level(planned, "planned peak", "#d98200", "7 5", 0)
  curve(lent, "#9ecae1", 4); curve(resident, "#08519c", 2)
  printf "<rect x=\"%d\" y=\"342\" width=\"24\" height=\"4\" fill=\"#08519c\"/><text x=\"%d\" y=\"349\" fill=\"#222\">resident, by the kernel</text>\n", left, left + 32
  printf "<rect x=\"%d\" y=\"342\" width=\"24\" height=\"4\" fill=\"#9ecae1\"/><text x=\"%d\" y=\"349\" fill=\"#222\">lent by the ledger</text>\n", left + 230, left + 262
  print "</svg>"
}' "$1"
