#!/usr/bin/python3
"""Lets a sampler of Optuna choose the settings, and plimsoll exec run each training.

search.py FOLDER [TRIALS]: the study and a folder per trial are in FOLDER; the same call continues it.
PLIMSOLL names the program, if it is not in PATH.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import optuna

TRAINING = pathlib.Path(__file__).resolve().parent.parent / "toy" / "train.py"
METRIC = re.compile(r"loss:\s*([0-9.e+-]+)")


def train(trial):
    learning_rate = trial.suggest_float("learning_rate", 0.001, 0.5, log=True)
    epochs = trial.suggest_int("epochs", 2, 10)
    # Each try has a folder of its own: exec appends to a log, and a killed trial is never continued.
    folder = pathlib.Path(sys.argv[1]) / f"trial_{trial.number:03}"
    folder.mkdir(parents=True)
    ended = subprocess.run(
        [os.environ.get("PLIMSOLL", "plimsoll"), "exec", "--quiet", "--timeout", "10m", "--memory", "2G",
         "--log", folder / "training.log", "--result", folder / "result.json", "--",
         sys.executable, TRAINING, "--learning-rate", repr(learning_rate), "--epochs", str(epochs)],
        stdout=subprocess.DEVNULL)
    if not (folder / "result.json").exists():
        raise RuntimeError(f"plimsoll exec was not started; exit code {ended.returncode}")
    verdict = json.loads((folder / "result.json").read_text())["verdict"]
    trial.set_user_attr("cause", verdict["cause"])
    if verdict["cause"] != "success":  # says why: out of memory, a timeout, its own error
        raise optuna.TrialPruned(verdict["headline"])
    return float(METRIC.findall((folder / "training.log").read_text())[-1])


def main():
    folder = pathlib.Path(sys.argv[1])
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    folder.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name="toy", storage=f"sqlite:///{folder / 'study.sqlite'}", load_if_exists=True,
        direction="minimize", sampler=optuna.samplers.TPESampler(seed=len(list(folder.glob("trial_*")))))
    study.optimize(train, n_trials=trials)
    best = study.best_trial
    print(f"best of {len(study.trials)} trials: loss {best.value:.4g} with {best.params}, trial_{best.number:03}")


main()
