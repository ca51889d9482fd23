#!/bin/bash
# Runs the hidden tests and writes the reward, 1 or 0. Usage: test.sh [WORKDIR [LOGDIR]]
set -u
here="$(cd "$(dirname "$0")" && pwd)"
export SUBJECT_ROOT="${1:-/work}"
logs="${2:-/logs/verifier}"
mkdir -p "$logs"
cd "$here" || exit 1
options=(-v --tb=short -p no:cacheprovider -c /dev/null --rootdir "$here" --confcutdir "$here")
if python3 -B -m pytest "${options[@]}" "$here"; then
    echo 1 > "$logs/reward.txt"
else
    echo 0 > "$logs/reward.txt"
fi
