#!/bin/sh
# early_stopping.sh PLIMSOLL FOLDER [SEEDS]: what `stop: asha` saves on a real training, and what it costs.
# Runs 64 settings of `plimsoll train` on a small `synth arxiv` to their end. Then takes them in SEEDS (20) random orders: how
# many epochs asha needs of all, and how far the best setting that it keeps is behind the best of all 64. Then runs the batch
# with asha, and compares its decisions with those computed from the complete curves.
# BENCH_WRAP: words before each training, such as `nice`. BENCH_SCALE: the size of the graph, 0.1 of arxiv without it.
set -eu
PLIMSOLL=$(realpath "$1")
mkdir -p "$2"
cd "$2"
SEEDS=${3:-20}
[ -d small.plim ] || "$PLIMSOLL" synth arxiv --scale "${BENCH_SCALE:-0.1}" --out small.plim -q
cat >train.sh <<END
#!/bin/sh
exec ${BENCH_WRAP:-} "$PLIMSOLL" train small.plim --device cpu --epochs 27 --fanout 5,5 --batch-size 256 --threads 1 --workers 1 --save-dir models --force "\$@"
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
echo "{$entry, \"stop\": {\"policy\": \"asha\", \"min_steps\": 1, \"reduction\": 3}}" >stop.json
run() { # run NAME: once; its folder is in NAME.folder.
  [ -e "$1.folder" ] || "$PLIMSOLL" run -ec "$1.json" -s 1 --gpu none --keep-going >"$1.log" 2>&1 || { tail -n 5 "$1.log"; exit 1; }
  [ -e "$1.folder" ] || sed -n 's/^run folder: //p' "$1.log" >"$1.folder"
}
run full
run stop
python3 - "$(cat full.folder)" "$(cat stop.folder)" "$SEEDS" <<'END'
import csv, random, re, statistics, sys

def rows(folder):
    return list(csv.DictReader(open(folder + "/summary.csv")))

def curve(folder, row):
    log = open(f"{folder}/{row['experiment_id'].split('__')[1]}/training.log").read()
    return [float(value) for value in re.findall(r"Val: ([0-9.]+)", log)]

def asha(curves, least=1, reduction=3):  # the number of epochs of each; see src/run/experiment/stopping.h
    rungs, epochs = {}, []
    for one in curves:
        end, step = len(one), least
        while step <= len(one):
            rungs.setdefault(step, []).append(one[step - 1])
            better = sum(other > one[step - 1] for other in rungs[step][:-1])
            if better >= max(1, len(rungs[step]) // reduction):
                end = step
                break
            step *= reduction
        epochs.append(end)
    return epochs

full, stopped = rows(sys.argv[1]), rows(sys.argv[2])
curves = [curve(sys.argv[1], row) for row in full]
finals = [one[-1] for one in curves]
print(f"{len(curves)} settings, {sum(map(len, curves))} epochs, final accuracy {min(finals):.3f} to {max(finals):.3f}, median {statistics.median(finals):.3f}")
print("min_steps reduction | epochs of all: mean, most | behind the best of all: mean, most, none in")
for least in (1, 2, 3):
    for reduction in (2, 3, 4):
        shares, gaps = [], []
        for seed in range(int(sys.argv[3])):
            order = list(range(len(curves)))
            random.Random(seed).shuffle(order)
            epochs = asha([curves[i] for i in order], least, reduction)
            shares.append(sum(epochs) / sum(map(len, curves)))
            kept = [finals[i] for i, end in zip(order, epochs) if end == len(curves[i])]
            gaps.append(max(finals) - max(kept))
        print(f"{least:9} {reduction:9} | {statistics.mean(shares):.3f} {max(shares):.3f} | "
              f"{statistics.mean(gaps):.4f} {max(gaps):.4f} {sum(gap == 0 for gap in gaps)} of {len(gaps)}")
expected = asha(curves)
made = [int(row["stopped_at_step"] or row["steps"]) for row in stopped]
print("the batch decided", "as computed" if made == expected else f"differently: {made} instead of {expected}")
seconds = [sum(float(row["duration_seconds"]) for row in table) for table in (full, stopped)]
print(f"time of the trainings: {seconds[1] / seconds[0]:.3f} of that without stopping")
END
