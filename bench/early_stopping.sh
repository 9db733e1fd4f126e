#!/bin/sh
# early_stopping.sh PLIMSOLL FOLDER [BATCHES]: what `"stop": "asha"` saves on a real training with its default
# values, and what it costs. Each of BATCHES (1) draws 64 settings of `plimsoll train` on a small
# `synth arxiv` and runs them to their end. Their curves are then taken in 20 random orders: how many epochs
# asha needs of all, and how far the best setting that it keeps is behind the best of all 64. Last, the first
# batch runs with asha: its decisions must be those computed from the complete curves, and its shares of the
# CPU time and of the measured joules are printed. A batch takes about two minutes of one core, so that one
# batch is the short version; 20 batches are 20 searches with other settings and seeds. A second call
# continues. BENCH_WRAP: words before each training, such as `nice`. BENCH_SCALE: the size of the graph, 0.1
# of arxiv without it. BENCH_EPOCHS: 27 without it.
set -eu
PLIMSOLL=$(realpath "$1")
mkdir -p "$2"
cd "$2"
BATCHES=${3:-1}
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
entry='"experiments": [{"repo": "gnn", "mutate": ["all"], "settings": 64}], "objective": {"metric": "val", "goal": "max"}'
echo "{$entry}" >full.json
echo "{$entry, \"stop\": \"asha\"}" >stop.json
run() { # run NAME SEED: its folder is results/NAME_SEED/run_*.
  "$PLIMSOLL" run -ec "$1.json" -s "$2" --gpu none --keep-going --results "results/$1_$2" --resume auto >"$1_$2.log" 2>&1 ||
    { tail -n 5 "$1_$2.log"; exit 1; }
}
batch=1
while [ $batch -le "$BATCHES" ]; do
  run full $batch
  batch=$((batch + 1))
done
run stop 1
python3 - "$BATCHES" <<'END'
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

def asha(curves, least, reduction):  # the number of epochs of each; see src/run/experiment/stopping.h
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

default_shares, default_gaps = [], []
for batch in range(1, int(sys.argv[1]) + 1):
    curves = list(curves_of("full", batch))
    finals = [one[-1] for one in curves]
    least = default_least(len(curves[0]))
    print(f"batch {batch}: {len(curves)} settings, {sum(map(len, curves))} epochs, final accuracy {min(finals):.3f} to {max(finals):.3f}, "
          f"median {statistics.median(finals):.3f}")
    print("min_steps reduction | epochs of all: mean, most | behind the best of all: mean, most, none in")
    for steps, reduction in [(1, 3), (1, 2), (2, 3), (least, 2), (least, 3), (least, 4)]:
        shares, gaps = [], []
        for seed in range(20):
            order = list(range(len(curves)))
            random.Random(seed).shuffle(order)
            epochs = asha([curves[i] for i in order], steps, reduction)
            shares.append(sum(epochs) / sum(map(len, curves)))
            kept = [finals[i] for i, end in zip(order, epochs) if end == len(curves[i])]
            gaps.append(max(finals) - max(kept))
        if (steps, reduction) == (least, 2):
            default_shares += shares
            default_gaps += gaps
        print(f"{steps:9} {reduction:9} | {statistics.mean(shares):.3f} {max(shares):.3f} | {statistics.mean(gaps):.4f} {max(gaps):.4f} "
              f"{sum(gap == 0 for gap in gaps)} of {len(gaps)}{'  (default)' if (steps, reduction) == (least, 2) else ''}")
print(f"default, all {sys.argv[1]} batches: epochs {statistics.mean(default_shares):.3f} of all, {max(default_shares):.3f} at most; behind the best: "
      f"{statistics.mean(default_gaps):.4f}, {max(default_gaps):.4f} at most, none in {sum(gap == 0 for gap in default_gaps)} of {len(default_gaps)}")
curves = list(curves_of("full", 1))
expected = asha(curves, default_least(len(curves[0])), 2)
made = [int(row["stopped_at_step"] or row["steps"]) for row in rows("stop", 1)[1]]
print("batch 1 with asha decided", "as computed" if made == expected else f"differently: {made} instead of {expected}")
print(f"epochs: {sum(made) / sum(map(len, curves)):.3f} of all; CPU time: {cpu_seconds('stop', 1) / cpu_seconds('full', 1):.3f} of that without stopping")
spent, all_of_it = joules("stop", 1), joules("full", 1)
print("joules:", f"{spent / all_of_it:.3f} of that without stopping" if spent is not None and all_of_it else "not measured; plimsoll doctor says why")
END
