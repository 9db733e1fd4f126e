#!/bin/sh
# Room is given back by ranks, too: the lines that they share go down in all of them when a neighbour takes
# memory, and up again later.
. "$(dirname "$0")/lib.sh"
. "$TESTS/scenario/limit.sh"
needs_training
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT SLURM_PROCID SLURM_STEP_ID
. "$TESTS/scenario/neighbour_lib.sh"

# The memory of each rank, and once what they share.
resident() {
  launcher=$(cat training.pid)
  for rank in $(cat "/proc/$launcher/task/$launcher/children"); do cat "/proc/$rank/status"; done 2>/dev/null |
    awk '/^RssAnon:/ { own += $2 } /^RssShmem:/ && $2 > shared { shared = $2 } END { printf "%d\n", (own + shared) * 1024 }'
}
a_neighbour_takes_memory --threads 1 --ranks 2
