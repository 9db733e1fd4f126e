#!/bin/sh
# early_stopping.sh PLIMSOLL FOLDER [BATCHES]: what `"stop": "asha"` saves on a real training with its default
# values, and what it costs. Each of BATCHES (1) is a search with a seed of its own: it draws 64 settings of
# `plimsoll train` on a small `synth arxiv` and runs them to their end, then again with asha. The decisions of
# asha must be those computed from the complete curves. Its shares of the epochs, the CPU time and the
# measured joules are printed, and how far the best setting that it keeps is behind the best of all 64. Last,
# the same is computed for other values of min_steps and reduction, each search in 20 random orders. A batch
# takes two to three minutes of one core, so that one batch is the short version. A second call continues.
# BENCH_WRAP: words before each training, such as `nice`. BENCH_SCALE: the size of the graph, 0.1 of arxiv
# without it. BENCH_EPOCHS: 27 without it. BENCH_SETTINGS: 64 without it. BENCH_STOPPED: how many of the
# searches run again with asha, all without it.
set -eu
PLIMSOLL=$(realpath "$1")
mkdir -p "$2"
cd "$2"
BATCHES=${3:-1}
STOPPED=${BENCH_STOPPED:-$BATCHES}
[ -d small.plim ] || "$PLIMSOLL" synth arxiv --scale "${BENCH_SCALE:-0.1}" --out small.plim -q
cat >train.sh <<END
#!/bin/sh
exec ${BENCH_WRAP:-} "$PLIMSOLL" train small.plim --device cpu --epochs ${BENCH_EPOCHS:-27} --fanout 5,5 --batch-size 256 --threads 1 --workers 1 --save-dir models --force "\$@"
END
chmod +x train.sh
cat >models_config.json <<'END'
{"models": {"gnn": {"path": ".", "train_script": "./train.sh", "supported_hyperparams": {
   "model": {"flag": "--model", "type": "text", "default": "gcn", "choices": ["gcn", "sage", "mlp"]},
   "hidden": {"flag": "--hidden", "type": "int", "default": 16, "choices": [8, 16, 32]},
   "lr": {"flag": "--lr", "type": "float", "default": 0.01, "range": [0.0003, 0.3], "distribution": "log_uniform"},
   "dropout": {"flag": "--dropout", "type": "float", "default": 0.5, "range": [0, 0.8]},
   "seed": {"flag": "--seed", "type": "int", "default": 0}},
 "performance_metrics": {"log_patterns": {"val": "Val: ([0-9.]+)"}}}}}
END
run() { # run NAME SEED [KEY]: its folder is results/NAME_SEED/run_*.
  cat >"$1_$2.json" <<END
{"experiments": [{"repo": "gnn", "mutate": ["all"], "settings": ${BENCH_SETTINGS:-64}, "hyperparameters": {"seed": $2}}], "objective": {"metric": "val", "goal": "max"}${3:-}}
END
  "$PLIMSOLL" run -ec "$1_$2.json" -s "$2" --gpu none --keep-going --results "results/$1_$2" --resume auto >"$1_$2.log" 2>&1 && return
  "$PLIMSOLL" run --resume results/"$1_$2"/run_* --retry-failed --keep-going >>"$1_$2.log" 2>&1 ||
    { tail -n 5 "$1_$2.log"; exit 1; }
}
batch=1
while [ $batch -le "$BATCHES" ]; do
  run full $batch
  [ $batch -gt "$STOPPED" ] || run stop $batch ', "stop": "asha"'
  batch=$((batch + 1))
done
python3 - "$BATCHES" "$STOPPED" <<'END'
import csv, glob, json, random, re, statistics, sys

def rows(name, seed):
    (folder,) = glob.glob(f"results/{name}_{seed}/run_*")
    return folder, list(csv.DictReader(open(folder + "/summary.csv")))

def curves_of(name, seed):
    folder, table = rows(name, seed)
    for row in table:
        log = open(f"{folder}/{row['experiment_id'].split('__')[1]}/training.log").read()
        yield [float(value) for value in re.findall(r"Val: ([0-9.]+)", log)]

def cpu_seconds(name, seed):
    return sum(json.load(open(file))["attempts"][-1]["cpu_seconds"] for file in glob.glob(rows(name, seed)[0] + "/gnn_*/experiment.json"))

def joules(name, seed):  # of CPU and GPU; None if an experiment has none
    kinds = ("energy_cpu_total_joules", "energy_gpu_total_joules")
    found = [[float(row[kind]) for kind in kinds if row.get(kind)] for row in rows(name, seed)[1]]
    return sum(map(sum, found)) if all(found) else None

def default_least(steps):  # a tenth, rounded to 1, 2, 3, 4, 6, 8, 12 ...
    return min((abs(10 * number - steps), -number) for k in (1, 3) for number in (k << shift for shift in range(40)))[1] * -1

def asha(curves, least, reduction):  # the number of epochs of each; see src/run/experiment/stop_rule.h
    rungs, ends = {}, []
    for one in curves:
        end, step = len(one), least
        while step <= len(one):
            rungs.setdefault(step, []).append(one[step - 1])
            better = sum(other > one[step - 1] for other in rungs[step][:-1])
            if any(other > step for other in ends) and better >= max(1, len(rungs[step]) // reduction):
                end = step
                break
            step *= reduction
        ends.append(end)
    return ends

def outcome(curves, order, least, reduction):  # the share of epochs, how far behind the best of all, the best kept
    ends = asha([curves[i] for i in order], least, reduction)
    finals = [one[-1] for one in curves]
    best = max(finals[i] for i, end in zip(order, ends) if end == len(curves[i]))
    return sum(ends) / sum(map(len, curves)), max(finals) - best, best

def summary(outcomes):
    shares, gaps, _ = zip(*outcomes)
    return (f"epochs {statistics.mean(shares):.3f} of all, {max(shares):.3f} at most; behind the best {statistics.mean(gaps):.4f}, "
            f"{max(gaps):.4f} at most, none in {sum(gap == 0 for gap in gaps)} of {len(gaps)}")

batches, stopped = range(1, int(sys.argv[1]) + 1), int(sys.argv[2])
searches = [list(curves_of("full", batch)) for batch in batches]
least = default_least(len(searches[0][0]))
found, cpu, spent, all_joules = [], [], [], []
for batch, curves in zip(batches, searches):
    finals = [one[-1] for one in curves]
    found.append(outcome(curves, range(len(curves)), least, 2))
    print(f"seed {batch}: {len(curves)} settings, final accuracy {min(finals):.3f} to {max(finals):.3f}, median {statistics.median(finals):.3f}; "
          f"asha keeps {found[-1][2]:.3f}, epochs {found[-1][0]:.3f}", end="")
    if batch > stopped:
        print()
        continue
    expected = asha(curves, least, 2)
    made = [int(row["stopped_at_step"] or row["steps"]) for row in rows("stop", batch)[1]]
    cpu.append(cpu_seconds("stop", batch) / cpu_seconds("full", batch))
    spent.append(joules("stop", batch))
    all_joules.append(joules("full", batch))
    print(f", CPU time {cpu[-1]:.3f} of all; decided {'as computed' if made == expected else f'differently: {made} instead of {expected}'}")
print(f"asha by default, min_steps {least}, reduction 2: {summary(found)}")
print(f"mean of the best accuracies: {statistics.mean(one[2] for one in found):.4f}, of all {statistics.mean(one[1] + one[2] for one in found):.4f}")
if cpu:
    measured = None not in spent and None not in all_joules
    print(f"CPU time: {statistics.mean(cpu):.3f} of all, {max(cpu):.3f} at most, in {len(cpu)} searches;",
          f"joules: {sum(spent) / sum(all_joules):.3f} of all" if measured else "joules: not measured; plimsoll doctor says why")
print("each search in 20 random orders, min_steps and reduction:")
for steps, reduction in [(1, 3), (2, 3), (least, 2), (least, 3), (least, 4), (least + 1, 2), (least + 1, 3), (least + 1, 4)]:
    outcomes = []
    for curves in searches:
        for seed in range(20):
            order = list(range(len(curves)))
            random.Random(seed).shuffle(order)
            outcomes.append(outcome(curves, order, steps, reduction))
    print(f"{steps} {reduction}: {summary(outcomes)}")
END
