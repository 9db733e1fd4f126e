#!/bin/sh
# The main job on a synthetic graph, in the folder demo/: generate, import, inspect, train.
set -eu
cd "$(dirname "$0")/.."
exec build/release/plimsoll demo --out demo --force
