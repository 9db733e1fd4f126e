#!/bin/sh
# The sbatch scripts that `plimsoll slurm` prints, their refusals, and `slurm exec` without a Slurm.
# tests/slurm runs jobs on a real one.
. "$(dirname "$0")/lib.sh"
unset $(env | sed -n 's/^\(\(SLURM\|SBATCH\)_[A-Z_]*\)=.*/\1/p') NOTHING

plimsoll synth --nodes 2000 --edges 20000 --classes 5 --features 16 --seed 3 --out "my store" --quiet

# has LINE...: each is a whole line of the output.
has() {
  for line in "$@"; do
    grep -qxF -- "$line" output || fail "no line: $line"
  done
}
# script COMMAND...: runs it, and puts the command of its script into one line.
script() {
  run plimsoll slurm "$@"
  sed -e :a -e '/ \\$/N; s/ \\\n */ /; ta' output >joined
  mv joined output
}
hasnt() { ! grep -qF -- "$1" output || fail "it says: $1"; }

script train "my store" --model gcn --num_neighbors 5 5 --epochs 3 --time 90m --threads 3 --memory 1G \
  --save-dir out --account us --constraint 'a100&nvlink' --sbatch qos=long --sbatch exclusive
expect 0 "slurm exec --max-requeues 20 --max-mem " "--resume auto" "--epochs 3" "--fanout 5,5" "--save-dir out" \
  "train 'my store'" '--threads "$SLURM_CPUS_PER_TASK"'
has "#!/bin/bash" "#SBATCH --job-name=plimsoll-out" "#SBATCH --time=01:30:00" "#SBATCH --cpus-per-task=3" \
  "#SBATCH --requeue" "#SBATCH --open-mode=append" "#SBATCH --output=plimsoll-out-%j.log" "#SBATCH --account=us" \
  "#SBATCH --constraint=a100&nvlink" "#SBATCH --qos=long" "#SBATCH --exclusive" "#SBATCH --chdir=$PWD"
grep -qE '^#SBATCH --mem=[0-9]+M$' output || fail "no --mem"
grep -qE '^#SBATCH --signal=B:USR1@[0-9]+$' output || fail "no --signal"
bash -n output || fail "not a script"
# It asks for no more than the plan needs, although --memory allows more.
[ "$(sed -n 's/#SBATCH --mem=\([0-9]*\)M/\1/p' output)" -lt 700 ] || fail "too much memory"

script train "my store" --time 1h --no-mem --sbatch array=0-3%2
expect 0 '--seed "$SLURM_ARRAY_TASK_ID"' 'models/task_"$SLURM_ARRAY_TASK_ID"'
has "#SBATCH --output=plimsoll-models-%A_%a.log" "#SBATCH --array=0-3%2"
hasnt "--mem="

# Seeds are trained in one job, ranks on one node.
script train "my store" --seeds 3 --epochs 3 --threads 2 --save-dir seeds
expect 0 "--seeds 3" "--save-dir seeds" "--resume auto" "# Time: 3 seeds x 3 x "
has "#SBATCH --cpus-per-task=2" "#SBATCH --ntasks=1"
run plimsoll slurm train "my store" --time 1h --seeds 3 --sbatch array=0-2
expect 2 "--seeds 3 trains one seed after the other in one job; --sbatch array=0-2 trains them side by side"
script train "my store" --time 1h --model sage --ranks 2 --threads 3
expect 0 "--ranks 2" "--threads 3 --resume auto"
has "#SBATCH --cpus-per-task=6" "#SBATCH --ntasks=1"
run plimsoll slurm train "my store" --time 1h --model gcn --norm sampled --ranks 2
expect 2 "--norm sampled does not work with 2 ranks"

run plimsoll slurm train "my store" --time 1h --sbatch mem-per-cpu=2G --sbatch gres=gpu:1 --gpus 2
expect 0
hasnt "#SBATCH --mem="
hasnt "#SBATCH --gpus="

run plimsoll slurm train "my store" --time 1h --memory 64M
expect 4 "raise --memory"
run plimsoll slurm train "my store" --time 1h --resume out
expect 2 "leave --resume out"
run plimsoll slurm train "my store" --time 1h --force
expect 2 "leave --force out"
run plimsoll slurm train "my store" --time 1h --sbatch "a b=c"
expect 2 "is no option of sbatch"
run plimsoll slurm train "my store" --time 1:x
expect 2 "'1:x' is not a time"
run plimsoll slurm train missing.plim --time 1h
expect 6 "missing.plim"

examples=$TESTS/../examples
run plimsoll slurm run -ec "$examples/settings.json" -c "$examples/models_config.json"
expect 2 "give --time"
script run -ec "$examples/settings.json" -c "$examples/models_config.json" --time 1h --mem 2G --job-name toy
expect 0 "plimsoll run --experiment-config" "--results results/toy --resume auto"
has "#SBATCH --mem=2048M" "#SBATCH --job-name=toy" "#SBATCH --cpus-per-task=1"
run plimsoll slurm run --time 1h --frobnicate
expect 2 "plimsoll run cannot use these options"

run plimsoll slurm exec -- true
expect 2 "this is not a Slurm job"
run env SLURM_JOB_ID=7 "$PLIMSOLL" slurm exec true
expect 2 "put the command after --"
# Without scontrol, a stopped command ends with the code that the site requeues.
mkdir bare
run env PATH="$PWD/bare" SLURM_JOB_ID=7 "$PLIMSOLL" slurm exec --requeue-exit 99 -- /bin/sh -c 'exit 9'
expect 99 "plimsoll slurm: job 7" "there is no scontrol here, so it ends with exit code 99"
run env PATH="$PWD/bare" SLURM_JOB_ID=7 "$PLIMSOLL" slurm exec -- /bin/sh -c 'exit 3'
expect 3 "the command failed with exit code 3; not requeued"
run env PATH="$PWD/bare" SLURM_JOB_ID=7 "$PLIMSOLL" slurm exec -- /bin/sh -c 'exit 0'
expect 0
run env PATH="$PWD/bare" "$PLIMSOLL" explain --job 7
expect 6 "--job needs sacct or scontrol"
run plimsoll explain --job seven
expect 2 "write it like 1234"
