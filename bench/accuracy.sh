#!/bin/sh
# bench/accuracy.sh [--data DIR] [--folder DIR] [--quick] [full|sampled|norm|draws|synth ...]: test accuracy
# at the best validation epoch, mean and standard deviation over seeds, as Markdown tables;
# docs/reference/accuracy.md has them beside PyTorch Geometric's. DIR (default: $PLIMSOLL_DATA) holds cora,
# citeseer, computers, physics and arxiv-structure. --quick: 3 seeds.
. "$(dirname "$0")/lib.sh"
data=${PLIMSOLL_DATA:-$(dirname "$0")/../../shared/data}
folder=.
seeds=10
take_options "data folder quick:seeds=3" "$@"
for part in $words; do
  case $part in
    full | sampled | norm | draws | synth) ;;
    *) usage 2 ;;
  esac
done
parts=${words:-full sampled norm draws synth}
needs_built "$plimsoll" build
work_in "$folder" accuracy

store() {
  [ -d "$work/$1.plim" ] ||
    "$plimsoll" import ogb "$data/$1" --out "$work/$1.plim" --features f32 --quiet >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
}

# accuracy SEEDS STORE OPTIONS...: ".817 ± .007". Seeds run side by side, on two threads each.
jobs=$((($(nproc) + 1) / 2))
accuracy() {
  last=$(($1 - 1))
  graph=$2
  shift 2
  rm -rf "$work"/run-*
  seq 0 "$last" | xargs -P "$jobs" -I SEED "$plimsoll" train "$work/$graph.plim" --seed SEED --threads 2 --quiet \
    --save-dir "$work/run-SEED" "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  # Two spaces: the run's own, not an epoch's.
  sed -n 's/^  "test_acc": \([0-9.e-]*\),$/\1/p' "$work"/run-*/results.json | awk '{ n++; s += $1; q += $1 * $1 } END {
    m = s / n; d = n > 1 ? sqrt((q - n * m * m) / (n - 1)) : 0; printf "%.3f ± %.3f", m, d }'
}

# The settings under which PyTorch Geometric was measured on these files.
settings() {
  case $1 in
    cora | citeseer) hidden=16 decay=5e-4 ;;
    computers | physics) hidden=64 decay=5e-4 ;;
    *) hidden=128 decay=0 ;;
  esac
  [ "$2" != gat ] || hidden="64 --heads 8"
  echo "--hidden $hidden --weight-decay $decay"
}

full() {
  printf '\nFull batch, all neighbours, 200 epochs\n\n| | mlp | gcn | sage | gat |\n|---|---|---|---|---|\n'
  for graph in cora citeseer computers physics arxiv-structure; do
    store "$graph"
    count=$seeds
    [ "$graph" = arxiv-structure ] && count=3
    printf '| %s ' "$graph"
    for model in mlp gcn sage gat; do
      # shellcheck disable=SC2046  # lists of words
      printf '| %s ' "$(accuracy "$count" "$graph" --model "$model" $(settings "$graph" "$model") \
        --fanout all,all --batch-size 1000000 --lr 0.01 --epochs 200 --eval full)"
    done
    echo "|"
  done
}

sampled_settings() {
  case $1 in
    arxiv-structure) echo "--batch-size 1024 --lr 0.003 --epochs 10" ;;
    *) echo "--batch-size 64 --lr 0.01 --epochs 60" ;;
  esac
}

sampled() {
  printf '\nFan-out 10,5, evaluated with all neighbours, 3 seeds\n\n| | gcn | sage |\n|---|---|---|\n'
  for graph in computers physics arxiv-structure; do
    store "$graph"
    printf '| %s ' "$graph"
    for model in gcn sage; do
      # shellcheck disable=SC2046
      printf '| %s ' "$(accuracy 3 "$graph" --model "$model" $(settings "$graph" "$model") $(sampled_settings "$graph") \
        --fanout 10,5 --eval full)"
    done
    echo "|"
  done
}

norm() {
  printf '\nGCN by --norm, fan-out 10,5, evaluated with all neighbours, 3 seeds\n\n| | full | sampled |\n|---|---|---|\n'
  for graph in computers physics arxiv-structure; do
    store "$graph"
    printf '| %s ' "$graph"
    for kind in full sampled; do
      # shellcheck disable=SC2046
      printf '| %s ' "$(accuracy 3 "$graph" --model gcn --norm "$kind" $(settings "$graph" gcn) \
        $(sampled_settings "$graph") --fanout 10,5 --eval full)"
    done
    echo "|"
  done
  papers
  printf '| papers100M × 0.01 '
  for kind in full sampled; do
    printf '| %s ' "$(accuracy 1 papers --model gcn --norm "$kind" --epochs 60 --log-steps 5 --eval full)"
  done
  echo "|"
}

draws() {
  printf '\nHow neighbours are drawn: fan-out 10,5, evaluated with all neighbours, 3 seeds\n\n'
  printf '| | model | by themselves | --sampler labor | precompute, 10,all |\n|---|---|---|---|---|\n'
  for graph in computers physics arxiv-structure; do
    store "$graph"
    for model in gcn sage; do
      printf '| %s | %s ' "$graph" "$model"
      for way in "--sampler uniform" "--sampler labor"; do
        # shellcheck disable=SC2046,SC2086
        printf '| %s ' "$(accuracy 3 "$graph" --model "$model" $way $(settings "$graph" "$model") $(sampled_settings "$graph") \
          --fanout 10,5 --eval full)"
      done
      "$plimsoll" precompute "$work/$graph.plim" --model "$model" --out "$work/sums.plim" --force --quiet
      # shellcheck disable=SC2046
      printf '| %s |\n' "$(accuracy 3 sums --model "$model" $(settings "$graph" "$model") $(sampled_settings "$graph") \
        --fanout 10,all --eval full)"
    done
  done
}

papers() {
  [ -d "$work/papers.plim" ] ||
    "$plimsoll" synth papers100M --scale 0.01 --seed 1 --out "$work/papers.plim" --quiet >/dev/null
}

synth() {
  papers
  printf '\nsynth papers100M --scale 0.01 --seed 1, fan-out 15,10, hidden 256, 60 epochs, 1 seed\n\n| mlp | gcn | sage |\n|---|---|---|\n'
  for model in mlp gcn sage; do
    printf '| %s ' "$(accuracy 1 papers --model "$model" --epochs 60 --log-steps 5 --eval full)"
  done
  echo "|"
}

for part in $parts; do "$part"; done
