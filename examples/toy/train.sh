#!/bin/sh
# What a batch starts: any program whose output and exit code can be trusted.
exec python3 train.py "$@"
