#!/usr/bin/env python3
"""run.py SOURCE LIBRARY PROGRAM [TEST ...]: runs the tests of the Python package. Exits with 77 if NumPy is
missing."""
import os
import sys
import unittest

source, library, program = sys.argv[1:4]
os.environ["PLIMSOLL_LIBRARY"], os.environ["PLIMSOLL_PROGRAM"] = library, program
os.environ["PYTHONPATH"] = os.path.join(source, "python")  # for the processes that tests start
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(source, "python"), here]
try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)
names = sys.argv[4:]
tests = unittest.defaultTestLoader.loadTestsFromNames(names) if names else unittest.defaultTestLoader.discover(here)
sys.exit(0 if unittest.TextTestRunner(verbosity=1).run(tests).wasSuccessful() else 1)
