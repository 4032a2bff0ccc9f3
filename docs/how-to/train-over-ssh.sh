#!/usr/bin/env bash
# train-over-ssh.sh "MACHINE MACHINE …" RECIPE DATASET RUN [further options of `rnnsearch train`]
# The first machine gets rank 0. Every machine has the dataset and this folder under the same path.
set -euo pipefail
read -r -a machines <<<"$1"
shift
recipe=$1 dataset=$2 run=$3
shift 3

node=0
processes=()
for machine in "${machines[@]}"; do
  words=(torchrun --nnodes "${#machines[@]}" --node-rank "$node" --nproc-per-node "${RANKS_PER_NODE:-8}"
    --master-addr "${FIRST_ADDRESS:-${machines[0]}}" --master-port "${PORT:-29500}"
    -m rnnsearch train "$recipe" --data "$dataset" --out "$run" --resume "$@")
  # -tt: Ctrl-C here ends the training there.
  ssh -tt "$machine" "cd $(printf %q "$PWD") && $(printf '%q ' "${words[@]}")" </dev/null &
  processes+=($!)
  node=$((node + 1))
done
code=0
for process in "${processes[@]}"; do wait "$process" || code=$?; done
exit "$code"
