#!/usr/bin/env python3
"""python_loader.py STORE [--seconds S] [--native PROGRAM]: how many batches a second the Python loader makes,
everything resident and nobody who computes with them, beside the native pipeline with the same draws
(bench/loader.cc), at both usual settings. Native and Python take turns, so that a busy machine is busy for
both."""
import argparse
import pathlib
import statistics
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "python"))
import plimsoll  # noqa: E402

SETTINGS = ((128, [3, 2]), (1024, [15, 10]))
ROUNDS = 3


def native(program, store, batch_size, fanout, seconds):
    words = [str(program), str(store), str(batch_size), ",".join(map(str, fanout)), str(seconds)]
    return float(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)


def python(store, batch_size, fanout, seconds, **options):
    loader = plimsoll.NeighborLoader(plimsoll.Store(store), fanout, "train", batch_size=batch_size, shuffle=True, **options)
    batches, start = 0, None
    while start is None or time.perf_counter() - start < seconds:
        for _ in loader:
            batches += 1
        if start is None:  # the first epoch warms up
            batches, start = 0, time.perf_counter()
    return batches / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement (5)")
    parser.add_argument("--native", default=root / "build/release/bench/loader", help="the native program")
    args = parser.parse_args()
    if not pathlib.Path(args.native).exists():
        sys.exit(f"{args.native} is missing: make bench builds it")
    print(f"{'batch size, fan-out':<22} {'native':>10} {'numpy':>10} {'auto':>10}   batches/s; numpy, auto of native")
    for batch_size, fanout in SETTINGS:
        rates = {"native": [], "numpy": [], "auto": []}
        for _ in range(ROUNDS):
            rates["native"].append(native(args.native, args.store, batch_size, fanout, args.seconds))
            for output in ("numpy", "auto"):
                rates[output].append(python(args.store, batch_size, fanout, args.seconds, output=output))
        middle = {name: statistics.median(values) for name, values in rates.items()}
        print(f"{batch_size:>6}, {str(fanout):<14} {middle['native']:>10.0f} {middle['numpy']:>10.0f} {middle['auto']:>10.0f}"
              f"   {middle['numpy'] / middle['native']:.0%}, {middle['auto'] / middle['native']:.0%}")


if __name__ == "__main__":
    main()
