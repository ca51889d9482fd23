#!/bin/bash
# Runs the hidden tests and writes the reward, 0 to 1. Usage: test.sh [WORKDIR [LOGDIR]]
set -u
here="$(cd "$(dirname "$0")" && pwd)"
export SUBJECT_ROOT="${1:-/work}"
logs="${2:-/logs/verifier}"
mkdir -p "$logs"
cd "$here" || exit 1
results="$(mktemp)"
options=(-v --tb=short -p no:cacheprovider -c /dev/null --rootdir "$here" --confcutdir "$here")
python3 -B -m pytest "${options[@]}" --junitxml="$results" "$here"
python3 -I "$here/reward.py" "$results" > "$logs/reward.txt"
