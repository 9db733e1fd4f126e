#!/usr/bin/env python3
"""A training to try batches with: fits a line by gradient descent in about a second, with nothing but the
standard library."""
import argparse
import random
import time

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--learning-rate", type=float, default=0.1)
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()

random.seed(options.seed)
points = [(x, 3 * x + 1 + random.gauss(0, 0.1)) for x in (random.uniform(-1, 1) for _ in range(200))]
slope = offset = 0.0
for epoch in range(1, options.epochs + 1):
    loss = 0.0
    for x, y in points:
        error = slope * x + offset - y
        slope -= options.learning_rate * error * x
        offset -= options.learning_rate * error
        loss += error * error / len(points)
    print(f"epoch {epoch} loss: {loss}", flush=True)
    time.sleep(0.02)
