#!/bin/bash
# Grades the answer and writes the reward, 1 or 0. Usage: test.sh [WORKDIR [LOGDIR]]
set -u
here="$(cd "$(dirname "$0")" && pwd)"
work="${1:-/work}"
logs="${2:-/logs/verifier}"
mkdir -p "$logs"
python3 -I "$here/grade.py" "$work/answer.txt" "$here/expected.json" > "$logs/reward.txt"
